"""Which penalties a model has: a ridge on α, or one on what S explains of its predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairridge.fairness import is_variance_share
from fairridge.inference.explained import Explained, Totals, multipliers_of
from fairridge.inference.given import Given, PredictorRidge, SensitiveRidge, basis_given
from fairridge.inference.state import Regime, State, plain_state
from fairridge.models import Fit
from fairridge.penalties import Radial
from fairridge.search import ModelSettings, PenalizedProblem


def state_of(problem: PenalizedProblem, fit: Fit, regime: Regime) -> State:
    """Return a model with its penalties and derivatives."""
    # The regime says whether λ is 0, follows from the bound, or is infinite.
    blind = not problem.space.uses_sensitive
    plain = plain_state(fit, penalty_unit(problem), regime, blind=blind)
    given = Given.of(plain)
    plain = replace(plain, fixed=_predictor_ridge(plain, given, problem.settings, blind))
    definition: Any = problem.definition.within_space
    ridge: Any = None
    totals: Totals | None = None
    if definition.penalizes_means and not is_variance_share(definition, fit.family):
        ridge, totals = Explained.of(plain, given, definition.means(fit)), Totals.of(plain)
    else:
        ridge = _sensitive_ridge(problem, plain, given)
    at, zero = replace(plain, ridge=ridge), regime == "zero"
    held = [ridge] if zero else []
    parts = held if totals is None else [*held, totals]
    multipliers = multipliers_of(at, [part.jacobian for part in parts]) if parts else []
    return replace(
        at,
        held=ridge.held(at, multipliers[0]) if zero else None,
        totals=None if totals is None else totals.priced(at, multipliers[-1]),
    )


def _is_radial(problem: PenalizedProblem) -> bool:
    """Whether λ penalizes what S explains, of predictions or of α."""
    return problem.explains or isinstance(problem.settings.penalty, Radial)


def penalty_unit(problem: PenalizedProblem) -> float:
    """Return c in λ = c·λ̄, with λ̄ the penalty on the mean over rows."""
    return 1.0 if _is_radial(problem) else problem.basis.weight


def _sensitive_ridge(problem: PenalizedProblem, at: State, given: Given) -> SensitiveRidge:
    """Return λ̄'s αᵀPα, relative to mean deviances."""
    basis, settings = basis_given(at.fit), problem.settings
    scale = basis.sensitive.scale
    K = settings.penalty.quadratic(basis.sensitive) * np.outer(scale, scale)
    P = K * (penalty_unit(problem) / basis.weight)
    seen = "radial" if _is_radial(problem) else _seen(settings)
    return SensitiveRidge(given, P, seen)


def _seen(settings: ModelSettings) -> str:
    return "standardized" if settings.standardize else "raw"


def _predictor_ridge(at: State, given: Given, settings: ModelSettings, blind: bool) -> Any:
    """Return λ̄₂ and its form, given the controls: on U, or on X in models of X alone."""
    if settings.predictor_penalty == 0.0:
        return ()
    basis = basis_given(at.fit)
    columns, scale = None, basis.predictors.scale
    if blind:
        M = given.to_residuals
        columns = M[:, given.others] + M[:, 1 : 1 + at.q] @ basis.B
        scale = basis.predictor_deviations if settings.standardize else scale
    elif len(given.controls):
        columns = given.to_residuals[:, given.others]
    ridge = PredictorRidge(at.theta, columns, given.others, scale**2, _seen(settings))
    return ((settings.predictor_penalty / at.fit.basis.weight, ridge),)
