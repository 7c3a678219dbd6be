"""Columns of a frame to encoded columns: numbers as they are, levels as treatment contrasts.

Nothing is expanded here. A numeric column stays a view of the input, and a
categorical one stays a vector of codes; the engine writes out dense blocks of
rows, or leaves the codes to tabmat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge.data.columns import (
    CategoricalColumn,
    ColumnEncoding,
    FilledColumn,
    Missing,
    NumericColumn,
    Unknown,
    encoded_piece,
    missing_message,
)
from fairridge.data.levels import Levels
from fairridge.data.rows import Piece, Slab, merged_slabs, sparse_pieces
from fairridge.data.table import Table


@dataclass(frozen=True)
class Encoding:
    """How the columns of one role (sensitive or predictors) are encoded."""

    columns: tuple[ColumnEncoding, ...]  # in the order in which they are encoded
    # Encoded columns whose names another one has already, by position, and what they are
    # called instead; see `unique_names`.
    renamed: tuple[tuple[int, str], ...] = ()

    @property
    def inner(self) -> Encoding:
        """How columns become numbers, before any map: this encoding."""
        return self

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Encoded column names."""
        others = dict(self.renamed)
        names = (name for column in self.columns for name in column.encoded_names)
        return tuple(others.get(k, name) for k, name in enumerate(names))

    @property
    def places(self) -> dict[str, tuple[int, ...]]:
        """Positions of the encoded columns that each input column has become."""
        widths = [len(column.encoded_names) for column in self.columns]
        ends = np.cumsum(widths).tolist()
        return {
            column.name: tuple(range(end - width, end))
            for column, width, end in zip(self.columns, widths, ends, strict=True)
        }

    @property
    def as_given(self) -> tuple[bool, ...]:
        """Which encoded columns have the name of an input column."""
        return tuple(
            name == column.name and not isinstance(column, CategoricalColumn)
            for column in self.columns
            for name in column.encoded_names
        )

    def called(self, names: Sequence[str]) -> Encoding:
        """Return the same encoding with these names of the encoded columns."""
        usual = Encoding(self.columns).names
        pairs = enumerate(zip(usual, names, strict=True))
        return replace(self, renamed=tuple((k, new) for k, (old, new) in pairs if new != old))

    @cached_property
    def empty(self) -> frozenset[int]:
        """Encoded columns of levels without rows."""
        columns, start = set(), 0
        for column in self.columns:
            if isinstance(column, CategoricalColumn):
                columns |= {start + k - (k > column.base) for k in column.empty}
            start += len(column.encoded_names)
        return frozenset(columns)

    @property
    def single(self) -> tuple[str, ...]:
        """Categorical columns with rows of a single level."""
        return tuple(
            column.name
            for column in self.columns
            if isinstance(column, CategoricalColumn) and len(column.levels) - len(column.empty) == 1
        )

    @property
    def all_numeric(self) -> bool:
        """Whether every column encodes to itself."""
        return all(isinstance(column, NumericColumn) for column in self.columns)

    def pieces(self, table: Table, positions: Sequence[int], unknown: Unknown) -> tuple[Piece, ...]:
        """Encode the columns of a table at these positions, one per column of this encoding."""
        if table.is_sparse and self.all_numeric:
            whole = list(positions) == list(range(table.shape[1]))
            return sparse_pieces(table.source if whole else table.source[:, list(positions)])
        if table.is_numeric_array and self.all_numeric:
            return tuple(Slab(table.source[:, run]) for run in _runs(positions))
        return merged_slabs(
            [
                encoded_piece(column, table.column(position), unknown)
                for column, position in zip(self.columns, positions, strict=True)
            ]
        )


def unique_names(names: Sequence[str], first: Sequence[bool]) -> tuple[str, ...]:
    """Make names differ: one that is taken gets ``_2``, ``_3``, … at its end.

    Parameters
    ----------
    names : sequence of str
        Names, in order.
    first : sequence of bool
        Which of them choose before the others, such as names that users gave.
    """
    taken = set(names)
    used: set[str] = set()
    unique = list(names)
    for k in sorted(range(len(names)), key=lambda k: not first[k]):
        numbered = (f"{names[k]}_{number}" for number in count(2))
        if names[k] in used:
            unique[k] = next(name for name in numbered if name not in taken)
        used.add(unique[k])
        taken.add(unique[k])
    return tuple(unique)


def encode_columns(
    table: Table,
    positions: Sequence[int],
    weight: Floats | None = None,
    min_frequency: Any = None,
    missing: Missing = "error",
) -> Encoding:
    """Learn names, levels and base levels from a table without zero-weight rows.

    Parameters
    ----------
    table : Table
        The columns.
    positions : sequence of int
        Which of them.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    min_frequency : int, float or None
        See `CategoricalColumn.learn`.
    missing : {"error", "level"}
        Whether a missing value is a level, and a missing number its mean beside
        a column that marks them.
    """
    if table.is_numeric_array and missing == "error":
        return Encoding(tuple(NumericColumn(table.label(position)) for position in positions))
    learned = (_learn(table, position, weight, min_frequency, missing) for position in positions)
    return Encoding(tuple(learned))


def dense_columns(pieces: Sequence[Piece], names: Sequence[str]) -> Floats:
    """Write encoded columns out as one matrix of finite numbers.

    Parameters
    ----------
    pieces : sequence of Slab or Indicators
        The encoded columns.
    names : sequence of str
        Their names, for messages.
    """
    matrix = np.hstack(
        [
            piece.values.astype(np.float64) if isinstance(piece, Slab) else piece.dense()
            for piece in pieces
        ]
    )
    bad = ~np.isfinite(matrix).all(axis=0)
    if bad.any():
        k = int(np.argmax(bad))
        if not np.isnan(matrix[:, k]).any():
            raise ValueError(
                f"column {names[k]!r} contains infinity; replace it by finite numbers."
            )
        raise ValueError(missing_message(names[k]))
    return matrix


def _learn(
    table: Table, position: int, weight: Floats | None, min_frequency: Any, missing: Missing
) -> ColumnEncoding:
    name, column = table.label(position), table.column(position)
    if not isinstance(column, Levels):
        return NumericColumn(name) if missing == "error" else _number(name, column, weight)
    # The last count is of missing values.
    codes = np.where(column.codes < 0, len(column.levels), column.codes)
    *counts, gone = np.bincount(codes, weight, len(column.levels) + 1).tolist()
    if not any(counts) and not (gone and missing == "level"):
        raise ValueError(missing_message(name))
    weights = dict(zip(column.levels, map(float, counts), strict=True))
    return CategoricalColumn.learn(
        name, weights, min_frequency, float(gone) if missing == "level" else None
    )


def _number(name: str, column: NDArray[Any], weight: Floats | None) -> ColumnEncoding:
    """Learn a number that may be missing."""
    gone = np.isnan(column) if column.dtype.kind == "f" else np.zeros(1, dtype=bool)
    if gone.all() and gone.size == len(column):
        raise ValueError(f"column {name!r} has no value at all; leave it out.")
    if not gone.any():
        return NumericColumn(name)
    known = None if weight is None else weight[~gone]
    return FilledColumn(name, float(np.average(column[~gone].astype(np.float64), weights=known)))


def _runs(positions: Sequence[int]) -> list[slice]:
    """Group consecutive positions into slices, which NumPy reads without a copy."""
    runs: list[slice] = []
    for position in positions:
        if runs and runs[-1].stop == position:
            runs[-1] = slice(runs[-1].start, position + 1)
        else:
            runs.append(slice(position, position + 1))
    return runs
