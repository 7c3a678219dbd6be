"""How far apart the predictions of two groups are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Booleans, Floats, Integers

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
        self._scores = scores[self.order] - scores.min(initial=np.inf)
        self._weight = weight[self.order]
        self._steps = np.diff(self._scores)
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
        return self._apart(*(self._weight * rows[self.order] for rows in (first, second)))

    def of_groups(
        self, codes: Integers, n_groups: int, reference: int | None = None
    ) -> list[Distances]:
        """Compare every group with a reference group, or with all rows outside it."""
        ordered = codes[self.order]
        own = [self._weight * (ordered == code) for code in range(n_groups)]
        return [
            INCOMPARABLE
            if code == reference
            else self._apart(rows, self._weight - rows if reference is None else own[reference])
            for code, rows in enumerate(own)
        ]

    def _apart(self, first: Floats, second: Floats) -> Distances:
        """Compare two groups by their weights in order, which are 0 outside of them."""
        totals = float(first.sum()), float(second.sum())
        if not all(totals):
            return INCOMPARABLE
        means, within, shares = [], 0.0, []
        for weight, total in zip((first, second), totals, strict=True):
            means.append(float((weight * self._scores).sum()) / total)
            within += float((weight * (self._scores - means[-1]) ** 2).sum())
            shares.append(np.cumsum(weight) / total)
        gap = np.abs(shares[0] - shares[1])
        return Distances(
            _ratio(
                means[0] - means[1],
                float(np.sqrt(within / sum(totals))),
                rounding=1e-13 * float(self._scores[-1]),
            ),
            float(min((gap * self._jumps).max(), 1.0)),
            float((gap[:-1] * self._steps).sum()),
        )


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
