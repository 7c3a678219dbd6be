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
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.data.levels import Levels
from fairridge.data.table import Table

__all__ = [
    "OTHER",
    "CategoricalColumn",
    "Encoding",
    "Indicators",
    "NumericColumn",
    "Piece",
    "Slab",
    "Unknown",
    "dense_columns",
    "encode_columns",
    "unique_names",
]

Unknown = Literal["error", "base"]

# The level of rows whose own levels are rare.
OTHER = "(other)"


@dataclass(frozen=True)
class Slab:
    """Numeric columns of shape (n, k), of any real type: a view of the input."""

    values: NDArray[Any]

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return int(self.values.shape[1])

    def take(self, rows: Integers) -> Slab:
        """Return these rows only."""
        return Slab(self.values[rows])

    def columns(self, start: int, stop: int) -> Slab:
        """Return some of the encoded columns."""
        return Slab(self.values[:, start:stop])


@dataclass(frozen=True)
class Indicators:
    """0/1 columns of one categorical: `codes` says which is 1, -1 the base level."""

    codes: Integers
    width: int

    def take(self, rows: Integers) -> Indicators:
        """Return these rows only."""
        return Indicators(self.codes[rows], self.width)

    def columns(self, start: int, stop: int) -> Indicators:
        """Return some of the encoded columns."""
        inside = (self.codes >= start) & (self.codes < stop)
        return Indicators(np.where(inside, self.codes - start, -1), stop - start)

    def dense(self) -> Floats:
        """Write the 0/1 columns out."""
        return (self.codes[:, None] == np.arange(self.width)).astype(np.float64)


Piece = Slab | Indicators


@dataclass(frozen=True)
class NumericColumn:
    """A number, boolean or integer: itself."""

    name: str

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (self.name,)


@dataclass(frozen=True)
class CategoricalColumn:
    """A categorical: one 0/1 column per level but the base.

    The base is the first level that has rows, so that declared but empty
    levels never make the columns collinear; an empty level has a column of
    zeros and hence the coefficient 0.

    Attributes
    ----------
    name : str
        The input column.
    levels : tuple
        In order.
    base : int
        Position of the base level.
    empty : tuple of int
        Positions of levels without rows.
    merges : bool
        Whether the base level is "(other)", which rows of all other levels
        have: those that were rare at fit, and those that were not there.
    """

    name: str
    levels: tuple[Any, ...]
    base: int
    empty: tuple[int, ...] = ()
    merges: bool = False

    @classmethod
    def learn(cls, name: str, weights: dict[Any, float], min_frequency: Any) -> CategoricalColumn:
        """Choose the base, and merge rare levels.

        Parameters
        ----------
        name : str
            The input column.
        weights : dict
            Weight of each level, in order; some level has rows.
        min_frequency : int, float or None
            Levels of less weight are merged, or, below 1, of a smaller share.
        """
        least = 0.0 if min_frequency is None else float(min_frequency)
        least *= sum(weights.values()) if 0.0 < least < 1.0 else 1.0
        if not any(0.0 < weight < least for weight in weights.values()):
            present = [weight > 0.0 for weight in weights.values()]
            empty = tuple(k for k, here in enumerate(present) if not here)
            return cls(name, tuple(weights), present.index(True), empty)
        kept = (level for level, weight in weights.items() if weight >= least and level != OTHER)
        return cls(name, (OTHER, *kept), 0, merges=True)

    def unknown(self, otherwise: Unknown) -> Unknown:
        """Return what a level does that is not one of these."""
        return "base" if self.merges else otherwise

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, ``column[level]``."""
        others = (level for k, level in enumerate(self.levels) if k != self.base)
        return tuple(f"{self.name}[{level}]" for level in others)

    def indicators(self, column: Levels, unknown: Unknown) -> Indicators:
        """Code rows by the levels seen at fit."""
        codes = column.recode(self.levels).codes
        if (codes == -1).any():
            raise ValueError(missing_message(self.name))
        unseen = codes == -2
        if unseen.any():
            if self.unknown(unknown) == "error":
                level = column.levels[column.codes[np.argmax(unseen)]]
                raise ValueError(
                    f"column {self.name!r} has the level {level!r}, which was not there at fit "
                    f"(levels: {_listed(self.levels)}). Use unknown='base' to treat such rows "
                    f"as the base level {self.levels[self.base]!r}."
                )
            codes = np.where(unseen, self.base, codes)
        # Levels after the base move down by one; the base itself becomes -1.
        shifted = np.where(codes > self.base, codes - 1, codes)
        return Indicators(np.where(codes == self.base, -1, shifted), len(self.levels) - 1)


ColumnEncoding = NumericColumn | CategoricalColumn


@dataclass(frozen=True)
class Encoding:
    """How the columns of one role (sensitive or predictors) are encoded.

    Attributes
    ----------
    columns : tuple of NumericColumn or CategoricalColumn
        In the order in which they are encoded.
    renamed : tuple of (int, str)
        Encoded columns whose names another one has already, by position, and
        what they are called instead; see `unique_names`.
    """

    columns: tuple[ColumnEncoding, ...]
    renamed: tuple[tuple[int, str], ...] = ()

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
            isinstance(column, NumericColumn)
            for column in self.columns
            for _ in column.encoded_names
        )

    def called(self, names: Sequence[str]) -> Encoding:
        """Return the same encoding with these names of the encoded columns."""
        usual = Encoding(self.columns).names
        pairs = enumerate(zip(usual, names, strict=True))
        return replace(self, renamed=tuple((k, new) for k, (old, new) in pairs if new != old))

    @cached_property
    def empty(self) -> frozenset[int]:
        """Encoded columns of levels without rows."""
        found, start = set(), 0
        for column in self.columns:
            if isinstance(column, CategoricalColumn):
                found |= {start + k - (k > column.base) for k in column.empty}
            start += len(column.encoded_names)
        return frozenset(found)

    @property
    def single(self) -> tuple[str, ...]:
        """Categorical columns of which one level only has rows."""
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
        if table.is_numeric_array and self.all_numeric:
            return tuple(Slab(table.source[:, run]) for run in _runs(positions))
        return _merged(
            [
                _piece(column, table.column(position), unknown)
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
    given: set[str] = set()
    unique = list(names)
    for k in sorted(range(len(names)), key=lambda k: not first[k]):
        numbered = (f"{names[k]}_{number}" for number in count(2))
        if names[k] in given:
            unique[k] = next(name for name in numbered if name not in taken)
        given.add(unique[k])
        taken.add(unique[k])
    return tuple(unique)


def encode_columns(
    table: Table,
    positions: Sequence[int],
    weight: Floats | None = None,
    min_frequency: Any = None,
) -> Encoding:
    """Learn names, levels and base levels from a table without zero-weight rows.

    See `CategoricalColumn.learn` for `min_frequency`.
    """
    if table.is_numeric_array:
        return Encoding(tuple(NumericColumn(table.label(position)) for position in positions))
    learned = (_learn(table, position, weight, min_frequency) for position in positions)
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
            piece.dense() if isinstance(piece, Indicators) else piece.values.astype(np.float64)
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


def missing_message(name: str) -> str:
    """Say that a column has missing values."""
    return (
        f"column {name!r} contains NaN or missing values; "
        "drop those rows or impute them before fitting."
    )


def _learn(
    table: Table, position: int, weight: Floats | None, min_frequency: Any
) -> ColumnEncoding:
    name, column = table.label(position), table.column(position)
    if not isinstance(column, Levels):
        return NumericColumn(name)
    known = column.codes >= 0
    counts = np.bincount(
        column.codes[known], None if weight is None else weight[known], len(column.levels)
    )
    if not counts.any():
        raise ValueError(missing_message(name))
    weights = dict(zip(column.levels, counts.tolist(), strict=True))
    return CategoricalColumn.learn(name, weights, min_frequency)


def _piece(encoding: ColumnEncoding, column: NDArray[Any] | Levels, unknown: Unknown) -> Piece:
    if isinstance(encoding, NumericColumn):
        if isinstance(column, Levels):
            raise ValueError(
                f"column {encoding.name!r} held numbers at fit but now holds "
                f"levels such as {column.levels[0]!r}; convert it to numbers."
            )
        return Slab(column.reshape(-1, 1))
    if not isinstance(column, Levels):
        raise ValueError(
            f"column {encoding.name!r} held the levels {_listed(encoding.levels)} at fit but now "
            "holds numbers; convert it to the same levels."
        )
    return encoding.indicators(column, unknown)


def _merged(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Read neighboring numeric columns as one slab if they lie evenly in memory.

    pandas keeps columns of one type in one block, and one slab of k columns is
    read several times faster than k slabs of one.
    """
    merged: list[Piece] = []
    run: list[Slab] = []
    for piece in pieces:
        if isinstance(piece, Slab) and (not run or _continues(run, piece)):
            run.append(piece)
            continue
        merged.extend(_one_slab(run))
        run = [piece] if isinstance(piece, Slab) else []
        if not run:
            merged.append(piece)
    return (*merged, *_one_slab(run))


def _one_slab(run: Sequence[Slab]) -> list[Slab]:
    if len(run) < 2:
        return list(run)
    first = run[0].values
    strides = (first.strides[0], _address(run[1]) - _address(run[0]))
    view = np.lib.stride_tricks.as_strided(
        first, (first.shape[0], len(run)), strides, writeable=False
    )
    return [Slab(view)]


def _continues(run: Sequence[Slab], new: Slab) -> bool:
    """Whether a column lies in the same block as the run, one even step further."""
    first, values = run[0].values, new.values
    same = first.dtype == values.dtype and first.strides[0] == values.strides[0]
    if not same or _owner(first) is not _owner(values):
        return False
    step = _address(new) - _address(run[-1])
    return step != 0 and (len(run) == 1 or step == _address(run[1]) - _address(run[0]))


def _address(slab: Slab) -> int:
    return int(slab.values.__array_interface__["data"][0])


def _owner(values: NDArray[Any]) -> Any:
    """Return the array whose memory a view looks into."""
    while isinstance(values.base, np.ndarray):
        values = values.base
    return values


def _runs(positions: Sequence[int]) -> list[slice]:
    """Group consecutive positions into slices, which NumPy reads without a copy."""
    runs: list[slice] = []
    for position in positions:
        if runs and runs[-1].stop == position:
            runs[-1] = slice(runs[-1].start, position + 1)
        else:
            runs.append(slice(position, position + 1))
    return runs


def _listed(levels: Sequence[Any], maximum: int = 8) -> str:
    shown = ", ".join(repr(level) for level in levels[:maximum])
    return shown + (", …" if len(levels) > maximum else "")
