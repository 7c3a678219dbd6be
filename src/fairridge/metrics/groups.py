"""Groups of people: the levels of sensitive attributes, or quantiles of numeric ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from fairridge._typing import Booleans, Floats, Integers
from fairridge.data import Design, Encoding, Indicators, Levels, Piece, Table
from fairridge.data.columns import MISSING, CategoricalColumn
from fairridge.engines import columns_in_threads
from fairridge.metrics.bands import BINS, Bands


@dataclass(frozen=True)
class Grouping:
    """A partition of the rows.

    Attributes
    ----------
    attribute : str
        Name of the sensitive attribute, or of several, joined by "×".
    labels : tuple of str
        Names of the groups.
    codes : ndarray of shape (n,)
        Group of every row.
    """

    attribute: str
    labels: tuple[str, ...]
    codes: Integers

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
    """Return the sensitive attributes of rows, which may have them in another order than at fit.

    Columns of arrays keep the names that their positions give them.
    """
    table, names = (X, design.names) if S is None else (S, design.sensitive_names)
    places: Sequence[int] = design.positions_sensitive
    if names is not None and table.names is not None:
        places = [table.names.index(names[k]) for k in places]
    return replace(table.select(places), names=tuple(map(table.label, places)))


def groupings(
    table: Table, weight: Floats, *, bins: int = BINS, intersections: bool = False
) -> tuple[Grouping, ...]:
    """Partition the rows by every column, and by all of them crossed if `intersections`.

    Numbers of more than `bins` values are cut at their weighted quantiles. Rows whose
    attribute is missing are a group of their own, the last.
    """
    parts = [_grouping(table, k, weight, bins) for k in range(table.shape[1])]
    if intersections and len(parts) > 1:
        parts.append(crossing(parts))
    return tuple(parts)


def indicator_columns(table: Table) -> tuple[Floats, tuple[str, ...], tuple[int, ...]]:
    """Write S out: numbers as they are, and a 0/1 column for every level that has rows.

    A missing category is a level; a missing number is the mean of the others, beside a
    0/1 column that says so.

    Returns
    -------
    columns : ndarray of shape (n, q)
    names : tuple of str
    owners : tuple of int
        The attribute each column belongs to.
    """
    written: list[tuple[Floats, str, int]] = []
    for k in range(table.shape[1]):
        name, column = table.label(k), table.column(k)
        if isinstance(column, Levels):
            labels = [*column.levels, MISSING]  # the code of a missing value, -1, picks the last
            written += [
                ((column.codes == code).astype(np.float64), f"{name}[{labels[code]}]", k)
                for code in np.unique(column.codes)
            ]
            continue
        values = column.astype(np.float64)
        lost = np.isnan(values)
        if lost.any():
            mean = values[~lost].mean() if not lost.all() else 0.0
            written.append((lost.astype(np.float64), f"{name}[{MISSING}]", k))
            values = np.where(lost, mean, values)
        written.append((values, name, k))
    columns, names, owners = zip(*written, strict=True)
    return np.column_stack(columns), names, owners


def _grouping(table: Table, k: int, weight: Floats, bins: int) -> Grouping:
    name, column = table.label(k), table.column(k)
    if isinstance(column, Levels):
        there = column.codes >= 0
        present, codes = np.unique(column.codes[there], return_inverse=True)
        labels = tuple(str(column.levels[code]) for code in present)
    else:
        numbers = column.astype(np.float64)
        if np.isinf(numbers).any():
            raise ValueError(
                f"sensitive attribute {name!r} contains infinity; drop those rows, or correct them."
            )
        there = ~np.isnan(numbers)
        cut = Bands.of(column[there], weight[there], bins)
        labels, codes = cut.labels, cut.codes(column[there])
    return Grouping(name, *_with_missing(labels, codes, there))


def _with_missing(
    labels: tuple[str, ...], codes: Integers, there: Booleans
) -> tuple[tuple[str, ...], Integers]:
    """Put rows without a value into a group of their own, after those of the other rows."""
    if there.all():
        return labels, codes
    if MISSING not in labels:
        labels = (*labels, MISSING)
    found = np.full(len(there), labels.index(MISSING), dtype=np.intp)
    found[there] = codes
    return labels, found


def encoded_groupings(
    pieces: Sequence[Piece], encoding: Encoding, weight: Floats, bands: Sequence[Bands] = ()
) -> list[Grouping]:
    """Group encoded rows by each attribute as `groupings` does; products of columns have no groups.

    Numbers are cut at their own values unless `bands` say where.
    """
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


def crossing(parts: Sequence[Grouping]) -> Grouping:
    """Partition the rows by several attributes together; combinations without rows are left out."""
    codes, labels = parts[0].codes, parts[0].labels
    for part in parts[1:]:  # two at a time, so that codes stay small
        cells, codes = np.unique(codes * len(part.labels) + part.codes, return_inverse=True)
        pairs = (divmod(cell, len(part.labels)) for cell in cells.tolist())
        labels = tuple(f"{labels[first]} × {part.labels[second]}" for first, second in pairs)
    return Grouping(" × ".join(part.attribute for part in parts), labels, codes)
