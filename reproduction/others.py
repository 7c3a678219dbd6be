"""FRRM against Steinberg's model, FGRRM against fairlearn's reductions (section 5.3)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from fairridge import FairRidgeClassifier, FairRidgeRegressor, SteinbergRegressor
from reproduction.data import Data, load
from reproduction.measures import Fold, Measured, classification_counts, errors, f1, pooled
from reproduction.settings import Floats, Settings

STEINBERG = ("COMPAS", "NLSY, gender", "LSAC, race")
FAIRLEARN = ("COMPAS, classes", "ADULT, sex", "BANK")
# γ = 0 and seven of the model's own grid, from hardly any penalty to hardly any dependence.
STEPS = 8
EPSILON = 0.1


def steinberg_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One run of cross-validation of Steinberg's model, for several γ.

    On the same training rows FRRM gets the R²_S that each of them reached as
    its bound, so that the two are compared at the same level of fairness.
    """
    data = load(case, settings)
    folds = [
        _steinberg_fold(data, Fold.of(data, train, test))
        for train, test in settings.cut(len(data), run)
    ]
    return pd.concat(
        pd.DataFrame({"model": name, "step": range(STEPS)} | pooled([fold[name] for fold in folds]))
        for name in ("Steinberg", "FRRM")
    )


def _steinberg_fold(data: Data, fold: Fold) -> dict[str, Measured]:
    Z, y = fold.training
    gammas, path = _steinberg_path(data, fold)
    theirs = errors(fold, fold.linear_predictors(path))
    # A bound at the unconstrained share itself would be active by rounding.
    bounds = np.where(gammas > 0.0, np.minimum(theirs["train_unfairness"], 1.0), 1.0)
    ridge = FairRidgeRegressor(sensitive=fold.sensitive).path(Z, y, unfairness=bounds)
    ours = errors(fold, fold.linear_predictors(ridge))
    return {"Steinberg": theirs | {"gamma": gammas}, "FRRM": ours | {"gamma": gammas}}


def _steinberg_path(data: Data, fold: Fold) -> tuple[Floats, Any]:
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
    names = ("alpha", "beta", "intercept")
    found = {name: np.array([getattr(fit, name) for fit in fits]) for name in names}
    return gammas, SimpleNamespace(**found)


# ------------------------------------------------------------------ fairlearn


def lacks_fairlearn() -> str:
    """Say that fairlearn is not installed, if so."""
    return "" if find_spec("fairlearn") else "fairlearn is not installed: fairridge[fairlearn]"


def fairlearn_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """One fold of the exponentiated gradient, and of FGRRM; a whole run takes minutes.

    ε = 0.1 can be read in two ways: as the bound on the difference of
    acceptance rates (`difference_bound`), or as fairlearn's argument `eps`,
    which leaves that bound at its default of 0.01. For BANK, age is taken as
    one group per year.
    """
    data = load(case, settings)
    positions = settings.cut(len(data), run // settings.folds)[run % settings.folds]
    fold = Fold.of(data, *positions)
    rows = []
    for name, bound, eps in (("fairlearn", EPSILON, 0.01), ("fairlearn, eps", 0.01, EPSILON)):
        counts, gap = exponentiated_gradient(fold, bound=bound, eps=eps)
        for how, score in zip(("", ", majority"), f1(counts), strict=True):
            rows.append({"model": name + how, "r": EPSILON, "f1": score, "gap": gap})
    model = FairRidgeClassifier(sensitive=data.sensitive)
    frame, y = data.frame.iloc[fold.train], fold.y[fold.train]
    eta = fold.linear_predictors(model.path(frame, y, unfairness=settings.bounds))
    scores = f1(classification_counts(eta[fold.test], fold.y[fold.test]))
    ours = pd.DataFrame({"model": "FGRRM", "r": settings.bounds, "f1": scores, "gap": 0.0})
    return pd.concat([pd.DataFrame(rows), ours])


def exponentiated_gradient(fold: Fold, *, bound: float, eps: float) -> tuple[Floats, float]:
    """Fit fairlearn's randomized classifier; return its counts on test rows, and the gap.

    The combinations of the values of S are the groups. The base classifier is
    a logistic regression with next to no penalty, on standardized columns.
    Counts are those expected of random predictions, and those of the more
    likely class; the gap is the duality gap beyond fairlearn's tolerance.
    """
    reductions: Any = import_module("fairlearn.reductions")
    train, test = fold.train, fold.test
    center, scale = fold.X[train].mean(axis=0), fold.X[train].std(axis=0)
    scale[scale == 0.0] = 1.0
    X = (fold.X - center) / scale
    groups = np.unique(fold.S[train], axis=0, return_inverse=True)[1].ravel()
    base = LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=1000)
    parity = reductions.DemographicParity(difference_bound=bound)
    mitigator = reductions.ExponentiatedGradient(base, parity, eps=eps)
    mitigator.fit(X[train], fold.y[train].astype(np.intp), sensitive_features=groups)
    likely, y = mitigator._pmf_predict(X[test])[:, 1], fold.y[test]
    expected = np.array([likely @ y, likely @ (1 - y), (1 - likely) @ y])
    majority = classification_counts(likely[:, None] - 0.5, y)[0]
    return np.array([expected, majority]), float(mitigator.best_gap_ - mitigator.nu)
