"""Encoded columns that are not written out: views of numbers, codes of levels, sparse columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairridge._typing import Floats, Integers

__all__ = ["Indicators", "Piece", "Slab", "SparseSlab", "merged_slabs", "sparse_pieces"]

# Share of rows in which a column is not zero, above which it takes less memory as a dense one.
DENSE = 0.5


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

    def dense(self) -> Floats:
        """Write the columns out."""
        return np.asarray(self.values.toarray())


Piece = Slab | Indicators | SparseSlab


def sparse_pieces(values: sparse.csr_array) -> tuple[Piece, ...]:
    """Read columns that are zero in most rows as sparse, and the others as dense.

    Dense columns can be shifted by a typical value, so that a mean far from
    zero costs no digits; sparse ones are near zero by their nature.
    """
    n, k = values.shape
    dense = np.bincount(values.indices, minlength=k) > DENSE * n
    starts = [0, *(np.flatnonzero(np.diff(dense)) + 1).tolist(), k]
    if len(starts) == 2 and not dense.any():
        return (SparseSlab(values),)
    parts = [SparseSlab(values[:, a:b]) for a, b in pairwise(starts)]
    return tuple(
        Slab(part.dense()) if dense[a] else part for a, part in zip(starts, parts, strict=False)
    )


def merged_slabs(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
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
