"""What sorted scores show: how far groups are apart, and how well scores rank rows.

Of rows that are not in memory, from bins of their scores. Distribution functions are known at the
ends of bins, and what they do between them has limits: so every measure has a largest error, which
is zero if no bin has two different scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from fairridge._typing import Booleans, Floats, Integers
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping, weighted_quantiles
from fairridge.metrics.intervals import CONFIDENCE, UNDEFINED, Estimate
from fairridge.metrics.outcomes import Outcomes

NAN = float("nan")


@dataclass(frozen=True)
class Distances:
    """Distances between the distributions of two groups of rows."""

    # First mean less second mean, in standard deviations within the two groups (pooled, divisor n);
    # 0 where both groups are the same constant.
    standardized_mean_difference: float = NAN
    kolmogorov_smirnov: float = NAN  # sup |F₁ − F₂|, in [0, 1]
    wasserstein: float = NAN  # ∫ |F₁ − F₂|, in the unit of the scores (earth mover's distance)


# What a group without others has.
INCOMPARABLE = Distances()


@dataclass(frozen=True)
class BinErrors:
    """How far measures of binned scores may be from those of the scores themselves, at most."""

    bins: int  # bins with rows
    # The largest error in any group.
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
class ScoreOrder:
    """Scores, or bins of scores, from the lowest on: how far apart they are."""

    steps: Floats  # from one to the next
    jumps: Booleans  # whether the next one is higher: both distribution functions are known there

    def of_groups(
        self,
        table: GroupTable,
        place: slice,
        own: Callable[[int], Floats],
        whole: Floats,
        reference: int | None,
    ) -> list[Distances]:
        """Compare every group with a reference group, or with all rows outside it."""
        # The first column of the table are the scores. `own` returns the weights of a group in this
        # order, and `whole` are those of all rows.
        weights = table.weights[place]
        means = np.where(weights > 0.0, table.means[0, place], 0.0)
        sums = np.array([weights, means, table.squares[0, place]])
        codes, found = np.arange(len(weights)), []
        fixed = None if reference is None else own(reference)
        for code in codes.tolist():
            if code == reference:
                found.append(INCOMPARABLE)
                continue
            one = own(code)
            other = whole - one if fixed is None else fixed
            others = codes != code if reference is None else codes == reference
            found.append(self._apart(sums[:, code], _together(*sums[:, others]), one, other))
        return found

    def _apart(self, first: Floats, second: Floats, one: Floats, other: Floats) -> Distances:
        """Compare two groups by weights, means and squares, and by weights in this order."""
        (n1, mean1, squares1), (n2, mean2, squares2) = first.tolist(), second.tolist()
        if n1 == 0.0 or n2 == 0.0:
            return INCOMPARABLE
        gap = np.abs(np.cumsum(one) / n1 - np.cumsum(other) / n2)
        deviation = math.sqrt((squares1 + squares2) / (n1 + n2))
        return Distances(
            _ratio(mean1 - mean2, deviation, rounding=1e-13 * float(self.steps.sum())),
            float(min((gap * self.jumps).max(), 1.0)),
            float((gap[:-1] * self.steps).sum()),
        )


def _together(weights: Floats, means: Floats, squares: Floats) -> Floats:
    """Return the weight, mean and squares of groups taken together."""
    total = weights.sum()
    mean = weights @ means / total if total > 0.0 else 0.0
    return np.array([total, mean, squares.sum() + weights @ (means - mean) ** 2])


class SortedScores:
    """Scores sorted once, so that every pair of groups costs one run over them."""

    def __init__(self, scores: Floats, weight: Floats) -> None:
        # From the lowest score on, so that a mean far from zero costs no digits.
        self._scores, self._weight = scores - scores.min(initial=np.inf), weight
        self._order = np.argsort(scores, kind="stable")
        steps = np.diff(self._scores[self._order])
        # Between equal scores both distribution functions are halfway through a jump.
        self._steps = ScoreOrder(steps, np.append(steps > 0.0, True))

    def of_groups(self, grouping: Grouping, reference: int | None = None) -> list[Distances]:
        """Compare every group with a reference group, or with all rows outside it."""
        table = GroupTable.of([grouping], self._weight, self._scores)
        codes, weight = grouping.codes[self._order], self._weight[self._order]

        def own(code: int) -> Floats:
            return weight * (codes == code)

        return self._steps.of_groups(table, table.places[0], own, weight, reference)


def _ratio(difference: float, deviation: float, rounding: float) -> float:
    if deviation > rounding:
        return difference / deviation
    # Two constants: the same, or infinitely many deviations apart.
    return 0.0 if abs(difference) <= rounding else float(np.copysign(np.inf, difference))


# ------------------------------------------------------------------------ ranks


@dataclass(frozen=True)
class Ranking:
    """How well scores rank the rows of a positive class before the others."""

    # Share of pairs of one row of each class in which the positive row has the higher score; ties
    # count one half.
    auc: Estimate = UNDEFINED
    # Largest distance between the distribution functions of the scores of both classes.
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
    places = np.unique(score, return_inverse=True)[1]
    each = [weight / weight.max() * rows for rows in (positive, ~positive)]
    weights = np.array([np.bincount(places, weights=one) for one in each])
    return ranked(weights, [float(one @ one) for one in each], confidence)


def ranked(weights: Floats, squares: Sequence[float], confidence: float) -> Ranking:
    """Measure how well scores rank, with DeLong's interval for the AUC on the logit scale."""
    # `weights` are those of the positive class and of the others at every score, from the lowest
    # on, and `squares` the sums of squares of the weights of their rows. With v the share of rows
    # of the other class that a row is ranked right against (its placement), the AUC is the mean of
    # v over either class, and its variance the sum of those of both means (DeLong, DeLong and
    # Clarke-Pearson 1988). Weighted rows count with Kish's effective number. An AUC of 0 or 1, or
    # of a single row of a class, has no interval.
    (of_positive, of_negative), (total, others) = weights, weights.sum(axis=1).tolist()
    if not (total > 0.0 and others > 0.0):
        return UNRANKED
    up_to, up_to_others = np.cumsum(of_positive), np.cumsum(of_negative)
    separation = min(float(np.abs(up_to / total - up_to_others / others).max()), 1.0)
    above = 1.0 - (up_to - 0.5 * of_positive) / total
    below = (up_to_others - 0.5 * of_negative) / others
    variance, area = 0.0, 0.0
    for v, w, squared in zip((below, above), weights, squares, strict=True):
        area = float(np.average(v, weights=w))
        spread = float(np.average((v - area) ** 2, weights=w))
        n = float(w.sum()) ** 2 / squared if squared > 0.0 else 0.0
        variance += spread / (n - 1.0) if n > 1.0 + 1e-9 else float("nan")
    if not 0.0 < area < 1.0 or not variance > 0.0:
        return Ranking(Estimate(area), separation)
    half = float(ndtri(0.5 + confidence / 2.0)) * np.sqrt(variance) / (area * (1.0 - area))
    low, high = (float(expit(logit(area) + sign * half)) for sign in (-1.0, 1.0))
    return Ranking(Estimate(area, low, high), separation)


# ------------------------------------------------------------------------ bins


# Bins, each of the same weight: measures are then off by less than 0.001.
SCORE_BINS = 4096
# Groups times bins, whose weights take 32 MB; many groups have fewer bins.
MAX_WEIGHTS = 1 << 22


def extremes(values: Floats, codes: Integers, size: int) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value by code; infinite where there is none."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    return low, high


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
        low, high = extremes(score, places, m)
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
            high,
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

    def distances(self, table: GroupTable, k: int, reference: int | None) -> list[Distances]:
        """Compare the groups of an attribute with a reference group, or with all other rows."""
        place = table.places[k + 1]
        weights = self.weights[place]
        # The bins are at the middles of their scores.
        steps = np.diff((self.low + self.high) / 2.0)
        order = ScoreOrder(steps, np.full(len(self.low), True))
        return order.of_groups(table, place, weights.__getitem__, weights.sum(axis=0), reference)

    def rankings(self, confidence: float) -> list[Ranking]:
        """Return how well scores separate the classes in every group."""
        if len(self.classes) == 1:
            return [UNRANKED] * len(self.classes[0])
        each = zip(self.classes.swapaxes(0, 1), self.squares.T.tolist(), strict=True)
        return [ranked(weights, squares, confidence) for weights, squares in each]

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


# ------------------------------------------------------------------------ measures of all rows


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
