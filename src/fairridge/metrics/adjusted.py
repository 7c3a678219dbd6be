"""What groups differ by among people with equal controls, and S with its attributes crossed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.special import stdtrit

from fairridge._typing import Floats
from fairridge.inference.scores import maps_given
from fairridge.metrics.batches import Alike, Sums
from fairridge.metrics.dependence_shares import NEGLIGIBLE_DEVIATION
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import UNDEFINED, Estimate
from fairridge.metrics.share_interval import moments_of_columns


@dataclass(frozen=True)
class AdjustedDifferences:
    """By how much mean scores of each group exceed those of all others with equal controls.

    That is the coefficient of the group's 0/1 column beside [1, C], with HC1's interval.
    """

    center: Floats  # means of [C, score, 0/1 columns]
    total: float  # weight of all rows
    left: Floats  # maps of these to what C leaves of score and groups, of shape (width, 1 + G)
    squares: Floats  # Σ w s² of what is left of every group
    slopes: Floats
    n_rows: int
    free: int  # degrees of freedom

    @staticmethod
    def moments(score: Floats, part: Grouping, C: Floats, weight: Floats) -> Sums:
        """Return what a regression of the scores is computed from; of batches they add."""
        moments = moments_of_columns(_columns(score, part, C), weight)
        return Sums({"controls": Alike(C.shape[1]), "moments": moments})

    @classmethod
    def of(cls, sums: Sums) -> AdjustedDifferences:
        """Regress scores by the moments of all rows."""
        moments, c = sums["moments"], sums["controls"].value
        covariance = moments.scatter / moments.weight
        of_controls, left = maps_given(covariance, c)
        of_left = left @ covariance @ left.T
        squares = np.diag(of_left)[1:]
        products = of_left[0, 1:]
        # Of a model that leaves S nothing, rounding would be shown as a difference.
        known = np.abs(products) > NEGLIGIBLE_DEVIATION * np.sqrt(of_left[0, 0] * squares)
        slopes = np.divide(products, squares, out=np.zeros_like(squares), where=known)
        n_rows = moments.n_rows
        return cls(
            moments.mean,
            moments.weight,
            left.T,
            squares,
            slopes,
            n_rows,
            n_rows - len(of_controls) - 2,
        )

    def sums(self, score: Floats, part: Grouping, C: Floats, weight: Floats) -> Floats:
        """Return the sum of squares of the influences of rows on every slope."""
        left = (_columns(score, part, C) - self.center) @ self.left
        y, s = left[:, :1], left[:, 1:]
        influence = (weight / self.total)[:, None] * s * (y - self.slopes * s)
        return np.asarray((influence**2).sum(axis=0))

    def estimates(self, sums: Floats, confidence: float) -> list[Estimate]:
        """Return the difference of every group."""
        if self.free < 1:
            return [UNDEFINED] * len(sums)
        factor = float(stdtrit(self.free, 0.5 + confidence / 2.0))
        errors = np.sqrt(sums * self.n_rows / self.free) / np.where(
            self.squares > 0.0, self.squares, 1
        )
        return [
            Estimate(slope, slope - factor * error, slope + factor * error, error=error)
            if square > 0.0
            else UNDEFINED
            for slope, error, square in zip(
                *(column.tolist() for column in (self.slopes, errors, self.squares)), strict=True
            )
        ]


def _columns(score: Floats, part: Grouping, C: Floats) -> Floats:
    """Return controls, scores and a 0/1 column of every group."""
    groups = (part.codes[:, None] == np.arange(len(part.labels))).astype(np.float64)
    return np.column_stack([C, score, groups])


def crossed_columns(columns: Floats, owners: Sequence[int]) -> Floats:
    """Return columns of attributes, and all products of one column of each."""
    places = np.asarray(owners)
    each = [columns[:, places == k] for k in dict.fromkeys(owners)]
    if len(each) < 2:
        return columns
    return np.hstack([columns, reduce(_products, each)])


def _products(first: Floats, second: Floats) -> Floats:
    """Return products of every column of the first with every one of the second."""
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
