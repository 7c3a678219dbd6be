"""Sums over rows that share one linear predictor, as in the null model.

Such rows differ in their responses only, so a response with few values (0 and
1, classes, counts) needs one row per value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.families import Family
from fairridge.families.sums import RowFunction

__all__ = ["DistinctResponses"]


# Distinct responses up to which they are counted, and rows per each of them at least.
MOST_VALUES, ROWS_EACH = 256, 4


@dataclass(frozen=True)
class DistinctResponses:
    """The values of a response, and the weight of the rows that have each.

    Attributes
    ----------
    values : ndarray of shape (d, 1)
        In ascending order.
    weights : ndarray of shape (d,)
        Sums of sample weights.
    """

    values: Floats
    weights: Floats

    @classmethod
    def of(cls, response: Floats, weights: Floats) -> DistinctResponses | None:
        """Count; None if the values are too many to gain by it."""
        few = min(MOST_VALUES, len(response) // ROWS_EACH)
        # A continuous response shows in its first rows, before all are sorted.
        if response.shape[1] > 1 or len(np.unique(response[: 2 * MOST_VALUES])) > few:
            return None
        values, places = np.unique(response[:, 0], return_inverse=True)
        if len(values) > few:
            return None
        return cls(values[:, None], np.bincount(places, weights).astype(np.float64))

    def sum_over_rows(self, function: RowFunction, level: Floats) -> Floats:
        """Return Σ function over all rows at η = level."""
        return function(self.values, self._eta(level), self.weights)

    def curvature(self, family: Family, level: Floats) -> Floats | None:
        """Return the second derivative (m, m) that rows of weight 1 share; None if they do not."""
        ones = np.ones(len(self.values))
        each = family.deviance_terms(self.values, self._eta(level), ones, 2).curvature
        assert each is not None  # at order 2
        return np.asarray(each[0]) if (each == each[0]).all() else None

    def _eta(self, level: Floats) -> Floats:
        return np.tile(level, (len(self.values), 1))
