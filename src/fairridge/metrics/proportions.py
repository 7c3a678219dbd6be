"""Tests of two proportions or means, one-sided, with unequal groups.

- Ratios: the score test of Koopman (1984) and Miettinen and Nurminen (1985).
- Differences: Newcombe's (1998) hybrid of Wilson's intervals.
- Means: Welch's.

Weighted rows count with their effective number: as many rows as would give a
share the same variance, p(1 − p)/v with v the sandwich variance of the weighted
mean (Korn and Graubard 1998), and at most Kish's (Σw)²/Σw². With equal weights
that is the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

from fairridge._typing import Floats
from fairridge.metrics.contrasts import newcombe_limits, rate_ratio, ratio_variance
from fairridge.metrics.intervals import Estimate, effective_size


@dataclass(frozen=True)
class Part:
    """Values of one group."""

    n_rows: int  # number of rows
    size: float  # Kish's effective number, which is smaller if weights differ
    mean: float  # their weighted mean
    error: float  # squared standard error of the mean, without the factor n/(n − 1)
    name: str = ""  # the group
    attribute: str = ""  # the attribute that it is a group of
    share: float = 1.0  # of the weight of all rows, whether or not they are looked at

    @property
    def size_as_share(self) -> float:
        """Effective number of rows for the test of a share."""
        if not self.error > 0.0:
            return self.size
        return min(self.size, self.mean * (1.0 - self.mean) / self.error)

    def times(self, factor: float) -> Part:
        """Return the same values in so many times as many rows."""
        return replace(
            self,
            n_rows=int(np.ceil(self.n_rows * factor)),
            size=self.size * factor,
            error=self.error / factor,
        )


def part_of(values: Floats, weight: Floats, name: str = "", attribute: str = "") -> Part:
    """Summarize the values of one group; rows of weight zero are absent."""
    there = weight > 0.0
    values, weight = values[there], weight[there]
    total = float(weight.sum())
    mean = float(weight @ values) / total
    error = float(weight**2 @ (values - mean) ** 2) / total**2
    return Part(len(values), effective_size(weight), mean, error, name, attribute)


def ratio_p_value(first: Part, second: Part, ratio: float) -> float:
    """Test H₀: p₁/p₂ ≤ ratio against p₁/p₂ > ratio.

    The variance is that of the proportions that are likeliest under H₀.
    """
    variance = float(ratio_variance(*_shares(first, second), np.asarray(ratio)))
    gap = first.mean - ratio * second.mean
    return float(norm.sf(gap / np.sqrt(variance))) if variance > 0.0 else float(gap <= 0.0)


def ratio_limits(first: Part, second: Part, level: float) -> tuple[float, float]:
    """Return the ends of the score interval of p₁/p₂, each wrong with probability `level`."""
    one, other = (Estimate(part.mean, size=part.size_as_share) for part in (first, second))
    ends = rate_ratio(one, other, 1.0 - 2.0 * level)
    return ends.low, ends.high


def difference_p_value(first: Part, second: Part, maximum: float) -> float:
    """Test H₀: |p₁ − p₂| ≥ maximum against |p₁ − p₂| < maximum.

    Two one-sided tests, the larger p-value: the smallest level at which
    Newcombe's interval lies within ±maximum.
    """
    if abs(first.mean - second.mean) >= maximum:
        return 1.0

    def outside(z: float) -> float:
        low, high = newcombe_limits(*_shares(first, second), z)
        return float(np.maximum(high, -low)) - maximum

    largest = 12.0
    if outside(largest) < 0.0:
        return float(norm.sf(largest))
    return float(norm.sf(brentq(outside, 0.0, largest)))


def difference_limits(first: Part, second: Part, level: float) -> tuple[float, float]:
    """Return the ends of Newcombe's interval of p₁ − p₂, each wrong with probability `level`."""
    low, high = newcombe_limits(*_shares(first, second), float(norm.isf(level)))
    return float(low), float(high)


def mean_gap_p_value(first: Part, second: Part, maximum: float) -> float:
    """Test H₀: |mean₁ − mean₂| ≥ maximum by two one-sided Welch tests."""
    gap = abs(first.mean - second.mean)
    error, df = _welch(first, second)
    return float(t.sf((maximum - gap) / error, df)) if error > 0.0 else float(gap >= maximum)


def mean_gap_limits(first: Part, second: Part, level: float) -> tuple[float, float]:
    """Return the ends of Welch's interval of mean₁ − mean₂, each wrong with probability `level`."""
    error, df = _welch(first, second)
    half = float(t.isf(level, df)) * error if error > 0.0 else 0.0
    gap = first.mean - second.mean
    return gap - half, gap + half


def _welch(first: Part, second: Part) -> tuple[float, float]:
    """Return the standard error of a difference of means, and its degrees of freedom."""
    rows = np.array([first.size, second.size])
    errors = np.array([first.error, second.error]) * rows / np.maximum(rows - 1.0, 1.0)
    total = float(errors.sum())
    if total == 0.0:
        return 0.0, 1.0
    return float(np.sqrt(total)), float(total**2 / (errors**2 / np.maximum(rows - 1.0, 1.0)).sum())


def _shares(first: Part, second: Part) -> tuple[Floats, Floats, Floats, Floats]:
    """Return both shares, and how many rows they are of, in effect."""
    pairs = ((part.mean, part.size_as_share) for part in (first, second))
    (p1, n1), (p2, n2) = (map(np.asarray, pair) for pair in pairs)
    return p1, n1, p2, n2
