"""Weighted first and second moments: what one pass over the rows leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Booleans, Floats

__all__ = ["Moments", "binary_columns"]


def binary_columns(means: Floats, variances: Floats) -> Booleans:
    """Return which columns are 0 or 1 in every row, as far as two moments tell."""
    inside = (means >= 0.0) & (means <= 1.0)
    bounded = np.where(inside, means, 0.0)
    return inside & (np.abs(variances - bounded * (1.0 - bounded)) <= 1e-8 * bounded)


@dataclass(frozen=True)
class Moments:
    """Weight, means and centered scatter of the columns [S, X, y].

    Moments of disjoint sets of rows add; moments of a subset subtract. Both
    keep the scatter centered, so nothing is lost to means far from zero.

    Attributes
    ----------
    n_rows : int
        Rows counted.
    weight : float
        Sum of their weights.
    mean : ndarray of shape (k,)
        Weighted column means.
    scatter : ndarray of shape (k, k)
        Σ w (z − mean)(z − mean)ᵀ.
    """

    n_rows: int
    weight: float
    mean: Floats
    scatter: Floats

    @classmethod
    def from_raw(cls, n_rows: int, gram: Floats, shift: Floats) -> Moments:
        """Center the Gram matrix of [1, z − shift].

        The shift is any point near the data; centering then costs no digits.
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
