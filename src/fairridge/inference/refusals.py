"""Which models have no standard errors, and why."""

from __future__ import annotations

from fairridge.penalties import Radial, Ridge
from fairridge.search import PenalizedProblem, Solution


def check_model(problem: PenalizedProblem, solution: Solution) -> None:
    """Refuse models whose coefficients are not a smooth function of the weights of the rows."""
    if problem.space.compressed:
        raise ValueError(
            "there are no standard errors with more predictor columns than rows, or with more than "
            "500 sparse ones; use fewer columns."
        )
    penalty = problem.settings.penalty
    if not isinstance(penalty, Ridge | Radial) and not penalty.l1:
        raise ValueError(
            f"penalty={penalty.name!r} has no standard errors: they are derived for "
            "penalty='ridge' and 'radial' only."
        )
    if not isinstance(penalty, Ridge | Radial):
        raise ValueError(
            f"penalty={penalty.name!r} selects among sensitive columns, and standard "
            "errors that ignore the selection are too small; use penalty='ridge' or 'radial'."
        )
    columns = problem.separating_columns([solution.fit])
    if columns:
        raise ValueError(
            f"column(s) {', '.join(map(repr, columns))} separate the responses: their "
            "coefficients have no limit and no standard errors. Merge rare levels or drop the "
            "columns."
        )
    if not solution.choice.met:
        raise ValueError(
            f"the fit has status {solution.choice.status!r}: the bound is not met, and there are "
            "no standard errors for coefficients that are not the solution."
        )
    _check_columns(problem)


def _check_columns(problem: PenalizedProblem) -> None:
    basis, names = problem.basis, problem.engine.names
    q, varies = len(basis.center_sensitive), basis.deviations > 0.0
    places, predictors = problem.space.dependent
    if problem.settings.predictor_penalty == 0.0:
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
