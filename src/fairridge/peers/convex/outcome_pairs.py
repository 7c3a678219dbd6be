"""Squared differences between groups within outcomes, as a quadratic form, without the pairs.

For two groups a and b with the same outcome, the mean over all pairs of rows is

    mean (xᵢ·b − xⱼ·b)² = bᵀ(C_a + C_b + (m_a − m_b)(m_a − m_b)ᵀ)b

with means m and covariances C (divisor n) of x in each of the two. Summed over
the pairs of G groups this is (G − 1)ΣC_a + GΣ(m_a − m̄)(m_a − m̄)ᵀ, m̄ the plain
mean of the m_a.
"""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats, Integers

__all__ = ["outcome_bins", "pair_form"]


# What sums of weights may have lost, relative to their total.
ROUNDING_OF_WEIGHTS = 1e-12


def pair_form(X: Floats, groups: Integers, outcomes: Integers, weight: Floats) -> Floats:
    """Return M with bᵀMb the mean squared difference between groups within outcomes.

    Every combination of two groups and an outcome that both groups have counts
    the same. M is zero where there is no such combination.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Columns.
    groups, outcomes : ndarray of shape (n,)
        Codes.
    weight : ndarray of shape (n,)
        Positive weights.
    """
    p = X.shape[1]
    total, combinations = np.zeros((p, p)), 0
    for outcome in np.unique(outcomes):
        inside = np.flatnonzero(outcomes == outcome)
        cells = [inside[groups[inside] == group] for group in np.unique(groups[inside])]
        G = len(cells)
        means = np.array([np.average(X[cell], axis=0, weights=weight[cell]) for cell in cells])
        for cell, mean in zip(cells, means, strict=True):
            centered = X[cell] - mean
            share = weight[cell] / weight[cell].sum()
            total += (G - 1) * (centered * share[:, None]).T @ centered
        apart = means - means.mean(axis=0)
        total += G * apart.T @ apart
        combinations += G * (G - 1) // 2
    return total / max(combinations, 1)


def outcome_bins(y: Floats, weight: Floats, bins: int) -> Integers:
    """Cut a numeric response into bins of about equal weight; equal values stay together.

    The bin of a value is ⌊bins·(P(y < value) + ½P(y = value))⌋, where a
    product that misses a whole number by rounding is that number.
    """
    _, codes = np.unique(y, return_inverse=True)
    at = np.bincount(codes, weights=weight)
    middle = (np.cumsum(at) - 0.5 * at) / at.sum()
    return np.minimum(bins * middle * (1.0 + ROUNDING_OF_WEIGHTS), bins - 1).astype(np.intp)[codes]
