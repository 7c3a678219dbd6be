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
    CompressedProblem,
    GLMProblem,
    Problem,
    Solution,
    compressed_problem,
    gaussian_problem,
    glm_problem,
    solve,
)
from fairridge.solvers import is_wide

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
        max_iter = check_count("max_iter", self.max_iter)
        if is_wide(engine):
            return compressed_problem(engine, response.family, max_iter=max_iter, **options)
        if response.family.least_squares:
            return gaussian_problem(engine, **options)
        n_targets = response.targets.shape[1]
        return glm_problem(
            engine, response.family, n_targets=n_targets, max_iter=max_iter, **options
        )

    def _compresses(self, engine: Engine) -> bool:
        return is_wide(engine)

    def _solve(self, problem: Problem, bounds: Floats) -> list[Solution]:
        tol = check_number("tol", self.tol, least=0.0, strict=True)
        max_iter = check_count("max_iter", self.max_iter)
        if isinstance(problem, CompressedProblem):
            return problem.solve(self._definition, bounds, tol=tol, max_iter=max_iter)
        return solve(problem, self._definition, bounds, tol=tol, max_iter=max_iter)

    def _warn_of_solutions(
        self, problem: Problem, solutions: list[Solution], training: Training
    ) -> None:
        if not isinstance(problem, GLMProblem | CompressedProblem):
            return
        columns = problem.separating_columns(solution.fit for solution in solutions)
        if not columns:
            return
        predictors = set(columns) & set(training.design.predictors.names)
        bounded = any(solution.unfairness < 1.0 for solution in solutions)
        infinite = any(solution.fit.separation for solution in solutions)
        values = ", ".join(f"{value:.3g}" for value in columns.values())
        growth = "grow without bound; the deviance has converged." if infinite else "are extreme."
        # The residual of such a column on S is not zero in the other rows.
        loophole = " Through them S returns to predictions of other rows, unseen by the bound."
        warn_user(
            f"column(s) {', '.join(map(repr, columns))} separate the responses: their coefficients "
            f"({values}) {growth}{loophole if predictors and bounded else ''} Merge rare levels"
            f"{', or set a larger predictor_penalty' if predictors else ''}.",
            DataWarning,
        )

    def _facts(self) -> tuple[tuple[str, str], ...]:
        family, *others = bound_facts(self, "λ(r)")
        return (family, ("Penalty", resolve_penalty(self.penalty).name), *others)
