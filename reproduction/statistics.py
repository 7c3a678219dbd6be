"""Means with intervals over runs, and paired comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from reproduction.results import pick

LEVEL = 0.9
# Relative differences below this are called equal, however sure their sign.
SMALL_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Interval:
    """A mean over runs, with its 90 % confidence interval."""

    mean: float
    low: float
    high: float


def interval(values: Any) -> Interval:
    """Return Student's interval for the mean; a single run has none."""
    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return Interval(mean, mean, mean)
    half = float(stdtrit(n - 1, 0.5 + LEVEL / 2) * np.std(values, ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Comparison:
    """One model against another on the same folds: difference relative to the other's mean."""

    relative: Interval

    @property
    def outcome(self) -> Literal["below", "equal", "above"]:
        """Where the first model is: by the interval, unless the difference is tiny."""
        found = self.relative
        if abs(found.mean) < SMALL_DIFFERENCE or found.low <= 0.0 <= found.high:
            return "equal"
        return "below" if found.mean < 0.0 else "above"


def compare(table: pd.DataFrame, first: str, second: str, measure: str) -> Comparison:
    """Compare two models by the differences of the runs that both have."""
    a, b = (pick(table, model=name) for name in (first, second))
    _, of_a, of_b = np.intersect1d(a["run"], b["run"], return_indices=True)
    ours, theirs = a[measure].to_numpy()[of_a], b[measure].to_numpy()[of_b]
    return Comparison(interval((ours - theirs) / float(np.mean(theirs))))
