"""How well scores separate two classes within a group: AUC, Gini and Kolmogorov–Smirnov."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from fairridge._typing import Booleans, Floats
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
    """Measure how well scores rank rows; see `ranked`."""
    if positive.all() or not positive.any():
        return UNRANKED
    places = SortedScores(score, weight).places
    of_positive, of_negative = (
        np.bincount(places, weights=weight * rows).astype(np.float64)
        for rows in (positive, ~positive)
    )
    sizes = [effective_size(weight[rows]) for rows in (positive, ~positive)]
    return ranked(of_positive, of_negative, *sizes, confidence=confidence)


def ranked(
    of_positive: Floats,
    of_negative: Floats,
    n_positive: float,
    n_negative: float,
    *,
    confidence: float,
) -> Ranking:
    """Measure how well scores rank, with DeLong's interval for the AUC on the logit scale.

    With v the share of rows of the other class that a row is ranked right
    against (its placement), the AUC is the mean of v over either class, and its
    variance the sum of those of both means (DeLong, DeLong and Clarke-Pearson
    1988). Weighted rows count with Kish's effective number. An AUC of 0 or 1,
    or of a single row of a class, has no interval.

    Parameters
    ----------
    of_positive, of_negative : ndarray of shape (m,)
        Weights of both classes at every score, from the lowest on.
    n_positive, n_negative : float
        Effective numbers of rows.
    confidence : float
        Level of the interval.
    """
    total, others = float(of_positive.sum()), float(of_negative.sum())
    if not (total > 0.0 and others > 0.0):
        return UNRANKED
    up_to, up_to_others = np.cumsum(of_positive), np.cumsum(of_negative)
    separation = min(float(np.abs(up_to / total - up_to_others / others).max()), 1.0)
    above = 1.0 - (up_to - 0.5 * of_positive) / total
    below = (up_to_others - 0.5 * of_negative) / others
    variance, area = 0.0, 0.0
    for v, w, n in ((below, of_positive, n_positive), (above, of_negative, n_negative)):
        area = float(np.average(v, weights=w))
        spread = float(np.average((v - area) ** 2, weights=w))
        variance += spread / (n - 1.0) if n > 1.0 + 1e-9 else float("nan")
    if not 0.0 < area < 1.0 or not variance > 0.0:
        return Ranking(Estimate(area), separation)
    half = float(ndtri(0.5 + confidence / 2.0)) * np.sqrt(variance) / (area * (1.0 - area))
    low, high = (float(expit(logit(area) + sign * half)) for sign in (-1.0, 1.0))
    return Ranking(Estimate(area, low, high), separation)
