"""Estimates with confidence intervals: rates after Wilson, means after Student."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.special import ndtri, stdtrit

from fairridge._typing import Booleans, Floats, Integers
from fairridge.engines import columns_in_threads

NAN = float("nan")
# Confidence of intervals that nobody has chosen another one for.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval; NaN where there is nothing to estimate from.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends of its interval.
    size : float
        Effective number of rows that it comes from, if it is of one group.
    error : float
        Its standard error, if it is the mean of one group.
    """

    value: float = NAN
    low: float = NAN
    high: float = NAN
    size: float = NAN
    error: float = NAN

    def flat(self, name: str) -> dict[str, float]:
        """Return the value and the ends by name, for a row of a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def words(self, style: str) -> str:
        """Write the value, and the interval behind it if it has one that is not a point."""
        text = format(self.value, style)
        if not self.low < self.high:
            return text
        return f"{text} ({format(self.low, style)} to {format(self.high, style)})"


# What no rows at all estimate.
UNDEFINED = Estimate()


def effective_size(weight: Floats) -> float:
    """Kish's effective number of rows, (Σw)²/Σw²; the number of rows for equal weights."""
    largest = float(weight.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    if weight.min() == largest:
        return float(len(weight))
    weight = weight / largest  # squares of 1e-200 vanish, and those of 1e200 overflow
    return float(weight.sum()) ** 2 / float((weight * weight).sum())


def rate_interval(hits: Booleans, weight: Floats, confidence: float) -> Estimate:
    """Weighted share of hits with Wilson's score interval.

    With p the share, n the effective number of rows and z the normal quantile,
    (p + z²/2n ± z√(p(1−p)/n + z²/4n²)) / (1 + z²/n). It stays within [0, 1]
    and is not empty at p = 0 and p = 1.
    """
    n = effective_size(weight)
    if n == 0.0:
        return UNDEFINED
    p = min(float((weight * hits).sum() / weight.sum()), 1.0)  # faster than to pick the hits
    low, high = wilson_limits(np.array(p), np.array(n), float(ndtri(0.5 + confidence / 2.0)))
    return Estimate(p, float(low), float(high), n)


def wilson_limits(p: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's score intervals of shares p of n rows."""
    middle = p + z * z / (2.0 * n)
    half = z * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    scale = 1.0 + z * z / n
    # At p = 0 and p = 1 the interval ends there; rounding must not move it past the estimate.
    low, high = np.minimum((middle - half) / scale, p), np.maximum((middle + half) / scale, p)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def mean_interval(values: Floats, weight: Floats, confidence: float) -> Estimate:
    """Weighted mean with Student's interval, mean ± t·s/√n with n the effective number of rows."""
    n = effective_size(weight)
    if n == 0.0:
        return UNDEFINED
    total = weight.sum()
    mean = float((weight * values).sum() / total)
    if n <= 1.0 + 1e-9:
        return Estimate(mean, size=n)
    variance = float((weight * (values - mean) ** 2).sum() / total) * n / (n - 1.0)
    error = float(np.sqrt(variance / n))
    half = _half_width(n, error, confidence)
    return Estimate(mean, mean - half, mean + half, n, error)


def _half_width(n: float, error: float, confidence: float) -> float:
    """Return a quantile of t times an error.

    The quantile can be infinite for hardly more than one row; without an error the width is zero.
    """
    return float(stdtrit(n - 1.0, 0.5 + confidence / 2.0)) * error if error > 0.0 else 0.0


def ratio_of_totals(
    predicted: Floats, observed: Floats, weight: Floats, confidence: float
) -> Estimate:
    """Σ w predicted / Σ w observed, with an interval by the delta method on the log scale.

    With R the ratio, log R has the error of the mean of (predicted − R·observed)/(R ȳ). A ratio
    of zero has no interval. Undefined unless responses add up to more than zero, and predictions
    to no less.
    """
    if effective_size(weight) == 0.0:
        return UNDEFINED
    expected, total = (float(np.average(x, weights=weight)) for x in (predicted, observed))
    if expected < 0.0 or not total > 0.0:
        return UNDEFINED
    if expected == 0.0:
        return Estimate(0.0)
    ratio = expected / total
    found = mean_interval((predicted - ratio * observed) / expected, weight, confidence)
    with np.errstate(over="ignore"):  # two rows may say nothing of the ratio
        low, high = (ratio * float(np.exp(end)) for end in (found.low, found.high))
    return Estimate(ratio, low, high, found.size, ratio * found.error)


def ratios_of_totals(
    predicted: Floats,
    observed: Floats,
    weight: Floats,
    confidence: float,
    partitions: Sequence[tuple[Integers, int]],
) -> list[list[Estimate]]:
    """Return `ratio_of_totals` of each part of some partitions: codes, and how many there are.

    With R the ratio, (predicted − R·observed)² has the mean E[p²] − 2R E[po] + R²E[o²], so sums
    suffice.
    """
    unit = weight / weight.max()
    largest = max(float(np.abs(each).max()) for each in (predicted, observed))
    if largest > 0.0:  # squares overflow otherwise, and ratios have no unit
        predicted, observed = predicted / largest, observed / largest
    of_p, of_o = unit * predicted, unit * observed
    rows = (unit, unit * unit, of_p, of_o, of_p * predicted, of_p * observed, of_o * observed)

    def sums(partition: tuple[Integers, int]) -> Floats:
        codes, size = partition
        if size == 1:
            return np.array([[row.sum()] for row in rows])
        return np.array([np.bincount(codes, row, size) for row in rows])

    of_parts = np.concatenate(columns_in_threads(sums, partitions, len(weight)), axis=1)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        estimates = _ratios_of(of_parts, confidence)
    found = [Estimate(*numbers) for numbers in estimates.T.tolist()]
    places = [(codes, code) for codes, size in partitions for code in range(size)]
    for k in np.flatnonzero(~np.isfinite(estimates).all(axis=0)).tolist():
        mine = places[k][0] == places[k][1]
        found[k] = ratio_of_totals(predicted[mine], observed[mine], weight[mine], confidence)
    every = iter(found)
    return [list(islice(every, size)) for _, size in partitions]


def _ratios_of(sums: Floats, confidence: float) -> Floats:
    """Return ratio, ends, size and error of every group; not finite where sums do not suffice.

    `sums` are Σ w, Σ w², Σ w p, Σ w o, Σ w p², Σ w po and Σ w o², of shape (7, groups).
    """
    w, ww, p, o, pp, po, oo = sums
    n, ratio = w * w / ww, p / o
    squares = np.maximum(pp - 2.0 * ratio * po + ratio**2 * oo, 0.0) * w / (p * p)
    error = np.sqrt(squares / np.where(n > 1.0 + 1e-9, n - 1.0, np.nan))
    change = np.exp(np.where(error > 0.0, stdtrit(n - 1.0, 0.5 + confidence / 2.0) * error, error))
    known = (p * p > 0.0) & (o * o > 0.0)
    return np.array(
        [ratio, ratio / change, ratio * change, n, np.where(known, ratio * error, np.nan)]
    )
