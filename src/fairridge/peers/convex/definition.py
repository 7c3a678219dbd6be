"""Equal treatment of people from different groups who have the same outcome.

Squared differences between groups within outcomes are a quadratic form, without
the pairs. For two groups a and b with the same outcome, the mean over all pairs of rows is

    mean (xᵢ·b − xⱼ·b)² = bᵀ(C_a + C_b + (m_a − m_b)(m_a − m_b)ᵀ)b

with means m and covariances C (divisor n) of x in each of the two. Summed over
the pairs of G groups this is (G − 1)ΣC_a + GΣ(m_a − m̄)(m_a − m̄)ᵀ, m̄ the plain
mean of the m_a.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data.groups import group_codes
from fairridge.engines import Engine
from fairridge.fairness.base import Definition, share
from fairridge.models import Fit

# Rounding errors of sums of weights, relative to their total.
ROUNDING_OF_WEIGHTS = 1e-12


@dataclass(frozen=True)
class OutcomePairs(Definition):
    """Squared differences of linear predictors between groups, relative to no penalty."""

    # P(b)/P(b₀) with P(b) = bᵀMb the mean of (xᵢ·b − xⱼ·b)² over pairs of rows from two groups with
    # the same outcome, averaged over pairs of groups and outcomes (Do, Putzel, Martin, Smyth and
    # Zhong 2022), b the coefficients of the predictors and b₀ those without a penalty. Several
    # classes add up.

    bins: int  # outcomes that a numeric response is cut into
    _forms: dict[Engine, Floats] = field(default_factory=dict, repr=False, compare=False)
    name = "outcome-pairs"

    def form(self, engine: Engine, numeric: bool, groups: Integers | None = None) -> Floats:
        """Return M on some rows, whose response is cut into bins if it is numeric."""
        # Groups are combinations of values of S unless they are given.
        if engine not in self._forms:
            S, X, response, weight = engine.dense_columns()
            codes = group_codes(S) if groups is None else groups
            y = response[:, 0]
            outcomes = outcome_bins(y, weight, self.bins) if numeric else y.astype(np.intp)
            self._forms[engine] = pair_form(X, codes, outcomes, weight)
        return self._forms[engine]

    def value(self, fit: Fit) -> float:
        """Return P(b)/P(b₀); 0 if there is nothing to compare."""
        return share(*self._pair(fit))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return P(b) and P(b₀)."""
        ours, theirs = self._pair(fit)
        return {"pairwise": ours, "pairwise_unconstrained": theirs}

    def _pair(self, fit: Fit) -> tuple[float, float]:
        M = self.form(fit.engine, fit.family.reads == "numbers")
        both = np.atleast_2d(fit.beta), np.atleast_2d(fit.unconstrained().beta)
        ours, theirs = (_form(b, M) for b in both)
        return ours, theirs


def _form(b: Floats, M: Floats) -> float:
    """Σ bᵀMb over rows of b; zero if it is nothing but rounding."""
    value = float(np.einsum("ki,ij,kj->", b, M, b))
    terms = float(np.einsum("ki,ij,kj->", np.abs(b), np.abs(M), np.abs(b)))
    return value if value > 1e-13 * terms else 0.0


def pair_form(X: Floats, groups: Integers, outcomes: Integers, weight: Floats) -> Floats:
    """Return M with bᵀMb the mean squared difference between groups within outcomes."""
    # Every combination of two groups and an outcome that both groups have counts the same. M is
    # zero if there is no such combination. Weights are positive.
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
    """Cut a numeric response into bins of about equal weight; equal values stay together."""
    # The bin of a value is ⌊bins·(P(y < value) + ½P(y = value))⌋, where a product that misses a
    # whole number by rounding is that number.
    _, codes = np.unique(y, return_inverse=True)
    at = np.bincount(codes, weights=weight)
    middle = (np.cumsum(at) - 0.5 * at) / at.sum()
    return np.minimum(bins * middle * (1.0 + ROUNDING_OF_WEIGHTS), bins - 1).astype(np.intp)[codes]
