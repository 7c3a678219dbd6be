"""What Zafar et al.'s models share: bounds on each sensitive attribute, and no S after fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import check_option
from fairridge.estimators._checks import warn_of_predictors
from fairridge.estimators._model import Traits
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning
from fairridge.peers._peer import Peer
from fairridge.peers.zafar.least_squares import definition_of
from fairridge.search import Solution

__all__ = ["Zafar"]


class Zafar(Peer):
    """A linear model of X alone, whose association with each column of S is bounded."""

    bound: Any
    at_zero: Any
    _remedy = "raise max_iter, or leave out predictors that separate the classes"

    @property
    def _traits(self) -> Traits:
        return Traits(
            definition_of(self.bound),
            largest_bound=np.inf if self.bound == "covariance" else 1.0,
            needs_sensitive=False,
            moments_suffice=True,
            regularized=True,  # predictors may be collinear with S; `_set_up` looks at X alone
            multiplier="Price of the bound",
        )

    def _checked_options(self) -> dict[str, Any]:
        check_option("bound", self.bound, ("correlation", "covariance"))
        check_option("at_zero", self.at_zero, ("project", "drop"))
        return {"bound": self.bound, "at_zero": self.at_zero}

    def _set_up(self, training: Training) -> Any:
        problem = super()._set_up(training)
        warn_of_predictors(problem.space.dependent, training.design.predictors)
        return problem

    def _solve(self, problem: Any, bounds: Floats) -> list[Solution]:
        solutions: list[Solution] = problem.solve(bounds)
        return solutions

    def _warn_of_solutions(
        self, problem: Any, solutions: list[Solution], training: Training
    ) -> None:
        self._warn_of_intercept(solutions)

    def _warn_of_intercept(self, solutions: list[Solution]) -> None:
        """Say that nothing else is left under a bound."""
        for solution in solutions:
            if not solution.fit.beta.any() and solution.fit.lambda_ > 0.0:
                r = f"unfairness={solution.unfairness:g}"
                warn_user(
                    f"only the intercept meets {r}: every combination of the predictors is more "
                    "closely associated with S."
                    if solution.unfairness == 0.0 or self.bound == "covariance"
                    else f"only the intercept meets {r} among the models with limited "
                    "covariances; raise the bound, or set bound='covariance'.",
                    BoundWarning,
                )
                return
