"""How well scores separate two classes within a group: AUC, Gini and Kolmogorov–Smirnov."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from fairridge._typing import Booleans, Floats, Integers
from fairridge.metrics.distances import SortedScores
from fairridge.metrics.intervals import UNDEFINED, Estimate, effective_size


@dataclass(frozen=True)
class Ranking:
    """How well scores rank the rows of a positive class before the others.

    Attributes
    ----------
    auc : Estimate
        Share of pairs of one row of each class in which the positive row has
        the higher score; ties count one half.
    ks_of_classes : float
        Largest distance between the distribution functions of the scores of
        both classes.
    """

    auc: Estimate = UNDEFINED
    ks_of_classes: float = float("nan")

    @property
    def gini(self) -> Estimate:
        """2·AUC − 1."""
        auc = self.auc
        return Estimate(2.0 * auc.value - 1.0, 2.0 * auc.low - 1.0, 2.0 * auc.high - 1.0)


# What labels, numbers and rows of one class have.
UNRANKED = Ranking()


def ranking(positive: Booleans, score: Floats, weight: Floats, confidence: float) -> Ranking:
    """Measure how well scores rank, with DeLong's interval for the AUC on the logit scale.

    With v the share of rows of the other class that a row is ranked right
    against (its placement), the AUC is the mean of v over either class, and its
    variance the sum of those of both means (DeLong, DeLong and Clarke-Pearson
    1988). Weighted rows count with Kish's effective number. An AUC of 0 or 1,
    or of a single row of a class, has no interval.
    """
    if positive.all() or not positive.any():
        return UNRANKED
    ordered = SortedScores(score, weight)
    separation = ordered.between(positive, ~positive).kolmogorov_smirnov
    placements = _placements(positive, ordered.places, weight)
    variance, area = 0.0, 0.0
    for rows in (positive, ~positive):
        v, w = placements[rows], weight[rows]
        n, area = effective_size(w), float(np.average(v, weights=w))
        spread = float(np.average((v - area) ** 2, weights=w))
        variance += spread / (n - 1.0) if n > 1.0 + 1e-9 else float("nan")
    if not 0.0 < area < 1.0 or not variance > 0.0:
        return Ranking(Estimate(area), separation)
    half = float(ndtri(0.5 + confidence / 2.0)) * np.sqrt(variance) / (area * (1.0 - area))
    low, high = (float(expit(logit(area) + sign * half)) for sign in (-1.0, 1.0))
    return Ranking(Estimate(area, low, high), separation)


def _placements(positive: Booleans, codes: Integers, weight: Floats) -> Floats:
    """Return the share of the other class that each row is ranked right against.

    `codes` say which of the distinct scores each row has.
    """
    of_positive = np.bincount(codes, weights=weight * positive)
    of_negative = np.bincount(codes, weights=weight * ~positive)
    below = (np.cumsum(of_negative) - 0.5 * of_negative) / of_negative.sum()
    above = 1.0 - (np.cumsum(of_positive) - 0.5 * of_positive) / of_positive.sum()
    return np.asarray(np.where(positive, below[codes], above[codes]))
