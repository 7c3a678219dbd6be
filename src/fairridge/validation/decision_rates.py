"""Whom models select, compared between groups: gaps, impact ratios and true positive rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.families.base import ClassFamily
from fairridge.metrics.favorable import Favorable
from fairridge.metrics.group_table import (
    compared_shares,
    decision_gap,
    decision_table,
    impact_ratios,
)
from fairridge.metrics.groups import Grouping, weighted_quantiles
from fairridge.metrics.scored_rows import ScoredRows

# Measures of decisions beside their gap if an outcome is favorable.
RATES = {
    "selection_rate": "Share selected",
    "lowest_selection_rate": "Lowest share selected of a group",
    "highest_selection_rate": "Highest share selected of a group",
    "adverse_impact_ratio": "Lowest adverse impact ratio",
    "opportunity_difference": "Difference of true positive rates",
}


@dataclass(frozen=True)
class Decisions:
    """How rows are decided by what is predicted of them, and compared between groups."""

    groups: tuple[Grouping, ...]  # groups of the rows, by each attribute
    # The outcome that people want; without it decisions have a gap only.
    favorable: Favorable | None = None
    threshold: float | None = None  # what predicted numbers are compared with
    # Whether responses are nonnegative numbers: counts and amounts, which
    # select nobody unless a threshold is given.
    amounts: bool = False

    def take(self, rows: Integers) -> Decisions:
        """Return these rows only."""
        return replace(self, groups=tuple(group.take(rows) for group in self.groups))

    def decided_in(
        self, response: Floats, weight: Floats, exposure: Floats | None = None
    ) -> Decisions:
        """Return the threshold that training rows give, by default a median."""
        # Counts and amounts have none unless it is given.
        if self.threshold is not None or self.amounts:
            return self
        if exposure is not None:
            response, weight = response / exposure, weight * exposure
        if np.ptp(weight) == 0.0:
            return replace(self, threshold=float(np.median(response)))
        return replace(self, threshold=float(weighted_quantiles(response, weight, [0.5])[0]))

    def of(self, rows: ScoredRows) -> dict[str, float]:
        """Compare decisions: the likeliest class, or numbers above the threshold, if any."""
        # Times are not decided by.
        if rows.classes is not None:
            decided = cast(ClassFamily, rows.family).likeliest(rows.eta)
            classes, favorable = rows.classes.tolist(), self.favorable
            code = None if favorable is None else classes.index(favorable.label)
            return self._compared(decided, rows.weight, len(rows.classes), code, rows.codes)
        if rows.means is None or self.threshold is None:
            return {}
        above = (rows.means[:, 0] > self.threshold).astype(np.intp)
        code = None if self.favorable is None else int(self.favorable.high)
        return self._compared(above, rows.mean_weight, 2, code)

    def _compared(
        self,
        decided: Integers,
        weight: Floats,
        n_classes: int,
        favorable: int | None,
        truth: Integers | None = None,
    ) -> dict[str, float]:
        """Compare decisions by code, of which one is favorable, and true classes, if any."""
        table = decision_table(self.groups, weight, decided, n_classes)
        rates = {"decision_gap": decision_gap(table)}
        if favorable is None:
            return rates
        shares = [share[favorable] for share in compared_shares(table)]
        rates |= {
            "selection_rate": float(np.average(decided == favorable, weights=weight)),
            "lowest_selection_rate": -_largest([-share.min() for share in shares]),
            "highest_selection_rate": _largest([share.max() for share in shares]),
            "adverse_impact_ratio": float(impact_ratios(table)[favorable]),
        }
        if truth is None:
            return rates
        true = decision_table(self.groups, weight * (truth == favorable), decided, n_classes)
        # As in audits, a group is small by all of its rows.
        shares = compared_shares(replace(true, counts=table.counts))
        gaps = [np.ptp(share[favorable]) for share in shares]
        return rates | {"opportunity_difference": _largest(gaps)}


def _largest(values: Sequence[float]) -> float:
    return float(max(values, default=float("nan")))
