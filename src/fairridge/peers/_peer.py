"""What the linear models of comparison share: fit, path and summary."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fairridge._typing import (
    ColumnNames,
    Floats,
    MissingValues,
    TableLike,
    UnknownLevels,
    VectorLike,
)
from fairridge.arguments import check_bound, check_bounds, check_number
from fairridge.engines import Engine, threads_for_passes
from fairridge.estimators._checks import check_columns, warn_of_bound, warn_of_predictors
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._model import FairModel
from fairridge.estimators._responses import Response
from fairridge.estimators._storing import describe, store_solution, training_fingerprint
from fairridge.estimators._summary import bound_facts, summarize
from fairridge.estimators._training import Training, read_training
from fairridge.estimators.path import FairnessPath, path_of
from fairridge.peers._model import response_kind
from fairridge.reports import Summary
from fairridge.search import Choice, Problem, Solution


@dataclass(eq=False, repr=False)
class Peer(FairModel):
    """A linear model that is found for any bound once its problem is set up.

    Parameters are fields, so that a model lists only its own beside these.
    """

    unfairness: float = 0.05
    _: KW_ONLY
    sensitive: ColumnNames | None = None
    unknown: UnknownLevels = "error"
    predictor_map: Any = None
    sensitive_map: Any = None
    missing: MissingValues = "error"

    # What helps a fit that did not converge.
    _remedy: ClassVar[str] = "raise max_iter"

    _response_kind = property(response_kind)

    @abstractmethod
    def _problem_on(self, engine: Engine, response: Response) -> Problem:
        """Set the model up on some rows."""

    def _solve(self, problem: Any, bounds: Floats) -> list[Solution]:
        """Find the model for every bound."""
        solutions: list[Solution] = problem.solve(bounds)
        return solutions

    def _warn_of_solutions(
        self, problem: Any, solutions: list[Solution], training: Training
    ) -> None:
        """Warn of what is peculiar about the solutions, beyond their status."""

    def fit(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            Predictors, and the sensitive attributes if `sensitive` names them.
        y : array-like
            Response.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, if `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Weights; a row of weight zero is absent.
        offset : array-like of shape (n,), optional
            Added to the linear predictor with coefficient 1.

        Returns
        -------
        self
        """
        bounds = check_bound(self.unfairness, self._traits.largest_bound)
        training = read_training(self, X, y, sensitive_features, sample_weight, offset)
        with threads_for_passes(training.engine, training.response.family):
            problem = self._set_up(training)
            (solution,) = self._solve(problem, bounds)
        warn_of_bound(solution, self._remedy)
        self._warn_of_solutions(problem, [solution], training)
        return self._store(training, problem, solution)

    def path(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        unfairness: VectorLike | None = None,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
    ) -> FairnessPath:
        """Fit the models for many bounds at once.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, offset
            As in `fit`.
        unfairness : array-like, optional
            The bounds; 0, 0.01, …, 1 by default.

        Returns
        -------
        FairnessPath
            Coefficients and fairness for every bound; `at(r)` is a fitted model.
        """
        traits = self._traits
        if traits.given_penalty:
            name, _, _ = traits.given_penalty.partition("=")
            raise ValueError(
                f"path() goes over bounds, but {traits.given_penalty} fixes the penalty; set "
                f"{name}=None."
            )
        bounds = np.linspace(0.0, 1.0, 101) if unfairness is None else unfairness
        bounds = check_bounds(bounds, traits.largest_bound)
        training = read_training(self, X, y, sensitive_features, sample_weight, offset)
        with threads_for_passes(training.engine, training.response.family):
            problem = self._set_up(training)
            solutions = self._solve(problem, bounds)
        self._warn_of_solutions(problem, solutions, training)
        return path_of(self, training, problem, solutions)

    def summary(self) -> Summary:
        """Return coefficients, fit and fairness as an object that prints itself."""
        return summarize(self, bound_facts(self))

    _description = property(describe)
    fingerprint_ = property(training_fingerprint)

    def _set_up(self, training: Training) -> Any:
        """Set the model up on the training rows, and look at their columns."""
        problem: Any = self._problem_on(training.engine, training.response)
        check_columns(problem.basis, training, self._traits)
        if not self._traits.needs_sensitive:
            _, dependent = problem.space.dependent
            warn_of_predictors(dependent, training.design.predictors)
        return problem

    def _store(self, training: Training, problem: Any, solution: Solution) -> Self:
        """Keep what the fit found."""
        blind = not self._traits.needs_sensitive
        store_solution(self, training, problem, solution, blind=blind)
        return self


def given_penalty(name: str, value: Any) -> str | None:
    """Return ``name=value`` of a penalty that was given outright; None if a bound chooses it."""
    return None if value is None else f"{name}={check_number(name, value, minimum=0.0):g}"


def solve_penalized(
    model: Any, problem: Any, bounds: Floats, given: float | None
) -> list[Solution]:
    """Find the smallest penalty that meets each bound, or take the given one."""
    definition = problem.definition
    if given is None:
        solutions: list[Solution] = problem.solve(bounds)
        return solutions
    fit = problem.fits(np.array([given]))[0]
    done = "inactive" if given == 0.0 else "converged"
    status: Any = done if problem.converged(given) else "not-converged"
    value, components = definition.value(fit), definition.components(fit)
    return [Solution(float(r), fit, value, components, Choice(given, status)) for r in bounds]


# The models that are found for any bound once their problem is set up.
LinearModel = FairRidge | Peer
