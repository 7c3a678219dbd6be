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
from fairridge.estimators._means import explained_deviance
from fairridge.estimators._training import Training, engine_of
from fairridge.families import Family
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.metrics import ScoredRows, dependence_of
from fairridge.metrics.brier import integrated_brier_score
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.reports.html import Refits
from fairridge.search import Problem, Solution
from fairridge.validation import evaluate
from fairridge.validation.evaluate import mean_and_error
from fairridge.validation.folds import Fold
from fairridge.validation.linear import achieved, scored_fits
from fairridge.validation.read_rows import scores_of, written

# Called as one more step of the work is done.
Step = Callable[[], None]

# Measures of accuracy, the most informative one first, by what the family reads.
MEASURES: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "numbers": (("d_squared", "D²", True),),
    "classes": (("auc", "AUC", True), ("accuracy", "Accuracy", True)),
    "several classes": (
        ("accuracy", "Accuracy", True),
        ("auc", "AUC (one against the rest)", True),
    ),
    "times": (
        ("concordance", "Concordance", True),
        ("brier", "Integrated Brier score", False),
    ),
}
R_SQUARED = ("r_squared", "R²", True)
RMSE = ("rmse", "RMSE", False)
LOSS = ("loss", "Mean deviance", False)

# Percentiles between which an interval of refits lies.
INTERVAL = (50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE))


@dataclass(frozen=True)
class Measured:
    """All bounds on the same rows."""

    scores: Floats  # linear predictors, without any offset, of shape (m, n, K)
    # Scores, shares, and `dependence`: how far scores depend on S, which the model bounds. On
    # held-out rows means over folds, as in `cross_validate`. Of shape (m,).
    measures: dict[str, Floats]
    errors: dict[str, Floats]  # their standard errors; empty in training, of shape (m,)


def measure_training(
    model: Any, training: Training, problem: Problem, solutions: list[Solution]
) -> Measured:
    """Measure every solution on the rows it was fitted to."""
    return Measured(*_measure(model, training, problem, solutions, rows_of(training)), {})


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
        measured.append(_measure(model, training, fold_problem, solutions, test, adjusted=True))
        step()
    scores = np.empty((len(bounds), training.n_rows, measured[0][0].shape[2]))
    for (_, test_rows), (of_fold, _) in zip(folds, measured, strict=True):
        scores[:, test_rows] = of_fold
    means, errors = {}, {}
    for name in measured[0][1]:
        values = np.array([each[name] for _, each in measured])
        means[name], errors[name] = mean_and_error(values)
    return Measured(scores, means, errors)


def _measure(
    model: Any,
    training: Training,
    problem: Problem,
    solutions: list[Solution],
    engine: MemoryEngine,
    *,
    adjusted: bool = False,
) -> tuple[Floats, dict[str, Floats]]:
    """Return the scores of rows at every bound, and what is measured of them."""
    scored, definition = scored_fits(engine, training, problem, solutions), model._traits.definition
    measures = []
    for solution, rows in zip(solutions, scored, strict=True):
        dependence = achieved(definition, solution.fit, engine, rows, adjusted=adjusted)
        measured = {"dependence": dependence} | dependence_of(rows, adjusted=adjusted)
        measures.append(measured | accuracy_of(rows, _baseline(solution)))
    names = measures[0]
    return np.array([rows.scores for rows in scored]), {
        name: np.array([at_bound[name] for at_bound in measures]) for name in names
    }


def accuracy_of(
    rows: ScoredRows, baseline: tuple[Floats, Floats] | None = None
) -> dict[str, float]:
    """Return loss and scores, D² of counts and amounts, and the Brier score of times.

    `baseline` are event times and log H₀ there, of a model of times.
    """
    family, response, weight = rows.family, rows.response, rows.weight
    found = evaluate.accuracy(rows)
    if family.reads == "times" and baseline is not None:
        time, event = response.T
        brier = integrated_brier_score(time, event, rows.eta[:, 0], weight, baseline)
        return found | {"brier": brier}
    if family.reads != "numbers" or family.least_squares:
        return found
    explained = explained_deviance(family, response, rows.eta, weight, rows.added)
    return found | {"d_squared": explained}


def measures_of(family: Family) -> tuple[tuple[str, str, bool], ...]:
    """Return key, name and whether more is better of the measures of accuracy of a family."""
    if family.least_squares:
        return R_SQUARED, RMSE
    kind = "several classes" if family.n_predictors > 1 else family.reads
    return (*MEASURES[kind], LOSS)


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
    engine, values = rows_of(training), []
    known, rows = written(engine, training.response), engine.rows
    definition = model._traits.definition
    for _ in range(count):
        counts = rng.multinomial(rows.n_rows, np.full(rows.n_rows, 1.0 / rows.n_rows))
        drawn = np.flatnonzero(counts)
        if _can_be_fitted(training, drawn):
            weight = counts[drawn] * (1.0 if rows.weight is None else rows.weight[drawn])
            sample = replace(rows.take(drawn), weight=weight.astype(np.float64))
            drawn_rows = engine_of(sample, training.response.family)
            refitted, solutions = _solve(model, training, problem, drawn_rows, np.array([bound]))
            fit = solutions[0].fit
            scored = replace(known, scores=scores_of(engine, refitted.basis, [fit])[0])
            values.append(achieved(definition, fit, engine, scored, adjusted=False))
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
    values = rows_of(training).response[rows]
    classes = training.response.classes
    if classes is not None:
        return len(np.unique(values[:, 0])) == len(classes)
    if training.response.family.reads == "times":
        return bool(values[:, 1].any())
    return training.response.family.least_squares or bool(values[:, 0].any())


def rows_of(training: Training) -> MemoryEngine:
    """Return the rows of training data."""
    assert in_memory(training.engine)
    return training.engine
