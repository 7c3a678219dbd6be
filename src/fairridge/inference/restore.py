"""The solution of a model that was fitted before, on the same rows again."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats
from fairridge.search import Choice, PenalizedProblem, Solution, Status

__all__ = ["restored"]


# Coefficients that two fits to the same rows agree to, relative to the largest effect.
SAME_ROWS = 1e-5


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
    """Find a model again at its λ(r), without a search, and refuse rows that are not its own.

    Parameters
    ----------
    problem : PenalizedProblem
        The model on the rows, for every λ.
    unfairness, achieved : float
        The bound, and the value of the definition.
    lambda_ : float
        λ(r).
    status : str
        How the search ended.
    raw_intercept, raw_coefficients : ndarray of shape (), (1,) or (K,); (q+p,) or (K, q+p)
        Intercept and coefficients of [S, X].
    n_rows : int
        Number of rows of the fit.
    """
    known = np.column_stack([np.atleast_1d(raw_intercept), np.atleast_2d(raw_coefficients)])
    if len(known[0]) == 1 + len(problem.basis.center):
        problem.start_from(problem.family.to_contrasts(known))
    fit = problem.fits(np.array([lambda_]))[0]
    found = problem.basis.raw_coefficients(fit.alpha, fit.beta)
    spread = problem.basis.deviations
    found, expected = np.atleast_2d(found), known[:, 1:]
    same = problem.engine.n_rows == n_rows and found.shape == expected.shape
    if same:
        gap = np.abs(found - expected) * spread
        same = gap.max() <= SAME_ROWS * (np.abs(expected) * spread).max()
    if not same:
        raise ValueError(
            "these are not the rows that the model was fitted to; pass the same X, y, "
            "sensitive_features, sample_weight and offset as in fit."
        )
    return Solution(unfairness, fit, achieved, {}, Choice(lambda_, status))
