"""How the columns of the training rows were distributed, in a few numbers per column.

A model keeps them to check later whether new rows are like those it was fitted
to. Levels have their shares; numbers have deciles and the shares between them,
from a sample of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.data.columns import CategoricalColumn, ColumnEncoding
from fairridge.data.rows import Indicators, Piece, Slab

# Rows whose numbers are looked at. Those of rows elsewhere travel; the shares between deciles of
# so many still have standard errors of one percent.
PROFILE_ROWS, TRAVELING_PROFILE_ROWS = 4096, 1024
DECILES = np.arange(1, 10) / 10


@dataclass(frozen=True)
class ColumnProfile:
    """How one column was distributed at fit."""

    name: str  # the input column
    # Its levels as text, with those that were merged as "(other)"; () for numbers.
    levels: tuple[str, ...]
    edges: Floats  # distinct deciles of a number; none for levels, of shape (k,)
    # Share of each level; or of the numbers up to the first edge, from there to the next, …,
    # and above the last one.
    shares: Floats
    n_rows: int  # rows that were looked at

    @property
    def is_sound(self) -> bool:
        """Whether the numbers fit together."""
        return (
            self.edges.ndim == self.shares.ndim == 1
            and bool(self.levels) != bool(self.edges.size)
            and len(self.shares) == (len(self.levels) or len(self.edges) + 1)
            and bool((np.diff(self.edges) > 0.0).all() and (self.shares >= 0.0).all())
            and abs(float(self.shares.sum()) - 1.0) < 1e-6
            and self.n_rows > 0
        )

    @property
    def typical(self) -> str | float:
        """The commonest level, or the median."""
        if self.levels:
            return self.levels[int(np.argmax(self.shares))]
        return float(self.edges[len(self.edges) // 2])


@dataclass(frozen=True)
class NumberSample:
    """Evenly spaced rows of the numeric columns; samples of disjoint rows add."""

    values: Floats  # numbers of columns of S, then of X, of shape (m, k)
    weight: Floats  # weights of the rows, of shape (m,)
    stride: int  # how many rows each of these stands for, a power of two
    most: int  # how many rows there may be

    @classmethod
    def of(
        cls, pieces: Sequence[Piece], n_rows: int, weight: Floats | None, most: int = PROFILE_ROWS
    ) -> NumberSample:
        """Take evenly spaced rows in memory."""
        stride = 1 << max(0, math.ceil(math.log2(max(n_rows, 1) / most)))
        rows = slice(None, None, stride)
        slabs = [
            piece.values[rows] if isinstance(piece, Slab) else piece.values[rows].toarray()
            for piece in pieces
            if not isinstance(piece, Indicators)
        ]
        size = len(range(0, n_rows, stride))
        values = np.concatenate([np.empty((size, 0)), *slabs], axis=1, dtype=np.float64)
        return cls(values, np.ones(size) if weight is None else weight[rows], stride, most)

    def __add__(self, other: NumberSample) -> NumberSample:
        stride = max(self.stride, other.stride)
        parts = [sample._thinned(stride // sample.stride) for sample in (self, other)]
        values, weight = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "weight")
        )
        both = NumberSample(values, weight, stride, self.most)
        return both._thinned(2) if len(weight) > self.most else both

    def _thinned(self, by: int) -> NumberSample:
        return NumberSample(self.values[::by], self.weight[::by], self.stride * by, self.most)


def column_profiles(
    columns: Sequence[ColumnEncoding],
    shares: Sequence[Floats],
    sample: NumberSample | None,
    n_rows: int,
) -> tuple[ColumnProfile, ...]:
    """Describe columns of S, then of X; numbers without a sample are left out.

    Parameters
    ----------
    columns : sequence of ColumnEncoding
        The columns.
    shares : sequence of ndarray
        Shares of the levels of each categorical column, in the order of its levels.
    sample : NumberSample or None
        Some rows of the numeric columns.
    n_rows : int
        Rows whose levels were counted.
    """
    known, profiles, k = iter(shares), [], 0
    numbers = [] if sample is None else _of_numbers(sample)
    for column in columns:
        if isinstance(column, CategoricalColumn):
            levels = tuple(map(str, column.levels))
            profiles.append(ColumnProfile(column.name, levels, np.empty(0), next(known), n_rows))
            continue
        if sample is not None:
            profiles.append(ColumnProfile(column.name, (), *numbers[k], len(sample.weight)))
        k += column.width  # a number that may be missing has another column
    return tuple(profiles)


def level_shares(
    columns: Sequence[ColumnEncoding],
    pieces: Sequence[Piece],
    weight: Floats | None,
) -> list[Floats]:
    """Return the shares of the levels of every categorical column, from its codes."""
    coded = iter([piece for piece in pieces if isinstance(piece, Indicators)])
    shares = []
    for column in _categorical(columns):
        piece = next(coded)
        counts = np.bincount(piece.codes + 1, weight, piece.width + 1)
        shares.append(_with_base(column, counts[1:] / counts.sum(), counts[0] / counts.sum()))
    return shares


def shares_of_means(columns: Sequence[ColumnEncoding], means: Floats) -> list[Floats]:
    """Return the same from the means of all encoded columns."""
    shares, start = [], 0
    for column in columns:
        stop = start + column.width
        if isinstance(column, CategoricalColumn):
            part = means[start:stop]
            shares.append(_with_base(column, part, 1.0 - part.sum()))
        start = stop
    return shares


def share_between(edges: Floats, values: NDArray[np.float64], weight: Floats) -> Floats:
    """Return the shares of numbers up to the first edge, …, and above the last one."""
    places: Integers = np.searchsorted(edges, values, side="left")
    counts = np.bincount(places, weight, len(edges) + 1)
    return np.asarray(counts / counts.sum())


def _categorical(
    columns: Sequence[ColumnEncoding],
) -> Iterator[CategoricalColumn]:
    return (column for column in columns if isinstance(column, CategoricalColumn))


def _with_base(column: CategoricalColumn, others: Floats, base: float) -> Floats:
    # Means of indicators add up to one only up to rounding.
    return np.insert(np.clip(others, 0.0, 1.0), column.base, max(base, 0.0))


def _of_numbers(sample: NumberSample) -> list[tuple[Floats, Floats]]:
    """Return the distinct deciles of every column, and the shares between them."""
    values, weight = np.array(sample.values.T, order="C"), sample.weight
    if (weight == weight[:1]).all():  # to sort is ten times as fast as to find the order
        values.sort(axis=1)
        return _of_alike_rows(values, np.cumsum(weight))
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    reached = np.cumsum(weight[order], axis=1)
    return [_between_deciles(*column) for column in zip(ordered, reached, strict=True)]


def _of_alike_rows(ordered: Floats, reached: Floats) -> list[tuple[Floats, Floats]]:
    """Return the same of rows of one weight, whose deciles are in the same places."""
    places = _decile_places(reached)
    deciles = ordered[:, places]
    # Numbers that do not occur twice have the same shares between their deciles.
    following = ordered[:, np.minimum(places + 1, len(reached) - 1)]
    single = np.asarray((following > deciles).all(axis=1))
    single &= (places[1:] > places[:-1]).all()
    between = _shares(reached[places], reached[-1])
    return [
        (edges, between) if alone else _between_deciles(column, reached)
        for edges, alone, column in zip(deciles, single.tolist(), ordered, strict=True)
    ]


def _decile_places(reached: Floats) -> Integers:
    return np.searchsorted(reached, DECILES * (reached[-1] * (1.0 - 1e-12)))


def _shares(ends: Floats, total: float) -> Floats:
    """Return the shares up to each end, and above the last one."""
    between = np.append(ends, total)
    between[1:] -= ends
    return between / total


def _between_deciles(ordered: Floats, reached: Floats) -> tuple[Floats, Floats]:
    """Find deciles of numbers in order, given the weight up to each."""
    deciles = ordered[_decile_places(reached)]
    edges = deciles[np.concatenate(([True], deciles[1:] > deciles[:-1]))]
    ends = reached[np.searchsorted(ordered, edges, side="right") - 1]
    return edges, _shares(ends, reached[-1])
