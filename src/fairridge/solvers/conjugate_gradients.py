"""Conjugate gradients for systems that are known only by their products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairridge._typing import Floats


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    right: Floats,
    diagonal: Floats,
    *,
    tol: float,
    most: int,
) -> tuple[Floats, int]:
    """Solve Ax = b for a positive definite A, preconditioned by its diagonal.

    Parameters
    ----------
    product : callable
        Maps x to Ax.
    right : ndarray
        b, of any shape.
    diagonal : ndarray of the same shape
        The diagonal of A, or near it; positive.
    tol : float
        Length of the residual, relative to b and in units of the diagonal, at which to stop.
    most : int
        Maximum number of products.

    Returns
    -------
    x : ndarray
        The solution, or the approximation after `most` products.
    count : int
        Number of products.
    """
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    direction, size = scaled, float(np.vdot(residual, scaled))
    goal = tol**2 * size
    for count in range(most):
        if size <= goal:
            return x, count
        along = product(direction)
        step = size / float(np.vdot(direction, along))
        x += step * direction
        residual -= step * along
        scaled = residual / diagonal
        before, size = size, float(np.vdot(residual, scaled))
        direction = scaled + (size / before) * direction
    return x, most
