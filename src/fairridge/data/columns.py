"""Columns of a frame to encoded columns: numbers as they are, levels as treatment contrasts.

Nothing is expanded here. A numeric column stays a view of the input, and a
categorical one stays a vector of codes; the engine writes out dense blocks of
rows, or leaves the codes to tabmat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, count, pairwise, product
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairridge._arrays import SUM_TOLERANCE
from fairridge._typing import Booleans, Floats, Integers
from fairridge.arguments import listed
from fairridge.data.levels import Levels
from fairridge.data.rows import Indicators, Piece, Slab, merged_slabs, sparse_pieces
from fairridge.data.table import Column, Table

Unknown = Literal["error", "base", "mean"]
# The base level of every column: the first, the most frequent, or one by name of the column.
Base = Literal["most-frequent"] | Mapping[str, Any] | None
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

    width: ClassVar[int] = 1  # number of encoded columns

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (self.name,)


@dataclass(frozen=True)
class FilledColumn:
    """A number that is missing in some rows: its mean there, and a 0/1 column that marks them."""

    name: str  # the input column
    mean: float  # weighted mean of the values that were there at fit

    width: ClassVar[int] = 2  # number of encoded columns

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
    """A categorical: one 0/1 column per level but the base."""

    # The base is the first level that has rows, or another one that has, so that
    # declared but empty levels never make the columns collinear; an empty level has a
    # column of zeros and hence the coefficient 0.

    name: str  # the input column
    levels: tuple[Any, ...]  # in order (tuple)
    base: int  # position of the base level
    empty: tuple[int, ...] = ()  # positions of levels without rows
    # Whether there is a level "(other)", which rows of all other levels have: those that
    # were rare at fit, and those that were not there. It is the base only if it is alone.
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
        base: Base = None,
    ) -> CategoricalColumn:
        """Choose the base, and merge rare levels."""
        # `missing` is the weight of missing values if they are a level.
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
            known = cls(name, tuple(weights), present.index(True), empty, False, shares, takes)
            return known.with_base(base)
        kept = {
            level: weight / total
            for level, weight in weights.items()
            if weight >= least and level != OTHER
        }
        shares = (*kept.values(), max(1.0 - sum(kept.values()), 0.0))
        return cls(name, (*kept, OTHER), 0, (), True, shares, takes).with_base(base)

    def with_base(self, base: Base) -> CategoricalColumn:
        """Return the column with the base level that is asked for; see `learn`."""
        possible = [k for k in range(len(self.levels)) if k not in self.empty and k != self.rest]
        if isinstance(base, Mapping) and self.name in base:
            return replace(self, base=self._place(base[self.name], possible))
        if base != "most-frequent" or not possible:
            return self
        # Weights that differ by rounding of their sums are equal.
        largest = max(self.shares[k] for k in possible) * (1.0 - SUM_TOLERANCE)
        return replace(self, base=next(k for k in possible if self.shares[k] >= largest))

    def _place(self, level: Any, possible: Sequence[int]) -> int:
        """Return the position of a level that is to be the base; as text, if need be."""
        for same in (lambda one: one == level, lambda one: str(one) == str(level)):
            places = [k for k in possible if same(self.levels[k])]
            if places:
                return places[0]
        merged = ", or they are merged into '(other)'" if self.merges else ""
        known = listed([self.levels[k] for k in possible], 8)
        raise ValueError(
            f"base names the level {level!r} of column {self.name!r}, which has no rows of it"
            f"{merged}; {f'choose one of {known}' if possible else 'leave it out'}."
        )

    @property
    def rest(self) -> int | None:
        """Position of "(other)", which unseen levels have; None if there is none."""
        return self.levels.index(OTHER) if self.merges else None

    def unseen(self, unknown: Unknown) -> Floats | None:
        """Return the encoded columns of a level that is not one of these; None is an error."""
        if self.rest is None and unknown == "error":
            return None
        if self.rest is None and unknown == "mean":
            return np.delete(self.shares, self.base)
        place = self.base if self.rest is None else self.rest
        return np.delete(np.eye(len(self.levels))[place], self.base)

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
        if codes.min(initial=0) >= 0:
            return self._indicators(codes)
        if (codes == -1).any():
            gone = int(np.count_nonzero(codes == -1))
            raise MissingLevelError(missing_message({self.name: gone}))
        unseen, stands = codes == -2, self.unseen(unknown)
        if stands is None:
            code = column.codes[np.argmax(unseen)]
            level = MISSING if code < 0 else column.levels[code]
            raise ValueError(
                f"column {self.name!r} has the level {level!r}, which was not there at fit "
                f"(levels: {listed(self.levels, 8)}). Use unknown='base' to treat such rows as the "
                f"base level {self.levels[self.base]!r}, or as the average of a sensitive "
                "attribute."
            )
        place = self.base if self.rest is None else self.rest
        indicators = self._indicators(np.where(unseen, place, codes))
        if self.rest is not None or not stands.any():
            return indicators
        return Slab(np.where(unseen[:, None], stands, indicators.dense()))

    def _indicators(self, codes: Integers) -> Indicators:
        """Return the 0/1 columns of rows whose levels are known."""
        places = np.arange(len(self.levels))
        # Levels after the base move down by one; the base itself becomes -1.
        places[self.base :] -= 1
        places[self.base] = -1
        return Indicators(places[codes], self.width)


ColumnEncoding = NumericColumn | FilledColumn | CategoricalColumn


def encoded_piece(
    encoding: ColumnEncoding, column: NDArray[Any] | Levels, unknown: Unknown
) -> Piece:
    """Encode one column of new rows."""
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


class MissingLevelError(ValueError):
    """A categorical column has missing values that a model did not learn from."""


def missing_values(counts: Mapping[str, int]) -> str:
    """Say which columns have missing values, and how many."""
    if len(counts) > 1:
        named = listed(counts.items(), 10, lambda pair: f"{pair[0]!r} ({pair[1]:,})")
        return f"Columns have missing values (NaN): {named}."
    ((name, count),) = counts.items()
    return f"Column {name!r} has {count:,} missing value{'s'[: count > 1]} (NaN)."


def missing_message(counts: Mapping[str, int]) -> str:
    """Say which columns have missing values, and what to do."""
    return (
        f"{missing_values(counts)} Fit with missing='level' to learn from them, or impute them "
        "first. (Dropping rows can drop more people of one group.)"
    )


def missing_counts(table: Table, positions: Sequence[int]) -> dict[str, int]:
    """Count missing values in those columns of a table that have any."""
    counts: dict[str, int] = {}
    if table.on_device:
        return counts
    for position in positions:
        column = table.column(position)
        gone = column.codes < 0 if isinstance(column, Levels) else np.isnan(column)
        counts[table.label(position)] = int(np.count_nonzero(gone))
    return {name: count for name, count in counts.items() if count}


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
        return tuple(map(others.get, range(len(names)), names))

    @property
    def places(self) -> dict[str, tuple[int, ...]]:
        """Positions of the encoded columns that each input column, or intersection, has become."""
        # Those of an intersection tell all of its groups apart.
        own = self.spans
        found = {column.name: tuple(span) for column, span in zip(self.columns, own, strict=True)}
        first = sum(map(len, own))
        for columns in self.crossed:
            inside = {k for column in columns for k in own[column]}
            added = (first + j for j, part in enumerate(self.products) if inside.issuperset(part))
            name = CROSS.join(self.columns[column].name for column in columns)
            found[name] = (*sorted(inside), *added)
        return found

    @property  # of thousands of columns they take more memory than time
    def spans(self) -> tuple[range, ...]:
        """Positions of the encoded columns of each column."""
        ends = np.cumsum([0, *(column.width for column in self.columns)]).tolist()
        return tuple(range(*pair) for pair in pairwise(ends))

    def with_intersections(
        self, crossed: Sequence[tuple[int, ...]], columns: Floats | None = None
    ) -> Encoding:
        """Add the columns that intersections of input columns need beside those of each."""
        # With treatment contrasts the groups of ``("sex", "race")`` are told apart by the columns
        # of sex, those of race, and their products; of three columns, by products of any two
        # and of all three.
        # Products that are zero in all training rows, `columns`, are left out: nobody is in that
        # group.
        own = self.spans
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
        found: set[int] = set()
        for column, places in zip(self.columns, self.spans, strict=True):
            if isinstance(column, CategoricalColumn):
                found |= {places[k - (k > column.base)] for k in column.empty}
        return frozenset(found)

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
        return not self.products and {NumericColumn}.issuperset(map(type, self.columns))

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
    """Make names differ by ``_2``, ``_3``, … at their ends; those that are `first` choose first."""
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
    base: Base = None,
) -> Encoding:
    """Learn names, levels and base levels from a table without zero-weight rows."""
    if table.is_numeric_array and missing == "error":
        return Encoding(tuple(map(NumericColumn, map(table.label, positions))))
    options = min_frequency, missing, base
    return Encoding(tuple(_learn(table, position, weight, *options) for position in positions))


def dense_columns(pieces: Sequence[Piece], names: Sequence[str]) -> Floats:
    """Write encoded columns out as one matrix of finite numbers."""
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
        raise ValueError(missing_message({names[k]: int(np.isnan(matrix[:, k]).sum())}))
    return matrix


def _learn(
    table: Table,
    position: int,
    weight: Floats | None,
    min_frequency: Any,
    missing: Missing,
    base: Base,
) -> ColumnEncoding:
    name, column = table.label(position), table.column(position)
    if not isinstance(column, Levels):
        return NumericColumn(name) if missing == "error" else _number(name, column, weight)
    # The first count is of missing values.
    gone, *counts = np.bincount(column.codes + 1, weight, len(column.levels) + 1).tolist()
    if not any(counts) and not (gone and missing == "level"):
        raise ValueError(f"Column {name!r} has no values at all; leave it out.")
    weights = dict(zip(column.levels, map(float, counts), strict=True))
    return CategoricalColumn.learn(
        name, weights, min_frequency, float(gone) if missing == "level" else None, base
    )


def base_of_sensitive(base: Base) -> Base:
    """Return the base levels of S, whose coding the ridge on α sees: those that are named."""
    return base if isinstance(base, Mapping) else None


def require_levels(base: Base, *encodings: Encoding) -> None:
    """Raise if a column whose base level is named has no levels, or is not there."""
    columns = {column.name: column for encoding in encodings for column in encoding.columns}
    for name in base if isinstance(base, Mapping) else ():
        if name not in columns:
            raise ValueError(f"base names column {name!r}, which is not there.")
        if not isinstance(columns[name], CategoricalColumn):
            raise ValueError(
                f"base names a level of column {name!r}, which holds numbers; leave it out, or "
                "convert the column to categories."
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


# Rows, and what is wrong with them.
Fault = tuple[Booleans, str]


def column_faults(encoding: ColumnEncoding, column: Column, unknown: Unknown) -> list[Fault]:
    """Find the rows whose value in a column `predict` refuses."""
    name = encoding.name
    if isinstance(encoding, CategoricalColumn) and isinstance(column, Levels):
        codes = encoding.codes(column)
        faults: list[Fault] = [(codes == -1, f"{name!r} is missing")]
        if encoding.unseen(unknown) is not None:
            return faults
        for code in np.unique(column.codes[codes == -2]):
            level = "missing, which it never was" if code < 0 else repr(column.levels[code])
            faults.append((column.codes == code, f"{name!r} is {level}, not a level at fit"))
        return faults
    numbers = np.asarray(column, dtype=np.float64)
    faults = [(np.isinf(numbers), f"{name!r} is infinite")]
    if not isinstance(encoding, FilledColumn):
        faults.append((np.isnan(numbers), f"{name!r} is missing"))
    return faults
