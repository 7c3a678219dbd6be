"""How well scores rank: the area under the ROC curve, and concordance of censored times."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.metrics.sorted_scores import ranking


def area_under_curve(positive: Booleans, score: Floats, weight: Floats) -> float:
    """Share of pairs in which the positive row has the higher score; ties count one half."""
    # NaN if all rows are positive, or none is.
    return ranking(positive, score, weight, CONFIDENCE).auc.value


def concordance_index(
    time: Floats, event: Floats, risk: Floats, weight: Floats | None = None
) -> float:
    """Return the share of comparable pairs in which the higher risk fails first (Harrell's C)."""
    # A pair is comparable when the earlier of two times is an event, or, at equal times, when one
    # is an event and the other censored. Equal risks count one half. O(n log n) with a tree of
    # partial sums.
    # A pair counts the product of its weights.
    weight = np.ones(len(time)) if weight is None else weight
    levels, rank = np.unique(risk, return_inverse=True)
    tree = _PartialSums(len(levels))
    concordant = tied = comparable = 0.0
    # From late to early; at equal times the censored first, since they outlive the events.
    order = np.lexsort((event, -time))
    waiting: list[int] = []
    for position, row in enumerate(order):
        if event[row]:
            concordant += weight[row] * tree.below(int(rank[row]))
            tied += weight[row] * tree.values[rank[row]]
            comparable += weight[row] * tree.total
        waiting.append(int(row))
        last = position + 1 == len(order)
        # Events at the same time are not comparable with each other: add them together.
        if last or not event[row] or time[order[position + 1]] != time[row]:
            for other in waiting:
                tree.add(int(rank[other]), float(weight[other]))
            waiting.clear()
    if comparable == 0.0:
        raise ValueError("no two rows are comparable: there are no events before a later time.")
    return float((concordant + 0.5 * tied) / comparable)


class _PartialSums:
    """Sums over a growing multiset of ranks (Fenwick's tree)."""

    def __init__(self, size: int) -> None:
        self.sums = [0.0] * (size + 1)
        self.values = [0.0] * size
        self.total = 0.0

    def add(self, rank: int, amount: float) -> None:
        self.values[rank] += amount
        self.total += amount
        k = rank + 1
        while k < len(self.sums):
            self.sums[k] += amount
            k += k & -k

    def below(self, rank: int) -> float:
        total, k = 0.0, rank
        while k > 0:
            total += self.sums[k]
            k -= k & -k
        return total
