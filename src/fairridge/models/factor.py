"""A triangular square root of the scatter of [S, X, y], as accurate as the data allow.

Everything the gaussian model needs can be read off R in [S, X, y] = QR:
R is all of the data that a linear model sees. Two ways lead to it.

- The Cholesky factor of the scaled scatter matrix: free, once the moments are
  there, but it squares the condition number of the columns.
- A blocked QR decomposition of the centered, scaled rows: one more pass, and
  the condition number counts once.

The first serves while the scatter's condition stays below `WELL_CONDITIONED`,
where it leaves about ten digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from fairridge._typing import Floats
from fairridge.engines import Engine, Moments, triangular_factor

__all__ = ["Factor", "factorize"]


WELL_CONDITIONED = 1e5
# A residual this small against the response has lost its digits in the scatter matrix.
TINY_RESIDUAL = 1e-8
# Beyond this a column's rounding no longer counts: a column far from zero is not constant yet.
MOST_NOISE = 1e-6
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Factor:
    """The triangular factor of centered, scaled columns.

    Attributes
    ----------
    weight : float
        Sum of the weights, n where there are none.
    center : ndarray of shape (k,)
        Column means of [S, X, y].
    scale : ndarray of shape (k,)
        Their standard deviations (divisor n); 1 for constant columns.
    R : ndarray of shape (k, k)
        RᵀR is the scatter of the centered columns divided by `scale`.
    noise : ndarray of shape (k,)
        What rounding of the input alone can contribute to each column, relative to its
        spread: directions below it are collinear to the precision of the data.
    condition : float
        Estimated condition number of the scaled scatter of [S, X].
    """

    weight: float
    center: Floats
    scale: Floats
    R: Floats
    noise: Floats
    condition: float


def factorize(engine: Engine, moments: Moments, n_targets: int = 1) -> Factor:
    """Factor the moments; go back to the rows where they are ill-conditioned."""
    scale = column_scale(moments)
    cholesky = _from_scatter(moments, scale, n_targets)
    if cholesky is not None:
        R, condition = cholesky
    else:
        R = engine.qr_factor(moments.mean, scale)
        condition = _condition(R, n_targets)
    noise = rounding_noise(moments.mean, scale)
    return Factor(moments.weight, moments.mean, scale, R, noise, condition)


def column_scale(moments: Moments) -> Floats:
    """Return standard deviations with divisor n; 1 where a column is constant."""
    squares = np.maximum(np.diag(moments.scatter), 0.0)
    return scale_of(squares, moments.mean, moments.weight)


def scale_of(squares: Floats, mean: Floats, weight: float) -> Floats:
    """Return √(squares/weight); 1 where a column is constant."""
    deviation = np.sqrt(squares / weight)
    # Rounding in the column's own numbers does not count as spread.
    constant = deviation <= 4 * EPS * np.abs(mean)
    return np.where(constant, 1.0, deviation)


def rounding_noise(mean: Floats, scale: Floats) -> Floats:
    """Return what rounding of the input can contribute to each column, relative to its spread."""
    return np.minimum(8 * len(scale) * EPS * (1.0 + np.abs(mean) / scale), MOST_NOISE)


def _from_scatter(moments: Moments, scale: Floats, n_targets: int) -> tuple[Floats, float] | None:
    """Cholesky factor of the scaled scatter; None if it is not to be trusted."""
    k = len(scale) - n_targets
    scatter = moments.scatter / np.outer(scale, scale)
    used = np.flatnonzero(np.diag(scatter)[:k] > 0.5 * moments.weight)  # constants stay zero
    try:
        root: Floats = np.linalg.cholesky(scatter[np.ix_(used, used)]).T.astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    condition = _condition_of_triangle(root)
    if condition > WELL_CONDITIONED:
        return None
    cross = scipy.linalg.solve_triangular(root, scatter[used, k:], trans="T", check_finite=False)
    rest = scatter[k:, k:] - cross.T @ cross
    if (np.diag(rest) < TINY_RESIDUAL * np.diag(scatter)[k:]).any():
        return None
    R = np.zeros_like(scatter)
    R[np.ix_(used, used)] = root
    R[used, k:] = cross
    R[k:, k:] = _root_of(rest)
    return R, condition


def _root_of(scatter: Floats) -> Floats:
    """Return a triangular root of a small positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(scatter)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return triangular_factor(root)


def _condition(R: Floats, n_targets: int) -> float:
    k = R.shape[0] - n_targets
    used = np.flatnonzero(np.linalg.norm(R[:, :k], axis=0) > 0)
    return _condition_of_triangle(triangular_factor(R[:, used]))


def _condition_of_triangle(root: Floats) -> float:
    """Estimate the condition number of rootᵀroot from a triangular root, in O(k²)."""
    if not root.size:
        return 1.0
    if root.shape[0] < root.shape[1]:
        return np.inf
    reciprocal, _ = scipy.linalg.lapack.dtrcon(root)
    return np.inf if reciprocal == 0.0 else float(reciprocal) ** -2
