"""The fits of an audit report, measured: at every bound in training and held out, and in refits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Rows
from fairridge.engines import MemoryEngine, in_memory
from fairridge.estimators._choosing import quiet_fits
from fairridge.estimators._training import Training, engine_of
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.metrics.measure import dependence_of
from fairridge.reports.html.contents import Refits, Sample
from fairridge.search import Solution
from fairridge.validation.evaluate import accuracy_of, mean_and_error
from fairridge.validation.folds import Fold
from fairridge.validation.one_fold import Solved, WholeModel, require_response
from fairridge.validation.report.case import Case

# Called as one more step of the work is done.
Step = Callable[[], None]

# Percentiles between which an interval of refits lies.
INTERVAL = (50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE))


@dataclass(frozen=True)
class Measured:
    """All bounds on the same rows, and how these compare groups."""

    called: str  # "training" or "held-out"
    scores: Floats  # linear predictors, without any offset, of shape (m, n, K)
    # Scores, shares, and `dependence`: how far scores depend on S, which the model bounds. On
    # held-out rows means over folds, as in `cross_validate`. Of shape (m,).
    measures: dict[str, Floats]
    errors: dict[str, Floats]  # their standard errors; empty in training, of shape (m,)
    samples: tuple[Sample, ...] = ()


def measure_training(solved: Solved) -> Measured:
    """Measure every solution on the rows it was fitted to."""
    return Measured("training", *_measured(solved, rows_of(solved.whole.training)), {})


def measure_folds(whole: WholeModel, bounds: Floats, folds: list[Fold], step: Step) -> Measured:
    """Measure models on rows that they were not fitted to, every row once."""
    measured = []
    for fold in folds:
        with quiet_fits():
            solved, _, test = whole.solved_fold(fold, bounds)
        measured.append(_measured(solved, test, adjusted=True))
        step()
    scores = np.empty((len(bounds), whole.training.n_rows, measured[0][0].shape[2]))
    for (_, test_rows), (of_fold, _) in zip(folds, measured, strict=True):
        scores[:, test_rows] = of_fold
    means, errors = {}, {}
    for name in measured[0][1]:
        values = np.array([each[name] for _, each in measured])
        means[name], errors[name] = mean_and_error(values)
    return Measured("held-out", scores, means, errors)


def _measured(
    solved: Solved, engine: MemoryEngine, *, adjusted: bool = False
) -> tuple[Floats, dict[str, Floats]]:
    """Return the scores of rows at every bound, and what is measured of them."""
    scored = solved.scored(engine)
    achieved = solved.achieved(engine, scored, adjusted=adjusted)
    measures = [
        {"dependence": bounded}
        | dependence_of(rows, adjusted=adjusted)
        | accuracy_of(rows, _baseline(solution))
        for solution, rows, bounded in zip(solved.solutions, scored, achieved, strict=True)
    ]
    return np.array([rows.scores for rows in scored]), {
        name: np.array([at_bound[name] for at_bound in measures]) for name in measures[0]
    }


def _baseline(solution: Solution) -> tuple[Floats, Floats] | None:
    """Return event times and log H₀ there, of a model of times."""
    family = solution.fit.family
    if family.reads != "times":
        return None
    times, log_hazard = solution.fit.sum_over_rows(
        BaselineHazard(family), sensitive=True, predictors=True, center=True
    )
    return times, log_hazard


def refit(case: Case, count: int, seed: int, step: Step) -> Refits | None:
    """Refit the chosen model to resampled rows, and measure each refit on all rows (bootstrap)."""
    # The rows stand for the population: how unfair the refits are there shows how unfair a model
    # with this bound may be in the population that the rows were sampled from. Resampling n rows
    # with replacement is weighting them by multinomial counts.
    if not count:
        return None
    rng, whole, values = np.random.default_rng(seed), case.whole, []
    training, bound = whole.training, case.training_bounds[[case.chosen]]
    engine = rows_of(training)
    for _ in range(count):
        sample = engine_of(_resampled(engine.rows, rng), training.response.family)
        if _can_be_fitted(training, sample):
            with quiet_fits():
                solved = whole.solved(sample, bound)
            values += solved.achieved(engine, solved.scored(engine), adjusted=False)
        step()
    low, high = np.percentile(values, INTERVAL) if values else (np.nan, np.nan)
    return Refits(float(low), float(high), len(values))


def _can_be_fitted(training: Training, sample: MemoryEngine) -> bool:
    """Whether a sample has every class, events, or counts and amounts other than 0."""
    try:
        require_response(training, sample)
    except ValueError:
        return False
    return True


def _resampled(rows: Rows, rng: np.random.Generator) -> Rows:
    """Draw as many rows as there are, with replacement; their weights are counts."""
    counts = rng.multinomial(rows.n_rows, np.full(rows.n_rows, 1.0 / rows.n_rows))
    drawn = np.flatnonzero(counts)
    weight = counts[drawn] * (1.0 if rows.weight is None else rows.weight[drawn])
    return replace(rows.take(drawn), weight=weight.astype(np.float64))


def rows_of(training: Training) -> MemoryEngine:
    """Return the rows of training data."""
    assert in_memory(training.engine)
    return training.engine
