"""Groups of people: the levels of sensitive attributes, or quantiles of numeric ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Booleans, Floats, Integers
from fairridge.data import Design, Levels, Table
from fairridge.data.columns import MISSING

# Groups of a numeric attribute.
BINS = 4
# Rows that are looked at first.
FIRST_LOOK_ROWS = 1000


@dataclass(frozen=True)
class Grouping:
    """A partition of the rows.

    Attributes
    ----------
    attribute : str
        Name of the sensitive attribute, or of several, joined by "×".
    labels : tuple of str
        Names of the groups, each with at least one row.
    codes : ndarray of shape (n,)
        Group of every row.
    """

    attribute: str
    labels: tuple[str, ...]
    codes: Integers

    @cached_property
    def order(self) -> Integers:
        """Rows by group; those of a group keep their order."""
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where each group is in that order."""
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.labels))).tolist()
        return tuple(map(slice, [0, *ends[:-1]], ends))


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


def weighted_quantiles(values: Floats, weight: Floats, levels: Sequence[float] | Floats) -> Floats:
    """Return the smallest values whose weighted distribution function reaches the levels."""
    n = len(values)
    if (weight == weight[:1]).all():  # to find a few of n values is faster than to sort them
        places = np.ceil(np.asarray(levels) * n * (1.0 - 1e-12)).astype(np.intp) - 1
        places = np.clip(places, 0, n - 1)
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
    return np.unique(np.minimum(inner, values[values < values.max()].max()))


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
        labels, codes = _of_numbers(column[there], weight[there], bins)
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


def numeric_grouping(name: str, values: Floats, weight: Floats, bins: int = BINS) -> Grouping:
    """Partition rows by numbers, none of which is missing."""
    return Grouping(name, *_of_numbers(values, weight, bins))


def _of_numbers(
    column: NDArray[Any], weight: Floats, bins: int
) -> tuple[tuple[str, ...], Integers]:
    """Return names and codes of groups of numbers: values, or intervals of equal weight."""
    distinct = _distinct_values(column, max(bins, 2))
    if distinct is not None:
        values, codes = distinct
        return tuple(_distinct(values.tolist()).values()), codes
    numbers = column.astype(np.float64)
    edges = quantile_edges(numbers, weight, bins)
    ends = [float(numbers.min()), *edges.tolist(), float(numbers.max())]
    text = _distinct(ends)
    labels = tuple(
        f"{'(' if j else '['}{text[a]}, {text[b]}]" for j, (a, b) in enumerate(pairwise(ends))
    )
    return labels, np.searchsorted(edges, numbers, side="left")


def _distinct_values(column: NDArray[Any], most: int) -> tuple[NDArray[Any], Integers] | None:
    """Return the values of a column and their codes, as `np.unique` does; None if they are many.

    Values of the first rows are mostly all there are: to look them up is faster than to sort.
    """
    values = np.unique(column[:FIRST_LOOK_ROWS])
    if len(values) > most:
        return None
    codes = np.zeros(len(column), dtype=np.intp)
    for value in values[1:]:
        codes += column >= value
    if not np.array_equal(values[codes], column):
        values, codes = np.unique(column, return_inverse=True)
    return (values, codes) if len(values) <= most else None


def _distinct(numbers: Sequence[float]) -> dict[float, str]:
    """Write numbers with as few digits as keep them apart."""
    if not any(isinstance(number, float) for number in numbers):
        return {number: str(number) for number in numbers}
    for digits in range(3, 18):
        text = {number: f"{number:.{digits}g}" for number in numbers}
        if len(set(text.values())) == len(text):
            return text
    return text


def crossing(parts: Sequence[Grouping]) -> Grouping:
    """Partition the rows by several attributes together; combinations without rows are left out."""
    codes, labels = parts[0].codes, parts[0].labels
    for part in parts[1:]:  # two at a time, so that codes stay small
        cells, codes = np.unique(codes * len(part.labels) + part.codes, return_inverse=True)
        pairs = (divmod(cell, len(part.labels)) for cell in cells.tolist())
        labels = tuple(f"{labels[first]} × {part.labels[second]}" for first, second in pairs)
    return Grouping(" × ".join(part.attribute for part in parts), labels, codes)
