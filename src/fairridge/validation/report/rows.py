"""The rows of an audit report: linear predictors at every bound, in training and held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from fairridge._typing import Floats, Integers
from fairridge.engines import MemoryEngine, in_memory
from fairridge.estimators._choosing import FOLD_TOLERANCE, quiet_fits
from fairridge.estimators._training import Training, engine_of
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.reports.html import Refits
from fairridge.search import Problem, Solution
from fairridge.validation.evaluate import mean_and_error
from fairridge.validation.folds import Fold
from fairridge.validation.linear import DenseRows

# Called as one more step of the work is done.
Step = Callable[[], None]

# Percentiles between which an interval of refits lies.
INTERVAL = (50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE))


@dataclass(frozen=True)
class Measured:
    """All bounds on the same rows."""

    eta: Floats  # linear predictors, with the offset, of shape (m, n, K)
    # Scores, shares, and `dependence`: how far η depends on S, which the model bounds. On
    # held-out rows means over folds, as in `cross_validate`. Of shape (m,).
    measures: dict[str, Floats]
    errors: dict[str, Floats]  # their standard errors; empty in training, of shape (m,)


def with_comparable(training: Training) -> Training:
    """Return training data whose linear predictors can be compared with their response."""
    engine = training.engine
    if not in_memory(engine):
        raise TypeError("an audit report needs the rows in memory; pass a frame or an array.")
    if training.response.family.least_squares and engine.offset is not None:
        # A gaussian response has the offset taken off already.
        rows = replace(engine.rows, offset=None)
        return replace(training, engine=engine_of(rows, training.response.family))
    return training


def measure_training(
    model: Any, training: Training, problem: Problem, solutions: list[Solution]
) -> Measured:
    """Measure every solution on the rows it was fitted to."""
    rows = DenseRows.of(_rows_of(training))
    measures = _measure(model, problem, solutions, rows, adjusted=False)
    return Measured(measures.pop("eta"), measures, {})


def measure_folds(
    model: Any,
    training: Training,
    problem: Problem,
    bounds: Floats,
    folds: list[Fold],
    step: Step,
) -> Measured:
    """Measure models on rows that they were not fitted to, every row once."""
    measured = []
    for fold in folds:
        if not _can_be_fitted(training, fold[0]):
            raise ValueError(
                "the training rows of a fold lack a class, events, or a response other than 0; "
                "use fewer folds: cv=…"
            )
        train, test = training.fold(*fold)
        fold_problem, solutions = _solve(model, training, problem, train, bounds)
        measured.append(_measure(model, fold_problem, solutions, DenseRows.of(test), adjusted=True))
        step()
    eta = np.empty((len(bounds), training.n_rows, measured[0]["eta"].shape[2]))
    for (_, test_rows), each in zip(folds, measured, strict=True):
        eta[:, test_rows] = each.pop("eta")
    means, errors = {}, {}
    for name in measured[0]:
        means[name], errors[name] = mean_and_error(np.array([each[name] for each in measured]))
    return Measured(eta, means, errors)


def _measure(
    model: Any, problem: Problem, solutions: list[Solution], rows: DenseRows, *, adjusted: bool
) -> dict[str, Floats]:
    """Return `eta` and `dependence` of every bound, its shares of η and means, and its scores."""
    measures = []
    for solution in solutions:
        eta = rows.eta(problem.basis, solution.fit)
        dependence = rows.achieved(model._traits.definition, solution.fit, eta, adjusted=adjusted)
        measured = {"eta": rows.with_offset(eta), "dependence": dependence}
        measured |= rows.yardstick(problem.family, eta, adjusted=adjusted)
        measured |= rows.explained(problem.family, eta, _baseline(solution))
        measures.append(measured | rows.accuracy(problem.family, eta))
    return {name: np.array([at_bound[name] for at_bound in measures]) for name in measures[0]}


def _baseline(solution: Solution) -> tuple[Floats, Floats] | None:
    """Return event times and log H₀ there, of a model of times."""
    family = solution.fit.family
    if family.reads != "times":
        return None
    times, log_hazard = solution.fit.sum_over_rows(
        BaselineHazard(family), sensitive=True, predictors=True, center=True
    )
    return times, log_hazard


def refit(
    model: Any,
    training: Training,
    problem: Problem,
    bound: float,
    count: int,
    rng: np.random.Generator,
    step: Step,
) -> Refits:
    """Refit to resampled rows, and measure each refit on all rows (bootstrap).

    The rows stand for the population: how unfair the refits are there shows
    how unfair a model with this bound may be in the population that the rows
    were sampled from. Resampling n rows with replacement is weighting them by
    multinomial counts.
    """
    part = DenseRows.of(_rows_of(training))
    rows, values = part.engine.rows, []
    for _ in range(count):
        counts = rng.multinomial(rows.n_rows, np.full(rows.n_rows, 1.0 / rows.n_rows))
        drawn = np.flatnonzero(counts)
        if _can_be_fitted(training, drawn):
            weight = counts[drawn] * (1.0 if rows.weight is None else rows.weight[drawn])
            sample = replace(rows.take(drawn), weight=weight.astype(np.float64))
            engine = engine_of(sample, training.response.family)
            refitted, solutions = _solve(model, training, problem, engine, np.array([bound]))
            fit = solutions[0].fit
            eta = part.eta(refitted.basis, fit)
            values.append(part.achieved(model._traits.definition, fit, eta, adjusted=False))
        step()
    low, high = np.percentile(values, INTERVAL) if values else (np.nan, np.nan)
    return Refits(float(low), float(high), len(values))


def _solve(
    model: Any, training: Training, problem: Problem, engine: MemoryEngine, bounds: Floats
) -> tuple[Problem, list[Solution]]:
    """Solve on some of the rows, starting from the solution on all of them."""
    rough = clone(model)
    if hasattr(rough, "tol"):
        rough.set_params(tol=max(rough.tol, FOLD_TOLERANCE))
    with quiet_fits():
        part = rough._problem_on(engine, training.response.on(engine))
        if training.unmapped is None:
            part.start_from(problem.warm_start())
        return part, rough._solve(part, bounds)


def _can_be_fitted(training: Training, rows: Integers) -> bool:
    """Whether some rows have every class, events, or counts and amounts other than 0."""
    values = _rows_of(training).response[rows]
    classes = training.response.classes
    if classes is not None:
        return len(np.unique(values[:, 0])) == len(classes)
    if training.response.family.reads == "times":
        return bool(values[:, 1].any())
    return training.response.family.least_squares or bool(values[:, 0].any())


def _rows_of(training: Training) -> MemoryEngine:
    assert in_memory(training.engine)
    return training.engine
