"""Estimates with confidence intervals: rates after Wilson, means after Student."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from fairridge._typing import Floats
from fairridge.tables import estimate

NAN = float("nan")
# Powers of the mean that variances go with: those of counts, and those of amounts.
VARIANCE_POWERS = (1, 2)
# Default confidence of intervals.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval; NaN where there is nothing to estimate from."""

    # The estimate and the ends of its interval.
    value: float = NAN
    low: float = NAN
    high: float = NAN
    size: float = NAN  # effective number of rows that it comes from, if it is of one group
    error: float = NAN  # its standard error, if it is the mean of one group
    # That of the mean of one group, which is g/√n if g is the skewness of its n rows.
    skewness: float = NAN

    def flat(self, name: str) -> dict[str, float]:
        """Return the value and the ends by name, for a row of a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def words(self, style: str = "", scale: float = 0.0) -> str:
        """Write the value, and the interval behind it if it has one that is not a point."""
        # Without a style the ends have places enough to differ, and numbers that are negligible
        # beside the scale, such as 1 for shares, are 0.
        ends = (self.value, self.low, self.high)
        texts = [format(each, style) for each in ends] if style else estimate(*ends, 3, scale)
        return f"{texts[0]} ({texts[1]} to {texts[2]})" if self.low < self.high else texts[0]


# An estimate from no rows.
UNDEFINED = Estimate()


def rate_estimates(p: Floats, n: Floats, confidence: float) -> list[Estimate]:
    """Return shares p of n rows, in effect, with Wilson's score intervals."""
    # With z the normal quantile, (p + z²/2n ± z√(p(1−p)/n + z²/4n²)) / (1 + z²/n). It stays within
    # [0, 1] and is not empty at p = 0 and p = 1.
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = wilson_limits(p, n, float(ndtri(0.5 + confidence / 2.0)))
    return _estimates(p, low, high, n)


def _estimates(
    value: Floats, low: Floats, high: Floats, n: Floats, error: Floats | None = None
) -> list[Estimate]:
    """Put estimates together; those of no rows are undefined."""
    columns = (value, low, high, n) if error is None else (value, low, high, n, error)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [Estimate(*row) if row[3] > 0.0 else UNDEFINED for row in rows]


def wilson_limits(p: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's score intervals of shares p of n rows."""
    middle = p + z * z / (2.0 * n)
    half = z * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    scale = 1.0 + z * z / n
    # At p = 0 and p = 1 the interval ends there; rounding must not move it past the estimate.
    low, high = np.minimum((middle - half) / scale, p), np.maximum((middle + half) / scale, p)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def mean_estimates(mean: Floats, variance: Floats, n: Floats, confidence: float) -> list[Estimate]:
    """Return means with Student's intervals, from variances (divisor n) and numbers of rows."""
    error, half = _student(variance, n, confidence)
    return _estimates(mean, mean - half, mean + half, n, error)


def _student(variance: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the standard errors of means, and the half widths of their intervals."""
    # A single row has none. The quantile of t can be infinite for hardly more than one row; without
    # an error the width is zero.
    error = np.asarray(np.sqrt(variance / np.where(n > 1.0 + 1e-9, n - 1.0, NAN)))
    quantile = stdtrit(np.where(n > 1.0, n - 1.0, NAN), 0.5 + confidence / 2.0)
    return error, np.multiply(quantile, error, out=np.array(error), where=error != 0.0)


def total_estimates(
    means: Floats,
    variances: Floats,
    n: Floats,
    confidence: float,
    alike: Sequence[tuple[slice, Floats]] = (),
) -> list[Estimate]:
    """Return Σ w predicted / Σ w observed with intervals by the delta method on the log scale."""
    # `means` and `variances` are those of predictions, observations, and their differences. With R
    # the ratio, log R has the error of the mean of (predicted − R·observed)/(R ȳ). Its variance
    # follows from those of both columns and of e = observed − predicted: VAR(p − R·o) = (1 −
    # R)(VAR(p) − R·VAR(o)) + R·VAR(e). A ratio of zero has no interval. Undefined unless responses
    # add up to more than zero, and predictions to no less.
    #
    # Few amounts that do not happen to have a large one show neither the mean nor the variance of
    # their group. So the variance of groups that vary `alike`, which come with their weights, is at
    # least that of all of them, in proportion to the mean or to its square, whichever is more:
    # groups differ in how often there is an amount, or in how large it is.
    predicted, observed, _ = means
    defined = (observed > 0.0) & (predicted >= 0.0)
    ratio = np.divide(predicted, observed, out=np.full(len(n), NAN), where=defined)
    of_p, of_o, of_error = variances
    spread = np.maximum((1.0 - ratio) * (of_p - ratio * of_o) + ratio * of_error, 0.0)
    positive = np.where(predicted > 0.0, predicted, NAN)
    for own, weights in alike:
        level = positive[own]
        known = np.isfinite(level) & defined[own]
        share, level = weights[known] / weights[known].sum(), level[known]
        each = spread[own][known]
        of_all = [level**power * (share @ (each / level**power)) for power in VARIANCE_POWERS]
        spread[np.arange(len(n))[own][known]] = np.maximum.reduce([each, *of_all])
    error, half = _student(spread, n, confidence)
    with np.errstate(over="ignore"):  # two rows may say nothing of the ratio
        change = np.exp(half / positive)
        found = _estimates(ratio, ratio / change, ratio * change, n, ratio * error / positive)
    return [one if one.value > 0.0 else Estimate(one.value) for one in found]
