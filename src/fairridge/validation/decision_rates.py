"""Whom models select, compared between groups: gaps, impact ratios and true positive rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.metrics import (
    Favorable,
    Grouping,
    GroupTable,
    compared_shares,
    decision_gap,
    decision_table,
    impact_ratios,
    weighted_quantiles,
)

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

    groups: tuple[Grouping, ...]  # groups of the rows, by each attribute
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
        table = decision_table(self.groups, weight, decided, n_classes)
        rates = self._of(table, decided, weight)
        if self.favorable is None:
            return rates
        true = decision_table(self.groups, weight * (truth == self.favorable), decided, n_classes)
        # As in audits, a group is small by all of its rows.
        shares = compared_shares(replace(true, counts=table.counts))
        gaps = [np.ptp(share[self.favorable]) for share in shares]
        return rates | {"opportunity_difference": _largest(gaps)}

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
        return self._of(decision_table(self.groups, weight, decided, 2), decided, weight)

    def _of(self, table: GroupTable, decided: Integers, weight: Floats) -> dict[str, float]:
        rates = {"decision_gap": decision_gap(table)}
        if self.favorable is None:
            return rates
        shares = [share[self.favorable] for share in compared_shares(table)]
        return rates | {
            "selection_rate": float(np.average(decided == self.favorable, weights=weight)),
            "lowest_selection_rate": -_largest([-share.min() for share in shares]),
            "highest_selection_rate": _largest([share.max() for share in shares]),
            "adverse_impact_ratio": float(impact_ratios(table)[self.favorable]),
        }


def _largest(values: Sequence[float]) -> float:
    return float(max(values, default=float("nan")))


def favorable_code(favorable: Favorable | None, classes: NDArray[Any] | None) -> int | None:
    """Return the code of the favorable decision, as in `DecisionRates`."""
    if favorable is None or classes is None:
        return None if favorable is None else int(favorable.high)
    return [bool(label == favorable.label) for label in classes.tolist()].index(True)
