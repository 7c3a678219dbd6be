"""The case of an audit report: a model, its data, its solutions at all bounds, and refits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import largest_bound, listed
from fairridge.data import Rows, require_offsets
from fairridge.data.columns import OTHER
from fairridge.engines import MemoryEngine, in_memory
from fairridge.estimators._choosing import FOLD_TOLERANCE, quiet_fits
from fairridge.estimators._model import as_fitted
from fairridge.estimators._outcome import isolated_levels
from fairridge.estimators._responses import Inputs
from fairridge.estimators._training import Training, engine_of, read_training
from fairridge.exceptions import BoundWarning
from fairridge.families.cox_sweep import BaselineHazard
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.metrics.measure import dependence_of
from fairridge.reports.html.contents import Refits, Sample
from fairridge.search import Problem, Solution
from fairridge.validation.evaluate import accuracy_of, mean_and_error
from fairridge.validation.folds import Fold
from fairridge.validation.one_fold import Solved, WholeModel, require_response
from fairridge.validation.scored_model import PassedRows

# Bounds in steps of about the largest value over this; fewer if there are many rows.
POINTS, FEW_POINTS, MANY_ROWS = 40, 8, 20_000
# Near 0 models change most; these are added if the steps are wider.
SMALL_BOUNDS = (0.005, 0.01)


@dataclass(frozen=True)
class Case:
    """A model, its data, and its solutions at all bounds; `fitted` is the chosen one."""

    model: Any
    inputs: Inputs  # rows as they came
    training: Training
    problem: Problem
    bounds: Floats
    solutions: list[Solution]
    chosen: int
    remarks: tuple[str, ...] = ()
    fitted: Any = None

    @property
    def training_bounds(self) -> Floats:
        """Bounds in training; smaller than those in the population, if these are certified."""
        return np.array(
            [
                float(r) if solution.certificate is None else solution.certificate.training_bound
                for r, solution in zip(self.bounds, self.solutions, strict=True)
            ]
        )

    @cached_property
    def whole(self) -> WholeModel:
        """The model with a bound in training alone, for refits to parts of the rows."""
        rough = clone(self.model)
        if getattr(rough, "confidence", None) is not None:
            rough.set_params(confidence=None)
        if hasattr(rough, "tol"):
            rough.set_params(tol=max(rough.tol, FOLD_TOLERANCE))
        mapped = self.training.unmapped is not None  # features of parts are others
        return WholeModel(rough, self.training, None if mapped else self.problem.warm_start())


def report_bounds(chosen: float, free: float, maximum: float, points: int) -> Floats:
    """Return 0, round steps until bounds stop binding, the chosen bound, and no bound."""
    # `free` is what the unconstrained model achieves, `maximum` bounds nothing, and `points` says
    # about how many steps there are.
    end = min(max(free, chosen if chosen < maximum else 0.0, 1e-4), maximum)
    rough = end / points
    size = 10.0 ** np.floor(np.log10(rough))
    step = size * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * size >= rough * (1 - 1e-9))
    steps = np.round(np.arange(np.ceil(end / step) + 1) * step, 12)
    small = [r for r in SMALL_BOUNDS if r < step]
    return np.unique(np.concatenate([small, steps[steps < maximum], [chosen, maximum]]))


def read_case(model: Any, given: PassedRows) -> Case:
    """Read the data and solve for all bounds; what the fit warns of becomes a remark."""
    fresh = as_fitted(model)
    offset = model._shift(given.offset, given.exposure)
    if hasattr(model, "deviance_"):
        require_offsets(model._fitted.offsets, offset, type(model).__name__)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = given.X, given.y, given.sensitive_features, given.sample_weight
        training = read_training(fresh, *rows, offset)
        if not in_memory(training.engine):
            raise TypeError("an audit report needs the rows in memory; pass a frame or an array.")
        fresh, problem = fresh._set_up(training)
        bounds, solutions, chosen = _solved(fresh, training, problem)
        fitted = clone(fresh)._finish(training, problem, solutions[chosen])
        if hasattr(model, "chosen_"):  # by what rule its bound was chosen
            fitted.chosen_ = model.chosen_
    _require_same_model(model, training, problem, solutions[chosen])
    if not hasattr(model, "deviance_"):  # else the user has seen them when the model was fitted
        for warning in caught:
            warn_user(warning.message)
    remarks = [str(warning.message) for warning in caught]
    remarks += _isolated(problem, training) + _merged(training, fresh)
    remarks = list(dict.fromkeys(remarks))
    inputs = given.read(offset)
    return Case(fresh, inputs, training, problem, bounds, solutions, chosen, tuple(remarks), fitted)


def _solved(fresh: Any, training: Training, problem: Problem) -> tuple[Floats, list[Solution], int]:
    """Return the bounds of a report, their models, and the position of the model's own bound."""
    bound, maximum = float(largest_bound(fresh.unfairness)), min(fresh._traits.largest_bound, 1e6)
    ends = fresh._solve(problem, np.array([bound, maximum]))
    quick = training.n_rows <= MANY_ROWS and not ends[1].each
    free = max([each.achieved for each in ends[1].each.values()], default=ends[1].achieved)
    bounds = report_bounds(bound, free, maximum, POINTS if quick else FEW_POINTS)
    with warnings.catch_warnings():
        # That other bounds are not certified is expected, so not reported.
        if getattr(fresh, "confidence", None) is not None:
            warnings.simplefilter("ignore", BoundWarning)
        solutions = fresh._solve(problem, bounds)
    chosen = int(np.flatnonzero(bounds == bound)[0])
    # A certified bound is interpolated between models that depend on all bounds asked for.
    solutions[chosen] = ends[0]
    return bounds, solutions, chosen


def unblinded_case(case: Case) -> Case:
    """Return the case of the model that uses S to predict, at the chosen bound alone."""
    # A blind model keeps the levels that one with S would refuse.
    kept = "warn" if case.model.separation == "error" else case.model.separation
    model = clone(case.model).set_params(blind=False, separation=kept)
    bounds = case.bounds[[case.chosen]]
    with quiet_fits():
        model, problem = model._set_up(case.training)
        solutions = model._solve(problem, bounds)
    return replace(case, model=model, problem=problem, bounds=bounds, solutions=solutions, chosen=0)


def _isolated(problem: Problem, training: Training) -> list[str]:
    """Say which rows the model and its bound are without."""
    levels = isolated_levels(problem, training.design)
    if not levels:
        return []
    return [
        f"{sum(levels.values()):,} row(s) of {listed(levels)} are isolated, since all rows "
        "of such a level have the same outcome: the model is fitted to the other rows, the bound "
        "is about those, and each of these levels has a coefficient of its own."
    ]


def _merged(training: Training, model: Any) -> list[str]:
    """Say which predictors have rare levels that were merged."""
    columns = getattr(training.design.predictors, "columns", ())
    names = [column.name for column in columns if getattr(column, "merges", False)]
    if not names:
        return []
    return [
        f"Rare levels of {listed(names)} are merged into {OTHER!r} "
        f"(min_frequency={model.min_frequency:g}), which unseen levels belong to, too."
    ]


def _require_same_model(
    model: Any, training: Training, problem: Problem, solution: Solution
) -> None:
    """Raise if a fitted model is not what these data give."""
    # The deviance decides: coefficients of collinear or separating columns may differ between two
    # fits of the same model.
    if not hasattr(model, "deviance_"):
        return
    gap = abs(float(model.deviance_) - solution.fit.deviance)
    if model.n_rows_ != training.n_rows or gap > 1e-6 * problem.null_deviance:
        raise ValueError(
            "these are not the data that the model was fitted to: the fit differs. Pass the "
            "training data; or, for a report on rows that it has not seen, new_rows=True."
        )


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
