"""Whom models select, compared between groups: gaps, impact ratios and true positive rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.metrics import Decided, Favorable, GroupCodes, weighted_quantiles

# Measures of decisions beside their gap if an outcome is favorable.
RATES = {
    "selection_rate": "Share selected",
    "lowest_selection_rate": "Lowest share selected of a group",
    "highest_selection_rate": "Highest share selected of a group",
    "adverse_impact_ratio": "Lowest adverse impact ratio",
    "opportunity_difference": "Difference of true positive rates",
}


@dataclass(frozen=True)
class DecisionRates:
    """How decisions are compared between groups."""

    groups: tuple[GroupCodes, ...]  # groups of the rows, by each attribute
    # Code of the favorable decision: a class, or for numbers 1 above the threshold and 0
    # otherwise. Without it decisions have a gap only.
    favorable: int | None = None
    threshold: float | None = None  # what predicted numbers are compared with
    # Whether responses are numbers, and nowhere negative: counts and amounts, which nobody is
    # selected by unless a threshold is given.
    amounts: bool = False

    def take(self, rows: Integers) -> DecisionRates:
        """Return these rows only."""
        return replace(self, groups=tuple(group.take(rows) for group in self.groups))

    def of_classes(
        self, decided: Integers, truth: Integers, weight: Floats, n_classes: int
    ) -> dict[str, float]:
        """Compare decisions for classes: codes of the class that rows are given, and their own."""
        counted = Decided.of(decided, self.groups, weight, n_classes)
        rates = self._of(counted)
        if self.favorable is None:
            return rates
        favored = truth == self.favorable
        among = self.take(np.flatnonzero(favored)).groups
        true = Decided.of(decided[favored], among, weight[favored], n_classes)
        # As in audits, a group is small by all of its rows.
        lowest, highest = replace(true, counts=counted.counts).shares(self.favorable)
        return rates | {"opportunity_difference": _largest(highest - lowest)}

    def threshold_of(self, response: Floats, weight: Floats) -> float | None:
        """Return what numbers are decided by: the threshold, or the median of the responses.

        Counts and amounts have none unless it is given.
        """
        if self.threshold is not None or self.amounts:
            return self.threshold
        if np.ptp(weight) == 0.0:
            return float(np.median(response))
        return float(weighted_quantiles(response, weight, [0.5])[0])

    def of_numbers(
        self, predicted: Floats, threshold: float | None, weight: Floats
    ) -> dict[str, float]:
        """Compare decisions by a threshold of predicted numbers; nothing without one."""
        if threshold is None:
            return {}
        decided = (predicted > threshold).astype(np.intp)
        return self._of(Decided.of(decided, self.groups, weight, 2))

    def _of(self, counted: Decided) -> dict[str, float]:
        rates = {"decision_gap": counted.gap}
        if self.favorable is None:
            return rates
        lowest, highest = counted.shares(self.favorable)
        total = counted.weights[0].sum(axis=0)
        return rates | {
            "selection_rate": float(total[self.favorable] / total.sum()),
            "lowest_selection_rate": -_largest(-lowest),
            "highest_selection_rate": _largest(highest),
            "adverse_impact_ratio": float(counted.impact_ratios[self.favorable]),
        }


def _largest(values: Sequence[float] | Floats) -> float:
    return float(max(values, default=float("nan")))


def favorable_code(favorable: Favorable | None, classes: NDArray[Any] | None) -> int | None:
    """Return the code of the favorable decision, as in `DecisionRates`."""
    if favorable is None or classes is None:
        return None if favorable is None else int(favorable.high)
    return [bool(label == favorable.label) for label in classes.tolist()].index(True)
