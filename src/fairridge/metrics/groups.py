"""Groups of people: the levels of sensitive attributes, or quantiles of numeric ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import Levels, Table

__all__ = [
    "Grouping",
    "groupings",
    "indicator_columns",
    "weighted_quantiles",
]


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


def groupings(
    table: Table, weight: Floats, *, bins: int, intersections: bool
) -> tuple[Grouping, ...]:
    """Partition the rows by every column, and by all of them together.

    Parameters
    ----------
    table : Table
        Sensitive attributes.
    weight : ndarray of shape (n,)
        Weights, for quantiles.
    bins : int
        Groups of a numeric attribute with more values than that: quantiles.
    intersections : bool
        Whether to add the groups of all attributes crossed.
    """
    found = [_grouping(table, k, weight, bins) for k in range(table.shape[1])]
    if intersections and len(found) > 1:
        found.append(_crossed(found))
    return tuple(found)


def indicator_columns(table: Table) -> tuple[Floats, tuple[str, ...], tuple[int, ...]]:
    """Write S out: numbers as they are, and a 0/1 column for every level that has rows.

    Returns
    -------
    columns : ndarray of shape (n, q)
    names : tuple of str
    owners : tuple of int
        The attribute each column belongs to.
    """
    parts: list[Floats] = []
    names: list[str] = []
    owners: list[int] = []
    for k in range(table.shape[1]):
        name, column = table.label(k), table.column(k)
        if not isinstance(column, Levels):
            parts.append(column.astype(np.float64))
            names.append(name)
            owners.append(k)
            continue
        for code in np.unique(column.codes):
            parts.append((column.codes == code).astype(np.float64))
            names.append(f"{name}[{column.levels[code]}]")
            owners.append(k)
    return np.column_stack(parts), tuple(names), tuple(owners)


def weighted_quantiles(values: Floats, weight: Floats, levels: Sequence[float] | Floats) -> Floats:
    """Return the smallest values whose weighted distribution function reaches the levels."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    # A level that is met exactly must be found in spite of rounding.
    wanted = np.asarray(levels) * reached[-1] * (1.0 - 1e-12)
    return values[order][np.minimum(np.searchsorted(reached, wanted), len(values) - 1)]


def _grouping(table: Table, k: int, weight: Floats, bins: int) -> Grouping:
    name, column = table.label(k), table.column(k)
    if isinstance(column, Levels):
        if (column.codes < 0).any():
            raise ValueError(_missing(name))
        present, codes = np.unique(column.codes, return_inverse=True)
        return Grouping(name, tuple(str(column.levels[code]) for code in present), codes)
    if not np.isfinite(column.astype(np.float64)).all():
        raise ValueError(_missing(name))
    values, codes = np.unique(column, return_inverse=True)
    if len(values) <= max(bins, 2):
        text = _distinct(values.tolist())
        return Grouping(name, tuple(text[value] for value in values.tolist()), codes)
    return _quantiles(name, column.astype(np.float64), weight, bins)


def _quantiles(name: str, values: Floats, weight: Floats, bins: int) -> Grouping:
    edges, codes = _cut(values, weight, bins)
    ends = [float(values.min()), *edges.tolist(), float(values.max())]
    text = _distinct(ends)
    labels = [
        f"{'(' if j else '['}{text[ends[j]]}, {text[ends[j + 1]]}]" for j in range(len(edges) + 1)
    ]
    return Grouping(name, tuple(labels), codes)


def _cut(values: Floats, weight: Floats, bins: int) -> tuple[Floats, Integers]:
    """Cut numbers at their quantiles; return the edges and the group of every row."""
    inner = weighted_quantiles(values, weight, np.arange(1, bins) / bins)
    # Many equal values make quantiles coincide, or reach the end: fewer groups then.
    edges = np.unique(np.minimum(inner, values[values < values.max()].max()))
    return edges, np.searchsorted(edges, values, side="left")


def _distinct(numbers: Sequence[float]) -> dict[float, str]:
    """Write numbers with as few digits as keep them apart."""
    if not any(isinstance(number, float) for number in numbers):
        return {number: str(number) for number in numbers}
    for digits in range(3, 18):
        text = {number: f"{number:.{digits}g}" for number in numbers}
        if len(set(text.values())) == len(text):
            return text
    return text


def _crossed(parts: Sequence[Grouping]) -> Grouping:
    stacked = np.column_stack([part.codes for part in parts])
    cells, codes = np.unique(stacked, axis=0, return_inverse=True)
    labels = tuple(
        " × ".join(part.labels[code] for part, code in zip(parts, cell, strict=True))
        for cell in cells
    )
    return Grouping(" × ".join(part.attribute for part in parts), labels, codes.reshape(-1))


def _missing(name: str) -> str:
    return (
        f"sensitive attribute {name!r} contains missing values or infinity; drop those rows, or "
        "give them a level of their own such as 'unknown'."
    )
