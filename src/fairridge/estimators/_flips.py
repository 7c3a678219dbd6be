"""Predictors whose coefficients have another sign than without a bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairridge._typing import Floats
from fairridge.inference import inference_of
from fairridge.search import Choice, PenalizedProblem, Solution

# Effect of a predictor, relative to the largest one, that is nothing but rounding.
NEGLIGIBLE_EFFECT = 1e-8


def sign_flips(problem: PenalizedProblem, solution: Solution) -> dict[str, dict[str, float]]:
    """Return coefficients whose signs differ from those without a bound, with standard errors."""
    # A model that does not use S cannot subtract what S explains of a predictor. It
    # gives proxies weights that cancel each other, and these may have any sign.
    fit = solution.fit
    if fit.lambda_ == 0.0:
        return {}
    (free,) = problem.fits(np.zeros(1))
    # Coefficients of X times standard deviations, of shape (K, p).
    here, there = (np.atleast_2d(one.beta) * one.basis.predictor_deviations for one in (fit, free))
    size = NEGLIGIBLE_EFFECT * max(np.abs(there).max(initial=0.0), 1e-300)
    flipped = (here * there < 0.0) & (np.abs(here) > size) & (np.abs(there) > size)
    places = np.flatnonzero(flipped.ravel())
    if not places.size:
        return {}
    unbounded = replace(solution, unfairness=1.0, fit=free, choice=Choice.UNCONSTRAINED, each={})
    columns = [
        part.ravel()[places]
        for one in (solution, unbounded)
        for part in (np.atleast_2d(one.fit.beta), _errors(problem, one))
    ]
    names = _names(problem)
    keys = ("coefficient", "standard_error", "free_coefficient", "free_standard_error")
    return {
        names[place]: dict(zip(keys, values, strict=True))
        for place, *values in zip(places.tolist(), *(c.tolist() for c in columns), strict=True)
    }


def flips_text(flips: dict[str, dict[str, float]], most: int = 8) -> str:
    """List such predictors in a sentence; "" if there are none."""

    def shown(flip: dict[str, float], key: str) -> str:
        error = flip[f"{key}standard_error"]
        known = f" ({error:.2g})" if np.isfinite(error) else ""
        return f"{flip[f'{key}coefficient']:+.3g}{known}"

    if not flips:
        return ""
    texts = [f"{name} {shown(flip, 'free_')} → {shown(flip, '')}" for name, flip in flips.items()]
    more = f", and {len(texts) - most} more" if len(texts) > most else ""
    return (
        "Sign changed by the bound (coefficient without it → with it, standard errors in "
        f"parentheses): {'; '.join(texts[:most])}{more}."
    )


def _names(problem: PenalizedProblem) -> list[str]:
    engine = problem.space.all_columns
    columns = engine.names[engine.n_sensitive :]
    classes = problem.settings.classes
    if problem.family.n_predictors == 1 or classes is None:
        return list(columns)
    return [f"{name} → {label}" for label in classes for name in columns]


def _errors(problem: PenalizedProblem, solution: Solution) -> Floats:
    """Return standard errors of the coefficients of X, of shape (K, p); NaN without any."""
    beta = np.atleast_2d(solution.fit.beta)
    if solution.each:  # their bounds have no influence functions
        return np.full(beta.shape, np.nan)
    if solution.certificate is not None and solution.choice is not Choice.UNCONSTRAINED:
        solution = replace(solution, unfairness=solution.certificate.training_bound)
    try:
        found = inference_of(problem, solution).standard_errors
    except (ValueError, np.linalg.LinAlgError):
        return np.full(beta.shape, np.nan)
    errors: Floats = np.asarray(found).reshape(len(beta), -1)[:, -beta.shape[1] :]
    return errors
