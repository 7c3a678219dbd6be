"""Means with intervals over runs, and paired comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from fairridge.experiments.table import Table

__all__ = ["Comparison", "Interval", "compare", "interval"]

Floats = NDArray[np.float64]

LEVEL = 0.9
# Relative differences below this are called equal, however sure their sign.
SMALL = 1e-4


@dataclass(frozen=True)
class Interval:
    """A mean over runs, with its 90 % confidence interval.

    Attributes
    ----------
    mean, low, high : float
        The mean, and the ends of the interval.
    """

    mean: float
    low: float
    high: float


def interval(values: Floats, level: float = LEVEL) -> Interval:
    """Return Student's interval for the mean; a single run has none."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, mean, mean)
    half = float(stdtrit(len(values) - 1, 0.5 + level / 2) * np.std(values, ddof=1))
    half /= np.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Comparison:
    """One model against another, on the same folds.

    Attributes
    ----------
    relative : Interval
        Difference of the measure, relative to the other model's mean.
    """

    relative: Interval

    @property
    def outcome(self) -> Literal["below", "equal", "above"]:
        """Where the first model is: by the interval, unless the difference is tiny."""
        found = self.relative
        if abs(found.mean) < SMALL or found.low <= 0.0 <= found.high:
            return "equal"
        return "below" if found.mean < 0.0 else "above"


def compare(table: Table, first: str, second: str, measure: str) -> Comparison:
    """Compare two models by the differences of their runs."""
    runs = {}
    for name in (first, second):
        rows = table.where(model=name)
        runs[name] = dict(zip(rows.column("run"), rows.column(measure), strict=True))
    both = sorted(set(runs[first]) & set(runs[second]))
    a, b = (np.array([runs[name][run] for run in both]) for name in (first, second))
    return Comparison(interval((a - b) / float(np.mean(b))))
