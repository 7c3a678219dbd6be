"""predictor_penalty="cv": λ₂ by cross-validation, at the bound that the model has."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from fairridge._typing import Floats, Integers
from fairridge.engines import MemoryEngine, in_memory, one_blas_thread
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.families import Family
from fairridge.families.base import with_class_weights
from fairridge.inference.leave_one_out import leave_one_out
from fairridge.models import FairBasis, Fit

CHOSEN = "cv"
# λ₂ over the mean of the nonzero eigenvalues of UᵀU, which is n for standardized columns that are
# not collinear: from hardly any shrinkage to hardly any β.
GRID = np.logspace(2.0, -4.0, 25)
# Folds for models without a closed form.
N_FOLDS = 5
# How closely bounds are met by models of folds and refits, which are averaged: more digits of
# λ(r) would show nowhere.
FOLD_TOLERANCE = 1e-6


def with_chosen_penalty(model: Any, training: Training) -> Any:
    """Return the model with a number for λ₂; itself if it has one."""
    # λ₂ is chosen from 25 values, 10⁻⁴ to 10² times the mean of the nonzero
    # eigenvalues of UᵀU, for the smallest squared error or deviance of rows left
    # out: each row once, in closed form, for least squares with a quadratic
    # penalty on α; in five folds otherwise, for every second of these values. Of
    # equal ones the largest is taken.
    if not model._traits.chooses_penalty:
        return model
    _check(model, training)
    plain = clone(model).set_params(confidence=None)
    plain.set_params(predictor_penalty=0.0, tol=max(plain.tol, FOLD_TOLERANCE))
    with quiet_fits():
        problem, grid = _start(plain, training)
        if problem.has_leave_one_out:
            problems = [problem.with_predictor_penalty(float(value)) for value in grid]
            # Rows are left out one by one, for every λ₂ at its own λ(r).
            losses = leave_one_out([(p, plain._solve_own(p, training).fit) for p in problems])
        else:
            grid, folds = grid[::2], _folds(training, model.random_state)
            losses = np.sum([_of_fold(plain, training, fold, grid) for fold in folds], axis=0)
    return clone(model).set_params(predictor_penalty=float(grid[np.argmin(losses)]))


@contextmanager
def quiet_fits() -> Iterator[None]:
    """Fit to parts of the rows: many small matrices, without a warning for each of them."""
    # A level that a training set lacks is not a defect of the data, and the
    # status shows whether the bound is met.
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", BoundWarning)
        yield


def _check(model: Any, training: Training) -> None:
    if not in_memory(training.engine):
        raise ValueError(
            "predictor_penalty='cv' needs the rows in memory, to leave some of them out: pass a "
            "frame or a NumPy array, or give a number."
        )
    if model.confidence is not None and model.certification != "held-out":
        raise ValueError(
            "predictor_penalty='cv' with confidence needs certification='held-out': other "
            "certificates take the penalty as given, and this one is chosen from the same rows."
        )


def _start(model: Any, training: Training) -> tuple[Any, Floats]:
    """Set the model up with a penalty, as collinear columns and separation require."""
    ones = model.set_params(predictor_penalty=1.0)
    problem = ones._problem_on(training.engine, training.response)
    basis = problem.space.basis
    eigenvalues = basis.predictors.eigenvalues
    typical = float(eigenvalues.mean()) if eigenvalues.size else float(basis.weight)
    return problem, GRID * typical


def _folds(training: Training, seed: int) -> list[tuple[Integers, Integers]]:
    """Divide the rows into folds, the same for the same seed; classes and events evenly."""
    response, n = training.response, training.n_rows
    values = training.engine.response
    if response.classes is None and response.family.reads != "times":
        return list(KFold(min(N_FOLDS, n), shuffle=True, random_state=seed).split(values))
    strata = values[:, 1] > 0.0 if response.family.reads == "times" else values[:, 0]
    labels, counts = np.unique(strata, return_counts=True)
    fewest = int(counts.min())
    if response.classes is not None and fewest < 2:
        label = response.classes[int(labels[counts.argmin()])]
        raise ValueError(
            f"predictor_penalty='cv' leaves rows out, and class {str(label)!r} has one row; merge "
            "or drop it, or give a number."
        )
    several = StratifiedKFold(min(N_FOLDS, max(fewest, 2)), shuffle=True, random_state=seed)
    return list(several.split(values, strata))


def _of_fold(
    model: Any, training: Training, fold: tuple[Integers, Integers], grid: Floats
) -> Floats:
    """Return the deviance of a fold under the models of all other rows, for every λ₂."""
    train, test = training.fold(*fold)
    weights = getattr(training.response.family, "class_weights", None)
    losses = []
    for value in grid:
        penalized = clone(model).set_params(predictor_penalty=float(value))
        problem = penalized._problem_on(train, training.response.on(train))
        fit = penalized._solve_own(problem, training).fit
        # Classes have the weights of the fit to all rows, so that the folds add up.
        family = with_class_weights(problem.family, weights)
        losses.append(_deviance(test, family, problem.basis, fit))
    return np.array(losses)


def _deviance(engine: MemoryEngine, family: Family, basis: FairBasis, fit: Fit) -> float:
    """Return the deviance of rows that the model was not fitted to; ∞ if it overflows."""
    raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    eta = engine.scores(raw) + (np.atleast_1d(fit.mean_intercept) - raw @ basis.center)
    eta = eta if engine.offset is None else eta + engine.offset[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        terms = family.deviance_terms(
            engine.response, family.to_contrasts(eta.T).T, engine.weights, 0
        )
    return float(np.nan_to_num(float(terms.deviance), nan=np.inf))
