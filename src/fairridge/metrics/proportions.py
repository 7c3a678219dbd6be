"""Tests of two proportions or means, one-sided, with unequal groups.

- Ratios: the score test of Koopman (1984) and Miettinen and Nurminen (1985).
- Differences: Newcombe's (1998) hybrid of Wilson's intervals.
- Means: Welch's.

Groups come as `judged_estimates`. Weighted rows count with their effective number: as many rows as
would give a share the same variance, p(1 − p)/v with v the sandwich variance of the weighted
mean (Korn and Graubard 1998), and at most Kish's (Σw)²/Σw². With equal weights
that is the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

from fairridge._typing import Floats
from fairridge.metrics.contrasts import (
    as_columns,
    mean_limits,
    newcombe_limits,
    rate_ratio,
    ratio_variance,
    welch,
)
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import Estimate


def judged_estimates(
    groupings: Sequence[Grouping], weight: Floats, values: Floats
) -> tuple[GroupTable, list[Estimate]]:
    """Return the mean of every group: Kish's number of rows, the sandwich error, skewness."""
    unit = weight / weight.max(initial=1.0)
    table, squared = (GroupTable.of(groupings, w, values) for w in (unit, unit**2))
    about_mean = squared.squares + squared.weights * (squared.means - table.means) ** 2
    n = table.sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(about_mean[0]) / table.weights * np.sqrt(n / (n - 1.0))
        cubes = _cubes(groupings, unit, values, table) / (table.weights * error) ** 3
        skewness = cubes * n**2 / ((n - 1.0) * (n - 2.0))
    columns = (column.tolist() for column in (table.means[0], n, error, skewness))
    names = ("value", "size", "error", "skewness")
    rows = zip(*columns, strict=True)
    return table, [Estimate(**dict(zip(names, row, strict=True))) for row in rows]


def _cubes(
    groupings: Sequence[Grouping], weight: Floats, values: Floats, table: GroupTable
) -> Floats:
    """Return Σ (w (v − mean))³ of every group."""
    found = []
    for grouping, own in zip(groupings, table.places, strict=True):
        apart = weight * (values - table.means[0, own].take(grouping.codes))
        found.append(np.bincount(grouping.codes, apart**3, len(grouping.labels)))
    return np.concatenate(found)


def with_more_rows(group: Estimate, factor: float) -> Estimate:
    """Return the same values in so many times as many rows."""
    n = group.size
    error = group.error * float(np.sqrt((n - 1.0) / (factor * n - 1.0)))
    skewness = group.skewness / float(np.sqrt(factor))
    return replace(group, size=n * factor, error=error, skewness=skewness)


def size_as_share(group: Estimate) -> float:
    """Return the effective number of rows for the test of a share."""
    n = group.size
    if not group.error > 0.0:
        return n
    return min(n, group.value * (1.0 - group.value) * n / (n - 1.0) / group.error**2)


def ratio_p_value(first: Estimate, second: Estimate, ratio: float) -> float:
    """Test H₀: p₁/p₂ ≤ ratio against p₁/p₂ > ratio.

    The variance is that of the proportions that are likeliest under H₀.
    """
    variance = float(ratio_variance(*_shares(first, second), np.asarray(ratio)))
    gap = first.value - ratio * second.value
    return float(norm.sf(gap / np.sqrt(variance))) if variance > 0.0 else float(gap <= 0.0)


def ratio_limits(first: Estimate, second: Estimate, level: float) -> tuple[float, float]:
    """Return the ends of the score interval of p₁/p₂, each wrong with probability `level`."""
    one, other = (replace(group, size=size_as_share(group)) for group in (first, second))
    ends = rate_ratio(one, other, 1.0 - 2.0 * level)
    return ends.low, ends.high


def difference_p_value(first: Estimate, second: Estimate, maximum: float) -> float:
    """Test H₀: |p₁ − p₂| ≥ maximum against |p₁ − p₂| < maximum.

    Two one-sided tests, the larger p-value: the smallest level at which
    Newcombe's interval lies within ±maximum.
    """
    beyond = abs(first.value - second.value) >= maximum

    def inside(z: float) -> float:
        """Whether the end of |p₁ − p₂| on the other side of the maximum is there; 0 at it."""
        low, high = newcombe_limits(*_shares(first, second), z)
        if beyond:
            return float(np.maximum(low, -high)) - maximum
        return maximum - float(np.maximum(high, -low))

    largest = 12.0
    z = largest if inside(largest) > 0.0 else brentq(inside, 0.0, largest)
    return float(norm.cdf(z) if beyond else norm.sf(z))


def difference_limits(first: Estimate, second: Estimate, level: float) -> tuple[float, float]:
    """Return the ends of Newcombe's interval of p₁ − p₂, each wrong with probability `level`."""
    low, high = newcombe_limits(*_shares(first, second), float(norm.isf(level)))
    return float(low), float(high)


def mean_gap_p_value(first: Estimate, second: Estimate, maximum: float) -> float:
    """Test H₀: |mean₁ − mean₂| ≥ maximum by two one-sided Welch tests."""
    gap = abs(first.value - second.value)
    error, df = (float(one[0]) for one in welch(as_columns([first]), as_columns([second])))
    return float(t.sf((maximum - gap) / error, df)) if error > 0.0 else float(gap >= maximum)


def mean_gap_limits(first: Estimate, second: Estimate, level: float) -> tuple[float, float]:
    """Return the ends of Welch's interval of mean₁ − mean₂, each wrong with probability `level`."""
    low, high = mean_limits(as_columns([first]), as_columns([second]), 2.0 * level)
    return float(low[0]), float(high[0])


def _shares(first: Estimate, second: Estimate) -> tuple[Floats, Floats, Floats, Floats]:
    """Return both shares, and how many rows they are of, in effect."""
    pairs = ((group.value, size_as_share(group)) for group in (first, second))
    (p1, n1), (p2, n2) = (map(np.asarray, pair) for pair in pairs)
    return p1, n1, p2, n2
