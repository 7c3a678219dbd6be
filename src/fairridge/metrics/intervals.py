"""Estimates with confidence intervals: rates after Wilson, means after Student."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from fairridge._typing import Booleans, Floats

__all__ = ["Estimate", "effective_size", "mean_interval", "rate_interval"]


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval; NaN where there is nothing to estimate from.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends of its interval.
    """

    value: float
    low: float
    high: float

    @classmethod
    def undefined(cls) -> Estimate:
        """Return an estimate from no rows at all."""
        return cls(float("nan"), float("nan"), float("nan"))


def effective_size(weight: Floats) -> float:
    """Kish's effective number of rows, (Σw)²/Σw²; the number of rows for equal weights."""
    squares = float((weight * weight).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def rate_interval(hits: Booleans, weight: Floats, confidence: float) -> Estimate:
    """Weighted share of hits with Wilson's score interval.

    With p the share, n the effective number of rows and z the normal quantile,
    (p + z²/2n ± z√(p(1−p)/n + z²/4n²)) / (1 + z²/n). It stays within [0, 1]
    and is not empty at p = 0 and p = 1.
    """
    n = effective_size(weight)
    if n == 0.0:
        return Estimate.undefined()
    p = min(float(weight[hits].sum() / weight.sum()), 1.0)
    z = float(ndtri(0.5 + confidence / 2.0))
    middle = p + z * z / (2.0 * n)
    half = z * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    scale = 1.0 + z * z / n
    # At p = 0 and p = 1 the interval ends there; rounding must not move it past the estimate.
    low, high = float((middle - half) / scale), float((middle + half) / scale)
    return Estimate(p, max(0.0, min(low, p)), min(1.0, max(high, p)))


def mean_interval(values: Floats, weight: Floats, confidence: float) -> Estimate:
    """Weighted mean with Student's interval, mean ± t·s/√n with n the effective number of rows."""
    n = effective_size(weight)
    if n == 0.0:
        return Estimate.undefined()
    mean = float(np.average(values, weights=weight))
    if n <= 1.0 + 1e-9:
        return Estimate(mean, float("nan"), float("nan"))
    variance = float(np.average((values - mean) ** 2, weights=weight)) * n / (n - 1.0)
    half = float(stdtrit(n - 1.0, 0.5 + confidence / 2.0)) * np.sqrt(variance / n)
    return Estimate(mean, mean - float(half), mean + float(half))
