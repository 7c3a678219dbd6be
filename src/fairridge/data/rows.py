"""Encoded columns that are not written out, and the rows an engine works on.

Columns stay views of numbers, codes of levels, or sparse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairridge._typing import Booleans, Floats, Integers

# Evenly spaced rows whose medians tell where columns are, an odd number.
TYPICAL_ROWS = 63
# Rows of a slab that are compared at once, so that they stay in the cache.
COMPARED_ROWS = 4096


@dataclass(frozen=True)
class Slab:
    """Numeric columns of shape (n, k), of any real type: a view of the input."""

    values: NDArray[Any]

    @cached_property
    def width(self) -> int:
        """Number of encoded columns."""
        return int(self.values.shape[1])

    def take(self, rows: Integers) -> Slab:
        """Return these rows only, in the same order of memory."""
        values = self.values
        by_columns = abs(values.strides[0]) < abs(values.strides[1])
        return Slab(np.take(values.T, rows, axis=1).T if by_columns else values[rows])

    def columns(self, start: int, stop: int) -> Slab:
        """Return some of the encoded columns."""
        return Slab(self.values[:, start:stop])

    def followed_by(self, other: Slab) -> Slab:
        """Return the columns of these rows, then of others."""
        return Slab(np.concatenate([self.values, other.values]))


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

    def followed_by(self, other: Indicators) -> Indicators:
        """Return the columns of these rows, then of others."""
        return Indicators(np.concatenate([self.codes, other.codes]), self.width)

    def dense(self) -> Floats:
        """Write the 0/1 columns out."""
        return (self.codes[:, None] == np.arange(self.width)).astype(np.float64)


@dataclass(frozen=True)
class SparseSlab:
    """Numeric columns that are zero in most rows: a matrix of SciPy, stored by rows."""

    values: sparse.csr_array

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return int(self.values.shape[1])

    def take(self, rows: Integers) -> SparseSlab:
        """Return these rows only."""
        return SparseSlab(self.values[rows])

    def columns(self, start: int, stop: int) -> SparseSlab:
        """Return some of the encoded columns."""
        return SparseSlab(self.values[:, start:stop])

    def followed_by(self, other: SparseSlab) -> SparseSlab:
        """Return the columns of these rows, then of others."""
        return SparseSlab(sparse.csr_array(sparse.vstack([self.values, other.values])))

    def dense(self) -> Floats:
        """Write the columns out."""
        return np.asarray(self.values.toarray())


Piece = Slab | Indicators | SparseSlab


def sparse_pieces(values: sparse.csr_array) -> tuple[Piece, ...]:
    """Read columns that are zero in most rows as sparse, and the others as dense."""
    # Dense columns can be shifted by a typical value, so that a mean far from
    # zero costs no digits; sparse ones are near zero by their nature.
    n, k = values.shape
    # In more than half of the rows, numbers with their places take more memory than all.
    dense = 2 * np.bincount(values.indices, minlength=k) > n
    starts = [0, *(np.flatnonzero(np.diff(dense)) + 1).tolist(), k]
    if len(starts) == 2 and not dense.any():
        return (SparseSlab(values),)
    parts = [SparseSlab(values[:, a:b]) for a, b in pairwise(starts)]
    return tuple(
        Slab(part.dense()) if dense[a] else part for a, part in zip(starts, parts, strict=False)
    )


def merged_slabs(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Read neighboring numeric columns as one slab if they lie evenly in memory."""
    # pandas keeps columns of one type in one block, and one slab of k columns is
    # read several times faster than k slabs of one.
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
    # Columns of the run are evenly spaced, so two addresses tell where the next one is.
    start, place = _address(run[0]), _address(new)
    if len(run) == 1:
        return place != start
    return place - start == len(run) * (_address(run[1]) - start)


def _address(slab: Slab) -> int:
    return int(slab.values.__array_interface__["data"][0])


def _owner(values: NDArray[Any]) -> Any:
    """Return the array whose memory a view looks into."""
    while isinstance(values.base, np.ndarray):
        values = values.base
    return values


def typical_places(n_rows: int, heaviest: int | None = None) -> Integers:
    """Return an odd number of places of rows that are evenly spaced, and that of the heaviest."""
    count = min(n_rows, TYPICAL_ROWS)
    places = np.linspace(0, n_rows - 1, count).astype(np.intp)[: count - 1 + count % 2]
    return places if heaviest is None else np.union1d(places, [heaviest])


def with_codes(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Read neighboring 0/1 columns that exclude each other as codes of one categorical."""
    # Who encodes categoricals first passes such columns, of which counts take less time than sums.
    read: list[Piece] = []
    for piece in pieces:
        members = _members(piece.values) if isinstance(piece, Slab) else {}
        if not members:
            read.append(piece)
            continue
        for start, stop in _exclusive_runs(members, piece.width):
            if start in members:
                codes = _codes([members[k] for k in range(start, stop)])
                read.append(Indicators(codes, stop - start))
            else:
                read.append(piece.columns(start, stop))
    return tuple(read)


def _members(values: NDArray[Any]) -> dict[int, Booleans]:
    """Return the rows in which columns are 1, for those that hold zeros and ones only."""
    n_rows = len(values)
    few = values[typical_places(n_rows)]  # these tell of most other columns what they are
    likely = np.flatnonzero(((few == 0) | (few == 1)).all(axis=0))
    ones, binary = np.empty((len(likely), n_rows), dtype=bool), np.ones(len(likely), dtype=bool)
    for start in range(0, n_rows if likely.size else 0, COMPARED_ROWS):
        rows = slice(start, start + COMPARED_ROWS)
        numbers = values[rows].T[likely]
        np.equal(numbers, 1, out=ones[:, rows])
        binary &= ((numbers == 0) | ones[:, rows]).all(axis=1)
    return {k: ones[j] for j, k in enumerate(likely.tolist()) if binary[j]}


def _exclusive_runs(members: dict[int, Booleans], width: int) -> Iterator[tuple[int, int]]:
    """Cut columns into runs of numbers, and of 0/1 columns of which no row has two."""
    start, taken = 0, members.get(0)
    for k in range(1, width):
        mine = members.get(k)
        if taken is not None and mine is not None and not (taken & mine).any():
            taken = taken | mine
        elif taken is not None or mine is not None:
            yield start, k
            start, taken = k, mine
    yield start, width


def _codes(members: Sequence[Booleans]) -> Integers:
    """Return which column has the 1 of each row, -1 for none."""
    codes = np.full(len(members[0]), -1)
    for k, mine in enumerate(members):
        codes += mine * (1 + k)
    return codes


@dataclass(frozen=True)
class RowLevel:
    """Rows that share a level of one predictor, or a value of a 0/1 column."""

    # Positions among the encoded columns of X: the level's own, or, for a base level, those
    # of all other levels.
    columns: tuple[int, ...]
    value: int  # what the columns are in these rows: 1, or 0


@dataclass(frozen=True)
class Rows:
    """Rows [S, X, y] in memory, encoded but not expanded."""

    # The encoded columns of S and of X.
    sensitive: tuple[Piece, ...]
    predictors: tuple[Piece, ...]
    names: tuple[str, ...]  # encoded names of S, then of X
    response: Floats  # what the family reads: one column, or (time, event), of shape (n, c)
    # The response as numbers whose moments mean something: itself, 0/1 columns of its
    # classes, or −log time, of shape (n, m).
    targets: Floats
    weight: Floats | None = None  # positive weights; None means 1 for every row, of shape (n,)
    offset: Floats | None = None  # added to the linear predictor, of shape (n,)

    def take(self, positions: Integers) -> Rows:
        """Return these rows only."""
        return Rows(
            tuple(piece.take(positions) for piece in self.sensitive),
            tuple(piece.take(positions) for piece in self.predictors),
            self.names,
            self.response[positions],
            self.targets[positions],
            None if self.weight is None else self.weight[positions],
            None if self.offset is None else self.offset[positions],
        )

    def members(self, level: RowLevel) -> Booleans:
        """Return which rows have a level."""
        start = 0
        for piece in self.predictors:
            k = level.columns[0] - start
            if k < piece.width:
                if isinstance(piece, Indicators):
                    return np.asarray(piece.codes == (k if level.value else -1))
                part = piece.columns(k, k + len(level.columns))  # they are neighbors
                values = part.values if isinstance(part, Slab) else part.dense()
                return np.asarray((values == level.value).all(axis=1))
            start += piece.width
        raise IndexError(f"there is no predictor column {level.columns[0]}.")

    def in_any(self, levels: tuple[RowLevel, ...]) -> Booleans:
        """Return which rows have one of some levels."""
        inside = np.zeros(self.n_rows, dtype=bool)
        for level in levels:
            inside |= self.members(level)
        return inside

    def followed_by(self, other: Rows) -> Rows:
        """Return these rows, then others with the same columns."""

        def joined(mine: Any, theirs: Any) -> Any:
            return None if mine is None else np.concatenate([mine, theirs])

        def pieces(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Piece, ...]:
            return tuple(a.followed_by(b) for a, b in zip(mine, theirs, strict=True))

        return Rows(
            pieces(self.sensitive, other.sensitive),
            pieces(self.predictors, other.predictors),
            self.names,
            joined(self.response, other.response),
            joined(self.targets, other.targets),
            joined(self.weight, other.weight),
            joined(self.offset, other.offset),
        )

    def with_columns(
        self, sensitive: tuple[Piece, ...], predictors: tuple[Piece, ...], names: tuple[str, ...]
    ) -> Rows:
        """Return the same rows with other columns of S and X."""
        return replace(self, sensitive=sensitive, predictors=predictors, names=names)

    @property
    def columns(self) -> tuple[Piece, ...]:
        """The encoded columns of S, then of X."""
        return (*self.sensitive, *self.predictors)

    @property
    def categories(self) -> tuple[range, ...]:
        """Positions of each categorical predictor's columns among those of X."""
        ends = np.cumsum([piece.width for piece in self.predictors]).tolist()
        return tuple(
            range(end - piece.width, end)
            for piece, end in zip(self.predictors, ends, strict=True)
            if isinstance(piece, Indicators)
        )

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.response.shape[0])

    @cached_property
    def n_sensitive(self) -> int:
        """Number of encoded sensitive columns, q."""
        return sum(piece.width for piece in self.sensitive)

    @cached_property
    def n_predictors(self) -> int:
        """Number of encoded predictor columns, p."""
        return sum(piece.width for piece in self.predictors)
