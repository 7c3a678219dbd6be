"""Decisions by group: how many rows of each group are given each class, wherever rows are.

Categorical attributes come as codes. Numbers are cut where `groupings` cuts
them, which takes their distribution: one pass over rows that are not in memory.
"""

from __future__ import annotations

import operator
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.data import Indicators, Piece, Rows
from fairridge.engines import Engine, MeanSums, MemoryEngine, columns_in_threads, in_memory
from fairridge.families.base import ClassFamily
from fairridge.families.sums import MeansOfRows
from fairridge.metrics.groups import BINS, quantile_edges
from fairridge.models import Fit

# Rows below which a group says too little to be compared with others.
SMALL_GROUP_ROWS = 30


@dataclass(frozen=True)
class Decided:
    """Rows and weights by group; with those of other rows they add.

    Attributes
    ----------
    counts : tuple of ndarray of shape (groups,)
        Rows of each group, one array per attribute.
    weights : tuple of ndarray of shape (groups, classes)
        Weights of the rows of each group that are given each class.
    """

    counts: tuple[Integers, ...]
    weights: tuple[Floats, ...]

    @classmethod
    def of(
        cls, decided: Integers, groups: Sequence[GroupCodes], weight: Floats, n_classes: int
    ) -> Decided:
        """Count rows by the class that each is given, from 0, and by group."""
        counts, weights = [], []
        for group in groups:
            cells, size = group.codes * n_classes + decided, group.size * n_classes
            counts.append(np.bincount(group.codes, minlength=group.size))
            sums: Floats = np.bincount(cells, weights=weight, minlength=size)  # type: ignore[assignment]
            weights.append(sums.reshape(group.size, n_classes))
        return cls(tuple(counts), tuple(weights))

    def __add__(self, other: Decided) -> Decided:
        return Decided(
            tuple(map(operator.add, self.counts, other.counts)),
            tuple(map(operator.add, self.weights, other.weights)),
        )

    @property
    def _rates(self) -> list[Floats]:
        """Shares of each group's rows that are given each class; attributes of one group aside."""
        rates = []
        for count, weight in zip(self.counts, self.weights, strict=True):
            compared = weight[(count >= SMALL_GROUP_ROWS) & weight.any(axis=1)]
            if len(compared) > 1:
                rates.append(compared / compared.sum(axis=1, keepdims=True))
        return rates

    @property
    def gap(self) -> float:
        """Largest difference between groups in the share of rows that are given a class.

        NaN if no attribute has two groups of at least 30 rows.
        """
        gaps = [float(np.ptp(rates, axis=0).max()) for rates in self._rates]
        return max(gaps, default=float("nan"))

    def shares(self, decision: int) -> tuple[Floats, Floats]:
        """Return the lowest and the highest share of a group that is given a class.

        One number for each attribute that has two groups of at least 30 rows.
        """
        rates = [rate[:, decision] for rate in self._rates]
        return np.array([rate.min() for rate in rates]), np.array([rate.max() for rate in rates])

    @property
    def impact_ratios(self) -> Floats:
        """For every class, the lowest share of a group that is given it over the highest.

        The smallest over attributes; NaN if no row is given the class, or if there is no gap.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = [rates.min(axis=0) / rates.max(axis=0) for rates in self._rates]
        return np.fmin.reduce(ratios) if ratios else np.full(self.weights[0].shape[1], np.nan)


@dataclass(frozen=True)
class _Decide:
    """Decides for the likeliest class of some rows; travels to where they are."""

    family: ClassFamily
    raw: Floats
    intercept: Floats
    n_classes: int
    cuts: tuple[Floats, ...] = ()
    groups: Sequence[GroupCodes] | None = None  # if they are known

    def __call__(self, engine: MemoryEngine) -> Decided:
        known = self.groups
        groups = codes_of(engine.rows.sensitive, self.cuts) if known is None else known
        eta = engine.scores(self.raw) + self.intercept
        eta = eta if engine.offset is None else eta + engine.offset[:, None]
        return Decided.of(self.family.likeliest(eta), groups, engine.weights, self.n_classes)


@dataclass(frozen=True)
class _DecideAndSum:
    """Decides, and sums the means that the same model predicts."""

    decide: _Decide
    # Which means, where, and with how many columns; see `Engine.means`.
    means: MeansOfRows
    place: tuple[Floats, Floats, Floats]
    beside: int | None

    def __call__(self, engine: MemoryEngine) -> _DecidedAndSummed:
        family = self.decide.family
        sums = engine.means(family, self.means, *self.place, beside=self.beside)
        return _DecidedAndSummed(self.decide(engine), sums)


@dataclass(frozen=True)
class _DecidedAndSummed:
    decided: Decided
    sums: MeanSums

    def __add__(self, other: _DecidedAndSummed) -> _DecidedAndSummed:
        return _DecidedAndSummed(self.decided + other.decided, self.sums + other.sums)


def decided_by(
    fit: Fit,
    engine: Engine,
    n_classes: int,
    groups: Sequence[GroupCodes] | None = None,
    means: MeansOfRows | None = None,
) -> Decided:
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
    groups : sequence of GroupCodes, optional
        The groups of rows in memory, if they are known.
    means : MeansOfRows, optional
        Means that will be asked of the model: if its rows have to be read for them, they are
        summed in the same pass.
    """
    basis = fit.basis
    raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
    intercept = np.atleast_1d(fit.mean_intercept) - raw @ basis.center
    cuts = cuts_of(engine) if groups is None else ()
    family = cast(ClassFamily, fit.family)
    decide = _Decide(family, raw, intercept, n_classes, cuts, groups)
    if means is None or in_memory(engine) or not fit.lacks(means, engine):
        return engine.sum_of(decide)
    both = engine.sum_of(_DecideAndSum(decide, means, fit.place, fit.beside))
    fit.learn(means, both.sums)
    return both.decided


# Distinct values that are kept apart; of more, neighbors share a cell.
MAX_DISTINCT_VALUES = 1 << 16
# Binary digits of numbers, and how many fewer are tried next to form cells.
DIGITS: int = np.finfo(np.float64).nmant
DIGIT_STEP = 4


@dataclass(frozen=True)
class GroupCodes:
    """The group of every row by one attribute.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        From 0.
    size : int
        Number of groups, some of which may have no rows.
    """

    codes: Integers
    size: int

    def take(self, rows: Integers) -> GroupCodes:
        """Return these rows only."""
        return GroupCodes(self.codes[rows], self.size)


@dataclass(frozen=True)
class ValueWeights:
    """Values of a column in order, and their weights; with those of other rows they add.

    Of more than 65,536 values, those that agree in their leading digits count
    as the largest of them. So memory has a limit, and the result does not
    depend on the order in which rows are added: rounding up to some digits and
    then to fewer is rounding up to fewer.
    """

    values: Floats
    weights: Floats
    digits: int = DIGITS

    @classmethod
    def of(cls, values: Floats, weights: Floats, digits: int = DIGITS) -> ValueWeights:
        """Add up the weights of values that agree in so many binary digits, or in fewer."""
        if (weights == weights[0]).all():  # to sort values alone is many times faster
            values = np.sort(values)
        else:
            order = np.argsort(values, kind="stable")
            values, weights = values[order], weights[order]
        # Rounding up keeps the order, so values are sorted only once.
        starts = _starts(rounded := _rounded_up(values, digits))
        if len(starts) > MAX_DISTINCT_VALUES and digits > 0:
            fewer = range(digits - DIGIT_STEP, -1, -DIGIT_STEP)
            # The fewer the digits, the fewer values are left: halving finds how many suffice.
            place = bisect(fewer, False, key=lambda each: _is_few(values, each))
            digits = fewer[min(place, len(fewer) - 1)]
            starts = _starts(rounded := _rounded_up(values, digits))
        return cls(rounded[starts], np.add.reduceat(weights, starts), digits)

    def __add__(self, other: ValueWeights) -> ValueWeights:
        values = np.concatenate([self.values, other.values])
        weights = np.concatenate([self.weights, other.weights])
        return ValueWeights.of(values, weights, min(self.digits, other.digits))

    def cuts(self, bins: int = BINS) -> Floats:
        """Return the largest value of every group but the last: quantiles, or single values."""
        if len(self.values) <= max(bins, 2):
            return self.values[:-1]
        return quantile_edges(self.values, self.weights, bins)


def _starts(values: Floats) -> Integers:
    """Return where the distinct ones of sorted values begin."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1]))


def _is_few(values: Floats, digits: int) -> bool:
    """Whether so many digits leave few distinct ones of sorted values."""
    return len(_starts(_rounded_up(values, digits))) <= MAX_DISTINCT_VALUES


def _rounded_up(values: Floats, digits: int) -> Floats:
    """Round up to so many binary digits."""
    if digits == DIGITS:
        return values
    if digits > 0:
        # The last bits of a number are its last digits, of its size if it is negative.
        last = (1 << (DIGITS + 1 - digits)) - 1
        bits = np.ascontiguousarray(values).view(np.int64)
        return ((bits + np.where(bits < 0, 0, last)) & ~last).view(np.float64)
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.ceil(np.ldexp(fraction, digits)), exponent - digits)


@dataclass(frozen=True)
class _Distributions:
    """The distributions of several columns."""

    columns: tuple[ValueWeights, ...]

    def __add__(self, other: _Distributions) -> _Distributions:
        return _Distributions(tuple(map(operator.add, self.columns, other.columns)))

    @classmethod
    def of(cls, rows: Rows) -> _Distributions:
        """Count the values of the numeric columns of S."""
        weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
        columns = _numbers(rows.sensitive)
        each = columns_in_threads(lambda x: ValueWeights.of(x, weight), columns, rows.n_rows)
        return cls(tuple(each))

    def cuts(self) -> tuple[Floats, ...]:
        """Return where each column is cut into groups."""
        return tuple(column.cuts() for column in self.columns)


def cuts_of(engine: Engine) -> tuple[Floats, ...]:
    """Return where numeric attributes are cut into groups, in one pass over an engine's rows."""
    return engine.sum_of(_distributions, only_sensitive=True).cuts()


def _distributions(engine: MemoryEngine) -> _Distributions:
    return _Distributions.of(engine.rows)


def codes_of(pieces: Sequence[Piece], cuts: Sequence[Floats]) -> list[GroupCodes]:
    """Return the group of every row by each attribute, given where numbers are cut."""
    columns: list[tuple[NDArray[Any], Floats | None, int]] = []
    left = iter(cuts)
    for piece in pieces:
        if isinstance(piece, Indicators):
            columns.append((piece.codes, None, piece.width + 1))
            continue
        for column, edges in zip(_numbers([piece]), left, strict=False):
            columns.append((column, edges, len(edges) + 1))
    return columns_in_threads(_coded, columns, len(columns[0][0]) if columns else 0)


def _coded(column: tuple[NDArray[Any], Floats | None, int]) -> GroupCodes:
    """Return the groups of one attribute: its codes from -1, or numbers and their cuts."""
    values, edges, size = column
    return GroupCodes(values + 1 if edges is None else np.searchsorted(edges, values), size)


def encoded_groups(rows: Rows) -> list[GroupCodes]:
    """Return the groups of encoded rows by each attribute, as `groupings` does.

    The sensitive columns must not be mapped to features.
    """
    return codes_of(rows.sensitive, _Distributions.of(rows).cuts())


def _numbers(pieces: Sequence[Piece]) -> list[Floats]:
    """Return the numeric columns of some pieces."""
    slabs = (piece for piece in pieces if not isinstance(piece, Indicators))
    return [column.astype(np.float64) for slab in slabs for column in slab.values.T]
