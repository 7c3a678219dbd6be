"""What groups differ by among people with equal controls, and S with its attributes crossed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from scipy.special import stdtrit

from fairridge._typing import Floats, Integers
from fairridge.metrics.dependence_shares import sensitive_span
from fairridge.metrics.intervals import UNDEFINED, Estimate
from fairridge.metrics.share_interval import left_by


def adjusted_differences(
    score: Floats, codes: Integers, size: int, C: Floats, weight: Floats, confidence: float
) -> list[Estimate]:
    """Return by how much mean scores of each group exceed those of all others with equal controls.

    That is the coefficient of the group's 0/1 column beside [1, C], with HC1's interval.
    """
    share = weight / weight.sum()
    indicators = (codes[:, None] == np.arange(size)).astype(np.float64)
    left = left_by(C, np.column_stack([score, indicators]), share)
    y, free = left[:, 0], len(score) - sensitive_span(C, share).shape[1] - 2
    return [_difference(y, s, share, free, confidence) for s in left[:, 1:].T]


def _difference(y: Floats, s: Floats, share: Floats, free: int, confidence: float) -> Estimate:
    """Regress what controls leave of scores on what they leave of a group."""
    squares = float(share @ s**2)
    if squares == 0.0 or free < 1:
        return UNDEFINED
    slope = float((share * s) @ y) / squares
    influence = share * s * (y - slope * s) / squares
    error = float(np.sqrt(influence @ influence * len(y) / free))
    half = float(stdtrit(free, 0.5 + confidence / 2.0)) * error
    return Estimate(slope, slope - half, slope + half, error=error)


def crossed_columns(columns: Floats, owners: Sequence[int]) -> Floats:
    """Return columns of attributes, and all products of one column of each."""
    places = np.asarray(owners)
    each = [columns[:, places == k] for k in dict.fromkeys(owners)]
    if len(each) < 2:
        return columns
    return np.hstack([columns, reduce(_products, each)])


def _products(first: Floats, second: Floats) -> Floats:
    """Return products of every column of the first with every one of the second."""
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
