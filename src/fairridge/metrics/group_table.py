"""What rows amount to by group: how many they are, their weight, and means of numbers.

Whatever compares groups is a function of such a table: rates and gaps of decisions, means, ratios,
calibration, totals, rules. Tables of batches add, so that rows in files have the numbers of the
same rows in memory. Distances between distributions need sorted scores, and stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Booleans, Floats, Integers
from fairridge.data import Encoding, Indicators
from fairridge.engines import Engine, MemoryEngine, columns_in_threads, in_memory
from fairridge.families.sums import PredictedMeans
from fairridge.metrics.groups import Bands, Grouping, ValueWeights, encoded_groupings
from fairridge.metrics.intervals import (
    Estimate,
    mean_estimates,
    rate_estimates,
    total_estimates,
)
from fairridge.models import Fit
from fairridge.sources.batch import Sums

# Rows below which a group says too little to be compared with others.
SMALL_GROUP_ROWS = 30


@dataclass(frozen=True)
class GroupTable:
    """Rows, weights, and means and squares of columns, by group; other rows can be added."""

    # The groups of all attributes follow each other. Rows of weight zero are absent, and a group
    # without rows has means of NaN.

    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]  # names of the groups, by attribute
    counts: Integers  # rows, of shape (G,)
    weights: Floats  # sums of their weights
    sizes: Floats  # Kish's effective numbers of rows, (Σw)²/Σw²
    means: Floats  # weighted means of the columns, of shape (k, G); of true and false rates
    squares: Floats  # Σ w (v − mean)²
    of_rates: tuple[bool, ...]  # which columns are of true and false

    @classmethod
    def of(
        cls, groupings: Sequence[Grouping], weight: Floats, *columns: NDArray[Any]
    ) -> GroupTable:
        """Sum columns of numbers, or of true and false, by the groups of every attribute."""
        if weight.min(initial=1.0) <= 0.0:
            there = np.flatnonzero(weight > 0.0)
            groupings = [grouping.take(there) for grouping in groupings]
            weight, columns = weight[there], tuple([column[there] for column in columns])
        # From a value that occurs, so that a mean far from zero costs no digits.
        first = [
            0.0 if column.dtype == bool or not len(column) else column[0] for column in columns
        ]
        shifted = [v - start if start else v for v, start in zip(columns, first, strict=True)]
        largest, unit, weighted = float(weight.max(initial=0.0)), None, shifted
        if weight.min(initial=largest) < largest:
            unit = weight / largest  # squares of 1e-200 vanish
            weighted = [column * unit for column in shifted]
        work = partial(_sums_by_group, unit, shifted, weighted)
        parts = columns_in_threads(work, groupings, len(weight))
        counts, weights, sizes, means, squares = [
            np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)
        ]
        means += np.reshape(first, (-1, 1))
        attributes = tuple([grouping.attribute for grouping in groupings])
        labels = tuple([grouping.labels for grouping in groupings])
        of_rates = tuple([column.dtype == bool for column in columns])
        sums = counts, largest * weights, sizes, means, largest * squares
        return cls(attributes, labels, *sums, of_rates)

    def __add__(self, other: GroupTable) -> GroupTable:
        weights = self.weights + other.weights
        share = _quotient(other.weights, weights)
        own = np.where(self.weights > 0.0, self.means, other.means)
        gap = np.where(other.weights > 0.0, other.means, own) - own
        inverse = _quotient((1.0 - share) ** 2, self.sizes) + _quotient(share**2, other.sizes)
        between = np.where(weights > 0.0, self.weights * share * gap**2, 0.0)
        return GroupTable(
            self.attributes,
            self.labels,
            self.counts + other.counts,
            weights,
            _quotient(1.0, inverse),
            own + share * gap,
            self.squares + other.squares + between,
            self.of_rates,
        )

    @property
    def places(self) -> list[slice]:
        """Where the groups of each attribute are."""
        ends = list(accumulate(map(len, self.labels)))
        return list(map(slice, [0, *ends], ends))

    def groups(self, chosen: Booleans) -> GroupTable:
        """Return some of the groups."""
        labels = tuple(
            tuple(label for label, there in zip(labels, chosen[own], strict=True) if there)
            for labels, own in zip(self.labels, self.places, strict=True)
        )
        return replace(
            self,
            labels=labels,
            counts=self.counts[chosen],
            weights=self.weights[chosen],
            sizes=self.sizes[chosen],
            means=self.means[:, chosen],
            squares=self.squares[:, chosen],
        )

    def estimates(self, column: int, confidence: float) -> list[Estimate]:
        """Return the mean of a column in each group after Student; rates after Wilson."""
        if self.of_rates[column]:
            return rate_estimates(self.means[column], self.sizes, confidence)
        variance = _quotient(self.squares[column], self.weights)
        return mean_estimates(self.means[column], variance, self.sizes, confidence)

    def totals(self, first: int, confidence: float, *, amounts: bool) -> list[Estimate]:
        """Return Σ w predicted / Σ w observed of each group."""
        # Three columns have what is predicted, observed, and the latter less the former.
        columns = slice(first, first + 3)
        means, variances = self.means[columns], _quotient(self.squares[columns], self.weights)
        alike = [(own, self.weights[own]) for own in self.places] if amounts else ()
        return total_estimates(means, variances, self.sizes, confidence, alike)


def decision_table(
    groupings: Sequence[Grouping], weight: Floats, decided: Integers, n_classes: int
) -> GroupTable:
    """Return the share of each group that is given each class, from 0."""
    return GroupTable.of(groupings, weight, *(decided == k for k in range(n_classes)))


def compared_shares(table: GroupTable) -> list[Floats]:
    """Return the means of the groups of each attribute that has two groups of 30 rows or more."""
    large = (table.counts >= SMALL_GROUP_ROWS) & (table.weights > 0.0)
    compared = [table.means[:, own][:, large[own]] for own in table.places]
    return [shares for shares in compared if shares.shape[1] > 1]


def decision_gap(table: GroupTable) -> float:
    """Return the largest difference between groups in the share of rows that are given a class."""
    # NaN if no attribute has two groups of at least 30 rows.
    gaps = [float(np.ptp(shares, axis=1).max()) for shares in compared_shares(table)]
    return max(gaps, default=float("nan"))


def impact_ratios(table: GroupTable) -> Floats:
    """Return, for every class, the lowest share of a group that is given it over the highest."""
    # The smallest over attributes; NaN if no row is given the class, or if there is no gap.
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = [shares.min(axis=1) / shares.max(axis=1) for shares in compared_shares(table)]
    return np.fmin.reduce(ratios) if ratios else np.full(len(table.means), np.nan)


def _sums_by_group(
    unit: Floats | None,
    columns: Sequence[NDArray[Any]],
    weighted: Sequence[NDArray[Any]],
    grouping: Grouping,
) -> tuple[Integers, Floats, Floats, Floats, Floats]:
    """Return counts, weights, sizes, means and squares by the groups of one attribute."""
    # Weights are relative to the largest, and None if all are equal; columns come times them as
    # well.
    codes, size = grouping.codes, len(grouping.labels)
    counts = np.bincount(codes, minlength=size)
    total, sizes = counts.astype(np.float64), counts.astype(np.float64)
    if unit is not None:
        total, of_squares = _added(codes, size, [unit, unit * unit])
        sizes = _quotient(total**2, of_squares)
    empty = counts == 0
    means = _added(codes, size, weighted) / (total + empty)
    squares = np.empty_like(means)
    for k, column in enumerate(columns):
        if column.dtype == bool:
            squares[k] = total * means[k] * (1.0 - means[k])
            continue
        apart = column - (means[k].take(codes) if size > 1 else means[k])
        apart *= apart
        squares[k] = _added(codes, size, [apart if unit is None else apart * unit])[0]
    means[:, empty] = np.nan
    return counts, total, sizes, means, squares


def _added(codes: Integers, size: int, vectors: Sequence[NDArray[Any]]) -> Floats:
    """Add vectors up by group; all rows are added faster as such."""
    sums = np.empty((len(vectors), size))
    for k, values in enumerate(vectors):
        sums[k] = np.bincount(codes, values, size) if size > 1 else values.sum()
    return sums


def _quotient(above: Any, below: Floats) -> Floats:
    """Return a quotient; 0 where there is nothing to divide by."""
    return np.divide(
        above,
        below,
        out=np.zeros(np.broadcast_shapes(np.shape(above), below.shape)),
        where=below > 0.0,
    )


# --------------------------------------------------------------- the rows of a fit


def _total_columns(family: Any, eta: Floats, response: Floats) -> list[NDArray[Any]]:
    """Return predictions, observations and their differences, three columns per outcome."""
    # Numbers are in units of the largest.
    response = response[:, :1]
    if family.reads == "numbers":
        predicted = family.mean(family.to_contrasts(eta.T).T)
        # Squares overflow otherwise, and ratios have no unit.
        unit = max(float(np.abs(each).max()) for each in (predicted, response)) or 1.0
        predicted, observed = predicted / unit, response / unit
    elif family.n_predictors == 1:  # of two classes one is enough
        predicted, observed = family.mean(eta), response == 1.0
    else:
        predicted = family.probabilities(eta)
        observed = response == np.arange(predicted.shape[1])
    columns: list[NDArray[Any]] = []
    for p, o in zip(predicted.T, observed.T, strict=True):
        columns += [p, o, o - p]
    return columns


def _training_sums(
    fit: tuple[Any, Floats, Floats],
    n_classes: int,
    encoding: Encoding,
    bands: tuple[Bands, ...],
    groupings: Sequence[Grouping] | None,
    means: tuple[PredictedMeans, tuple[Floats, Floats, Floats], int | None] | None,
    engine: MemoryEngine,
) -> Sums:
    """Sum decisions for the likeliest class, and totals, by group; travels to where rows are."""
    # A `fit` is a family, raw coefficients and intercepts. There are totals if `groupings` are
    # known. `means` are summed as well: which, where, and with how many columns; see
    # `Engine.means`.
    family, raw, intercept = fit
    eta = engine.scores(raw) + intercept
    eta = eta if engine.offset is None else eta + engine.offset[:, None]
    columns: list[NDArray[Any]] = []
    if n_classes:
        decided = family.likeliest(eta)
        columns += [decided == k for k in range(n_classes)]
    if groupings is None:
        groupings = encoded_groupings(engine.rows.sensitive, encoding, engine.weights, bands)
    else:
        columns += _total_columns(family, eta, engine.response)
    summed: Any = None
    if means is not None:
        which, place, beside = means
        summed = engine.means(family, which, *place, beside=beside)
    return Sums({"groups": GroupTable.of(groupings, engine.weights, *columns), "means": summed})


def training_table(
    fit: Fit,
    engine: Engine,
    n_classes: int,
    encoding: Encoding,
    groupings: Sequence[Grouping] | None = None,
    means: PredictedMeans | None = None,
) -> GroupTable:
    """Decide for the likeliest class of every row, if there are any, and count by group."""
    # If groups of rows in memory are known, three columns of totals per outcome follow: what the
    # model predicts, the response, and what it is more. Decisions take one pass over the rows, and
    # one more to cut numeric attributes into groups. `means` are what will be asked of the model:
    # if its rows have to be read for them, they are summed in the same pass.
    raw = np.atleast_2d(fit.basis.raw_coefficients(fit.alpha, fit.beta))
    level = np.atleast_1d(fit.mean_intercept) - raw @ fit.basis.center
    bands = () if groupings is not None else bands_of(engine)
    asked = None
    if means is not None and not in_memory(engine) and fit.lacks(means, engine):
        asked = means, fit.place, fit.beside
    known = fit.family, raw, level
    work = partial(_training_sums, known, n_classes, encoding, bands, groupings, asked)
    # The passes that are counted are those of the search and of decisions.
    sums = engine.sum_of(work) if n_classes or asked else work(cast(MemoryEngine, engine))
    if asked is not None:
        fit.learn(asked[0], sums.parts["means"])
    return cast(GroupTable, sums.parts["groups"])


def bands_of(engine: Engine) -> tuple[Bands, ...]:
    """Return how numeric attributes are cut into groups, in one pass over an engine's rows."""
    distributions: Sums = engine.sum_of(_distributions, only_sensitive=True)
    return tuple(values.bands() for values in distributions.parts.values())


def _distributions(engine: MemoryEngine) -> Sums:
    """Count the values of the numeric columns of S."""
    pieces = [one for one in engine.rows.sensitive if not isinstance(one, Indicators)]
    columns = [column.astype(np.float64) for piece in pieces for column in piece.values.T]
    weight = engine.weights
    each = columns_in_threads(lambda x: ValueWeights.of(x, weight), columns, len(weight))
    return Sums(dict(enumerate(each)))
