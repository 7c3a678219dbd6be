"""Distances and rankings of rows that are not in memory: from bins of their scores.

Distribution functions are known at the ends of bins, and what they do between them has limits:
so every measure has a largest error, which is zero if no bin has two different scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.metrics.distances import BinErrors, Distances, ScoreOrder, Spread
from fairridge.metrics.groups import Grouping, weighted_quantiles
from fairridge.metrics.outcomes import Outcomes
from fairridge.metrics.ranking import UNRANKED, Ranking, ranked

# Bins, each of the same weight: measures are then off by less than 0.001.
SCORE_BINS = 4096
# Groups times bins, whose weights take 32 MB; many groups have fewer bins.
MAX_WEIGHTS = 1 << 22


@dataclass(frozen=True)
class BinnedScores:
    """Weights of scores by group and bin; those of other rows add."""

    low: Floats  # smallest score of every bin, of shape (m,)
    high: Floats  # largest
    # Of the rows of the positive class, and of the others; of all rows where there are no
    # classes or labels were predicted. Of shape (2, G, m) or (1, G, m).
    classes: Floats
    squares: Floats  # sums of squares of these weights, of shape (2, G) or (1, G)

    @staticmethod
    def edges(scores: Floats, weights: Floats, n_groups: int) -> Floats:
        """Return the largest score of every bin; `scores` are in order."""
        bins = min(SCORE_BINS, max(MAX_WEIGHTS // n_groups, 2))
        if len(scores) <= bins:
            return scores
        levels = np.arange(1, bins + 1) / bins
        return np.unique(weighted_quantiles(scores, weights, levels))

    @classmethod
    def of(cls, parts: Sequence[Grouping], outcomes: Outcomes, edges: Floats) -> BinnedScores:
        """Sum weights."""
        score, weight, m = outcomes.score, outcomes.weight, len(edges)
        places = np.minimum(np.searchsorted(edges, score, side="left"), m - 1)
        low, high = np.full((2, m), np.inf)
        np.minimum.at(low, places, score)
        np.minimum.at(high, places, -score)
        parted = outcomes.ranks and outcomes.response is not None
        rows = [outcomes.observed, ~outcomes.observed] if parted else [np.ones(len(score))]
        classes = [
            [
                np.bincount(part.codes * m + places, weight * among, len(part.labels) * m)
                for part in parts
            ]
            for among in rows
        ]
        squares = [
            [np.bincount(part.codes, weight**2 * among, len(part.labels)) for part in parts]
            for among in rows
        ]
        return cls(
            low,
            -high,
            np.array([np.concatenate(each).reshape(-1, m) for each in classes]),
            np.array([np.concatenate(each) for each in squares]),
        )

    def __add__(self, other: BinnedScores) -> BinnedScores:
        return BinnedScores(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.classes + other.classes,
            self.squares + other.squares,
        )

    @property
    def weights(self) -> Floats:
        """Of all rows, of shape (G, m)."""
        return np.asarray(self.classes.sum(axis=0))

    def groups(self, chosen: Booleans) -> BinnedScores:
        """Return some groups, and the bins that have rows."""
        there = self.low <= self.high
        classes = self.classes[:, chosen][:, :, there]
        return BinnedScores(self.low[there], self.high[there], classes, self.squares[:, chosen])

    @property
    def order(self) -> ScoreOrder:
        """The bins, at the middles of their scores."""
        steps = np.diff((self.low + self.high) / 2.0)
        return ScoreOrder(steps, np.full(len(self.low), True))

    def distances(
        self, own: slice, spreads: Sequence[Spread], reference: int | None
    ) -> list[Distances]:
        """Compare the groups of an attribute with a reference group, or with all other rows."""
        weights = self.weights[own]
        return self.order.of_groups(spreads, list(weights), weights.sum(axis=0), reference)

    def rankings(self, confidence: float) -> list[Ranking]:
        """Return how well scores separate the classes in every group."""
        if len(self.classes) == 1:
            return [UNRANKED] * len(self.classes[0])
        each = zip(*self.classes, *self.squares, strict=True)
        return [
            ranked(true, others, *map(_effective, (true, others), squares), confidence=confidence)
            for true, others, *squares in each
        ]

    def errors(self, own: Sequence[slice], references: Sequence[int | None]) -> BinErrors:
        """Return the largest errors, over the groups of all attributes, whose places these are."""
        wide = self.high > self.low
        ks, wasserstein, auc, classes = [0.0], [0.0], [0.0], [0.0]
        for place, reference in zip(own, references, strict=True):
            weights = self.weights[place]
            for code, group in enumerate(weights):
                other = weights.sum(axis=0) - group if reference is None else weights[reference]
                if code != reference and group.sum() > 0.0 and other.sum() > 0.0:
                    ks.append(_gap_error(group, other, wide))
                    shares = group / group.sum() + other / other.sum()
                    wasserstein.append(float(shares @ (self.high - self.low)) / 2.0)
        for true, others in zip(*self.classes, strict=True) if len(self.classes) > 1 else ():
            if true.any() and others.any():
                classes.append(_gap_error(true, others, wide))
                pairs = (true / true.sum()) * (others / others.sum())
                auc.append(float(pairs[wide].sum()) / 2.0)
        return BinErrors(len(self.low), max(auc), max(classes), max(ks), max(wasserstein))


def _gap_error(one: Floats, other: Floats, wide: Booleans) -> float:
    """Return how much farther apart two distribution functions may be within a bin."""
    p, q = one / one.sum(), other / other.sum()
    after = np.cumsum(p) - np.cumsum(q)
    before = after - p + q
    # Within a bin one function may rise first, and then the other.
    inside = np.maximum(before + p, q - before)[wide]
    return max(float(inside.max(initial=0.0)) - float(np.abs(after).max()), 0.0)


def _effective(weights: Floats, squares: float) -> float:
    """Return Kish's effective number of rows."""
    return float(weights.sum()) ** 2 / float(squares) if squares > 0.0 else 0.0
