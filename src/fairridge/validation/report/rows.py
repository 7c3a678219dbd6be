"""The rows of an audit report: linear predictors at every bound, in training and held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fairridge.engines import MemoryEngine, one_blas_thread
from fairridge.estimators._training import Training, engine_of
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.fairness import Definition
from fairridge.metrics import scatter_of
from fairridge.reports.html import Refits
from fairridge.search import Problem, Solution
from fairridge.validation.report.scores import scores

__all__ = ["Measured", "Step", "in_memory", "measure_folds", "measure_training", "refit"]

Floats = NDArray[np.float64]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
# Called as one more step of the work is done.
Step = Callable[[], None]

# Refits and folds are averaged: more digits of λ(r) would show nowhere.
ROUGH = 1e-6
INTERVAL = (2.5, 97.5)
EVERY_ROW = slice(None)


@dataclass(frozen=True)
class Measured:
    """All bounds on the same rows.

    Attributes
    ----------
    eta : ndarray of shape (m, n, K)
        Linear predictors.
    measures : dict of str to ndarray of shape (m,)
        Scores; means over folds where rows were held out.
    errors : dict of str to ndarray of shape (m,)
        Their standard errors; empty in training.
    dependence, dependence_error : ndarray of shape (m,)
        How far η depends on S.
    """

    eta: Floats
    measures: dict[str, Floats]
    errors: dict[str, Floats]
    dependence: Floats
    dependence_error: Floats


@dataclass(frozen=True)
class _Part:
    """Some rows, written out.

    Attributes
    ----------
    engine : MemoryEngine
        Where they are.
    center : ndarray of shape (q+p,)
        Means of [S, X].
    columns : ndarray of shape (n, q+p)
        [S, X] less those.
    """

    engine: MemoryEngine
    center: Floats
    columns: Floats

    @classmethod
    def of(cls, engine: MemoryEngine) -> _Part:
        S, X, _, weight = engine.columns()
        columns = np.hstack([S, X])
        center = np.average(columns, axis=0, weights=weight)
        return cls(engine, center, columns - center)

    def eta(self, problem: Problem, solution: Solution) -> Floats:
        """Linear predictors of shape (n, K), with the offset."""
        fit, basis = solution.fit, problem.basis
        raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
        level = np.atleast_1d(fit.intercept + fit.alpha @ basis.center_sensitive)
        eta: Floats = level + raw @ (self.center - basis.center) + self.columns @ raw.T
        offset = self.engine.offset
        return eta if offset is None else eta + offset[:, None]

    def scores(self, problem: Problem, eta: Floats) -> dict[str, Floats]:
        """Scores of linear predictors of shape (m, n, K), one number per bound."""
        response, weight = self.engine.response, self.engine.weights
        found = [scores(problem.family, response, one, weight) for one in eta]
        return {name: np.array([one[name] for one in found]) for name in found[0]}

    def scatter(self, eta: Floats, rows: Any = EVERY_ROW) -> Floats:
        """Scatter of [S, η, y] over some of the rows."""
        q = self.engine.n_sensitive
        joint = np.hstack([self.columns[rows, :q], eta[rows], self.engine.rows.targets[rows]])
        return scatter_of(joint, self.engine.weights[rows])


def in_memory(training: Training) -> Training:
    """Return training data whose linear predictors can be compared with their response."""
    engine = training.engine
    if not isinstance(engine, MemoryEngine):
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
    part = _Part.of(_rows_of(training))
    eta = np.array([part.eta(problem, solution) for solution in solutions])
    dependence = np.array(
        [
            _unfairness(model._definition, part, solution, one)
            for solution, one in zip(solutions, eta, strict=True)
        ]
    )
    return Measured(eta, part.scores(problem, eta), {}, dependence, np.zeros(len(eta)))


def measure_folds(
    model: Any,
    training: Training,
    problem: Problem,
    bounds: Floats,
    folds: list[Fold],
    step: Step,
) -> Measured:
    """Measure models on rows that they were not fitted to, every row once.

    Dependence on S is measured on all held-out rows together, because the R²
    of few rows on S is large by chance; its standard error is the jackknife's
    over folds. Definitions that need the model itself are averaged over folds.
    """
    etas, found, unfairness = [], [], []
    for fold in folds:
        own, part, solutions = _solve_fold(model, training, problem, fold, bounds)
        eta = np.array([part.eta(own, solution) for solution in solutions])
        found.append(part.scores(own, eta))
        etas.append(eta)
        if model._definition.pooled is None:
            values = zip(solutions, eta, strict=True)
            unfairness.append([_unfairness(model._definition, part, s, e) for s, e in values])
        step()
    everyone = np.empty((len(bounds), training.n_rows, etas[0].shape[2]))
    for (_, test), eta in zip(folds, etas, strict=True):
        everyone[:, test] = eta
    stacked = {name: np.array([one[name] for one in found]) for name in found[0]}
    if unfairness:
        dependence, error = _mean(np.array(unfairness)), _standard_error(np.array(unfairness))
    else:
        dependence, error = _jackknife(
            model._definition, _Part.of(_rows_of(training)), everyone, folds
        )
    return Measured(
        everyone,
        {name: _mean(values) for name, values in stacked.items()},
        {name: _standard_error(values) for name, values in stacked.items()},
        dependence,
        error,
    )


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
    rows = _rows_of(training).rows
    part, n = _Part.of(_rows_of(training)), rows.n_rows
    values = []
    for _ in range(count):
        counts = rng.multinomial(n, np.full(n, 1.0 / n))
        drawn = np.flatnonzero(counts)
        if _can_be_fitted(training, drawn):
            weight = counts[drawn] * (1.0 if rows.weight is None else rows.weight[drawn])
            sample = replace(rows.take(drawn), weight=weight.astype(np.float64))
            engine = engine_of(sample, training.response.family)
            own, solutions = _solve(model, training, problem, engine, np.array([bound]))
            eta = part.eta(own, solutions[0])
            values.append(_unfairness(model._definition, part, solutions[0], eta))
        step()
    low, high = np.percentile(values, INTERVAL) if values else (np.nan, np.nan)
    return Refits(float(low), float(high), len(values))


def _solve_fold(
    model: Any, training: Training, problem: Problem, fold: Fold, bounds: Floats
) -> tuple[Problem, _Part, list[Solution]]:
    if not _can_be_fitted(training, fold[0]):
        raise ValueError(
            "the training rows of a fold lack a class, or events; use fewer folds: cv=…"
        )
    train, test = training.fold(*fold)
    own, solutions = _solve(model, training, problem, train, bounds)
    return own, _Part.of(test), solutions


def _solve(
    model: Any, training: Training, problem: Problem, engine: MemoryEngine, bounds: Floats
) -> tuple[Problem, list[Solution]]:
    """Solve on some of the rows, starting from the solution on all of them."""
    rough = clone(model)
    if hasattr(rough, "tol"):
        rough.set_params(tol=max(rough.tol, ROUGH))
    with _quiet():
        own = rough._problem_on(engine, training.response)
        if training.unmapped is None:
            own.plant(problem.seed())
        return own, rough._solve(own, bounds)


def _unfairness(definition: Definition, part: _Part, solution: Solution, eta: Floats) -> float:
    q, k = part.engine.n_sensitive, eta.shape[1]
    return definition.held_out(solution.fit, part.engine, part.scatter(eta), q, k)


def _jackknife(
    definition: Definition, part: _Part, eta: Floats, folds: list[Fold]
) -> tuple[Floats, Floats]:
    """Return a pooled measure of every bound, and its standard error from leaving out folds."""
    share = definition.pooled
    assert share is not None
    q, k = part.engine.n_sensitive, eta.shape[2]
    whole = np.array([share(part.scatter(one), q, k) for one in eta])
    without = np.array(
        [[share(part.scatter(one, train), q, k) for one in eta] for train, _ in folds]
    )
    spread = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    return whole, np.sqrt(spread * (len(folds) - 1) / len(folds))


def _can_be_fitted(training: Training, rows: NDArray[np.intp]) -> bool:
    """Whether some rows have every class, events, or a response that varies."""
    values = _rows_of(training).response[rows]
    classes = training.response.classes
    if classes is not None:
        return len(np.unique(values[:, 0])) == len(classes)
    if training.response.family.reads == "times":
        return bool(values[:, 1].any())
    return bool(np.ptp(values[:, 0]) > 0.0)


def _rows_of(training: Training) -> MemoryEngine:
    assert isinstance(training.engine, MemoryEngine)
    return training.engine


def _mean(values: Floats) -> Floats:
    """Mean over folds; a fold where a measure is not defined does not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # defined nowhere
        mean: Floats = np.nanmean(values, axis=0)
    return mean


def _standard_error(values: Floats) -> Floats:
    if len(values) < 2:
        return np.zeros(values.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        error: Floats = np.nanstd(values, axis=0, ddof=1) / np.sqrt(len(values))
    return error


@contextmanager
def _quiet() -> Iterator[None]:
    """Small matrices on one thread; a level that a sample lacks is no defect of the data."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", BoundWarning)
        yield
