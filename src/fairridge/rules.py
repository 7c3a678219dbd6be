"""Rules on decisions, for `choose_bound`.

A rule says how unfair decisions are between groups, and tests on rows that no
model was fitted to whether they break it. All groups must pass, so that no
level is divided between them (intersection–union; Berger 1982).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.metrics.groups import Grouping
from fairridge.metrics.proportions import (
    Part,
    difference_p_value,
    mean_gap_p_value,
    part_of,
    ratio_p_value,
)

# Groups with fewer rows are reported, not tested.
FEWEST_ROWS = 30


@dataclass(frozen=True)
class JudgedRows:
    """Predictions for rows, and the groups these belong to.

    Attributes
    ----------
    score : ndarray of shape (n,)
        Probability of the favorable class, or the prediction of a number.
    favorable : ndarray of bool or None
        Whether the response was favorable; None for numbers.
    groups : tuple of Grouping
        One partition of the rows per sensitive attribute.
    weight : ndarray of shape (n,)
        Weights.
    """

    score: Floats
    favorable: Booleans | None
    groups: tuple[Grouping, ...]
    weight: Floats

    def parts(self, values: Floats, chosen: Booleans | None = None) -> Iterator[list[Part]]:
        """Summarize values by group, for every attribute; small groups are left out."""
        keep = np.ones(len(values), dtype=bool) if chosen is None else chosen
        for group in self.groups:
            inside = [keep & (group.codes == code) for code in range(len(group.labels))]
            yield [
                part_of(values[rows], self.weight[rows])
                for rows in inside
                if np.count_nonzero(rows) >= FEWEST_ROWS
            ]


@dataclass(frozen=True)
class Rule(ABC):
    """What decisions must satisfy."""

    # The outcome that people want: a class, "low" or "high"; names tell by default, as in audits.
    favorable: Any = field(default=None, kw_only=True)

    @abstractmethod
    def value(self, rows: JudgedRows) -> float:
        """Return the measure of the rule on some rows."""

    @abstractmethod
    def excess(self, rows: JudgedRows) -> float:
        """Return by how much rows break the rule; the fairest model has the least."""

    @abstractmethod
    def p_value(self, rows: JudgedRows) -> float:
        """Return the largest p-value of "this pair of groups breaks the rule"."""


def _pairs(rows: JudgedRows, values: Floats, chosen: Booleans | None = None) -> list[Any]:
    found = [pair for parts in rows.parts(values, chosen) for pair in permutations(parts, 2)]
    if not found:
        raise ValueError(
            f"no attribute has two groups with at least {FEWEST_ROWS} rows each; the rule cannot "
            "be tested."
        )
    return found


@dataclass(frozen=True)
class AdverseImpact(Rule):
    """The ratio of selection rates of any two groups is at least `ratio`.

    The four-fifths rule (29 CFR 1607.4(D)) has 0.8. A row is selected if the
    score of the favorable outcome exceeds `threshold`.
    """

    ratio: float = 0.8
    threshold: float = 0.5

    def _selected(self, rows: JudgedRows) -> Floats:
        return (rows.score > self.threshold).astype(np.float64)

    def value(self, rows: JudgedRows) -> float:
        """Return the smallest ratio of two selection rates; 1 if nobody is selected."""
        pairs = _pairs(rows, self._selected(rows))
        return min(a.mean / b.mean if b.mean > 0.0 else 1.0 for a, b in pairs)

    def excess(self, rows: JudgedRows) -> float:
        """Return how far the ratio lies below `ratio`."""
        return self.ratio - self.value(rows)

    def p_value(self, rows: JudgedRows) -> float:
        """Test every ordered pair of groups by the score test of a ratio."""
        pairs = _pairs(rows, self._selected(rows))
        return max(ratio_p_value(a, b, self.ratio) for a, b in pairs)


@dataclass(frozen=True)
class OpportunityGap(Rule):
    """True-positive rates of any two groups differ by at most `maximum`."""

    maximum: float = 0.05
    threshold: float = 0.5

    def _pairs(self, rows: JudgedRows) -> list[Any]:
        if rows.favorable is None:
            raise TypeError("OpportunityGap is for classifiers: it needs to know who qualified.")
        selected = (rows.score > self.threshold).astype(np.float64)
        return _pairs(rows, selected, rows.favorable)

    def value(self, rows: JudgedRows) -> float:
        """Return the largest difference of two true-positive rates."""
        return max(a.mean - b.mean for a, b in self._pairs(rows))

    def excess(self, rows: JudgedRows) -> float:
        """Return how far the difference lies above `maximum`."""
        return self.value(rows) - self.maximum

    def p_value(self, rows: JudgedRows) -> float:
        """Test every pair by Newcombe's interval."""
        return max(difference_p_value(a, b, self.maximum) for a, b in self._pairs(rows))


@dataclass(frozen=True)
class MeanGap(Rule):
    """Mean scores of any two groups differ by at most `maximum`, in units of the score."""

    maximum: float = 0.05

    def value(self, rows: JudgedRows) -> float:
        """Return the largest difference of two means."""
        return max(a.mean - b.mean for a, b in _pairs(rows, rows.score))

    def excess(self, rows: JudgedRows) -> float:
        """Return how far the difference lies above `maximum`."""
        return self.value(rows) - self.maximum

    def p_value(self, rows: JudgedRows) -> float:
        """Test every pair by Welch's test."""
        return max(mean_gap_p_value(a, b, self.maximum) for a, b in _pairs(rows, rows.score))
