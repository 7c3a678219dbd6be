"""What inference must know of a model beyond its fit, and which models it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness import Definition
from fairridge.models import CanonicalSpace, FairBasis, Fit
from fairridge.penalties import Penalty, Radial, Ridge
from fairridge.search import CompressedProblem, ConditionalProblem, Problem, Solution


@dataclass(frozen=True)
class Description:
    """The settings of a model that decide how its coefficients depend on each row.

    Attributes
    ----------
    definition : Definition
        What is bounded.
    penalty : Penalty
        The penalty on α.
    predictor_penalty : float
        λ₂, taken as given.
    standardize : bool
        Whether the penalties see columns divided by their standard deviations.
    """

    definition: Definition
    penalty: Penalty
    predictor_penalty: float = 0.0
    standardize: bool = True

    @property
    def seen(self) -> str:
        """What the ridge on α sees of S: "standardized", "raw" or "radial"."""
        if isinstance(self.penalty, Radial):
            return "radial"
        return "standardized" if self.standardize else "raw"

    def penalty_unit(self, weight: float) -> float:
        """Return c in λ = c·λ̄, with λ̄ the penalty on the mean over rows."""
        return 1.0 if isinstance(self.penalty, Radial) else weight

    def penalty_matrix(self, basis: FairBasis) -> Floats:
        """Return P with λ̄αᵀPα the penalty on α, relative to mean deviances."""
        scale = basis.sensitive.scale
        K = self.penalty.quadratic(basis.sensitive) * np.outer(scale, scale)
        return K * (self.penalty_unit(basis.weight) / basis.weight)


def check_model(problem: Problem, description: Description, solution: Solution) -> None:
    """Refuse models whose coefficients are not a smooth function of the weights of the rows.

    Parameters
    ----------
    problem : Problem
        The model on its rows, for every λ.
    description : Description
        Its settings.
    solution : Solution
        The model at its bound.
    """
    if isinstance(problem, CompressedProblem):
        raise ValueError(
            "there are no standard errors with more predictor columns than rows, or with more than "
            "500 sparse ones; use fewer columns."
        )
    if not isinstance(description.penalty, Ridge | Radial):
        raise ValueError(
            f"penalty={description.penalty.name!r} selects among sensitive columns, and standard "
            "errors that ignore the selection are too small; use penalty='ridge' or 'radial'."
        )
    if solution.choice.status not in ("converged", "inactive"):
        raise ValueError(
            f"the fit has status {solution.choice.status!r}: the bound is not met, and there are "
            "no standard errors for coefficients that are not the solution."
        )
    _check_columns(problem, description.predictor_penalty)
    _check_separation(problem, solution.fit)


def _dependent(problem: Any) -> tuple[list[int], list[int]]:
    """Return columns of S that have no coefficients of their own, and those of X."""
    basis: FairBasis = problem.basis
    space: CanonicalSpace | None = getattr(problem, "space", None)
    if space is not None:  # of X alone: S may be collinear, and X with S
        return [], list(space.dependent)
    if isinstance(problem, ConditionalProblem):
        given = problem.given
        others = given.others[list(given.predictors.dependent)].tolist()
        controls = given.controls[list(given.of_controls.dependent)].tolist()
        return list(given.sensitive.dependent), others + controls
    return list(basis.sensitive.dependent), list(basis.predictors.dependent)


def _check_columns(problem: Any, predictor_penalty: float) -> None:
    basis, names = problem.basis, problem.engine.names
    q, varies = len(basis.center_sensitive), basis.deviations > 0.0
    places, predictors = _dependent(problem)
    if predictor_penalty == 0.0:
        places += [q + k for k in predictors]
    # A constant column, such as that of a level without rows, has the coefficient 0.
    dependent = [names[k] for k in places if varies[k]]
    isolation = getattr(problem, "isolation", None)
    if dependent and isolation is not None and any(k - q in isolation.columns for k in places):
        raise ValueError(
            f"column(s) {', '.join(map(repr, dependent))} compare with a base level that is "
            "isolated, because all of its rows have the same outcome; there are no standard "
            "errors. Make another level the base, or leave those rows out."
        )
    if dependent:
        raise ValueError(
            f"column(s) {', '.join(map(repr, dependent))} are linear combinations of others, so "
            "their coefficients are not determined and have no standard errors; drop these columns."
        )
    if not varies[:q].any():
        raise ValueError("all sensitive columns are constant: there is nothing to bound.")


def _check_separation(problem: Any, fit: Fit) -> None:
    find = getattr(problem, "separating_columns", None)
    columns = find([fit]) if find is not None else {}
    if columns:
        raise ValueError(
            f"column(s) {', '.join(map(repr, columns))} separate the responses: their "
            "coefficients have no limit and no standard errors. Merge rare levels or drop the "
            "columns."
        )
