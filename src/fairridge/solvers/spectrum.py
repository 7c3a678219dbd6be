"""One block of columns in its singular basis, where every ridge is a division."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spectrum", "shrinking_length", "spectrum_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spectrum:
    """Columns Z, divided by their scale: Z/scale = P diag(√l) Aᵀ.

    A response enters through its projection c = Pᵀy, so that

    - the ridge estimate is A diag(√l/(l+λ)) c on the scaled columns,
    - the fitted values are P diag(l/(l+λ)) c.

    Directions of zero variance are left out, which makes every estimate the
    minimum-norm one.

    Attributes
    ----------
    eigenvalues : ndarray of shape (rank,)
        l, the nonzero eigenvalues of the scaled ZᵀZ, largest first.
    vectors : ndarray of shape (k, rank)
        A, in the scaled columns.
    scale : ndarray of shape (k,)
        What the columns were divided by.
    dependent : tuple of int
        Columns that are constant, or linear combinations of the others.
    """

    eigenvalues: Floats
    vectors: Floats
    scale: Floats
    dependent: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Number of directions with variance."""
        return len(self.eigenvalues)

    def original(self, standardized: Floats) -> Floats:
        """Bring coefficients (last axis) from scaled columns to the original ones."""
        return standardized / self.scale

    def ridge(self, projection: Floats, penalty: float | Floats) -> Floats:
        """Ridge coefficients on the scaled columns, for one penalty or for several."""
        weights = np.sqrt(self.eigenvalues) / (self.eigenvalues + np.asarray(penalty)[..., None])
        return (weights * projection) @ self.vectors.T

    def scatter(self) -> Floats:
        """ZᵀZ of the original columns."""
        root = np.sqrt(self.eigenvalues)[:, None] * self.vectors.T * self.scale
        return root.T @ root

    def rotate(self, coefficients: Floats) -> Floats:
        """Fitted values PᵀZb for original-scale coefficients b (last axis)."""
        return (coefficients * self.scale) @ self.vectors * np.sqrt(self.eigenvalues)

    def quadratic(self, coefficients: Floats) -> Floats:
        """‖Zb‖² for original-scale coefficients b (last axis)."""
        return (self.rotate(coefficients) ** 2).sum(axis=-1)


def spectrum_of(root: Floats, scale: Floats, noise: float) -> tuple[Spectrum, Floats, Floats]:
    """Decompose a square root of ZᵀZ.

    Parameters
    ----------
    root : ndarray of shape (m, k)
        Any matrix with rootᵀroot = ZᵀZ, columns on their original scale.
    scale : ndarray of shape (k,)
        What to divide the columns by.
    noise : float
        Singular values below this, relative to the largest, are zero.

    Returns
    -------
    spectrum : Spectrum
    P : ndarray of shape (m, rank)
        Left singular vectors of the directions kept.
    N : ndarray of shape (m, m − rank)
        An orthonormal basis of what they leave.
    """
    scaled = root / scale
    if not scaled.size or not np.any(scaled):
        m, k = scaled.shape
        empty = Spectrum(np.zeros(0), np.zeros((k, 0)), scale, tuple(range(k)))
        return empty, np.zeros((m, 0)), np.eye(m)
    P, values, At = np.linalg.svd(scaled, full_matrices=True)
    rank = int(np.count_nonzero(values > noise * values[0]))
    spectrum = Spectrum(values[:rank] ** 2, At[:rank].T, scale, _dependent(scaled, rank))
    return spectrum, P[:, :rank], P[:, rank:]


def shrinking_length(parts: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """Length of a vector whose parts shrink, and the derivative of its logarithm.

    Squares of the parts may be too small to be numbers; their ratios are not.

    Parameters
    ----------
    parts : ndarray of shape (m, k)
        One vector per row.
    rates : ndarray of shape (m, k)
        −d log partⱼ/dλ.
    """
    largest = np.abs(parts).max(axis=1, initial=0.0)
    shares = (parts / np.where(largest > 0.0, largest, 1.0)[:, None]) ** 2
    total = shares.sum(axis=1)
    slope = (shares * rates).sum(axis=1) / np.where(total > 0.0, total, 1.0)
    return largest * np.sqrt(total), -slope


def _dependent(scaled: Floats, rank: int) -> tuple[int, ...]:
    """Name columns that could be left out, the last of each dependent set."""
    k = scaled.shape[1]
    if rank == k:
        return ()
    # Greedy from the left: a column is dependent when those kept before it explain it.
    kept: list[Floats] = []
    dependent: list[int] = []
    for j in range(k):
        column = scaled[:, j]
        rest = column.copy()
        for _ in range(2):  # twice is enough for orthogonality
            for direction in kept:
                rest -= direction * (direction @ rest)
        size = float(np.linalg.norm(rest))
        if size <= 1e-7 * max(float(np.linalg.norm(column)), 1e-300) or len(kept) == rank:
            dependent.append(j)
        else:
            kept.append(rest / size)
    return tuple(dependent)
