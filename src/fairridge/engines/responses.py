"""Sums over rows that share one linear predictor, as in the null model.

Such rows differ in their responses only, so a response with few values (0 and
1, classes, counts) needs one row per value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.engines.moments import Moments
from fairridge.families import Family
from fairridge.families.sums import RowFunction

__all__ = ["DistinctResponses", "intercepts_of_sums"]


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


def intercepts_of_sums(
    family: Family, moments: Moments, n_columns: int, offset: float | None, log_sums: Floats
) -> Floats:
    """Return the intercepts from which a family starts, of rows known by their sums.

    Families with the log link say what they need by `log_sums`. Others look
    at weighted means of the response (or weights of its classes) and of the
    offset: rows that have the same means stand for all.

    Parameters
    ----------
    family : Family
        The family.
    moments : Moments
        Of [S, X, y].
    n_columns : int
        Columns of S and X.
    offset : float or None
        Σ w offset; None if there is none.
    log_sums : ndarray
        What the family asked for, or nothing.
    """
    if log_sums.size:
        return np.array([log_sums[0] - log_sums[1]])
    targets = moments.mean[n_columns:]
    if len(targets) > 1:
        y, weight = np.arange(len(targets), dtype=np.float64), moments.weight * targets
    else:
        y, weight = targets, np.array([moments.weight])
    each = None if offset is None else np.full(len(y), offset / moments.weight)
    return family.initial_intercepts(y[:, None], weight, each)
