"""Tests of two proportions or means, one-sided, with unequal groups.

- Ratios: the score test of Koopman (1984) and Miettinen and Nurminen (1985).
- Differences: Newcombe's (1998) hybrid of Wilson's intervals.
- Weighted rows: the sandwich variance of a weighted mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

from fairridge._typing import Floats

__all__ = ["Part", "difference_p_value", "mean_gap_p_value", "part_of", "ratio_p_value"]


@dataclass(frozen=True)
class Part:
    """Values of one group.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    mean, variance : float
        Their weighted mean, and the weighted variance of the values.
    error : float
        Squared standard error of the mean.
    weighted : bool
        Whether rows have different weights.
    """

    n_rows: int
    mean: float
    variance: float
    error: float
    weighted: bool


def part_of(values: Floats, weight: Floats) -> Part:
    """Summarize the values of one group."""
    n, total = len(values), float(weight.sum())
    mean = float(weight @ values) / total
    centered = values - mean
    variance = float(weight @ centered**2) / total
    error = float(weight**2 @ centered**2) / total**2
    return Part(n, mean, variance, error, bool(np.ptp(weight) > 0.0))


def ratio_p_value(first: Part, second: Part, ratio: float) -> float:
    """Test H₀: p₁/p₂ ≤ ratio against p₁/p₂ > ratio.

    The variance is that of the proportions that are likeliest under H₀. Weighted
    rows: log p₁ − log p₂ with its sandwich variance.
    """
    if first.weighted or second.weighted:
        if first.mean <= 0.0 or second.mean <= 0.0:
            return float(second.mean > 0.0 or first.mean <= 0.0)
        spread = np.sqrt(first.error / first.mean**2 + second.error / second.mean**2)
        gap = np.log(first.mean / second.mean) - np.log(ratio)
        return float(norm.sf(gap / spread)) if spread > 0.0 else float(gap <= 0.0)
    n1, n2 = first.n_rows, second.n_rows
    x1, x2, n = n1 * first.mean, n2 * second.mean, n1 + n2
    a, b, c = n * ratio, -(n1 * ratio + x1 + n2 + x2 * ratio), x1 + x2
    q2 = (-b - np.sqrt(max(b * b - 4.0 * a * c, 0.0))) / (2.0 * a)
    q1 = ratio * q2
    variance = (q1 * (1.0 - q1) / n1 + ratio**2 * q2 * (1.0 - q2) / n2) * n / (n - 1)
    gap = first.mean - ratio * second.mean
    return float(norm.sf(gap / np.sqrt(variance))) if variance > 0.0 else float(gap <= 0.0)


def difference_p_value(first: Part, second: Part, maximum: float) -> float:
    """Test H₀: |p₁ − p₂| ≥ maximum against |p₁ − p₂| < maximum.

    Two one-sided tests, the larger p-value: the smallest level at which
    Newcombe's interval lies within ±maximum.
    """
    if first.weighted or second.weighted:
        return mean_gap_p_value(first, second, maximum)
    gap = first.mean - second.mean
    if abs(gap) >= maximum:
        return 1.0

    def outside(z: float) -> float:
        low, high = _newcombe(first, second, z)
        return max(high, -low) - maximum

    largest = 12.0
    if outside(largest) < 0.0:
        return float(norm.sf(largest))
    return float(norm.sf(brentq(outside, 0.0, largest)))


def mean_gap_p_value(first: Part, second: Part, maximum: float) -> float:
    """Test H₀: |mean₁ − mean₂| ≥ maximum by two one-sided Welch tests."""
    gap = abs(first.mean - second.mean)
    parts = [part.error * _unbiased(part) for part in (first, second)]
    spread = float(np.sqrt(sum(parts)))
    if spread == 0.0:
        return float(gap >= maximum)
    df = sum(parts) ** 2 / sum(
        e**2 / max(part.n_rows - 1, 1) for e, part in zip(parts, (first, second), strict=True)
    )
    return float(t.sf((maximum - gap) / spread, df))


def _unbiased(part: Part) -> float:
    return part.n_rows / max(part.n_rows - 1, 1)


def _newcombe(first: Part, second: Part, z: float) -> tuple[float, float]:
    (l1, u1), (l2, u2) = (_wilson(part, z) for part in (first, second))
    p1, p2 = first.mean, second.mean
    below, above = np.hypot(p1 - l1, u2 - p2), np.hypot(u1 - p1, p2 - l2)
    return float(p1 - p2 - below), float(p1 - p2 + above)


def _wilson(part: Part, z: float) -> tuple[float, float]:
    p, n = part.mean, part.n_rows
    middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    return middle - half, middle + half
