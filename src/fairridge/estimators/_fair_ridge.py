"""What the fair ridge models share: fit and path for any family."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._warnings import warn_user
from fairridge.arguments import check_flag
from fairridge.engines import Engine
from fairridge.estimators._bounded import BoundedModel
from fairridge.estimators._facts import bound_facts
from fairridge.estimators._parameters import PENALTY_OR_FEWER, check_count, check_number
from fairridge.estimators._training import Response, Training
from fairridge.exceptions import DataWarning
from fairridge.fairness import Definition, resolve_definition
from fairridge.penalties import resolve_penalty
from fairridge.search import (
    GLMProblem,
    Problem,
    Solution,
    gaussian_problem,
    glm_problem,
    solve,
)

__all__ = ["FairRidge"]

Floats = NDArray[np.float64]


class FairRidge(BoundedModel):
    """Fair (generalized) ridge regression; subclasses read the response."""

    def __init__(
        self,
        unfairness: float = 0.05,
        *,
        sensitive: Any = None,
        definition: Any = "statistical-parity",
        penalty: Any = "ridge",
        predictor_penalty: float = 0.0,
        standardize: bool = True,
        unknown: Any = "error",
        predictor_map: Any = None,
        sensitive_map: Any = None,
        tol: float = 1e-10,
        max_iter: int = 100,
    ) -> None:
        self.unfairness = unfairness
        self.sensitive = sensitive
        self.definition = definition
        self.penalty = penalty
        self.predictor_penalty = predictor_penalty
        self.standardize = standardize
        self.unknown = unknown
        self.predictor_map = predictor_map
        self.sensitive_map = sensitive_map
        self.tol = tol
        self.max_iter = max_iter

    @property
    def _definition(self) -> Definition:
        return resolve_definition(self.definition)

    @property
    def _only_moments(self) -> bool:
        return self._definition.needs_only_moments

    def _penalizes_predictors(self) -> bool:
        return bool(self.predictor_penalty > 0.0)

    @property
    def _advice_on_features(self) -> str | None:
        return None if self._penalizes_predictors() else PENALTY_OR_FEWER

    def _problem_on(self, engine: Engine, response: Response) -> Problem:
        """Set the model up on some rows."""
        options: dict[str, Any] = {
            "penalty": resolve_penalty(self.penalty),
            "predictor_penalty": check_number(
                "predictor_penalty", self.predictor_penalty, least=0.0
            ),
            "standardize": check_flag("standardize", self.standardize),
        }
        if response.family.least_squares:
            return gaussian_problem(engine, **options)
        return glm_problem(
            engine,
            response.family,
            n_targets=response.targets.shape[1],
            max_iter=check_count("max_iter", self.max_iter),
            **options,
        )

    def _solve(self, problem: Problem, bounds: Floats) -> list[Solution]:
        return solve(
            problem,
            self._definition,
            bounds,
            tol=check_number("tol", self.tol, least=0.0, strict=True),
            max_iter=check_count("max_iter", self.max_iter),
        )

    def _warn_of_solutions(
        self, problem: Problem, solutions: list[Solution], training: Training
    ) -> None:
        if not isinstance(problem, GLMProblem):
            return
        names = problem.separated_columns(float(solution.fit.lambda_) for solution in solutions)
        if names:
            warn_user(
                f"column(s) {', '.join(map(repr, names))} separate the responses: their "
                "coefficients grow without bound. The deviance has converged; for finite "
                "coefficients set a small predictor_penalty, or merge rare levels.",
                DataWarning,
            )
        self._warn_of_levels(problem, solutions)

    def _warn_of_levels(self, problem: GLMProblem, solutions: list[Solution]) -> None:
        """Say that a bound means little where a level without events runs away."""
        bounded = [solution.fit for solution in solutions if solution.unfairness < 1.0]
        levels = problem.deciding_levels(bounded) if bounded else {}
        if not levels:
            return
        listed = ", ".join(f"{name!r} ({value:.3g})" for name, value in levels.items())
        warn_user(
            f"level(s) {listed} decide the response alone: their coefficients bring S back into "
            "the predictions of all other rows, which the bound does not see. Merge or leave out "
            "such levels, or set a larger predictor_penalty.",
            DataWarning,
        )

    def _facts(self) -> tuple[tuple[str, str], ...]:
        family, *others = bound_facts(self, "λ(r)")
        return (family, ("Penalty", resolve_penalty(self.penalty).name), *others)
