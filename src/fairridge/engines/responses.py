"""Sums over rows that share one linear predictor, as in the null model.

Such rows differ in their responses only, so a response with few values (0 and
1, classes, counts) needs one row per value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.engines.blocks import Moments
from fairridge.families import Family
from fairridge.families.sums import GLMSums, RowFunction

# Distinct responses up to which they are counted, and rows per each of them at least.
MOST_VALUES, ROWS_EACH = 256, 4


@dataclass(frozen=True)
class DistinctResponses:
    """The values of a response, and the weight of the rows that have each."""

    values: Floats  # in ascending order, of shape (d, 1)
    weights: Floats  # sums of sample weights, of shape (d,)

    @classmethod
    def of(cls, response: Floats, weights: Floats) -> DistinctResponses | None:
        """Count; None if the values are too many to gain by it."""
        few = min(MOST_VALUES, len(response) // ROWS_EACH)
        # A continuous response shows in its first rows, before all are sorted.
        if response.shape[1] > 1 or len(np.unique(response[: 2 * MOST_VALUES])) > few:
            return None
        values = np.unique(response[:, 0])
        if len(values) > few:
            return None
        places = np.searchsorted(values, response[:, 0])
        return cls(values[:, None], np.bincount(places, weights).astype(np.float64))

    def sum_over_rows(self, function: RowFunction, intercept: Floats) -> Floats:
        """Return Σ function over all rows at η = intercept."""
        return function(self.values, self._eta(intercept), self.weights)

    def sums(self, family: Family, intercept: Floats, n_columns: int) -> GLMSums:
        """Return the deviance at η = intercept, with its derivatives in the intercept alone."""
        terms = family.deviance_terms(self.values, self._eta(intercept), self.weights, 1)
        assert terms.gradient is not None  # at order 1
        gradient = np.zeros((len(intercept), 1 + n_columns))
        gradient[:, 0] = terms.gradient.sum(axis=0)
        return GLMSums(float(terms.deviance), gradient, None)

    def slopes(self, family: Family, intercept: Floats) -> Floats:
        """Return the derivatives (d, m) of a row of weight 1 with each response."""
        ones = np.ones(len(self.values))
        each = family.deviance_terms(self.values, self._eta(intercept), ones, 1).gradient
        assert each is not None  # at order 1
        return each

    def curvature(self, family: Family, intercept: Floats) -> Floats | None:
        """Return the second derivative (m, m) that rows of weight 1 share; None if they do not."""
        ones = np.ones(len(self.values))
        each = family.deviance_terms(self.values, self._eta(intercept), ones, 2).curvature
        assert each is not None  # at order 2
        return np.asarray(each[0]) if (each == each[0]).all() else None

    def hessian(self, family: Family, intercept: Floats, gram: Floats) -> Floats | None:
        """Return the curvature times a Gram matrix of the rows; None if rows differ in it."""
        curvature = self.curvature(family, intercept)
        return None if curvature is None else np.einsum("ab,ij->aibj", curvature, gram)

    def _eta(self, intercept: Floats) -> Floats:
        return np.tile(intercept, (len(self.values), 1))


def class_responses(family: Family, moments: Moments, n_columns: int) -> DistinctResponses | None:
    """Return the weights of the classes, which moments of their indicators give; else None."""
    shares = moments.mean[n_columns:]
    if family.reads != "classes" or not moments.binary[n_columns:].all():
        return None
    shares = np.append(1.0 - shares, shares) if len(shares) == 1 else shares
    return DistinctResponses(np.arange(float(len(shares)))[:, None], moments.weight * shares)


def null_sums(
    family: Family, moments: Moments, center: Floats, intercept: Floats
) -> GLMSums | None:
    """Return deviance, gradient and Hessian of classes at one η for all rows, from moments.

    Rows of a class have the same derivatives, so sums of the columns over each
    class are all they need. None if rows differ in their curvature, or if the
    response does not consist of classes.

    Parameters
    ----------
    family : Family
        The family.
    moments : Moments
        Of [S, X, y], y an indicator of the second class or of each class.
    center : ndarray of shape (q+p,)
        What the columns are centered at.
    intercept : ndarray of shape (m,)
        The linear predictor of all rows.
    """
    k = len(center)
    responses = class_responses(family, moments, k)
    if responses is None:
        return None
    gap, weight = np.append(1.0, moments.mean[:k] - center), moments.weight
    gram = weight * np.outer(gap, gap)
    gram[1:, 1:] += moments.scatter[:k, :k]
    by_target = weight * np.outer(gap, moments.mean[k:])
    by_target[1:] += moments.scatter[:k, k:]
    if by_target.shape[1] == 1:
        by_target = np.hstack([gram[:, :1] - by_target, by_target])
    hessian = responses.hessian(family, intercept, gram)
    if hessian is None:
        return None
    gradient = responses.slopes(family, intercept).T @ by_target.T
    return GLMSums(responses.sums(family, intercept, k).deviance, gradient, hessian)


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
