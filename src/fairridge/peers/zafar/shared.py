"""What Zafar et al.'s models share: bounds on each sensitive attribute, and no S after fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fairridge._warnings import warn_user
from fairridge.data import Design, Encoding, Table, as_table, numeric_vector
from fairridge.engines import linear_predictor
from fairridge.estimators._bounded import BoundedModel
from fairridge.estimators._facts import bound_facts
from fairridge.estimators._parameters import check_option
from fairridge.estimators._training import Training
from fairridge.exceptions import BoundWarning
from fairridge.fairness import Definition
from fairridge.peers.zafar.least_squares import definition_of
from fairridge.search.solution import Solution

__all__ = ["Zafar"]

Floats = NDArray[np.float64]


class Zafar(BoundedModel):
    """A linear model of X alone, whose association with each column of S is bounded."""

    bound: Any
    at_zero: Any

    @property
    def _most_unfair(self) -> float:  # type: ignore[override]
        return np.inf if self.bound == "covariance" else 1.0

    @property
    def _definition(self) -> Definition:
        return definition_of(self.bound)

    def _checked_options(self) -> dict[str, Any]:
        check_option("bound", self.bound, ("correlation", "covariance"))
        check_option("at_zero", self.at_zero, ("project", "drop"))
        return {"bound": self.bound, "at_zero": self.at_zero}

    def _solve(self, problem: Any, bounds: Floats) -> list[Solution]:
        solutions: list[Solution] = problem.solve(bounds)
        return solutions

    # ------------------------------------------------------------- predicting

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        """Return η from the predictors.

        S may be there or not. Where it is, its levels are not looked at, but
        missing values are still an error.
        """
        check_is_fitted(self)
        check_option("unknown", self.unknown, ("error", "base"))
        self._attributes(sensitive_features)
        table, owner = as_table(X), type(self).__name__
        q, names = len(self.sensitive_names_), tuple(self.encoded_names_)
        of_sensitive, of_predictors = _designs(self._design, table)
        _, pieces = of_predictors.encode(table, None, self.unknown, owner=owner)
        if of_sensitive is not None:
            sensitive, _ = of_sensitive.encode(table, None, "base", owner=owner)
            pieces, q = (*sensitive, *pieces), 0
        eta = np.full(table.shape[0], float(self.raw_intercept_))
        if pieces:
            coefficients, level = self.raw_coef_[q:, None], np.array([self.raw_intercept_])
            eta = linear_predictor(pieces, names[q:], coefficients, level)[:, 0]
        return eta if offset is None else eta + numeric_vector(offset, len(eta), "offset")

    # -------------------------------------------------------------- reporting

    def _penalizes_predictors(self) -> bool:
        return True  # collinear with S they may be; `_problem` looks at X alone

    def _problem(self, training: Training) -> Any:
        problem: Any = super()._problem(training)
        self._warn_of_predictors(problem.space.dependent, training.design.predictors)
        return problem

    def _warn_of_bound(self, solution: Solution) -> None:
        if solution.choice.status != "not-converged":
            super()._warn_of_bound(solution)
            return
        warn_user(
            f"the fit for unfairness={solution.unfairness:g} did not converge (achieved "
            f"{solution.achieved:.10g}); raise max_iter, or leave out predictors that separate the "
            "classes.",
            ConvergenceWarning,
        )

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

    def _facts(self) -> tuple[tuple[str, str], ...]:
        return bound_facts(self, "Price of the bound")


def _designs(design: Design, table: Table) -> tuple[Design | None, Design]:
    """Return designs that read S alone, None where the table has none, and predictors alone."""
    nothing = Encoding(())
    predictors = replace(design, sensitive=nothing, positions_sensitive=(), separate=False)
    if design.separate:
        return None, predictors
    if design.names is not None and table.names is not None:
        others = tuple(design.names[k] for k in design.positions_predictors)
        if not set(table.names) & (set(design.names) - set(others)):
            positions = tuple(range(len(others)))
            return None, replace(
                predictors,
                names=others,
                n_columns=len(others),
                positions_predictors=positions,
            )
    return replace(design, predictors=nothing, positions_predictors=()), predictors
