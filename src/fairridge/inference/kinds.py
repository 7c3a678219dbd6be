"""Which penalties a model has: a ridge on α, or one on what S explains of its predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairridge.fairness import is_variance_share
from fairridge.inference.description import Description
from fairridge.inference.explained import (
    Explained,
    LinearPredictors,
    NotExplained,
    Predicted,
    Totals,
    multipliers_of,
)
from fairridge.inference.given import Given, PredictorRidge, SensitiveRidge, basis_given
from fairridge.inference.state import Regime, State, plain_state
from fairridge.models import Fit
from fairridge.search import PenalizedProblem


def state_of(
    problem: PenalizedProblem, description: Description, fit: Fit, regime: Regime
) -> State:
    """Return a model with its penalties and derivatives.

    Parameters
    ----------
    problem : PenalizedProblem
        The model on its rows, for every λ.
    description : Description
        Its settings.
    fit : Fit
        The model at one λ.
    regime : {"free", "bound", "zero"}
        Whether λ is 0, follows from the bound, or is infinite.
    """
    blind = not problem.space.uses_sensitive
    plain = plain_state(fit, description, regime, blind=blind)
    given = Given.of(plain)
    plain = replace(plain, fixed=_predictor_ridge(plain, given, description, blind))
    if problem.explains:
        explained = Explained.of(plain, given, _numbers(description, fit))
        return _of_predictions(replace(plain, ridge=explained))
    P, zero = description.penalty_matrix(basis_given(fit)), regime == "zero"
    pi = plain.gradient[:, 1 : 1 + plain.q] if zero else None
    ridge = SensitiveRidge(given, P, description.seen, pi)
    return replace(plain, ridge=ridge, held=ridge if zero else None)


def _predictor_ridge(at: State, given: Given, description: Description, blind: bool) -> Any:
    """Return λ̄₂ and its form, given the controls: on U, or on X in models of X alone."""
    if description.predictor_penalty == 0.0:
        return ()
    basis = basis_given(at.fit)
    columns, scale = None, basis.predictors.scale
    if blind:
        M = given.to_residuals
        columns = M[:, given.others] + M[:, 1 : 1 + at.q] @ basis.B
        scale = basis.predictor_deviations if description.standardize else scale
    elif len(given.controls):
        columns = given.to_residuals[:, given.others]
    seen = "standardized" if description.standardize else "raw"
    ridge = PredictorRidge(at.theta, columns, given.others, scale**2, seen)
    return ((description.predictor_penalty / at.fit.basis.weight, ridge),)


def _of_predictions(at: State) -> State:
    """Return a model whose ridge is on what S explains with all that is held at zero."""
    explained: Any = at.ridge
    totals = Totals.of(at) if isinstance(explained.numbers, Predicted) else None
    zero = at.regime == "zero"
    if totals is None and not zero:
        return at
    held = [explained.jacobian.reshape(explained.covariance.size, -1)] if zero else []
    held += [] if totals is None else [totals.jacobian]
    multipliers = multipliers_of(at, held)
    return replace(
        at,
        held=NotExplained.of(at, explained, multipliers[0]) if zero else None,
        totals=None if totals is None else totals.priced(at, multipliers[-1]),
    )


def _numbers(description: Description, fit: Fit) -> Any:
    """Return what S must not explain."""
    definition: Any = description.definition.within_space
    if definition.penalizes_means and not is_variance_share(definition, fit.family):
        return Predicted(definition.means(fit))
    return LinearPredictors()
