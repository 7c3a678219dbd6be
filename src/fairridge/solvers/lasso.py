"""A small quadratic problem with absolute values, by coordinate descent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["coordinate_descent"]

Floats = NDArray[np.float64]


def coordinate_descent(
    H: Floats,
    b: Floats,
    weights: Floats,
    start: Floats | None = None,
    *,
    tol: float = 1e-15,
    max_iter: int = 3_000,
) -> Floats:
    """Minimize ½xᵀHx − bᵀx + Σ weightsⱼ|xⱼ|.

    Cycles over coordinates until none moves; once the signs have settled, the
    nonzero coordinates solve a linear system, which gives all digits at once.

    Parameters
    ----------
    H : ndarray of shape (q, q)
        Positive semidefinite.
    b, weights : ndarray of shape (q,)
        Linear term, and weights of the absolute values.
    start : ndarray of shape (q,), optional
        Where to start.
    tol : float
        Largest move, relative to the largest coordinate, at which to stop.
    max_iter : int
        Cycles at most.
    """
    x = np.zeros_like(b) if start is None else start.copy()
    diagonal = np.diag(H)
    movable = np.flatnonzero(diagonal > 0.0)
    gradient = H @ x - b
    for cycle in range(max_iter):
        largest = 0.0
        for j in movable:
            target = diagonal[j] * x[j] - gradient[j]
            new = np.sign(target) * max(abs(target) - weights[j], 0.0) / diagonal[j]
            move = new - x[j]
            if move != 0.0:
                gradient += H[:, j] * move
                x[j] = new
                largest = max(largest, abs(move))
        if largest <= tol * np.abs(x).max(initial=0.0):
            break
        if cycle % 10 == 9:
            polished = _polished(H, b, weights, x)
            if polished is not None:
                return polished
    return x


def _polished(H: Floats, b: Floats, weights: Floats, x: Floats) -> Floats | None:
    """Solve for the nonzero coordinates; None unless that meets the optimality conditions."""
    active = np.flatnonzero(x)
    signs = np.sign(x[active])
    out = np.zeros_like(x)
    try:
        out[active] = np.linalg.solve(
            H[np.ix_(active, active)], b[active] - weights[active] * signs
        )
    except np.linalg.LinAlgError:
        return None
    excess = np.abs(H @ out - b) - weights
    excess[active] = 0.0
    fits = (np.sign(out[active]) == signs).all() and (excess <= 1e-12 * np.abs(b).max()).all()
    return out if fits else None
