"""What inference must know of a model beyond its fit, and which models it refuses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness import Definition
from fairridge.models import FairBasis, Fit
from fairridge.penalties import Penalty, Radial, Ridge
from fairridge.search import PenalizedProblem, Problem, Solution


@dataclass(frozen=True)
class Description:
    """The settings of a model that decide how its coefficients depend on each row."""

    definition: Definition  # what is bounded
    penalty: Penalty  # the penalty on α
    predictor_penalty: float = 0.0  # λ₂, taken as given
    # Whether the penalties see columns divided by their standard deviations.
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


def check_model(problem: PenalizedProblem, description: Description, solution: Solution) -> None:
    """Refuse models whose coefficients are not a smooth function of the weights of the rows.

    Parameters
    ----------
    problem : PenalizedProblem
        The model on its rows, for every λ.
    description : Description
        Its settings.
    solution : Solution
        The model at its bound.
    """
    if problem.space.compressed:
        raise ValueError(
            "there are no standard errors with more predictor columns than rows, or with more than "
            "500 sparse ones; use fewer columns."
        )
    if not isinstance(description.penalty, Ridge | Radial) and not description.penalty.l1:
        raise ValueError(
            f"penalty={description.penalty.name!r} has no standard errors: they are derived for "
            "penalty='ridge' and 'radial' only."
        )
    if not isinstance(description.penalty, Ridge | Radial):
        raise ValueError(
            f"penalty={description.penalty.name!r} selects among sensitive columns, and standard "
            "errors that ignore the selection are too small; use penalty='ridge' or 'radial'."
        )
    _check_separation(problem, solution.fit)
    if not solution.choice.met:
        raise ValueError(
            f"the fit has status {solution.choice.status!r}: the bound is not met, and there are "
            "no standard errors for coefficients that are not the solution."
        )
    _check_columns(problem, description.predictor_penalty)


def _check_columns(problem: Problem, predictor_penalty: float) -> None:
    basis, names = problem.basis, problem.engine.names
    q, varies = len(basis.center_sensitive), basis.deviations > 0.0
    places, predictors = problem.space.dependent
    if predictor_penalty == 0.0:
        places += [q + k for k in predictors]
    # A constant column, such as that of a level without rows, has the coefficient 0.
    dependent = [names[k] for k in places if varies[k]]
    isolation = problem.isolation
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


def _check_separation(problem: Problem, fit: Fit) -> None:
    columns = problem.separating_columns([fit])
    if columns:
        raise ValueError(
            f"column(s) {', '.join(map(repr, columns))} separate the responses: their "
            "coefficients have no limit and no standard errors. Merge rare levels or drop the "
            "columns."
        )
