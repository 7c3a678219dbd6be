"""What models share whose penalty is found by a bound, or given outright."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fairridge._warnings import warn_user
from fairridge.estimators._bounded import BoundedModel
from fairridge.estimators._facts import bound_facts
from fairridge.estimators._parameters import check_count, check_number
from fairridge.estimators._training import Training
from fairridge.estimators.path import FairnessPath
from fairridge.fairness import Definition
from fairridge.search import Choice, Problem, Solution, solve

__all__ = ["Penalized"]

Floats = NDArray[np.float64]


class Penalized(BoundedModel):
    """A model at the smallest penalty that meets a bound, or at a given one."""

    tol: Any
    max_iter: Any
    # The parameter that gives the penalty outright, and its symbol.
    _strength_name = "strength"
    _symbol = "λ"

    @abstractmethod
    def _definition_on(self, problem: Any) -> Definition:
        """Return what is bounded, as known on the rows of a problem."""

    @property
    def _only_moments(self) -> bool:
        return False

    @property
    def _given(self) -> float | None:
        value = getattr(self, self._strength_name)
        return None if value is None else check_number(self._strength_name, value, least=0.0)

    @property
    def _steps(self) -> int:
        return check_count("max_iter", self.max_iter)

    def _solve(self, problem: Problem, bounds: Floats) -> list[Solution]:
        tol = check_number("tol", self.tol, least=0.0, strict=True)
        definition, given = self._definition_on(problem), self._given
        if given is None:
            return solve(problem, definition, bounds, tol=tol, max_iter=self._steps)
        fit = problem.fits(np.array([given]))[0]
        done = "inactive" if given == 0.0 else "converged"
        status: Any = done if problem.converged(given) else "not-converged"
        value, components = definition.value(fit), definition.components(fit)
        return [Solution(float(r), fit, value, components, Choice(given, status)) for r in bounds]

    def _path(
        self, training: Training, problem: Problem, solutions: list[Solution]
    ) -> FairnessPath:
        if self._given is not None:
            raise ValueError(
                f"path() goes over bounds, but {self._strength_name}={self._given:g} fixes the "
                f"penalty; set {self._strength_name}=None."
            )
        return super()._path(training, problem, solutions)

    def _warn_of_bound(self, solution: Solution) -> None:
        if solution.choice.status == "not-converged":
            warn_user(
                f"the fit did not converge ({self._symbol} = {solution.choice.lambda_:.6g}, "
                f"achieved unfairness {solution.achieved:.6g}); raise max_iter.",
                ConvergenceWarning,
            )
            return
        super()._warn_of_bound(solution)

    def _facts(self) -> tuple[tuple[str, str], ...]:
        facts = dict(bound_facts(self, self._symbol))
        if self._given is not None:
            facts["Bound r"] = "none"
        return tuple(facts.items())
