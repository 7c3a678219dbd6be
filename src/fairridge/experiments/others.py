"""FRRM against Steinberg's model, FGRRM against fairlearn's reductions (section 5.3)."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from fairridge import FairRidgeClassifier, FairRidgeRegressor, SteinbergRegressor
from fairridge.engines import MemoryEngine
from fairridge.estimators._training import Training
from fairridge.experiments.measures import Lines, Side, classification_counts, errors, f1, pooled
from fairridge.experiments.settings import Fold, Settings
from fairridge.experiments.sources import load
from fairridge.experiments.table import Row
from fairridge.fairness import StatisticalParity

__all__ = ["FAIRLEARN", "STEINBERG", "fairlearn_part", "lacks_fairlearn", "steinberg_part"]

Floats = NDArray[np.float64]

STEINBERG = ("COMPAS", "NLSY, gender", "LSAC, race")
FAIRLEARN = ("COMPAS, classes", "ADULT, sex", "BANK")
# γ = 0 and seven of the model's own grid, from hardly any penalty to hardly any dependence.
STEPS = 8
EPSILON = 0.1


@lru_cache(maxsize=1)
def _read(case: str, model: type, settings: Settings) -> Training:
    data = load(case, settings)
    training: Training = model(sensitive=data.sensitive)._read(data.X, data.y, None, None, None)
    return training


def steinberg_part(case: str, run: int, settings: Settings) -> list[Row]:
    """One run of cross-validation of Steinberg's model, for several γ.

    On the same training rows FRRM gets the R²_S that each of them reached as
    its bound, so that the two are compared at the same level of fairness.
    """
    training = _read(case, SteinbergRegressor, settings)
    folds = [_steinberg_fold(training, fold) for fold in settings.cut(training.n_rows, run)]
    rows: list[Row] = []
    for name in ("Steinberg", "FRRM"):
        measured = pooled([fold[name] for fold in folds])
        rows += [
            {"model": name, "step": k} | {key: values[k] for key, values in measured.items()}
            for k in range(STEPS)
        ]
    return rows


def _steinberg_fold(training: Training, fold: Fold) -> dict[str, dict[str, Floats]]:
    train, test = training.fold(*fold)
    known, other = train.moments(), test.moments()
    problem = SteinbergRegressor()._problem_on(train, training.response)
    gammas = np.append(0.0, problem.grid[1:STEPS])
    fits = problem.fits(gammas)
    reached = np.array([StatisticalParity().value(fit) for fit in fits])
    ours = FairRidgeRegressor()
    ridge = ours._problem_on(train, training.response)
    # A bound at the unconstrained share itself would be active by rounding.
    bounds = np.where(gammas > 0.0, np.minimum(reached, 1.0), 1.0)
    solutions = ours._solve(ridge, bounds)
    lines = {
        "Steinberg": Lines.of_fits(problem.basis, fits),
        "FRRM": Lines.of(ridge.basis, solutions),
    }
    return {name: errors(line, known, other) | {"gamma": gammas} for name, line in lines.items()}


# ------------------------------------------------------------------ fairlearn


def lacks_fairlearn() -> str:
    """Say that fairlearn is not installed, if so."""
    return "" if find_spec("fairlearn") else "fairlearn is not installed: fairridge[fairlearn]"


def fairlearn_part(case: str, run: int, settings: Settings) -> list[Row]:
    """One fold of the exponentiated gradient, and of FGRRM; a whole run takes minutes.

    ε = 0.1 can be read in two ways: as the bound on the difference of
    acceptance rates (`difference_bound`), or as fairlearn's argument `eps`,
    which leaves that bound at its default of 0.01. For BANK, age is taken as
    one group per year.
    """
    training = _read(case, FairRidgeClassifier, settings)
    folds = settings.cut(training.n_rows, run // settings.folds)
    train, test = training.fold(*folds[run % settings.folds])
    rows: list[Row] = []
    for name, bound, eps in (("fairlearn", EPSILON, 0.01), ("fairlearn, eps", 0.01, EPSILON)):
        counts, gap = exponentiated_gradient(train, test, bound=bound, eps=eps)
        for how, score in zip(("", ", majority"), f1(counts), strict=True):
            rows.append({"model": name + how, "r": EPSILON, "f1": score, "gap": gap})
    model = FairRidgeClassifier()
    problem = model._problem_on(train, training.response)
    lines = Lines.of(problem.basis, model._solve(problem, np.array(settings.bounds)))
    side = Side.of(test)
    scores = f1(classification_counts(lines.predictors(side.columns), side.y))
    rows += [
        {"model": "FGRRM", "r": r, "f1": score, "gap": 0.0}
        for r, score in zip(settings.bounds, scores, strict=True)
    ]
    return rows


def exponentiated_gradient(
    train: MemoryEngine, test: MemoryEngine, *, bound: float, eps: float
) -> tuple[Floats, float]:
    """Fit fairlearn's randomized classifier; return its counts on test rows, and the gap.

    The combinations of the values of S are the groups. The base classifier is
    a logistic regression with next to no penalty, on standardized columns.
    Counts are those expected of random predictions, and those of the more
    likely class; the gap is the duality gap beyond fairlearn's tolerance.
    """
    reductions: Any = import_module("fairlearn.reductions")
    (S, X, y, _), (_, Z, target, _) = train.columns(), test.columns()
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0.0] = 1.0
    groups = np.unique(S, axis=0, return_inverse=True)[1].ravel()
    base = LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=1000)
    parity = reductions.DemographicParity(difference_bound=bound)
    mitigator = reductions.ExponentiatedGradient(base, parity, eps=eps)
    mitigator.fit((X - center) / scale, y[:, 0].astype(np.intp), sensitive_features=groups)
    likely = mitigator._pmf_predict((Z - center) / scale)[:, 1]
    y = target[:, 0]
    expected = np.array([likely @ y, likely @ (1 - y), (1 - likely) @ y])
    majority = classification_counts(likely[:, None] - 0.5, y)[0]
    return np.array([expected, majority]), float(mitigator.best_gap_ - mitigator.nu)
