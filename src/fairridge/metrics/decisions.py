"""Decisions by group: which share of each group is given each class, wherever rows are."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import Encoding, Indicators, Piece
from fairridge.engines import Engine, MeanSums, MemoryEngine, columns_in_threads, in_memory
from fairridge.families.base import ClassFamily
from fairridge.families.sums import MeansOfRows
from fairridge.metrics.bands import Bands, ValueWeights
from fairridge.metrics.group_table import SMALL_GROUP_ROWS, GroupTable
from fairridge.metrics.groups import Grouping, encoded_groupings
from fairridge.models import Fit


def decision_table(
    groupings: Sequence[Grouping], weight: Floats, decided: Integers, n_classes: int
) -> GroupTable:
    """Return the share of each group that is given each class, from 0."""
    return GroupTable.of(groupings, weight, *(decided == k for k in range(n_classes)))


def compared_shares(table: GroupTable) -> list[Floats]:
    """Return the means of the groups of each attribute that has two groups of 30 rows or more."""
    found = []
    for part in table.split():
        compared = part.means[:, (part.counts >= SMALL_GROUP_ROWS) & (part.weights > 0.0)]
        if compared.shape[1] > 1:
            found.append(compared)
    return found


def decision_gap(table: GroupTable) -> float:
    """Return the largest difference between groups in the share of rows that are given a class.

    NaN if no attribute has two groups of at least 30 rows.
    """
    gaps = [float(np.ptp(shares, axis=1).max()) for shares in compared_shares(table)]
    return max(gaps, default=float("nan"))


def impact_ratios(table: GroupTable) -> Floats:
    """Return, for every class, the lowest share of a group that is given it over the highest.

    The smallest over attributes; NaN if no row is given the class, or if there is no gap.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = [shares.min(axis=1) / shares.max(axis=1) for shares in compared_shares(table)]
    return np.fmin.reduce(ratios) if ratios else np.full(len(table.means), np.nan)


@dataclass(frozen=True)
class _Decide:
    """Decides for the likeliest class of some rows; travels to where they are."""

    family: ClassFamily
    raw: Floats
    intercept: Floats
    n_classes: int
    encoding: Encoding
    bands: tuple[Bands, ...] = ()
    groupings: Sequence[Grouping] | None = None  # if they are known

    def __call__(self, engine: MemoryEngine) -> GroupTable:
        groupings = self.groupings
        if groupings is None:
            pieces = engine.rows.sensitive
            groupings = encoded_groupings(pieces, self.encoding, engine.weights, self.bands)
        eta = engine.scores(self.raw) + self.intercept
        eta = eta if engine.offset is None else eta + engine.offset[:, None]
        decided = self.family.likeliest(eta)
        return decision_table(groupings, engine.weights, decided, self.n_classes)


@dataclass(frozen=True)
class _DecideAndSum:
    """Decides, and sums the means that the same model predicts."""

    decide: _Decide
    # Which means, where, and with how many columns; see `Engine.means`.
    means: MeansOfRows
    place: tuple[Floats, Floats, Floats]
    beside: int | None

    def __call__(self, engine: MemoryEngine) -> _Sums:
        family = self.decide.family
        sums = engine.means(family, self.means, *self.place, beside=self.beside)
        return _Sums((self.decide(engine), sums))


@dataclass(frozen=True)
class _Sums:
    """Several sums over rows, which add to those of other rows one by one."""

    parts: tuple[GroupTable | MeanSums | ValueWeights, ...]

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(tuple(map(operator.add, self.parts, other.parts)))


def decided_by(
    fit: Fit,
    engine: Engine,
    n_classes: int,
    encoding: Encoding,
    groupings: Sequence[Grouping] | None = None,
    means: MeansOfRows | None = None,
) -> GroupTable:
    """Decide for the likeliest class of every row, and count by group.

    This takes one pass over the rows, and one more to cut numeric attributes into groups.

    Parameters
    ----------
    fit : Fit
        The model.
    engine : Engine
        Where the rows are.
    n_classes : int
        Number of classes.
    encoding : Encoding
        How S is encoded.
    groupings : sequence of Grouping, optional
        The groups of rows in memory, if they are known.
    means : MeansOfRows, optional
        Means that will be asked of the model: if its rows have to be read for them, they are
        summed in the same pass.
    """
    basis = fit.basis
    raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    intercept = np.atleast_1d(fit.mean_intercept) - raw @ basis.center
    bands = bands_of(engine) if groupings is None else ()
    family = cast(ClassFamily, fit.family)
    decide = _Decide(family, raw, intercept, n_classes, encoding, bands, groupings)
    if means is None or in_memory(engine) or not fit.lacks(means, engine):
        table: GroupTable = engine.sum_of(decide)
        return table
    table, sums = engine.sum_of(_DecideAndSum(decide, means, fit.place, fit.beside)).parts
    fit.learn(means, sums)
    return table


def bands_of(engine: Engine) -> tuple[Bands, ...]:
    """Return how numeric attributes are cut into groups, in one pass over an engine's rows."""
    distributions: _Sums = engine.sum_of(_distributions, only_sensitive=True)
    return tuple(cast(ValueWeights, values).bands() for values in distributions.parts)


def _distributions(engine: MemoryEngine) -> _Sums:
    """Count the values of the numeric columns of S."""
    columns, weight = list(_numbers(engine.rows.sensitive)), engine.weights
    each = columns_in_threads(lambda x: ValueWeights.of(x, weight), columns, len(weight))
    return _Sums(tuple(each))


def _numbers(pieces: Sequence[Piece]) -> Iterator[Floats]:
    """Yield the numeric columns of some pieces."""
    for piece in pieces:
        if not isinstance(piece, Indicators):
            yield from piece.values.T.astype(np.float64)
