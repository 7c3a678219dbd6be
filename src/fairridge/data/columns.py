"""Columns of a frame to encoded columns: numbers as they are, levels as treatment contrasts.

Nothing is expanded here. A numeric column stays a view of the input, and a
categorical one stays a vector of codes; the engine writes out dense blocks of
rows, or leaves the codes to tabmat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, count, pairwise, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge.arguments import listed
from fairridge.data.levels import Levels
from fairridge.data.rows import Indicators, Piece, Slab, merged_slabs, sparse_pieces
from fairridge.data.table import Table

Unknown = Literal["error", "base", "mean"]
Missing = Literal["error", "level"]

# The level of rows whose own levels are rare.
OTHER = "(other)"
# Between the names of columns that are multiplied.
CROSS = " × "
# The level of rows without a value.
MISSING = "(missing)"


def for_sensitive(unknown: Unknown) -> Unknown:
    """Return what an unseen level of S does: it is never mapped to the base level."""
    return "mean" if unknown == "base" else unknown


@dataclass(frozen=True)
class NumericColumn:
    """A number, boolean or integer: itself."""

    name: str

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (self.name,)


@dataclass(frozen=True)
class FilledColumn:
    """A number that is missing in some rows: its mean there, and a 0/1 column that marks them."""

    name: str  # the input column
    mean: float  # weighted mean of the values that were there at fit

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, ``column`` and ``column[(missing)]``."""
        return (self.name, f"{self.name}[{MISSING}]")

    def filled(self, values: NDArray[Any]) -> Slab:
        """Write both columns out."""
        numbers = values.astype(np.float64)
        gone = np.isnan(numbers)
        return Slab(np.column_stack([np.where(gone, self.mean, numbers), gone]))


@dataclass(frozen=True)
class CategoricalColumn:
    """A categorical: one 0/1 column per level but the base.

    The base is the first level that has rows, so that declared but empty
    levels never make the columns collinear; an empty level has a column of
    zeros and hence the coefficient 0.
    """

    name: str  # the input column
    levels: tuple[Any, ...]  # in order (tuple)
    base: int  # position of the base level
    empty: tuple[int, ...] = ()  # positions of levels without rows
    # Whether the base level is "(other)", which rows of all other levels have: those that
    # were rare at fit, and those that were not there.
    merges: bool = False
    shares: tuple[float, ...] = ()  # share of each level in the weight of the training rows
    # Whether a missing value has the level "(missing)". If no value was missing at fit, that
    # level was not there at fit.
    takes_missing: bool = False

    @classmethod
    def learn(
        cls,
        name: str,
        weights: dict[Any, float],
        min_frequency: Any,
        missing: float | None = None,
    ) -> CategoricalColumn:
        """Choose the base, and merge rare levels.

        Parameters
        ----------
        name : str
            The input column.
        weights : dict
            Weight of each level, in order; some level has rows.
        min_frequency : int, float or None
            Levels of less weight are merged, or, below 1, of a smaller share.
        missing : float or None
            Weight of missing values, which are a level; None if they are not.
        """
        if missing:
            weights = weights | {MISSING: weights.get(MISSING, 0.0) + missing}
        total = sum(weights.values())
        least = 0.0 if min_frequency is None else float(min_frequency)
        least *= total if 0.0 < least < 1.0 else 1.0
        takes = missing is not None
        if not any(0.0 < weight < least for weight in weights.values()):
            present = [weight > 0.0 for weight in weights.values()]
            empty = tuple(k for k, here in enumerate(present) if not here)
            shares = tuple(weight / total for weight in weights.values())
            return cls(name, tuple(weights), present.index(True), empty, False, shares, takes)
        kept = {
            level: weight / total
            for level, weight in weights.items()
            if weight >= least and level != OTHER
        }
        shares = (max(1.0 - sum(kept.values()), 0.0), *kept.values())
        return cls(name, (OTHER, *kept), 0, (), True, shares, takes)

    def unknown(self, otherwise: Unknown) -> Unknown:
        """Return what a level does that is not one of these."""
        return "base" if self.merges else otherwise

    def unseen(self, unknown: Unknown) -> Floats | None:
        """Return the encoded columns of a level that is not one of these; None is an error."""
        rule = self.unknown(unknown)
        if rule == "error":
            return None
        return np.delete(self.shares, self.base) if rule == "mean" else np.zeros(self.width)

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.levels) - 1

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, ``column[level]``."""
        others = (level for k, level in enumerate(self.levels) if k != self.base)
        return tuple(f"{self.name}[{level}]" for level in others)

    def codes(self, column: Levels) -> Integers:
        """Return positions of the rows' levels: -1 if missing, -2 if not there at fit."""
        codes = column.recode(self.levels).codes
        if not self.takes_missing:
            return codes
        missing = self.levels.index(MISSING) if MISSING in self.levels else -2
        return np.where(codes == -1, missing, codes)

    def piece(self, column: Levels, unknown: Unknown) -> Piece:
        """Code rows by the levels seen at fit."""
        codes = self.codes(column)
        if (codes == -1).any():
            raise ValueError(missing_message(self.name))
        unseen, stands = codes == -2, self.unseen(unknown)
        if unseen.any():
            if stands is None:
                raise ValueError(self.unseen_message(column, int(np.argmax(unseen))))
            codes = np.where(unseen, self.base, codes)
        # Levels after the base move down by one; the base itself becomes -1.
        shifted = np.where(codes > self.base, codes - 1, codes)
        indicators = Indicators(np.where(codes == self.base, -1, shifted), self.width)
        if stands is None or not (unseen.any() and stands.any()):
            return indicators
        return Slab(np.where(unseen[:, None], stands, indicators.dense()))

    def unseen_message(self, column: Levels, row: int) -> str:
        """Say that a row has a level that was not there at fit."""
        code = column.codes[row]
        level = MISSING if code < 0 else column.levels[code]
        return (
            f"column {self.name!r} has the level {level!r}, which was not there at fit "
            f"(levels: {listed(self.levels, 8)}). Use unknown='base' to treat such rows as the "
            f"base level {self.levels[self.base]!r}, or as the average of a sensitive attribute."
        )


ColumnEncoding = NumericColumn | FilledColumn | CategoricalColumn


def encoded_piece(
    encoding: ColumnEncoding, column: NDArray[Any] | Levels, unknown: Unknown
) -> Piece:
    """Encode one column of new rows.

    Parameters
    ----------
    encoding : ColumnEncoding
        What was learned of the column.
    column : ndarray or Levels
        Its values.
    unknown : {"error", "base", "mean"}
        What an unseen level does.
    """
    if isinstance(encoding, CategoricalColumn):
        if not isinstance(column, Levels):
            raise ValueError(
                f"column {encoding.name!r} held the levels {listed(encoding.levels, 8)} at fit but "
                "now holds numbers; convert it to the same levels."
            )
        return encoding.piece(column, unknown)
    if isinstance(column, Levels):
        raise ValueError(
            f"column {encoding.name!r} held numbers at fit but now holds "
            f"levels such as {column.levels[0]!r}; convert it to numbers."
        )
    if isinstance(encoding, FilledColumn):
        return encoding.filled(column)
    return Slab(column.reshape(-1, 1))


def missing_message(name: str) -> str:
    """Say that a column has missing values."""
    return (
        f"column {name!r} contains NaN or missing values; "
        "drop those rows or impute them before fitting."
    )


@dataclass(frozen=True)
class Encoding:
    """How the columns of one role (sensitive or predictors) are encoded."""

    columns: tuple[ColumnEncoding, ...]  # in the order in which they are encoded
    # Encoded columns whose names another one has already, by position, and what they are
    # called instead; see `unique_names`.
    renamed: tuple[tuple[int, str], ...] = ()
    # Intersections, as positions of their columns, and what they add at the end: products of
    # encoded columns, by their positions. See `with_intersections`.
    crossed: tuple[tuple[int, ...], ...] = ()
    products: tuple[tuple[int, ...], ...] = ()

    @property
    def inner(self) -> Encoding:
        """How columns become numbers, before any map: this encoding."""
        return self

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Encoded column names."""
        others = dict(self.renamed)
        names = [name for column in self.columns for name in column.encoded_names]
        names += [CROSS.join(names[k] for k in product) for product in self.products]
        return tuple(others.get(k, name) for k, name in enumerate(names))

    @property
    def places(self) -> dict[str, tuple[int, ...]]:
        """Positions of the encoded columns that each input column, or intersection, has become.

        Those of an intersection tell all of its groups apart.
        """
        own = self._own_places
        found = {column.name: places for column, places in zip(self.columns, own, strict=True)}
        first = sum(map(len, own))
        for columns in self.crossed:
            inside = {k for column in columns for k in own[column]}
            added = (first + j for j, part in enumerate(self.products) if inside.issuperset(part))
            name = CROSS.join(self.columns[column].name for column in columns)
            found[name] = (*sorted(inside), *added)
        return found

    @property
    def _own_places(self) -> list[tuple[int, ...]]:
        """Positions of the encoded columns of each column."""
        ends = np.cumsum([0, *(len(column.encoded_names) for column in self.columns)]).tolist()
        return [tuple(range(*pair)) for pair in pairwise(ends)]

    def with_intersections(
        self, crossed: Sequence[tuple[int, ...]], columns: Floats | None = None
    ) -> Encoding:
        """Add the columns that intersections of input columns need beside those of each.

        With treatment contrasts the groups of ``("sex", "race")`` are told apart by the columns
        of sex, those of race, and their products; of three columns, by products of any two
        and of all three.

        Parameters
        ----------
        crossed : sequence of tuple of int
            Positions of the input columns of each intersection.
        columns : ndarray of shape (n, k) or None
            The encoded columns of training rows: products that are zero in all of them, as
            nobody is in that group, are left out.
        """
        own = self._own_places
        found: dict[tuple[int, ...], None] = {}
        for one in crossed:
            for size in range(2, len(one) + 1):
                for part in combinations(sorted(one), size):
                    found |= dict.fromkeys(product(*(own[k] for k in part)))
        kept = [
            part for part in found if columns is None or columns[:, list(part)].all(axis=1).any()
        ]
        return replace(self, crossed=tuple(crossed), products=tuple(kept))

    @property
    def as_given(self) -> tuple[bool, ...]:
        """Which encoded columns have the name of an input column."""
        return tuple(
            name == column.name and not isinstance(column, CategoricalColumn)
            for column in self.columns
            for name in column.encoded_names
        ) + (False,) * len(self.products)

    def called(self, names: Sequence[str]) -> Encoding:
        """Return the same encoding with these names of the encoded columns."""
        usual = replace(self, renamed=()).names
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
        """Whether every column encodes to itself, and there are no others."""
        return not self.products and all(
            isinstance(column, NumericColumn) for column in self.columns
        )

    def pieces(self, table: Table, positions: Sequence[int], unknown: Unknown) -> tuple[Piece, ...]:
        """Encode the columns of a table at these positions, one per column of this encoding."""
        if table.is_sparse and self.all_numeric:
            whole = list(positions) == list(range(table.shape[1]))
            return sparse_pieces(table.source if whole else table.source[:, list(positions)])
        if table.is_numeric_array and self.all_numeric:
            return tuple(Slab(table.source[:, run]) for run in _runs(positions))
        pieces = [
            encoded_piece(column, table.column(position), unknown)
            for column, position in zip(self.columns, positions, strict=True)
        ]
        if self.products:
            own = dense_columns(pieces, self.names)
            factors = (own[:, list(part)].prod(axis=1) for part in self.products)
            pieces.append(Slab(np.column_stack(list(factors))))
        return merged_slabs(pieces)


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
