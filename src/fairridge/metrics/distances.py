"""How far apart the predictions of two groups are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Booleans, Floats, Integers
from fairridge.metrics.groups import Grouping

NAN = float("nan")


@dataclass(frozen=True)
class Distances:
    """Distances between the distributions of two groups of rows.

    Attributes
    ----------
    standardized_mean_difference : float
        First mean less second mean, in standard deviations within the two
        groups (pooled, divisor n); 0 where both groups are the same constant.
    kolmogorov_smirnov : float
        sup |F₁ − F₂|, in [0, 1].
    wasserstein : float
        ∫ |F₁ − F₂|, in the unit of the scores (earth mover's distance).
    """

    standardized_mean_difference: float = NAN
    kolmogorov_smirnov: float = NAN
    wasserstein: float = NAN


# What a group without others has.
INCOMPARABLE = Distances()


@dataclass(frozen=True)
class BinErrors:
    """How far measures of binned scores may be from those of the scores themselves, at most.

    Attributes
    ----------
    bins : int
        Bins with rows.
    auc, ks_of_classes, kolmogorov_smirnov, wasserstein : float
        The largest error in any group.
    """

    bins: int
    auc: float = 0.0
    ks_of_classes: float = 0.0
    kolmogorov_smirnov: float = 0.0
    wasserstein: float = 0.0

    @property
    def words(self) -> str:
        """Say it in one sentence; measures without an error are those of the rows themselves."""
        named = {
            "AUC": self.auc,
            "KS of classes": self.ks_of_classes,
            "KS": self.kolmogorov_smirnov,
            "Wasserstein": self.wasserstein,
        }
        errors = [f"{name} {error:.1e}" for name, error in named.items() if error > 0.0]
        known = f"off by at most: {', '.join(errors)}" if errors else "exact"
        return f"measures of sorted predictions come from {self.bins:,} bins; {known}"


@dataclass(frozen=True)
class Spread:
    """Weight and mean of a group, and the weighted squares of distances from it."""

    total: float
    mean: float
    squares: float

    @classmethod
    def of(cls, scores: Floats, weight: Floats) -> Spread:
        """Sum over rows."""
        total = float(weight.sum())
        mean = float((weight * scores).sum()) / total if total > 0.0 else 0.0
        return cls(total, mean, float((weight * (scores - mean) ** 2).sum()))

    @classmethod
    def together(cls, parts: Sequence[Spread]) -> Spread:
        """Return that of several groups; nothing cancels."""
        total = sum(part.total for part in parts)
        mean = sum(part.total * part.mean for part in parts) / total if total > 0.0 else 0.0
        squares = (part.squares + part.total * (part.mean - mean) ** 2 for part in parts)
        return cls(total, mean, sum(squares))


@dataclass(frozen=True)
class ScoreOrder:
    """Scores, or bins of scores, from the lowest on: how far apart they are."""

    steps: Floats  # from one to the next
    jumps: Booleans  # whether the next one is higher: both distribution functions are known there

    def apart(self, first: Spread, second: Spread, one: Floats, other: Floats) -> Distances:
        """Compare two groups; their weights are in this order, and 0 outside of them."""
        total = first.total + second.total
        if first.total == 0.0 or second.total == 0.0:
            return INCOMPARABLE
        gap = np.abs(self.between(first.total, second.total, one, other))
        return Distances(
            _ratio(
                first.mean - second.mean,
                float(np.sqrt((first.squares + second.squares) / total)),
                rounding=1e-13 * float(self.steps.sum()),
            ),
            float(min((gap * self.jumps).max(), 1.0)),
            float((gap[:-1] * self.steps).sum()),
        )

    def between(self, first: float, second: float, one: Floats, other: Floats) -> Floats:
        """Return the difference of two distribution functions."""
        return np.asarray(np.cumsum(one) / first - np.cumsum(other) / second)

    def of_groups(
        self,
        spreads: Sequence[Spread],
        own: Sequence[Floats],
        whole: Floats,
        reference: int | None,
    ) -> list[Distances]:
        """Compare every group with a reference group, or with all rows outside it.

        Their weights, and those of all rows, are in this order.
        """
        found = []
        for code, (spread, weights) in enumerate(zip(spreads, own, strict=True)):
            if code == reference:
                found.append(INCOMPARABLE)
            elif reference is None:
                rest = Spread.together([*spreads[:code], *spreads[code + 1 :]])
                found.append(self.apart(spread, rest, weights, whole - weights))
            else:
                found.append(self.apart(spread, spreads[reference], weights, own[reference]))
        return found


class SortedScores:
    """Scores sorted once, so that every pair of groups costs one run over them.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Predictions.
    weight : ndarray of shape (n,)
        Positive weights.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Rows by score; those of the same score keep their order.
    """

    def __init__(self, scores: Floats, weight: Floats) -> None:
        self.order = np.argsort(scores, kind="stable")
        # From the lowest score on, so that a mean far from zero costs no digits.
        self._scores, self._weights = scores - scores.min(initial=np.inf), weight
        ordered, self._weight = self._scores[self.order], weight[self.order]
        steps = np.diff(ordered)
        # Between equal scores both distribution functions are halfway through a jump.
        self._steps = ScoreOrder(steps, np.append(steps > 0.0, True))

    @property
    def places(self) -> Integers:
        """Which of the distinct scores each row has, in order."""
        places = np.empty(len(self.order), dtype=np.intp)
        jumps = self._steps.jumps
        places[self.order] = np.cumsum(jumps) - jumps
        return places

    def between(self, first: Booleans, second: Booleans) -> Distances:
        """Compare two groups of rows; NaN if one of them is empty."""
        one, other = (
            Spread.of(self._scores[rows], self._weights[rows]) for rows in (first, second)
        )
        return self._steps.apart(
            one, other, *(self._weight * rows[self.order] for rows in (first, second))
        )

    def of_groups(self, grouping: Grouping, reference: int | None = None) -> list[Distances]:
        """Compare every group with a reference group, or with all rows outside it."""
        scores, weights = self._scores[grouping.order], self._weights[grouping.order]
        spreads = [Spread.of(scores[rows], weights[rows]) for rows in grouping.slices]
        codes = grouping.codes[self.order]
        own = [self._weight * (codes == code) for code in range(len(spreads))]
        return self._steps.of_groups(spreads, own, self._weight, reference)


def _ratio(difference: float, deviation: float, rounding: float) -> float:
    if deviation > rounding:
        return difference / deviation
    # Two constants: the same, or infinitely many deviations apart.
    return 0.0 if abs(difference) <= rounding else float(np.copysign(np.inf, difference))


def largest_gap(rates: Floats, codes: Integers, events: Integers) -> float:
    """Largest distance between the mean in a group and the mean in all rows, within events."""
    gaps = [0.0]
    for event in np.unique(events):
        inside = events == event
        overall = rates[inside].mean()
        gaps += [
            abs(float(rates[inside & (codes == code)].mean() - overall))
            for code in np.unique(codes[inside])
        ]
    return max(gaps)
