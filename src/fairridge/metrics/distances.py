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
    """

    def __init__(self, scores: Floats, weight: Floats) -> None:
        self._order = np.argsort(scores, kind="stable")
        # From the lowest score on, so that a mean far from zero costs no digits.
        self._scores = scores[self._order] - scores.min(initial=np.inf)
        self._weight = weight[self._order]

    def between(self, first: Booleans, second: Booleans) -> Distances:
        """Compare two groups of rows; NaN if one of them is empty."""
        w = [self._weight * rows[self._order] for rows in (first, second)]
        if not (w[0].any() and w[1].any()):
            return INCOMPARABLE
        mean = [float(np.average(self._scores, weights=part)) for part in w]
        within = sum(
            float(part @ (self._scores - center) ** 2) for part, center in zip(w, mean, strict=True)
        )
        deviation = float(np.sqrt(within / (w[0].sum() + w[1].sum())))
        gap = np.abs(np.cumsum(w[0]) / w[0].sum() - np.cumsum(w[1]) / w[1].sum())
        steps = np.diff(self._scores)
        # Between equal scores both distribution functions are halfway through a jump.
        jumps = np.append(steps > 0.0, True)
        return Distances(
            _ratio(mean[0] - mean[1], deviation, rounding=1e-13 * float(self._scores[-1])),
            float(min(gap[jumps].max(), 1.0)),
            float(gap[:-1] @ steps),
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
