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
TIE = 0.005

Outcome = Literal["lower", "equal", "higher"]
OUTCOMES: tuple[Outcome, ...] = ("lower", "equal", "higher")


@dataclass(frozen=True)
class Interval:
    """A mean over runs, with its 90 % confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width."""
        return (self.high - self.low) / 2.0


def interval(values: Any) -> Interval:
    """Return Student's interval for the mean; a single run has none."""
    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return Interval(mean, mean, mean)
    half = float(stdtrit(n - 1, 0.5 + LEVEL / 2) * np.std(values, ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half)


def outcome(found: Interval) -> Outcome:
    """Say where a relative difference is: by its interval, unless it is a tie."""
    if abs(found.mean) < TIE or found.low <= 0.0 <= found.high:
        return "equal"
    return "lower" if found.mean < 0.0 else "higher"


def compare(table: pd.DataFrame, first: str, second: str, measure: str) -> Interval:
    """Return the difference of two models on the same folds, relative to the second's mean."""
    a, b = (pick(table, model=name) for name in (first, second))
    return _difference(a.merge(b, on="run"), measure)


def _difference(both: pd.DataFrame, measure: str) -> Interval:
    ours, theirs = (both[f"{measure}_{side}"].to_numpy() for side in "xy")
    return interval((ours - theirs) / float(np.mean(theirs)))


def cells(
    table: pd.DataFrame, first: str, second: str, measure: str, by: str = "r"
) -> pd.DataFrame:
    """Compare two models in every data set, for every bound: one row per cell."""
    rows, keys = [], ["case", by, "run"]
    a, b = (pick(table, model=name)[[*keys, measure]] for name in (first, second))
    for (case, value), both in a.merge(b, on=keys).groupby(["case", by], sort=False):
        found = _difference(both, measure)
        rows.append((case, value, outcome(found), found.mean, found.half))
    return pd.DataFrame(rows, columns=["case", by, "outcome", "mean", "half"])


def count(found: pd.DataFrame, wanted: Outcome) -> int:
    """Count the cells with an outcome."""
    return int((found["outcome"] == wanted).sum())
