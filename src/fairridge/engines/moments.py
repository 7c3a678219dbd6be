"""What one pass over the rows leaves behind: weighted moments, or a triangular factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Booleans, Floats

# A sum of squares below this has lost digits to the end of the range of numbers.
LEAST_SQUARES = 1e-290


def binary_columns(means: Floats, variances: Floats) -> Booleans:
    """Return which columns are 0 or 1 in every row, as far as two moments show."""
    inside = (means >= 0.0) & (means <= 1.0)
    bounded = np.where(inside, means, 0.0)
    return inside & (np.abs(variances - bounded * (1.0 - bounded)) <= 1e-8 * bounded)


@dataclass(frozen=True)
class Moments:
    """Weight, means and centered scatter of the columns [S, X, y].

    Moments of disjoint sets of rows add; moments of a subset subtract. Both
    keep the scatter centered, so nothing is lost to means far from zero.
    """

    n_rows: int  # rows counted
    weight: float  # sum of their weights
    mean: Floats  # weighted column means, of shape (k,)
    scatter: Floats  # Σ w (z − mean)(z − mean)ᵀ, of shape (k, k)

    @classmethod
    def from_raw(cls, n_rows: int, gram: Floats, shift: Floats) -> Moments:
        """Center the Gram matrix of [1, z − shift].

        The shift is any point near the data; centering then does not reduce precision.
        """
        weight = float(gram[0, 0])
        first = gram[0, 1:] / weight
        scatter = gram[1:, 1:] - weight * np.outer(first, first)
        return cls(n_rows, weight, shift + first, scatter)

    @property
    def binary(self) -> Booleans:
        """Which columns are 0 or 1 in every row: their variance is mean(1 − mean)."""
        return binary_columns(self.mean, np.diag(self.scatter) / self.weight)

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.weight / weight)
        between = (self.weight * (other.weight / weight)) * np.outer(gap, gap)
        scatter = self.scatter + other.scatter + between
        return Moments(self.n_rows + other.n_rows, weight, mean, scatter)

    def __sub__(self, other: Moments) -> Moments:
        weight = self.weight - other.weight
        if self.n_rows <= other.n_rows or weight <= 0:
            raise ValueError("subtract the moments of a proper subset of the rows.")
        gap = other.mean - self.mean
        mean = self.mean - gap * (other.weight / weight)
        between = (self.weight * (other.weight / weight)) * np.outer(gap, gap)
        scatter = self.scatter - other.scatter - between
        return Moments(self.n_rows - other.n_rows, weight, mean, scatter)


def require_squares(squares: Floats, names: Sequence[str], column: Callable[[int], Floats]) -> None:
    """Raise for a column with NaN, infinity, or differences too large or small to square.

    Parameters
    ----------
    squares : ndarray of shape (k,)
        Sums of squares of the shifted columns.
    names : sequence of str
        Their names.
    column : callable
        Returns the numbers of one of them.
    """
    for k in np.flatnonzero(~np.isfinite(squares) | (squares < LEAST_SQUARES)).tolist():
        values = column(k)
        if not np.isfinite(squares[k]):
            raise ValueError(not_finite_message(names[k], values))
        if np.ptp(values) > 0.0:
            raise ValueError(
                f"Input column {names[k]!r} holds numbers too small to square; rescale it."
            )


def not_finite_message(name: str, values: Floats) -> str:
    """Say what is wrong with a column whose sum of squares is not finite."""
    if np.isnan(values).any():
        return (
            f"Input column {name!r} contains NaN or missing values; "
            "drop those rows or impute them first."
        )
    if np.isinf(values).any():
        return f"Input column {name!r} contains infinity; replace it by finite numbers."
    return f"Input column {name!r} holds numbers too large to square; rescale it."


def triangular_factor(matrix: Floats) -> Floats:
    """Return R of matrix = QR, of shape (min(m, k), k)."""
    factor: Floats = np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)
    return factor


@dataclass(frozen=True)
class Triangle:
    """R of a QR decomposition of some rows; with other rows it merges by another one."""

    R: Floats

    def __add__(self, other: Triangle) -> Triangle:
        return Triangle(triangular_factor(np.vstack([self.R, other.R])))
