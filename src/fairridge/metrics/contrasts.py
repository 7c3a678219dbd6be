"""Intervals and tests of differences and ratios between groups, which have no rows in common.

- Differences of shares: Newcombe's (1998) hybrid of Wilson's intervals.
- Ratios of shares: the score interval of Koopman (1984), with the factor
  n/(n − 1) of Miettinen and Nurminen (1985).
- Differences of means: Welch's. Ratios of means: the same of their logarithms.

Weighted rows count with Kish's effective number, as in the intervals of one
group. The largest difference of all pairs of k groups, and the smallest ratio,
have simultaneous intervals: with each pair at the level 1 − δ/m of m pairs, all
intervals hold together with probability 1 − δ (Bonferroni), and then the true
extreme lies between the extremes of their lower and of their upper ends. So
nothing is gained by looking for the worst pair first.

Rules test groups that come as `judged_estimates`. Weighted rows count there with as many rows as
would give a share the same variance, p(1 − p)/v with v the sandwich variance of the weighted mean
(Korn and Graubard 1998), and at most Kish's (Σw)²/Σw². With equal weights that is the number of
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri, stdtrit

from fairridge._typing import Floats
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import UNDEFINED, Estimate, wilson_limits

# Steps that each divide an interval into parts, all points at once: together fewer binary digits
# than floats have, so that θ stays finite. More parts are slower for the pairs of many groups.
BISECTION_STEPS, BISECTION_PARTS = 25, 4

# Ends of the intervals of pairs (first, second), given the probability left out in each. Both
# have three rows: values, sizes and errors.
Limits = Callable[[Floats, Floats, float], tuple[Floats, Floats]]


def ratios(
    limits: Limits, groups: Sequence[Estimate], reference: Estimate, confidence: float
) -> list[Estimate]:
    """Return the ratios of shares, or means, of groups to that of another."""
    # Undefined if that is 0; those of means unless all are positive.
    if not reference.value > 0.0 or not _have_ratios(limits, groups):
        return [UNDEFINED] * len(groups)
    known = [k for k, group in enumerate(groups) if group.size > 0.0]
    found = [UNDEFINED] * len(groups)
    if known:
        columns = as_columns([groups[k] for k in known])
        others = np.repeat(as_columns([reference]), len(known), axis=1)
        ends = limits(columns, others, 1.0 - confidence)
        for k, low, high in zip(known, *ends, strict=True):
            found[k] = Estimate(groups[k].value / reference.value, float(low), float(high))
    return found


def smallest_ratio(
    limits: Limits, groups: Sequence[Estimate], confidence: float | None
) -> Estimate:
    """Return the lowest share, or mean, of a group over the highest, at most 1."""
    # Without a confidence it has no interval; undefined for means unless all are positive.
    known = [group for group in groups if group.value == group.value]
    values = [group.value for group in known]
    if len(known) < 2 or max(values) <= 0.0 or not _have_ratios(limits, groups):
        return UNDEFINED
    if confidence is None:
        return Estimate(min(values) / max(values))
    low, high = _of_pairs(limits, known, 1.0 - confidence)
    with np.errstate(divide="ignore"):
        lows, highs = np.append(low, 1.0 / high), np.append(high, 1.0 / low)
    return Estimate(min(values) / max(values), float(lows.min()), min(float(highs.min()), 1.0))


def _have_ratios(limits: Limits, groups: Sequence[Estimate]) -> bool:
    """Whether groups have ratios: means only if all are positive."""
    return limits is not mean_ratio_limits or all(group.value > 0.0 for group in groups)


def largest_difference(
    limits: Limits, families: Sequence[Sequence[Estimate]], confidence: float
) -> Estimate:
    """Return the largest difference between two groups, of any family of shares or means."""
    known = [[group for group in groups if group.value == group.value] for groups in families]
    compared = [groups for groups in known if len(groups) > 1]
    if not compared:
        return UNDEFINED
    outside = (1.0 - confidence) / len(compared)
    low, high = np.hstack([_of_pairs(limits, groups, outside) for groups in compared])
    return Estimate(
        max(float(np.ptp([group.value for group in groups])) for groups in compared),
        # NaN if a group of one row has no interval: then the extremes have none.
        max(float(np.append(low, -high).max()), 0.0),
        float(np.append(high, -low).max()),
    )


def _of_pairs(limits: Limits, groups: Sequence[Estimate], outside: float) -> tuple[Floats, Floats]:
    """Return the ends of intervals of all pairs that hold together."""
    first, second = np.triu_indices(len(groups), 1)
    columns = as_columns(groups)
    return limits(columns[:, first], columns[:, second], outside / len(first))


# ---------------------------------------------------------------------- pairs


def as_columns(groups: Sequence[Estimate]) -> Floats:
    """Return values, sizes and errors of groups."""
    return np.array([(group.value, group.size, group.error) for group in groups]).T


def rate_difference_limits(first: Floats, second: Floats, outside: float) -> tuple[Floats, Floats]:
    """Return the ends of Newcombe's intervals of differences of shares."""
    (p1, n1, _), (p2, n2, _) = first, second
    return newcombe_limits(p1, n1, p2, n2, float(-ndtri(outside / 2.0)))


def newcombe_limits(
    p1: Floats, n1: Floats, p2: Floats, n2: Floats, z: float
) -> tuple[Floats, Floats]:
    """Return the ends of Newcombe's intervals of p₁ − p₂, shares of n₁ and n₂ rows."""
    (l1, u1), (l2, u2) = wilson_limits(p1, n1, z), wilson_limits(p2, n2, z)
    gap = p1 - p2
    return gap - np.hypot(p1 - l1, u2 - p2), gap + np.hypot(u1 - p1, p2 - l2)


def mean_limits(first: Floats, second: Floats, outside: float) -> tuple[Floats, Floats]:
    """Return the ends of Welch's intervals of differences of means."""
    gap = first[0] - second[0]
    error, df = welch(first, second)
    # Two constants have no error, whatever the degrees of freedom.
    half = np.where(error > 0.0, stdtrit(df, 1.0 - outside / 2.0) * error, error)
    return gap - half, gap + half


def welch(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the standard errors of differences of means, and their degrees of freedom."""
    # Both have three rows: values, sizes and errors.
    (_, n1, e1), (_, n2, e2) = first, second
    v1, v2 = e1**2, e2**2
    with np.errstate(invalid="ignore", divide="ignore"):
        df = (v1 + v2) ** 2 / (v1**2 / (n1 - 1.0) + v2**2 / (n2 - 1.0))
    return np.sqrt(v1 + v2), df


def mean_ratio_limits(first: Floats, second: Floats, outside: float) -> tuple[Floats, Floats]:
    """Return the ends for ratios of positive means: log m has the standard error e/m."""
    one, other = (np.array([np.log(m), n, e / m]) for m, n, e in (first, second))
    low, high = mean_limits(one, other, outside)
    return np.exp(low), np.exp(high)


def rate_ratio_limits(first: Floats, second: Floats, outside: float) -> tuple[Floats, Floats]:
    """Return the ends of score intervals of ratios of shares."""
    z = float(-ndtri(outside / 2.0))
    (p1, n1, _), (p2, n2, _) = first, second

    # The statistic falls as the ratio θ grows: divide θ/(1 + θ), both ends at once.
    wanted, inner = np.array([[z], [-z]]), np.arange(1.0, BISECTION_PARTS)[:, None, None]
    low, width = np.zeros((2, len(p1))), 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(BISECTION_STEPS):
            width /= BISECTION_PARTS
            points = low + width * inner
            above = _score(p1, n1, p2, n2, points / (1.0 - points)) > wanted
            low = low + width * above.sum(axis=0)
    lower, upper = low / (1.0 - low)
    return np.where(p1 > 0.0, lower, 0.0), np.where(p2 > 0.0, upper, np.inf)


def _score(p1: Floats, n1: Floats, p2: Floats, n2: Floats, ratio: Floats) -> Floats:
    """Return the score statistic of p₁ − θp₂."""
    gap = p1 - ratio * p2
    score = gap / np.sqrt(np.maximum(ratio_variance(p1, n1, p2, n2, ratio), 0.0))
    return np.where(gap == 0.0, 0.0, score)


def ratio_variance(p1: Floats, n1: Floats, p2: Floats, n2: Floats, ratio: Floats) -> Floats:
    """Return the variance of p₁ − θp₂ in the likeliest shares that have the ratio θ."""
    n, x1, x2 = n1 + n2, n1 * p1, n2 * p2
    a, b, c = n * ratio, -(n1 * ratio + x1 + n2 + x2 * ratio), x1 + x2
    root = np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))
    # The smaller root, written so that nothing cancels where θ is small.
    q2 = 2.0 * c / (root - b)
    q1 = ratio * q2
    return (q1 * (1.0 - q1) / n1 + ratio**2 * q2 * (1.0 - q2) / n2) * n / (n - 1.0)


# ------------------------------------------------------------------------ groups of rules


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


def as_share(group: Estimate) -> Estimate:
    """Return the mean of a group with its effective number of rows for the test of a share."""
    n = group.size
    if not group.error > 0.0:
        return group
    return replace(
        group, size=min(n, group.value * (1.0 - group.value) * n / (n - 1.0) / group.error**2)
    )
