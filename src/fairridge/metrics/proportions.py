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
from fairridge.metrics.contrasts import newcombe_limits, ratio_variance


@dataclass(frozen=True)
class Part:
    """Values of one group."""

    n_rows: int  # number of rows
    mean: float  # their weighted mean
    error: float  # squared standard error of the mean
    weighted: bool  # whether rows have different weights


def part_of(values: Floats, weight: Floats) -> Part:
    """Summarize the values of one group."""
    total = float(weight.sum())
    mean = float(weight @ values) / total
    error = float(weight**2 @ (values - mean) ** 2) / total**2
    return Part(len(values), mean, error, bool(np.ptp(weight) > 0.0))


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
    variance = float(ratio_variance(*_shares(first, second), np.asarray(ratio)))
    gap = first.mean - ratio * second.mean
    return float(norm.sf(gap / np.sqrt(variance))) if variance > 0.0 else float(gap <= 0.0)


def difference_p_value(first: Part, second: Part, maximum: float) -> float:
    """Test H₀: |p₁ − p₂| ≥ maximum against |p₁ − p₂| < maximum.

    Two one-sided tests, the larger p-value: the smallest level at which
    Newcombe's interval lies within ±maximum.
    """
    if first.weighted or second.weighted:
        return mean_gap_p_value(first, second, maximum)
    if abs(first.mean - second.mean) >= maximum:
        return 1.0

    def outside(z: float) -> float:
        low, high = newcombe_limits(*_shares(first, second), z)
        return float(np.maximum(high, -low)) - maximum

    largest = 12.0
    if outside(largest) < 0.0:
        return float(norm.sf(largest))
    return float(norm.sf(brentq(outside, 0.0, largest)))


def mean_gap_p_value(first: Part, second: Part, maximum: float) -> float:
    """Test H₀: |mean₁ − mean₂| ≥ maximum by two one-sided Welch tests."""
    gap = abs(first.mean - second.mean)
    rows = np.array([first.n_rows, second.n_rows])
    errors = np.array([first.error, second.error]) * rows / np.maximum(rows - 1, 1)
    total = float(errors.sum())
    if total == 0.0:
        return float(gap >= maximum)
    df = total**2 / (errors**2 / np.maximum(rows - 1, 1)).sum()
    return float(t.sf((maximum - gap) / np.sqrt(total), df))


def _shares(first: Part, second: Part) -> tuple[Floats, Floats, Floats, Floats]:
    """Return both shares, and how many rows they are of."""
    pairs = ((part.mean, float(part.n_rows)) for part in (first, second))
    (p1, n1), (p2, n2) = (map(np.asarray, pair) for pair in pairs)
    return p1, n1, p2, n2
