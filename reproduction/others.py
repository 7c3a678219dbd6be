"""FRRM against Steinberg's model, FGRRM against fairlearn's reductions (section 5.3)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from fairridge import FairRidgeClassifier, FairRidgeRegressor, SteinbergRegressor
from reproduction.data import Data, load
from reproduction.measures import (
    Coefficients,
    Fold,
    Measured,
    active,
    by_fold,
    class_scores,
    errors,
    folds_of,
)
from reproduction.settings import Floats, Settings

STEINBERG = ("COMPAS", "NLSY, gender", "LSAC, race")
FAIRLEARN = ("COMPAS, classes", "ADULT, sex", "BANK")
# γ = 0 and seven of the model's own grid, from hardly any penalty to hardly any dependence.
STEPS = 8
EPSILON = 0.1
SEARCHED = (0.01, 0.02, 0.05)


def steinberg_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One run of cross-validation of Steinberg's model, for several γ.

    On the same training rows FRRM gets the R²_S that each of them reached as
    its bound, so that the two are compared at the same level of fairness.
    """
    data = load(case, settings)
    folds = folds_of(data, settings.cut(len(data), run))
    return by_fold([_steinberg_fold(data, fold) for fold in folds], np.arange(float(STEPS))).rename(
        columns={"r": "step"}
    )


def _steinberg_fold(data: Data, fold: Fold) -> dict[str, Measured]:
    Z, y, weight = fold.training.standing()
    gammas, path = _steinberg_path(data, fold)
    theirs = errors(fold, path)
    # A bound at the unconstrained share itself would be active by rounding.
    bounds = np.where(gammas > 0.0, np.minimum(theirs["train_dependence"], 1.0), 1.0)
    ridge = FairRidgeRegressor(sensitive=fold.sensitive)
    ours = errors(fold, ridge.path(Z, y, unfairness=bounds, sample_weight=weight))
    return {"Steinberg": theirs | {"gamma": gammas}, "FRRM": ours | {"gamma": gammas}}


def _steinberg_path(data: Data, fold: Fold) -> tuple[Floats, Coefficients]:
    """Return γ, and the coefficients at each.

    The public model finds γ for a bound, or is fitted at one γ, for which it
    follows its grid of γ from the start. Only its problem gives the whole grid
    at once.
    """
    model = SteinbergRegressor(sensitive=data.sensitive)
    path = model.path(data.frame.iloc[fold.train], fold.y[fold.train], unfairness=[1.0])
    problem = path._origin[-1]
    gammas = np.append(0.0, problem.grid[1:STEPS])
    fits = problem.fits(gammas)
    names = ("alpha", "beta", "intercept", "lambda_")
    found = {name: np.array([getattr(fit, name) for fit in fits]) for name in names}
    return gammas, Coefficients(**found, status=("converged",) * STEPS)


def bounds_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Search γ for given bounds, on all rows: what Steinberg's model reaches."""
    data = load(case, settings)
    model = SteinbergRegressor(sensitive=data.sensitive)
    path = model.path(data.frame, data.y, unfairness=SEARCHED)
    return pd.DataFrame({"r": SEARCHED, "achieved": path.achieved, "active": active(path)})


# ------------------------------------------------------------------ fairlearn


def lacks_fairlearn() -> str:
    """Say that fairlearn is not installed, if so."""
    return "" if find_spec("fairlearn") else "fairlearn is not installed: fairridge[fairlearn]"


def fairlearn_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One fold of the exponentiated gradient, and of FGRRM; a whole run takes minutes.

    ε = 0.1 can be read in two ways: as fairlearn's argument `eps`, which leaves
    the bound on acceptance rates at its default of 0.01, or as that bound
    (`difference_bound`). S is among the predictors, which is fairlearn's common
    use, or is not. For BANK, age is taken as one group per year, and S is among
    the predictors only.
    """
    data = load(case, settings)
    positions = settings.cut(len(data), run // settings.folds)[run % settings.folds]
    fold = Fold.of(data, *positions)
    rows = []
    for reading in ("eps", "bound"):
        for among in (True,) if case == "BANK" else (True, False):
            scores, gap = exponentiated_gradient(fold, reading, among=among)
            rows += [
                {"model": "fairlearn", "reading": reading, "among": among, "how": how,
                 "r": EPSILON, "f1": score, "gap": gap}
                for how, score in scores.items()
            ]  # fmt: skip
    model = FairRidgeClassifier(sensitive=data.sensitive, separation="warn")
    frame, y = data.frame.iloc[fold.train], fold.y[fold.train]
    path = model.path(frame, y, unfairness=settings.bounds)
    measured = class_scores(fold, path, fold.linear_predictors(path))
    ours = {"model": "FGRRM", "r": settings.bounds, "f1": measured["f1"]}
    return pd.concat([pd.DataFrame(rows), pd.DataFrame(ours)])


def exponentiated_gradient(
    fold: Fold, reading: str, *, among: bool
) -> tuple[dict[str, float], float]:
    """Fit fairlearn's randomized classifier; return its F1 on test rows, and the gap.

    The combinations of the values of S are the groups. The base classifier is
    a logistic regression with next to no penalty, on standardized columns. F1
    is that of the counts that random predictions have on average, and that of
    the more likely class; the gap is the duality gap beyond fairlearn's
    tolerance.
    """
    reductions: Any = import_module("fairlearn.reductions")
    bound, eps = (EPSILON, 0.01) if reading == "bound" else (0.01, EPSILON)
    train, test = fold.train, fold.test
    X = np.hstack([fold.S, fold.X]) if among else fold.X
    center, scale = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - center) / np.where(scale > 0.0, scale, 1.0)
    groups = np.unique(fold.S[train], axis=0, return_inverse=True)[1].ravel()
    base = LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=1000)
    parity = reductions.DemographicParity(difference_bound=bound)
    mitigator = reductions.ExponentiatedGradient(base, parity, eps=eps)
    mitigator.fit(X[train], fold.y[train].astype(np.intp), sensitive_features=groups)
    likely, y = mitigator._pmf_predict(X[test])[:, 1], fold.y[test]
    scores = {"random": f1(likely, y), "majority": f1((likely > 0.5).astype(np.float64), y)}
    return scores, float(mitigator.best_gap_ - mitigator.nu)


def f1(likely: Floats, y: Floats) -> float:
    """F1 of the counts to expect if each row is accepted with a probability."""
    wrong = float(likely @ (1.0 - y) + (1.0 - likely) @ y)
    hits = float(likely @ y)
    return 2.0 * hits / (2.0 * hits + wrong) if hits > 0.0 else 0.0
