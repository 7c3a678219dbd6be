"""An interval for the share of predictions that S explains in the population.

The odds of R² in the rows, ω̂ = R²/(1 − R²), in units of c = VAR(ω̂)/(4ω̂) are
noncentral χ² with q degrees of freedom and noncentrality ω/c (see
`inference.scores`): normal in √ω̂ where S explains much, and the test of no
dependence where it explains nothing. The interval holds the ω whose tails do
not exclude ω̂. Its lower end is 0 if the rows do not contradict that S explains
nothing. VAR(ω̂) is the sandwich estimate: predictions need not be normal, nor
equally spread in all groups, and rows may have weights.

Differences of groups given controls come from the same regressions on controls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.linalg import khatri_rao
from scipy.special import stdtrit

from fairridge._typing import Floats
from fairridge.engines import Moments
from fairridge.inference.certificate import odds_behind
from fairridge.inference.scores import maps_given
from fairridge.metrics.batches import Alike, piece_rows
from fairridge.metrics.dependence_shares import NEGLIGIBLE_DEVIATION
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import UNDEFINED, Estimate, mean_estimates
from fairridge.solvers.spectrum import whitening
from fairridge.sources.batch import Sums, add

# Share of a variance that S leaves which is rounding.
NOTHING_LEFT = 1e-12


# Scores, and the weights of the rows among which they count, of shapes (n, k) and (n,).
Judged = tuple[Floats, Floats]


def explained_share(
    judged: Sequence[Judged], S: Floats, C: Floats, confidence: float
) -> tuple[Estimate, float]:
    """Return R² of scores on S given C, with its interval, and the same adjusted for chance."""
    # Scores count among rows of positive weight, which differ between the entries: explained and
    # whole variances are added over these. Given C, scores and S are residuals on [1, C], whose
    # estimation moves the share by squares of errors only. R² itself is that of the rows. It has no
    # interval if S explains everything or has as many columns as there are rows.
    regressions = Regressions.of(moments_of(judged, S, C))
    return regressions.estimate(regressions.sums(judged, S, C), confidence)


def moments_of(judged: Sequence[Judged], S: Floats, C: Floats) -> Sums:
    """Return the moments of [C, S, scores] among the rows of every entry; of batches they add."""
    parts: dict[int, Moments | None] = dict.fromkeys(range(len(judged)))
    for k, columns, weight in _pieces(judged, S, C):
        parts[k] = add(parts[k], moments_of_columns(columns, weight))
    return Sums({"width": Alike((S.shape[1], C.shape[1])), "entries": Sums(parts)})


def _pieces(judged: Sequence[Judged], S: Floats, C: Floats) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield [C, S, scores] and weights of the rows of positive weight of every entry, by pieces."""
    # S may have thousands of columns, and pieces are small enough for a few copies.
    for k, (values, weight) in enumerate(judged):
        size = piece_rows(C.shape[1] + S.shape[1] + values.shape[1])
        for start in range(0, len(weight), size):
            rows = slice(start, start + size)
            columns, used = np.hstack([C[rows], S[rows], values[rows]]), weight[rows] > 0.0
            yield (
                k,
                *((columns, weight[rows]) if used.all() else (columns[used], weight[rows][used])),
            )


def moments_of_columns(columns: Floats, weight: Floats) -> Moments | None:
    """Return the moments of columns; from a row on, so that constants have exactly no variance."""
    if not len(columns):
        return None
    total = float(weight.sum())
    shifted = columns - columns[0]
    mean = weight @ shifted / total
    shifted -= mean
    scatter = (shifted * weight[:, None]).T @ shifted
    return Moments(len(columns), total, columns[0] + mean, scatter)


@dataclass(frozen=True)
class Regression:
    """A regression of scores on S, both less what controls explain: maps of [C, S, scores]."""

    center: Floats  # means of [C, S, scores]
    to_sensitive: Floats  # to orthonormal columns s of S, of shape (width, rank)
    to_scores: Floats  # to scores, of shape (width, k)
    slopes: Floats  # of scores on s, of shape (rank, k)
    whole: float  # variance of the scores, summed over these

    @classmethod
    def of(cls, moments: Moments, total: float, q: int, c: int) -> Regression:
        """Regress scores by their moments; those of all entries weigh so much together."""
        covariance = moments.scatter / total
        maps = maps_given(covariance, c)[1]
        of_sensitive, of_scores = maps[:q], maps[q:]
        of_sensitive = whitening(of_sensitive @ covariance @ of_sensitive.T) @ of_sensitive
        slopes = of_sensitive @ covariance @ of_scores.T
        whole = float(((of_scores @ covariance) * of_scores).sum())
        return cls(moments.mean, of_sensitive.T, of_scores.T, slopes, whole)

    @property
    def explained(self) -> float:
        """The variance of scores that S explains."""
        return float((self.slopes**2).sum())


@dataclass(frozen=True)
class Regressions:
    """Regressions of scores on S among the rows of several entries, which share one R²."""

    each: tuple[Regression, ...]
    places: tuple[int, ...]  # entries that have rows
    total: float  # weight of all rows
    n_controls: int

    @classmethod
    def of(cls, moments: Sums) -> Regressions:
        """Regress scores by the moments of all rows; see `moments_of`."""
        q, c = moments["width"].value
        known = {k: part for k, part in moments["entries"].parts.items() if part is not None}
        total = sum(part.weight for part in known.values())
        each = tuple(Regression.of(part, total, q, c) for part in known.values())
        return cls(each, tuple(known), total, c)

    def sums(self, judged: Sequence[Judged], S: Floats, C: Floats) -> Floats:
        """Return n, Σ w h², Σ w e², Σ w²φ² of influences φ on the odds, and Σ w²|s|²e²."""
        # To first order the odds h²/e² change with a row by (2he + h² − ω(e² + T))/T, with ω = N/T:
        # the slopes change by se, and S explains N and leaves T.
        N = sum(one.explained for one in self.each)
        T = sum(one.whole for one in self.each) - N
        odds = N / T if T > 0.0 else 0.0
        found, places = np.zeros(5), dict(zip(self.places, self.each, strict=True))
        for k, columns, weight in _pieces(judged, S, C):
            if k not in places:
                continue
            one, w = places[k], weight / self.total
            rows = columns - one.center
            s = rows @ one.to_sensitive
            h = s @ one.slopes
            e = rows @ one.to_scores - h
            hh, he, ee = ((left * right).sum(axis=1) for left, right in ((h, h), (h, e), (e, e)))
            influence = w * (2.0 * he + (hh - N) - odds * (ee - T))
            at_zero = w**2 @ ((s**2).sum(axis=1) * ee)
            found += (len(rows), w @ hh, w @ ee, influence @ influence, at_zero)
        return found

    def estimate(self, sums: Floats, confidence: float) -> tuple[Estimate, float]:
        """Return the share with its interval, and the same adjusted for chance."""
        n, N, T, influences, at_zero = sums.tolist()
        columns = sum(len(one.slopes) for one in self.each)
        if columns == 0 or N + T == 0.0:
            return Estimate(0.0), 0.0
        lost = (1 + self.n_controls) * len(self.each)
        value, free = N / (N + T), n - lost - columns
        if free <= 0 or T <= NOTHING_LEFT * (N + T):
            return Estimate(value), value if free > 0 else np.nan
        n_slopes = sum(one.slopes.size for one in self.each)
        variance = influences / T**2 * n / free
        # At ω = 0 the mean of its limits over all directions of slopes.
        unit = variance / (4.0 * N / T) if N > 0.0 else at_zero * n / free / n_slopes / T
        tail = 0.5 - confidence / 2.0
        ends = [
            odds_behind(end, N / T, columns=n_slopes, spread=unit) for end in (1.0 - tail, tail)
        ]
        low, high = (odds / (1.0 + odds) for odds in ends)
        return Estimate(value, low, high), 1.0 - (1.0 - value) * (n - lost) / free


def loss_table(losses: Floats, weight: Floats) -> GroupTable:
    """Sum what S adds to a model, what the model explains, and the difference; batches add."""
    # `losses` are those of the model, without what S adds, and without predictors, of shape (n, 3).
    added, explained = losses[:, 1] - losses[:, 0], losses[:, 2] - losses[:, 0]
    everyone = [Grouping.everyone(len(weight))]
    return GroupTable.of(everyone, weight, added, explained, explained - added)


def loss_share(table: GroupTable, confidence: float) -> Estimate:
    """Return which part of what a model explains S adds, with Student's interval of the ratio."""
    # On other rows than those of the fit the share may be negative.
    added, explained, _ = table.means[:, 0]
    if not explained > 0.0:
        return Estimate()
    share = added / explained
    of_added, of_explained, of_rest = table.squares[:, 0] / table.weights[0]
    # The variance of added − share·explained.
    spread = (1.0 - share) * (of_added - share * of_explained) + share * of_rest
    variance = np.array([max(float(spread), 0.0) / explained**2])
    found = mean_estimates(np.array([share]), variance, table.sizes, confidence)[0]
    return Estimate(found.value, found.low, found.high)


# ------------------------------------------------------------------------ groups given controls


@dataclass(frozen=True)
class AdjustedDifferences:
    """By how much mean scores of each group exceed those of all others with equal controls."""

    # That is the coefficient of the group's 0/1 column beside [1, C], with HC1's interval.

    center: Floats  # means of [C, score, 0/1 columns]
    total: float  # weight of all rows
    left: Floats  # maps of these to what C leaves of score and groups, of shape (width, 1 + G)
    squares: Floats  # Σ w s² of what is left of every group
    slopes: Floats
    n_rows: int
    free: int  # degrees of freedom

    @staticmethod
    def moments(score: Floats, part: Grouping, C: Floats, weight: Floats) -> Sums:
        """Return what a regression of the scores is computed from; of batches they add."""
        moments = moments_of_columns(_columns(score, part, C), weight)
        return Sums({"controls": Alike(C.shape[1]), "moments": moments})

    @classmethod
    def of(cls, sums: Sums) -> AdjustedDifferences:
        """Regress scores by the moments of all rows."""
        moments, c = sums["moments"], sums["controls"].value
        covariance = moments.scatter / moments.weight
        of_controls, left = maps_given(covariance, c)
        of_left = left @ covariance @ left.T
        squares = np.diag(of_left)[1:]
        products = of_left[0, 1:]
        # Of a model that leaves S nothing, rounding would be shown as a difference.
        known = np.abs(products) > NEGLIGIBLE_DEVIATION * np.sqrt(of_left[0, 0] * squares)
        slopes = np.divide(products, squares, out=np.zeros_like(squares), where=known)
        n_rows = moments.n_rows
        return cls(
            moments.mean,
            moments.weight,
            left.T,
            squares,
            slopes,
            n_rows,
            n_rows - len(of_controls) - 2,
        )

    def sums(self, score: Floats, part: Grouping, C: Floats, weight: Floats) -> Floats:
        """Return the sum of squares of the influences of rows on every slope."""
        left = (_columns(score, part, C) - self.center) @ self.left
        y, s = left[:, :1], left[:, 1:]
        influence = (weight / self.total)[:, None] * s * (y - self.slopes * s)
        return np.asarray((influence**2).sum(axis=0))

    def estimates(self, sums: Floats, confidence: float) -> list[Estimate]:
        """Return the difference of every group."""
        if self.free < 1:
            return [UNDEFINED] * len(sums)
        factor = float(stdtrit(self.free, 0.5 + confidence / 2.0))
        errors = np.sqrt(sums * self.n_rows / self.free) / np.where(
            self.squares > 0.0, self.squares, 1
        )
        return [
            Estimate(slope, slope - factor * error, slope + factor * error, error=error)
            if square > 0.0
            else UNDEFINED
            for slope, error, square in zip(
                *(column.tolist() for column in (self.slopes, errors, self.squares)), strict=True
            )
        ]


def _columns(score: Floats, part: Grouping, C: Floats) -> Floats:
    """Return controls, scores and a 0/1 column of every group."""
    groups = (part.codes[:, None] == np.arange(len(part.labels))).astype(np.float64)
    return np.column_stack([C, score, groups])


def crossed_columns(columns: Floats, owners: Sequence[int]) -> Floats:
    """Return columns of attributes, and all products of one column of each."""
    places = np.asarray(owners)
    each = [columns[:, places == k] for k in dict.fromkeys(owners)]
    if len(each) < 2:
        return columns
    return np.hstack([columns, reduce(khatri_rao, [one.T for one in each]).T])
