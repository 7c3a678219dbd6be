"""Shares of linear predictors that other columns explain, from scatter matrices alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["explained_by_sensitive", "sequential_share"]

Floats = NDArray[np.float64]


def explained_by_sensitive(scatter: Floats, q: int, m: int) -> float:
    """R² of the linear predictors regressed on S.

    Parameters
    ----------
    scatter : ndarray of shape (q+m+t, q+m+t)
        Centered scatter of [S, η, y]: q, m and t columns.
    q, m : int
        Columns of S and of η.
    """
    explained, total = _explained(scatter, q, m)
    return float(np.trace(explained) / total) if total > 0.0 else 0.0


def sequential_share(scatter: Floats, q: int, m: int) -> float:
    """Share of S in what S and then y explain of η (equality of opportunity)."""
    first, total = _explained(scatter, q, m)
    if total <= 0.0:
        return 0.0
    cross = scatter[:q, q:]
    left = scatter[q:, q:] - cross.T @ _inverse(scatter[:q, :q]) @ cross
    of_y = left[:m, m:] @ _inverse(left[m:, m:]) @ left[m:, :m]
    both = float(np.trace(first) + np.trace(of_y))
    return float(np.trace(first)) / both if both > 0.0 else 0.0


def _explained(scatter: Floats, q: int, m: int) -> tuple[Floats, float]:
    cross = scatter[:q, q : q + m]
    explained = cross.T @ _inverse(scatter[:q, :q]) @ cross
    return explained, float(np.trace(scatter[q : q + m, q : q + m]))


def _inverse(scatter: Floats) -> Floats:
    """Pseudo-inverse in units in which every column has variance one."""
    scale = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    units = np.outer(scale, scale)
    return np.linalg.pinv(scatter / units, rcond=1e-10, hermitian=True) / units
