"""Means with two intervals, and paired comparisons.

Runs of cross-validation cut the same rows again and again. The interval of the
mean over runs shrinks with their number and says how sure the mean is on these
rows. For other samples of rows the variance over the J folds of all runs counts
1/J + n_test/n_train times (Nadeau and Bengio 2003, "Inference for the
generalization error"; Bouckaert and Frank 2004 for repeated cross-validation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from reproduction.results import pick

LEVEL = 0.9
# Relative differences below this are negligible, however sure their sign: ties.
TIE = 0.005

# "unclear": the interval holds zero, and differences that are not negligible.
Outcome = Literal["lower", "equal", "higher", "unclear"]
OUTCOMES: tuple[Outcome, ...] = ("lower", "equal", "higher", "unclear")


@dataclass(frozen=True)
class Interval:
    """A mean, with half the widths of its two 90 % intervals."""

    mean: float
    half: float  # of the mean over runs, on the same rows
    new: float  # for other samples of rows

    @property
    def wider(self) -> float:
        """The larger of the two, by which differences are judged."""
        return max(self.half, self.new)


def interval(values: Any, run: Any) -> Interval:
    """Return Student's intervals of the mean; a single run, or fold, has none.

    `values` are by fold, and `run` says in which run of cross-validation each
    fold is. With K folds in a run n_test/n_train is 1/(K − 1).
    """
    values, run = np.asarray(values, dtype=np.float64), np.asarray(run)
    numbers, of_run = np.unique(run, return_inverse=True)
    means = np.bincount(of_run, values) / np.bincount(of_run)
    folds = len(values) / len(numbers)
    new = _half(values, 1.0 / len(values) + 1.0 / (folds - 1.0)) if folds > 1.0 else 0.0
    return Interval(float(values.mean()), _half(means, 1.0 / len(means)), new)


def _half(values: Any, factor: float) -> float:
    """Half the width of an interval whose variance is `factor` times that of the values."""
    n = len(values)
    if n < 2:
        return 0.0
    return float(stdtrit(n - 1, 0.5 + LEVEL / 2) * np.std(values, ddof=1) * np.sqrt(factor))


def outcome(found: Interval, tie: float = TIE) -> Outcome:
    """Say where a relative difference is: by the wider interval, unless it is negligible."""
    size = abs(found.mean)
    if found.wider >= size:
        return "equal" if size + found.wider < tie else "unclear"
    if size < tie:
        return "equal"
    return "lower" if found.mean < 0.0 else "higher"


def compare(both: pd.DataFrame, measure: str) -> Interval:
    """Return the difference of two models on the same folds, relative to the second's mean."""
    ours, theirs = (both[f"{measure}_{side}"].to_numpy() for side in "xy")
    return interval((ours - theirs) / float(np.mean(theirs)), both["run"])


def cells(
    table: pd.DataFrame, first: str, second: str, measure: str, by: str = "r", tie: float = TIE
) -> pd.DataFrame:
    """Compare two models in every data set, for every bound: one row per cell."""
    rows, keys = [], ["case", by, "run", "fold"]
    a, b = (pick(table, model=name)[[*keys, measure]] for name in (first, second))
    for (case, value), both in a.merge(b, on=keys).groupby(["case", by], sort=False):
        found = compare(both, measure)
        rows.append((case, value, outcome(found, tie), found.mean, found.half, found.new))
    return pd.DataFrame(rows, columns=["case", by, "outcome", "mean", "half", "new"])


def count(found: pd.DataFrame, wanted: Outcome) -> int:
    """Count the cells with an outcome."""
    return int((found["outcome"] == wanted).sum())
