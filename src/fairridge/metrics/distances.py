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
        self._range = float(ordered[-1]) if len(ordered) else 0.0
        self._steps = np.diff(ordered)
        # Between equal scores both distribution functions are halfway through a jump.
        self._jumps = np.append(self._steps > 0.0, True)

    @property
    def places(self) -> Integers:
        """Which of the distinct scores each row has, in order."""
        places = np.empty(len(self.order), dtype=np.intp)
        places[self.order] = np.cumsum(self._jumps) - self._jumps
        return places

    def between(self, first: Booleans, second: Booleans) -> Distances:
        """Compare two groups of rows; NaN if one of them is empty."""
        one, other = (
            _Spread.of(self._scores[rows], self._weights[rows]) for rows in (first, second)
        )
        return self._apart(
            one, other, *(self._weight * rows[self.order] for rows in (first, second))
        )

    def of_groups(self, grouping: Grouping, reference: int | None = None) -> list[Distances]:
        """Compare every group with a reference group, or with all rows outside it."""
        scores, weights = self._scores[grouping.order], self._weights[grouping.order]
        spreads = [_Spread.of(scores[rows], weights[rows]) for rows in grouping.slices]
        codes = grouping.codes[self.order]
        own = [self._weight * (codes == code) for code in range(len(spreads))]
        found = []
        for code, (spread, rows) in enumerate(zip(spreads, own, strict=True)):
            if code == reference:
                found.append(INCOMPARABLE)
            elif reference is None:
                rest = _Spread.together(spreads[:code] + spreads[code + 1 :])
                found.append(self._apart(spread, rest, rows, self._weight - rows))
            else:
                found.append(self._apart(spread, spreads[reference], rows, own[reference]))
        return found

    def _apart(self, first: _Spread, second: _Spread, *weights: Floats) -> Distances:
        """Compare two groups; their weights are in order of the scores, and 0 outside of them."""
        total = first.total + second.total
        if first.total == 0.0 or second.total == 0.0:
            return INCOMPARABLE
        one, other = map(np.cumsum, weights)
        gap = np.abs(one / first.total - other / second.total)
        return Distances(
            _ratio(
                first.mean - second.mean,
                float(np.sqrt((first.squares + second.squares) / total)),
                rounding=1e-13 * self._range,
            ),
            float(min((gap * self._jumps).max(), 1.0)),
            float((gap[:-1] * self._steps).sum()),
        )


@dataclass(frozen=True)
class _Spread:
    """Weight and mean of a group, and the weighted squares of distances from it."""

    total: float
    mean: float
    squares: float

    @classmethod
    def of(cls, scores: Floats, weight: Floats) -> _Spread:
        total = float(weight.sum())
        mean = float((weight * scores).sum()) / total if total > 0.0 else 0.0
        return cls(total, mean, float((weight * (scores - mean) ** 2).sum()))

    @classmethod
    def together(cls, parts: Sequence[_Spread]) -> _Spread:
        """Return that of several groups; nothing cancels."""
        total = sum(part.total for part in parts)
        mean = sum(part.total * part.mean for part in parts) / total if total > 0.0 else 0.0
        squares = (part.squares + part.total * (part.mean - mean) ** 2 for part in parts)
        return cls(total, mean, sum(squares))


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
