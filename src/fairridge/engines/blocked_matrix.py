"""Rows written for passes: as arrays, as codes of levels, or sparse.

Every form answers the same questions, sums of products with the rows. BlockedMatrix
chooses the one in which they cost least, and keeps it if there are many passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from scipy import sparse

from fairridge._typing import Floats
from fairridge.data import Indicators, Piece, Slab, SparseSlab, typical_places
from fairridge.engines.blocks import (
    SMALL_CATEGORICAL_LEVELS,
    block_slices,
    dense,
    in_threads,
    row_major,
    typical_values,
    write_block,
)
from fairridge.engines.coded import CodedBlock, Coding, CompactBlock

Result = TypeVar("Result")

# Rows from which small categoricals stay codes.
CODED_MIN_ROWS = 10_000
# Largest p for which a dense p × p matrix is formed of columns that are mostly zeros. More levels
# than this are tabmat's, because codes leave a table of all their cells; more sparse columns are
# solved by products with them.
MAX_GRAM_COLUMNS = 500
# Up to this size the rows are written out once and kept for all passes.
CACHE_BYTES = 1 << 30
# Blocks in a group that is read at once, and blocks from which they are grouped: threads that ask
# the interpreter less often wait less for each other.
BLOCKS_PER_GROUP, MIN_GROUPED_BLOCKS = 13, 64


def prefers_codes(pieces: Sequence[Piece]) -> bool:
    """Whether indicators are many enough, in all and per categorical, to leave them as codes."""
    # Columns that come as sparse ones stay sparse.
    if SparseSlab in map(type, pieces):
        return True
    coded = [piece.width for piece in pieces if isinstance(piece, Indicators)]
    total = sum(coded)
    many = total >= SMALL_CATEGORICAL_LEVELS * max(2, len(coded))
    return many and 2 * total >= sum(piece.width for piece in pieces)


class MatrixBlock(Protocol):
    """Some rows of [1, z − shift]."""

    def gram(self, weight: Floats | None) -> Floats:
        """Σ w zzᵀ for weights of any sign."""

    def times(self, coefficients: Floats) -> Floats:
        """Z·coefficients, for coefficients of shape (k, m)."""

    def products(self, vectors: Floats, count: int | None = None) -> Floats:
        """vectorsᵀZ, for vectors of shape (n, m); with the first columns of Z only, if asked."""

    def leading(self, weights: Floats, count: int, width: int | None = None) -> Floats:
        """Σ w zzᵀ for each of m weights of any sign, its first rows and, if asked, columns only."""

    def dense(self) -> Floats:
        """Write the rows out."""


class DenseBlock:
    """Rows as an array of shape (n, k)."""

    # Products are those of `np.dot`: the operator @ keeps other threads waiting while it forms a
    # product of fewer than 500 numbers, however many rows it reads. With 16 threads, products of
    # two vectors with a million rows take a tenth of the time.

    def __init__(self, values: Floats) -> None:
        self.values = values

    def gram(self, weight: Floats | None) -> Floats:
        """Σ w zzᵀ: the product of a matrix with itself, if it is one, costs half of any other."""
        weighted = self.values
        if weight is not None:
            if not (weight >= 0.0).all():
                return np.dot((weighted * weight[:, None]).T, weighted)
            weighted = weighted * np.sqrt(weight)[:, None]
        return np.dot(weighted.T, weighted)

    def times(self, coefficients: Floats) -> Floats:
        return np.dot(self.values[:, : len(coefficients)], coefficients)

    def products(self, vectors: Floats, count: int | None = None) -> Floats:
        return np.dot(vectors.T, self.values[:, :count])

    def leading(self, weights: Floats, count: int, width: int | None = None) -> Floats:
        values, used = self.values, weights.any(axis=1)
        if not used.all():  # some means count in the rows of one class only
            values, weights = values[used], weights[used]
        n, m = weights.shape
        weighted = (weights[:, :, None] * values[:, None, :count]).reshape(n, m * count)
        return np.dot(weighted.T, values[:, :width]).reshape(m, count, -1)

    def dense(self) -> Floats:
        """Return the rows themselves."""
        return self.values


class SplitBlock(CompactBlock):
    """Rows as a tabmat SplitMatrix: a dense part, sparse columns, and categoricals as codes."""

    def __init__(self, pieces: Sequence[Piece], rows: slice, shift: Floats) -> None:
        import tabmat  # a fifth of a second, which few problems need

        starts = 1 + np.cumsum([0, *(piece.width for piece in pieces)])
        coded = [k for k, piece in enumerate(pieces) if not isinstance(piece, Slab)]
        plain = [k for k in range(len(pieces)) if k not in coded]
        columns = [np.arange(starts[k], starts[k + 1]) for k in range(len(pieces))]
        dense_columns = np.concatenate([[0], *(columns[k] for k in plain)]).astype(np.intp)
        dense = np.empty((rows.stop - rows.start, len(dense_columns)), order="F")
        dense[:, 0] = 1.0
        numeric = [pieces[k] for k in plain]
        write_block(numeric, rows, shift[dense_columns[1:] - 1], dense[:, 1:])
        matrices = [tabmat.DenseMatrix(dense)]
        for k in coded:
            piece = pieces[k]
            if isinstance(piece, SparseSlab):
                part = piece.values[rows].tocsc()
                # tabmat reads positions of 32 bits, which suffice for a block.
                index = part.indices.astype(np.int32), part.indptr.astype(np.int32)
                block = sparse.csc_array((part.data, *index), part.shape)
                matrices.append(tabmat.SparseMatrix(block))
                continue
            assert isinstance(piece, Indicators)
            # The base level, code -1 here, is the category that tabmat drops.
            codes = (piece.codes[rows] + 1).astype(np.int32)
            matrices.append(
                tabmat.CategoricalMatrix(codes, np.arange(piece.width + 1), drop_first=True)
            )
        places = [dense_columns, *(columns[k] for k in coded)]
        self._matrix = tabmat.SplitMatrix(matrices, places)

    def gram(self, weight: Floats | None) -> Floats:
        weight = np.ones(self._matrix.shape[0]) if weight is None else weight
        # Of a vector that is a column of an array tabmat would read the wrong numbers.
        return np.asarray(self._matrix.sandwich(np.ascontiguousarray(weight)))

    def times(self, coefficients: Floats) -> Floats:
        """Z·coefficients; missing rows of coefficients are zero."""
        full = np.zeros((self._matrix.shape[1], coefficients.shape[1]))
        full[: len(coefficients)] = coefficients
        return np.column_stack([self._matrix.matvec(column) for column in full.T])

    def products(self, vectors: Floats, count: int | None = None) -> Floats:
        columns = np.ascontiguousarray(vectors.T)
        found = np.vstack([self._matrix.transpose_matvec(column) for column in columns])
        return found[:, :count]

    def dense(self) -> Floats:
        return np.asarray(self._matrix.toarray())


class BlockGroup:
    """Blocks that follow each other: matrices of one each, and vectors of all."""

    # The interpreter runs one thread at a time. With 16 threads, passes in which it is asked for
    # vectors of 2,000 rows each took twice as long as with one.

    def __init__(self, parts: Sequence[MatrixBlock], sizes: Sequence[int]) -> None:
        ends = np.cumsum(sizes).tolist()
        self._parts = list(zip(parts, map(slice, [0, *ends[:-1]], ends), strict=True))

    def _sum(self, function: Callable[[MatrixBlock, slice], Floats]) -> Floats:
        total = function(*self._parts[0])
        for part in self._parts[1:]:
            total = total + function(*part)
        return total

    def gram(self, weight: Floats | None) -> Floats:
        return self._sum(lambda part, at: part.gram(None if weight is None else weight[at]))

    def times(self, coefficients: Floats) -> Floats:
        return np.concatenate([part.times(coefficients) for part, _ in self._parts])

    def products(self, vectors: Floats, count: int | None = None) -> Floats:
        return self._sum(lambda part, at: part.products(vectors[at], count))

    def leading(self, weights: Floats, count: int, width: int | None = None) -> Floats:
        return self._sum(lambda part, at: part.leading(weights[at], count, width))

    def dense(self) -> Floats:
        return np.concatenate([part.dense() for part, _ in self._parts])


class BlockedMatrix:
    """Blocks of [1, z − typical row]."""

    # `coded` returns the same columns, with as many as possible as codes. Rows that are not
    # `separable` may not be cut into blocks, nor be other than dense. Blocks are kept up to
    # `CACHE_BYTES`.

    def __init__(
        self,
        pieces: tuple[Piece, ...],
        coded: Callable[[], tuple[Piece, ...]],
        n_rows: int,
        weight: Floats | None = None,
        *,
        separable: bool,
        keeps: bool,
    ) -> None:
        self.pieces = pieces
        self._coded = coded
        self.n_rows = n_rows
        self.weight = weight
        self.separable = separable
        self.width = sum(piece.width for piece in pieces)
        self._many_passes = keeps
        self._kept: dict[int, MatrixBlock] = {}
        self._groups: dict[tuple[int, int], list[slice]] = {}
        self._order = "C" if row_major(pieces) else "F"

    @property
    def compact(self) -> bool:
        """Whether zeros are not written."""
        return self.split or self.coding is not None

    @cached_property
    def coding(self) -> Coding | None:
        """How categoricals are codes, for many passes over many rows, if that pays."""
        if not (self.separable and self._many_passes) or self.n_rows < CODED_MIN_ROWS:
            return None
        if self.width > MAX_GRAM_COLUMNS:
            return None
        coding = Coding.of(self._coded())
        if coding is None or coding.bytes_per_row * self.n_rows > CACHE_BYTES:
            return None
        # Codes that take half of the time at most pay for their making.
        return coding if coding.gain(self.n_rows) >= 2.0 else None

    @cached_property
    def split(self) -> bool:
        """Whether tabmat has the rows."""
        return self.separable and self.coding is None and prefers_codes(self.pieces)

    @cached_property
    def _keeps(self) -> bool:
        """Whether there are many passes, and memory for the blocks."""
        each = 8 * (self.width + 1) if self.coding is None else self.coding.bytes_per_row
        return self._many_passes and each * self.n_rows <= CACHE_BYTES

    def block(self, block: slice) -> MatrixBlock:
        """Write [1, z − typical row] for some rows, or return it if it was kept."""
        parts = self._groups.get((block.start, block.stop))
        if parts is not None:
            sizes = [part.stop - part.start for part in parts]
            return BlockGroup([self.block(part) for part in parts], sizes)
        if block.start in self._kept:
            return self._kept[block.start]
        written: MatrixBlock
        if self.coding is not None:
            written = CodedBlock(self.coding, block, self.typical_row)
        elif self.split:
            written = SplitBlock(self.pieces, block, self.typical_row)
        else:
            buffer = self.buffer(block, extra=1)
            buffer[:, 0] = 1.0
            write_block(self.pieces, block, self.typical_row, buffer[:, 1:])
            written = DenseBlock(buffer)
        if self._keeps:
            self._kept[block.start] = written
        return written

    def has(self, block: slice) -> bool:
        """Whether some rows were written and kept."""
        return block.start in self._kept

    def each(self, work: Callable[[slice], Result], blocks: Sequence[slice]) -> Iterator[Result]:
        """Run `work` on every block, on all cores, and yield the results in order."""
        if self.split:  # tabmat has threads of its own
            return map(work, blocks)
        return in_threads(work, blocks, fewest=3 if self.coding is None else 2)

    def buffer(self, block: slice, extra: int = 0) -> Floats:
        """Return an array for some rows, in the order in which most of them are stored."""
        shape = (block.stop - block.start, self.width + extra)
        return np.empty(shape, order=self._order)  # type: ignore[call-overload]

    @cached_property
    def slices(self) -> list[slice]:
        """The blocks."""
        if not self.separable:
            return [slice(0, self.n_rows)]
        if self.coding is not None:
            return self.coding.blocks(self.n_rows)
        # tabmat uses all cores by itself, and wants many rows at a time.
        return block_slices(self.n_rows, 1 if self.split else self.width + 1)

    @cached_property
    def grouped_slices(self) -> list[slice]:
        """The blocks for passes that are vectors for the most part: several together, of many."""
        if self.compact or len(self.slices) < MIN_GROUPED_BLOCKS:
            return self.slices
        groups = [
            self.slices[k : k + BLOCKS_PER_GROUP]
            for k in range(0, len(self.slices), BLOCKS_PER_GROUP)
        ]
        ends = [(group[0].start, group[-1].stop) for group in groups]
        self._groups = {
            end: group for end, group in zip(ends, groups, strict=True) if len(group) > 1
        }
        return [slice(*end) for end in ends]

    @cached_property
    def typical_row(self) -> Floats:
        """Medians of some rows: values that do occur."""
        heaviest = None if self.weight is None else int(np.argmax(self.weight))
        sample = typical_places(self.n_rows, heaviest)
        taken = tuple(piece.take(sample) for piece in self.pieces)
        weight = None if self.weight is None else self.weight[sample]
        row = typical_values(dense(taken, len(sample)), weight)
        if self.compact:  # zeros stay what they are
            pieces = self.pieces if self.coding is None else self.coding.pieces
            sparse = [np.full(p.width, not isinstance(p, Slab)) for p in pieces]
            row[np.concatenate(sparse)] = 0.0
        return row
