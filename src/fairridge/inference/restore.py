"""The solution of a model that was fitted before, on the same rows again."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats
from fairridge.inference.analysis import Analysis
from fairridge.search import Choice, PenalizedProblem, Solution, Status

# Coefficients that two fits to the same rows agree to, relative to the largest effect.
SAME_FIT_TOLERANCE = 1e-5
OTHER_ROWS = (
    "these are not the rows that the model was fitted to; pass the same X, y, sensitive_features, "
    "sample_weight and offset as in fit."
)


def restored(
    problem: PenalizedProblem,
    *,
    unfairness: float,
    lambda_: float,
    status: Status,
    achieved: float,
    raw_intercept: float | Floats,
    raw_coefficients: Floats,
    n_rows: int,
) -> Solution:
    """Find a model again at its λ(r), without a search, and refuse rows that are not its own."""
    # Coefficients are those of [S, X], of shape (q+p,) or (K, q+p).
    stored = np.column_stack([np.atleast_1d(raw_intercept), np.atleast_2d(raw_coefficients)])
    isolation = problem.isolation
    all_rows = problem.engine if isolation is None else isolation.all_rows
    same = all_rows.n_rows == n_rows and len(stored[0]) == 1 + len(problem.basis.center)
    if not same:
        raise ValueError(OTHER_ROWS)
    problem.resume(lambda_, problem.family.to_contrasts(stored))
    fit = problem.fits(np.array([lambda_]))[0]
    refitted = problem.basis.raw_coefficients(fit.alpha, fit.beta)
    spread = problem.basis.deviations.copy()
    if isolation is not None:
        spread[[len(problem.basis.B) + k for k in isolation.columns]] = 0.0
    refitted, expected = np.atleast_2d(refitted), stored[:, 1:]
    gap = np.abs(refitted - expected) * spread
    # Coefficients without a limit differ from fit to fit; they are refused for that later.
    separated = bool(problem.separating_columns([fit]))
    if gap.max() > SAME_FIT_TOLERANCE * (np.abs(expected) * spread).max() and not separated:
        raise ValueError(OTHER_ROWS)
    return Solution(unfairness, fit, achieved, {}, Choice(lambda_, status))


def require_zero_mean(analysis: Analysis, sums: Floats) -> None:
    """Refuse rows whose influences do not add up to zero, as those of the rows of a fit do."""
    # The last row has sums of terms; see `passes.products`.
    branch = analysis.branch
    raw, _, _ = analysis.maps(branch)
    total = sums[-1, : branch.width] @ raw
    squares = ((raw.T @ sums[: branch.width, : branch.width]) * raw.T).sum(axis=1)
    # Σ|φ| ≤ √(nΣφ²).
    largest = np.sqrt(analysis.problem.engine.n_rows * np.maximum(squares, 0.0))
    if not (np.abs(total) <= SAME_FIT_TOLERANCE * largest.max()).all():
        raise ValueError(OTHER_ROWS)
