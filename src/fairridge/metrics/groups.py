"""Groups of people: the levels of sensitive attributes, or numbers cut into intervals.

Numbers are cut into single values if there are few, and into intervals of equal weight otherwise.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.data import (
    Design,
    Encoding,
    Indicators,
    Levels,
    Piece,
    Table,
    as_table,
    dense_columns,
)
from fairridge.data.columns import MISSING, CategoricalColumn, encode_columns
from fairridge.data.design import MAX_LEVELS, sensitive_positions
from fairridge.data.table import Column
from fairridge.engines import columns_in_threads
from fairridge.sources.batch import Sums, add

# Groups of a numeric attribute.
BINS = 4
# Rows that are looked at first.
FIRST_LOOK_ROWS = 1000
# Distinct values that are kept apart; of more, neighbors share a cell.
MAX_DISTINCT_VALUES = 1 << 16
# Binary digits of numbers, and how many fewer are tried next to form cells.
DIGITS: int = np.finfo(np.float64).nmant
DIGIT_STEP = 4


@dataclass(frozen=True)
class Grouping:
    """A partition of the rows."""

    attribute: str  # name of the sensitive attribute, or of several, joined by "×"
    labels: tuple[str, ...]  # names of the groups
    codes: Integers  # the group of every row

    @classmethod
    def everyone(cls, n_rows: int, label: str = "all") -> Grouping:
        """Return all rows as one group, of no attribute."""
        return cls("", (label,), np.zeros(n_rows, dtype=np.intp))

    @cached_property
    def order(self) -> Integers:
        """Rows by group; those of a group keep their order."""
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where each group is in that order."""
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.labels))).tolist()
        return tuple(map(slice, [0, *ends[:-1]], ends))

    def take(self, rows: Integers) -> Grouping:
        """Return the groups of some of the rows."""
        return Grouping(self.attribute, self.labels, self.codes[rows])

    def within(self, other: Grouping) -> Grouping:
        """Return the parts of these groups by another partition, one group after the other."""
        size = len(other.labels)
        labels = tuple(label for label in self.labels for _ in range(size))
        return Grouping(self.attribute, labels, self.codes * size + other.codes)


def sensitive_table(design: Design, X: Table, S: Table | None) -> Table:
    """Return the sensitive attributes of rows, which may have them in another order than at fit."""
    # Columns of arrays keep the names that their positions give them.
    table, names = (X, design.names) if S is None else (S, design.sensitive_names)
    places: Sequence[int] = design.positions_sensitive
    if names is not None and table.names is not None:
        places = [table.names.index(names[k]) for k in places]
    return replace(table.select(places), names=tuple(map(table.label, places)))


def groupings(table: Table, weight: Floats) -> tuple[Grouping, ...]:
    """Partition the rows by every column."""
    # Numbers of more than four values are cut at their weighted quantiles. Rows whose attribute is
    # missing are a group of their own, the last.
    attributes = enumerate(attributes_of(attribute_values(table, weight)))
    return tuple(one.grouping(table.column(k)) for k, one in attributes)


def numbers_beyond(table: Table, most: int) -> list[bool]:
    """Say which columns are numbers with more distinct values than this."""
    columns = map(table.column, range(table.shape[1]))
    return [not isinstance(column, Levels) and len(np.unique(column)) > most for column in columns]


def written_out(known: Sequence[Attribute], table: Table) -> Floats:
    """Write attributes out: numbers as they are, and a 0/1 column for every level that has rows."""
    # A missing category is a level; a missing number is the mean of the others, beside a 0/1 column
    # that says so.
    return np.column_stack(
        [
            column
            for k, attribute in enumerate(known)
            for column in attribute.columns(table.column(k))
        ]
    )


@dataclass(frozen=True)
class Attribute:
    """How a sensitive attribute becomes groups and columns, which all rows together decide."""

    name: str
    levels: tuple[Any, ...] | None  # those that rows have, in order; None of numbers
    missing: bool  # whether rows have none
    mean: float = 0.0  # of numbers that are not missing
    bands: Bands | None = None  # groups of numbers

    def grouping(self, column: Column) -> Grouping:
        """Group rows; those whose attribute is missing are a group of their own, the last."""
        labels = self.bands.labels if self.bands is not None else tuple(map(str, self.levels or ()))
        if self.missing and MISSING not in labels:
            labels = (*labels, MISSING)
        if isinstance(column, Levels):
            codes = column.recode(self.levels or ()).codes
            lost = codes < 0
        else:
            assert self.bands is not None
            codes, lost = self.bands.codes(column), np.isnan(column.astype(np.float64))
        place = labels.index(MISSING) if self.missing else -1
        return Grouping(self.name, labels, np.where(lost, place, codes).astype(np.intp))

    @property
    def column_names(self) -> list[str]:
        """Names of the columns that it is written out as."""
        lost = [f"{self.name}[{MISSING}]"] if self.missing else []
        if self.levels is None:
            return [*lost, self.name]
        return [*lost, *(f"{self.name}[{level}]" for level in self.levels)]

    def columns(self, column: Column) -> list[Floats]:
        """Write rows out; a value that is missing comes first."""
        if isinstance(column, Levels):
            codes = column.recode(self.levels or ()).codes
            first = -1 if self.missing else 0
            return [
                (codes == code).astype(np.float64) for code in range(first, len(self.levels or ()))
            ]
        values = column.astype(np.float64)
        if not self.missing:
            return [values]
        lost = np.isnan(values)
        return [lost.astype(np.float64), np.where(lost, self.mean, values)]


def attribute_values(table: Table, weight: Floats, kinds: Mapping[str, str] | None = None) -> Sums:
    """Look at every column of all rows, or of a batch of rows whose columns are of some kinds."""
    columns = range(table.shape[1])
    return Sums({k: AttributeValues.of(table, k, weight, kinds) for k in columns})


def attributes_of(values: Sums | None, bins: int = BINS) -> tuple[Attribute, ...]:
    """Say how columns become groups, once all rows were looked at."""
    if values is None:
        return ()
    found = tuple(one.attribute(bins) for one in values.parts.values())
    if any(one.of_batch for one in values.parts.values()):
        widest = max(found, key=lambda one: len(one.column_names))
        _require_few(widest.name, sum(len(one.column_names) for one in found))
    return found


def _require_few(name: str, n_columns: int) -> None:
    """Raise if batches of rows would be summed by too many columns, of which one has the most."""
    if n_columns > MAX_LEVELS:
        raise ValueError(
            f"column {name!r} has too many levels: rows that are not in memory are compared by at "
            f"most {MAX_LEVELS:,} levels and numbers in all. Merge its levels, leave it "
            "out, or pass the rows as arrays."
        )


@dataclass(frozen=True)
class AttributeValues:
    """What a batch knows of an attribute; with what other batches know it adds."""

    name: str
    missing: bool
    levels: dict[Any, bool] | None  # whether rows have them, in order; None of numbers
    is_sorted: bool = False  # whether levels are text, which is in order of the alphabet
    of_batch: bool = False  # whether other rows may add to it
    numbers: ValueWeights | None = None  # None if all are missing
    total: float = 0.0  # sum and count of numbers
    count: int = 0

    @classmethod
    def of(
        cls, table: Table, k: int, weight: Floats, kinds: Mapping[str, str] | None
    ) -> AttributeValues:
        """Look at a column; of all rows, numbers are kept as they are."""
        name, column = table.label(k), table.column(k)
        if isinstance(column, Levels):
            present = set(np.unique(column.codes).tolist())
            levels = {level: code in present for code, level in enumerate(column.levels)}
            if kinds is None:
                return cls(name, -1 in present, levels)
            _require_few(name, len(present))
            return cls(name, -1 in present, levels, kinds[name] == "text", of_batch=True)
        numbers = column.astype(np.float64)
        if np.isinf(numbers).any():
            raise ValueError(
                f"sensitive attribute {name!r} contains infinity; drop those rows, or correct them."
            )
        there = ~np.isnan(numbers)
        known = column[there]
        values = ValueWeights if kinds is None else ValueWeights.of
        return cls(
            name,
            not there.all(),
            None,
            numbers=values(known, weight[there]) if len(known) else None,
            total=float(numbers[there].sum()),
            count=len(known),
            of_batch=kinds is not None,
        )

    def __add__(self, other: AttributeValues) -> AttributeValues:
        levels = None
        if self.levels is not None and other.levels is not None:
            both = self.levels | other.levels
            levels = {one: self.levels.get(one) or other.levels.get(one, False) for one in both}
            _require_few(self.name, sum(levels.values()))
        return replace(
            self,
            missing=self.missing or other.missing,
            levels=levels,
            numbers=add(self.numbers, other.numbers),
            total=self.total + other.total,
            count=self.count + other.count,
        )

    def attribute(self, bins: int) -> Attribute:
        """Say how the attribute becomes groups and columns, once all batches are added."""
        if self.levels is not None:
            present = [level for level, there in self.levels.items() if there]
            levels = sorted(present) if self.is_sorted else present
            return Attribute(self.name, tuple(levels), self.missing)
        mean = self.total / self.count if self.count else 0.0
        bands = Bands((), np.empty(0)) if self.numbers is None else self.numbers.bands(bins)
        return Attribute(self.name, None, self.missing, mean, bands)


def encoded_groupings(
    pieces: Sequence[Piece], encoding: Encoding, weight: Floats, bands: Sequence[Bands] = ()
) -> list[Grouping]:
    """Group encoded rows by each attribute, as `groupings` does."""
    # Products of columns have no groups.
    #
    # Numbers are cut at their own values unless `bands` say where.
    first = np.cumsum([0, *(column.width for column in encoding.columns)]).tolist()
    own = dict(zip(first, encoding.columns, strict=False))
    attributes: list[Callable[[], Grouping]] = []
    place, given = 0, iter(bands)
    for piece in pieces:
        if place == first[-1]:  # what follows are products
            break
        if isinstance(piece, Indicators):
            column = cast(CategoricalColumn, own[place])
            levels = list(map(str, column.levels))
            labels = (levels.pop(column.base), *levels)
            attributes.append(partial(Grouping, column.name, labels, piece.codes + 1))
        else:
            for name, values in zip(encoding.names[place:], piece.values.T, strict=False):
                attributes.append(partial(_banded, name, values, weight, next(given, None)))
        place += piece.width
    return columns_in_threads(lambda attribute: attribute(), attributes, len(weight))


def _banded(name: str, values: Floats, weight: Floats, bands: Bands | None) -> Grouping:
    """Group rows by numbers."""
    bands = bands or Bands.of(values, weight)
    return Grouping(name, bands.labels, bands.codes(values))


def crossing(parts: Sequence[Grouping], *, every_cell: bool = False) -> Grouping:
    """Partition the rows by several attributes together."""
    # Combinations without rows are left out, unless other batches may have rows of `every_cell`.
    codes, labels = parts[0].codes, parts[0].labels
    for part in parts[1:]:  # two at a time, so that codes stay small
        codes, size = codes * len(part.labels) + part.codes, len(labels) * len(part.labels)
        cells: Sequence[int] = range(size)
        if not every_cell:
            found, codes = np.unique(codes, return_inverse=True)
            cells = found.tolist()
        elif size > MAX_LEVELS:
            raise ValueError(
                f"attributes crossed make more than {MAX_LEVELS:,} groups; leave "
                "intersections out, or name fewer attributes as sensitive."
            )
        pairs = (divmod(cell, len(part.labels)) for cell in cells)
        labels = tuple(f"{labels[first]} × {part.labels[second]}" for first, second in pairs)
    return Grouping(" × ".join(part.attribute for part in parts), labels, codes)


# ----------------------------------------------------------- numbers


@dataclass(frozen=True)
class Bands:
    """Groups of numbers: names, and the largest value of every group but the last."""

    labels: tuple[str, ...]
    edges: NDArray[Any]

    @classmethod
    def of(cls, column: NDArray[Any], weight: Floats, bins: int = BINS) -> Bands:
        """Cut numbers, none of which is missing, at their values or at weighted quantiles."""
        values = few_values(column, max(bins, 2))
        if values is not None:
            return cls(tuple(_texts(values.tolist()).values()), values[:-1])
        numbers = column.astype(np.float64)
        edges = quantile_edges(numbers, weight, bins)
        ends = [float(numbers.min()), *edges.tolist(), float(numbers.max())]
        text = _texts(ends)
        labels = tuple(
            f"{'(' if j else '['}{text[a]}, {text[b]}]" for j, (a, b) in enumerate(pairwise(ends))
        )
        return cls(labels, edges)

    def codes(self, column: NDArray[Any]) -> Integers:
        """Return the group of every number; edges are few, so to compare is faster than to find."""
        codes = np.zeros(len(column), dtype=np.intp)
        for edge in self.edges:
            codes += column > edge
        return codes


@dataclass(frozen=True)
class ValueWeights:
    """Values of a column in order, and their weights; with those of other rows they add."""

    # Of more than 65,536 values, those that agree in their leading digits count as the largest of
    # them. So memory has a limit, and the result does not depend on the order in which rows are
    # added: rounding up to some digits and then to fewer is rounding up to fewer.

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
            values = values.astype(np.float64)

            def is_few(digits: int) -> bool:
                return len(_starts(_rounded_up(values, digits))) <= MAX_DISTINCT_VALUES

            # The fewer the digits, the fewer values are left: halving finds how many suffice.
            place = bisect(fewer, False, key=is_few)
            digits = fewer[min(place, len(fewer) - 1)]
            starts = _starts(rounded := _rounded_up(values, digits))
        return cls(rounded[starts], np.add.reduceat(weights, starts), digits)

    def __add__(self, other: ValueWeights) -> ValueWeights:
        values = np.concatenate([self.values, other.values])
        weights = np.concatenate([self.weights, other.weights])
        return ValueWeights.of(values, weights, min(self.digits, other.digits))

    def bands(self, bins: int = BINS) -> Bands:
        """Cut the values as `Bands.of` does."""
        return Bands.of(self.values, self.weights, bins)


def _starts(values: Floats) -> Integers:
    """Return where the distinct ones of sorted values begin."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1]))


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


def weighted_quantiles(values: Floats, weight: Floats, levels: Sequence[float] | Floats) -> Floats:
    """Return the smallest values whose weighted distribution function reaches the levels."""
    n = len(values)
    if (weight == weight[:1]).all():  # to find a few of n values is faster than to sort them
        places = np.ceil(np.asarray(levels) * n * (1.0 - 1e-12)).astype(np.intp) - 1
        places = np.minimum(np.maximum(places, 0), n - 1)
        return np.partition(values, places)[places]
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    # A level that is met exactly must be found in spite of rounding.
    wanted = np.asarray(levels) * reached[-1] * (1.0 - 1e-12)
    return values[order][np.minimum(np.searchsorted(reached, wanted), len(values) - 1)]


def quantile_edges(values: Floats, weight: Floats, bins: int) -> Floats:
    """Return the largest value of every group but the last, if numbers are cut at quantiles."""
    inner = weighted_quantiles(values, weight, np.arange(1, bins) / bins)
    # Many equal values make quantiles coincide, or reach the end: fewer groups then.
    largest = values.max()
    if inner[-1] == largest:
        inner = np.minimum(inner, values[values < largest].max())
    return np.array(sorted(set(inner.tolist())))


def few_values(column: NDArray[Any], most: int) -> NDArray[Any] | None:
    """Return the values of a column in order; None if they are many."""
    # Values of the first rows are mostly all there are: to compare is faster than to sort.
    if len(set(column[: most + 1].tolist())) > most:  # as those of continuous numbers
        return None
    values = np.unique(column[:FIRST_LOOK_ROWS])
    if len(values) > most:
        return None
    if not np.isin(column, values).all():
        values = np.unique(column)
    return values if len(values) <= most else None


def _texts(numbers: Sequence[float]) -> dict[float, str]:
    """Write numbers with as few digits as keep them apart."""
    if not any(isinstance(number, float) for number in numbers):
        return {number: str(number) for number in numbers}
    for digits in range(3, 18):
        text = {number: f"{number:.{digits}g}" for number in numbers}
        if len(set(text.values())) == len(text):
            return text
    return text


# Intersections, as positions among the sensitive attributes.
Crossed = tuple[tuple[int, ...], ...]


def sensitive_attributes(
    X: Any, sensitive_features: Any, sensitive: Any
) -> tuple[Table, tuple[int, ...], Crossed]:
    """Return the sensitive attributes, where they are in X, and which are crossed."""
    # They come by themselves, or `sensitive` names columns of X.
    if sensitive_features is not None:
        return as_table(sensitive_features, argument="sensitive_features"), (), ()
    table = as_table(X, sparse=True)
    places, crossed = sensitive_positions(sensitive, table.names, table.shape[1])
    names = tuple(map(table.label, places))
    return replace(table.select(places), names=names), places, crossed


@dataclass(frozen=True)
class SensitiveColumns:
    """Sensitive attributes that several models are measured on, whatever they read."""

    attributes: Table
    columns: Floats  # the same, written out, of shape (n, q)
    places: tuple[int, ...]  # of these among the columns of X; none if S came by itself

    @classmethod
    def of(cls, X: Any, sensitive_features: Any, sensitive: Any) -> SensitiveColumns:
        """Write S out; rows whose attribute is missing have a level of their own."""
        attributes, places, crossed = sensitive_attributes(X, sensitive_features, sensitive)
        everything = range(attributes.shape[1])
        encoding = encode_columns(attributes, everything, missing="level")
        encoding = encoding.with_intersections(crossed)
        columns = dense_columns(encoding.pieces(attributes, everything, "error"), encoding.names)
        return cls(attributes, columns, places)

    def take(self, rows: Integers) -> SensitiveColumns:
        """Return these rows only."""
        return replace(self, attributes=self.attributes.take(rows), columns=self.columns[rows])
