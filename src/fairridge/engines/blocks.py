"""Blocks of rows, written into a buffer that stays in the cache, and the sums they leave.

The expanded matrix [S, X, y] never exists: a block of it is written, shifted,
used and overwritten. Blocks have a fixed size and their sums are added in
order, so the answer does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from fairridge._typing import Booleans, Floats
from fairridge.data import Indicators, Piece, Slab, SparseSlab

Item = TypeVar("Item")
Result = TypeVar("Result")

# About 2 MB of buffer: large enough for BLAS, small enough for a core's cache.
BLOCK_BYTES = 2 << 20
# How many times as long blocks become at most, and how many of them each thread gets at least.
LONGEST, BLOCKS_EACH = 8, 3
# Columns up to which one thread suffices for all but the passes over rows. Measured on 2 cores: a
# fit of 900 levels takes half of the processor time that two threads spend, and less wall time.
FEW_COLUMNS = 1024
# Levels up to which comparing every code with each takes less time than finding its place.
FEW_LEVELS = 16
# Share of negative weights up to which two products of matrices with themselves take less time
# than one of two matrices.
FEW_NEGATIVE = 0.125
# Threads that blocks may use while BLAS is held to one.
_reserved: ContextVar[int | None] = ContextVar("reserved", default=None)


def block_slices(n_rows: int, n_columns: int, multiple: int = 1) -> list[slice]:
    """Cut rows into blocks whose buffers take about `BLOCK_BYTES`."""
    size = max(256, BLOCK_BYTES // (8 * max(n_columns, 1)), multiple * n_columns)
    return [slice(lo, min(lo + size, n_rows)) for lo in range(0, n_rows, size)]


def longer_slices(n_rows: int, n_columns: int) -> list[slice]:
    """Cut rows into blocks for work of many steps: the longer, the more threads there are.

    Between steps threads wait for each other, because one of them at a time runs Python. With 16
    of them blocks that fit into the cache take four times as long.
    """
    threads = _n_threads()
    size = max(256, BLOCK_BYTES // (8 * max(n_columns, 1)))
    longest = min(threads // 2, LONGEST) * size
    size = max(size, min(longest, n_rows // (BLOCKS_EACH * threads)))
    return [slice(lo, min(lo + size, n_rows)) for lo in range(0, n_rows, size)]


def row_major(pieces: Sequence[Piece]) -> bool:
    """Whether the widest slab stores rows together, which the buffer then does too."""
    slabs = [piece.values for piece in pieces if isinstance(piece, Slab) and piece.width > 1]
    if not slabs:
        return False
    widest = max(slabs, key=lambda values: values.shape[1])
    return abs(widest.strides[0]) >= abs(widest.strides[1])


def write_block(pieces: Iterable[Piece], rows: slice, shift: Floats, out: Floats) -> None:
    """Write z − shift for these rows into `out`, of shape (rows, columns)."""
    start = 0
    for piece in pieces:
        columns = slice(start, start + piece.width)
        start += piece.width
        if isinstance(piece, Slab):
            np.subtract(piece.values[rows], shift[columns], out=out[:, columns])
        elif isinstance(piece, SparseSlab):
            np.subtract(piece.values[rows].toarray(), shift[columns], out=out[:, columns])
        else:
            _write_indicators(piece, rows, shift[columns], out[:, columns])


def _write_indicators(piece: Indicators, rows: slice, shift: Floats, out: Floats) -> None:
    codes = piece.codes[rows]
    if piece.width <= FEW_LEVELS:
        for k in range(piece.width):
            np.subtract(codes == k, shift[k], out=out[:, k])
        return
    out[:] = -shift
    marked = np.flatnonzero(codes >= 0)
    out[marked, codes[marked]] += 1.0


def dense(pieces: tuple[Piece, ...], n_rows: int, only: int | None = None) -> Floats:
    """Expand pieces to a dense array, or one column of it."""
    if only is not None:
        for piece in pieces:
            if only < piece.width:
                return dense((piece.columns(only, only + 1),), n_rows)[:, 0]
            only -= piece.width
    width = sum(piece.width for piece in pieces)
    out = np.empty((n_rows, width))
    with np.errstate(invalid="ignore"):
        write_block(pieces, slice(0, n_rows), np.zeros(width), out)
    return out


@cache
def _controller() -> ThreadpoolController:
    # Looking up the loaded BLAS libraries costs a millisecond: once is enough.
    return ThreadpoolController().select(user_api="blas")


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    # Starting threads costs as much as a small pass over the rows: they are kept.
    return ThreadPoolExecutor(threads)


# A forked child has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


def _n_threads() -> int:
    """As many threads as BLAS may use, so that a user's limit on BLAS is a limit on us."""
    reserved = _reserved.get()
    if reserved is not None:
        return reserved
    allowed = max((info["num_threads"] for info in _controller().info()), default=1)
    return max(1, min(int(allowed), os.cpu_count() or 1))


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS on one thread: on small matrices more threads only wait for each other."""
    return cast(AbstractContextManager[object], _controller().limit(limits=1))


@contextmanager
def threads_for_blocks(n_columns: int) -> Iterator[None]:
    """Leave the cores to blocks of rows, while passes over them alternate with small matrices.

    A thread of BLAS that has helped with a small matrix goes on spinning for
    milliseconds, on a core that the next pass needs. Matrices of many columns
    do need all threads.
    """
    if n_columns > FEW_COLUMNS or _reserved.get() is not None:
        yield
        return
    token = _reserved.set(_n_threads())
    try:
        with one_blas_thread():
            yield
    finally:
        _reserved.reset(token)


def threads_for_passes(engine: Any, family: Any) -> AbstractContextManager[None]:
    """Share the cores: a gaussian model is all matrices, the others are passes over rows."""
    return nullcontext() if family.least_squares else threads_for_blocks(len(engine.names))


def in_threads(work: Callable[[Item], Result], blocks: Sequence[Item]) -> Iterator[Result]:
    """Run `work` on every block, on all cores, and yield the results in order.

    BLAS runs on one thread meanwhile: writing a block is bound by memory and
    multiplying it by arithmetic, and two blocks under way overlap the two.
    """
    threads = min(_n_threads(), len(blocks)) if len(blocks) > 2 else 1
    if threads == 1:
        yield from map(work, blocks)
        return
    with nullcontext() if _reserved.get() is not None else one_blas_thread():
        yield from _pool(threads).map(work, blocks)


def columns_in_threads(
    work: Callable[[Item], Result], columns: Sequence[Item], n_rows: int
) -> list[Result]:
    """Run `work` on every column, on all cores if there are many rows."""
    return list(in_threads(work, columns) if n_rows > MANY_ROWS else map(work, columns))


# Measured on 2 cores and 200,000 rows: with two categoricals of 20 levels each tabmat forms the
# Gram matrix 6 times as fast as dense blocks, with 300 levels 130 times. With many categoricals of
# few levels (ADULT: 7 of 7) the two are even, and dense blocks share a busy machine better.
FEWEST_INDICATORS = 24
LEVELS_EACH = 16
# Up to this size the rows are written out once and kept for all passes.
KEEP_BYTES = 1 << 30
# Rows from which threads cost less than they save, for each column.
MANY_ROWS = 50_000
# Blocks that are read together if there are many.
TOGETHER, MANY_BLOCKS = 13, 64


def prefers_codes(pieces: Sequence[Piece]) -> bool:
    """Whether indicators are many enough, in all and per categorical, to leave them as codes.

    Columns that come as sparse ones stay sparse.
    """
    if any(isinstance(piece, SparseSlab) for piece in pieces):
        return True
    coded = [piece.width for piece in pieces if isinstance(piece, Indicators)]
    total = sum(coded)
    return total >= max(FEWEST_INDICATORS, LEVELS_EACH * len(coded)) and 2 * total >= sum(
        piece.width for piece in pieces
    )


class WrittenBlock(Protocol):
    """Some rows of [1, z − shift]."""

    def gram(self, weight: Floats | None) -> Floats:
        """Σ w zzᵀ."""

    def times(self, coefficients: Floats) -> Floats:
        """Z·coefficients, for coefficients of shape (k, m)."""

    def products(self, vectors: Floats, count: int | None = None) -> Floats:
        """vectorsᵀZ, for vectors of shape (n, m); with the first columns of Z only, if asked."""

    def cross(self, weight: Floats) -> Floats:
        """Σ w zzᵀ for weights of any sign."""

    def leading(self, weight: Floats, count: int) -> Floats:
        """Σ w zzᵀ for weights of any sign, its first rows only."""

    def corner(self, weight: Floats, count: int) -> Floats:
        """Σ w zzᵀ for weights of any sign, its first rows and columns only."""

    def dense(self) -> Floats:
        """Write the rows out."""


class DenseBlock:
    """Rows as an array of shape (n, k).

    Products are those of `np.dot`: the operator @ keeps other threads waiting while it forms a
    product of fewer than 500 numbers, however many rows it reads. With 16 threads, products of
    two vectors with a million rows take a tenth of the time.
    """

    def __init__(self, values: Floats) -> None:
        self.values = values

    def gram(self, weight: Floats | None) -> Floats:
        """Σ w zzᵀ, the product of a matrix with itself, which costs half of any other."""
        weighted = self.values
        if weight is not None:
            weighted = weighted * np.sqrt(np.maximum(weight, 0.0))[:, None]
        return np.dot(weighted.T, weighted)

    def times(self, coefficients: Floats) -> Floats:
        return np.dot(self.values[:, : len(coefficients)], coefficients)

    def products(self, vectors: Floats, count: int | None = None) -> Floats:
        return np.dot(vectors.T, self.values[:, :count])

    def cross(self, weight: Floats) -> Floats:
        below = weight < 0.0
        negative = np.count_nonzero(below)
        if not negative:
            return self.gram(weight)
        if negative > FEW_NEGATIVE * len(weight):
            return np.dot((self.values * weight[:, None]).T, self.values)
        # A product of a matrix with itself costs half of one of two matrices.
        some = self.values[below] * np.sqrt(-weight[below])[:, None]
        return self.gram(weight) - np.dot(some.T, some)

    def leading(self, weight: Floats, count: int) -> Floats:
        return np.dot((self.values[:, :count] * weight[:, None]).T, self.values)

    def corner(self, weight: Floats, count: int) -> Floats:
        first = self.values[:, :count]
        return np.dot((first * weight[:, None]).T, first)

    def dense(self) -> Floats:
        """Return the rows themselves."""
        return self.values


class SplitBlock:
    """Rows as a tabmat SplitMatrix: a dense part, sparse columns, and categoricals as codes.

    Parameters
    ----------
    pieces : sequence of Piece
        The columns after the leading 1.
    rows : slice
        Which rows.
    shift : ndarray
        Subtracted from dense columns; zero for the others.
    """

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

    cross = gram

    def leading(self, weight: Floats, count: int) -> Floats:
        return self.gram(weight)[:count]

    def corner(self, weight: Floats, count: int) -> Floats:
        return self.gram(weight)[:count, :count]

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


class BlocksTogether:
    """Blocks that follow each other: matrices of one each, and vectors of all.

    The interpreter runs one thread at a time. With 16 threads, passes in which it is asked
    for vectors of 2,000 rows each took twice as long as with one.
    """

    def __init__(self, parts: Sequence[WrittenBlock], sizes: Sequence[int]) -> None:
        ends = np.cumsum(sizes).tolist()
        self._parts = list(zip(parts, map(slice, [0, *ends[:-1]], ends), strict=True))

    def _sum(self, function: Callable[[WrittenBlock, slice], Floats]) -> Floats:
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

    def cross(self, weight: Floats) -> Floats:
        return self._sum(lambda part, at: part.cross(weight[at]))

    def leading(self, weight: Floats, count: int) -> Floats:
        return self._sum(lambda part, at: part.leading(weight[at], count))

    def corner(self, weight: Floats, count: int) -> Floats:
        return self._sum(lambda part, at: part.corner(weight[at], count))

    def dense(self) -> Floats:
        return np.concatenate([part.dense() for part, _ in self._parts])


class WrittenRows:
    """Blocks of [1, z − typical row].

    Parameters
    ----------
    pieces : tuple of Piece
        The columns z.
    n_rows : int
        Number of rows.
    separable : bool
        Whether rows may be cut into blocks, and be other than dense.
    keeps : bool
        Whether to keep the blocks, up to `KEEP_BYTES`.
    """

    def __init__(
        self, pieces: tuple[Piece, ...], n_rows: int, *, separable: bool, keeps: bool
    ) -> None:
        self.pieces = pieces
        self.n_rows = n_rows
        self.separable = separable
        self.width = sum(piece.width for piece in pieces)
        self.split = separable and prefers_codes(pieces)
        self._keeps = keeps and 8 * (self.width + 1) * n_rows <= KEEP_BYTES
        self._kept: dict[int, WrittenBlock] = {}
        self._together: dict[tuple[int, int], list[slice]] = {}
        self._order = "C" if row_major(pieces) else "F"

    def block(self, block: slice) -> WrittenBlock:
        """Write [1, z − typical row] for some rows, or return it if it was kept."""
        parts = self._together.get((block.start, block.stop))
        if parts is not None:
            sizes = [part.stop - part.start for part in parts]
            return BlocksTogether([self.block(part) for part in parts], sizes)
        if block.start in self._kept:
            return self._kept[block.start]
        written: WrittenBlock
        if self.split:
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

    def buffer(self, block: slice, extra: int = 0) -> Floats:
        """Return an array for some rows, in the order in which most of them are stored."""
        shape = (block.stop - block.start, self.width + extra)
        return np.empty(shape, order=self._order)  # type: ignore[call-overload]

    @cached_property
    def slices(self) -> list[slice]:
        """The blocks."""
        if not self.separable:
            return [slice(0, self.n_rows)]
        # tabmat uses all cores by itself, and wants many rows at a time.
        return block_slices(self.n_rows, 1 if self.split else self.width + 1)

    @cached_property
    def larger_slices(self) -> list[slice]:
        """The blocks for passes that are vectors for the most part: several together, of many."""
        if self.split or len(self.slices) < MANY_BLOCKS:
            return self.slices
        groups = [self.slices[k : k + TOGETHER] for k in range(0, len(self.slices), TOGETHER)]
        ends = [(group[0].start, group[-1].stop) for group in groups]
        self._together = {
            end: group for end, group in zip(ends, groups, strict=True) if len(group) > 1
        }
        return [slice(*end) for end in ends]

    @cached_property
    def typical_row(self) -> Floats:
        """Medians of an odd number of evenly spaced rows: values that do occur."""
        n = self.n_rows
        sample = np.unique(np.linspace(0, n - 1, min(n, 255)).astype(np.intp))
        sample = sample[: len(sample) - 1 + len(sample) % 2]
        taken = tuple(piece.take(sample) for piece in self.pieces)
        row = np.median(dense(taken, len(sample)), axis=0)
        if self.split:  # zeros stay what they are
            sparse = [np.full(p.width, not isinstance(p, Slab)) for p in self.pieces]
            row[np.concatenate(sparse)] = 0.0
        return row


# A sum of squares below this has lost digits to the end of the range of numbers.
LEAST_SQUARES = 1e-290


def binary_columns(means: Floats, variances: Floats) -> Booleans:
    """Return which columns are 0 or 1 in every row, as far as two moments show."""
    inside = (means >= 0.0) & (means <= 1.0)
    bounded = np.where(inside, means, 0.0)
    return inside & (np.abs(variances - bounded * (1.0 - bounded)) <= 1e-8 * bounded)


@dataclass(frozen=True)
class Moments:
    """Weight, means and centered scatter of the columns [S, X, y].

    Moments of disjoint sets of rows add; moments of a subset subtract. Both
    keep the scatter centered, so nothing is lost to means far from zero.
    """

    n_rows: int  # rows counted
    weight: float  # sum of their weights
    mean: Floats  # weighted column means, of shape (k,)
    scatter: Floats  # Σ w (z − mean)(z − mean)ᵀ, of shape (k, k)

    @classmethod
    def from_raw(cls, n_rows: int, gram: Floats, shift: Floats) -> Moments:
        """Center the Gram matrix of [1, z − shift].

        The shift is any point near the data; centering then does not reduce precision.
        """
        weight = float(gram[0, 0])
        first = gram[0, 1:] / weight
        scatter = gram[1:, 1:] - weight * np.outer(first, first)
        return cls(n_rows, weight, shift + first, scatter)

    @property
    def binary(self) -> Booleans:
        """Which columns are 0 or 1 in every row: their variance is mean(1 − mean)."""
        return binary_columns(self.mean, np.diag(self.scatter) / self.weight)

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.weight / weight)
        between = (self.weight * (other.weight / weight)) * np.outer(gap, gap)
        scatter = self.scatter + other.scatter + between
        return Moments(self.n_rows + other.n_rows, weight, mean, scatter)

    def __sub__(self, other: Moments) -> Moments:
        weight = self.weight - other.weight
        if self.n_rows <= other.n_rows or weight <= 0:
            raise ValueError("subtract the moments of a proper subset of the rows.")
        gap = other.mean - self.mean
        mean = self.mean - gap * (other.weight / weight)
        between = (self.weight * (other.weight / weight)) * np.outer(gap, gap)
        scatter = self.scatter - other.scatter - between
        return Moments(self.n_rows - other.n_rows, weight, mean, scatter)


def require_squares(squares: Floats, names: Sequence[str], column: Callable[[int], Floats]) -> None:
    """Raise for a column with NaN, infinity, or differences too large or small to square.

    Parameters
    ----------
    squares : ndarray of shape (k,)
        Sums of squares of the shifted columns.
    names : sequence of str
        Their names.
    column : callable
        Returns the numbers of one of them.
    """
    for k in np.flatnonzero(~np.isfinite(squares) | (squares < LEAST_SQUARES)).tolist():
        values = column(k)
        if not np.isfinite(squares[k]):
            raise ValueError(not_finite_message(names[k], values))
        if np.ptp(values) > 0.0:
            raise ValueError(
                f"Input column {names[k]!r} holds numbers too small to square; rescale it."
            )


def not_finite_message(name: str, values: Floats) -> str:
    """Say what is wrong with a column whose sum of squares is not finite."""
    if np.isnan(values).any():
        return (
            f"Input column {name!r} contains NaN or missing values; "
            "drop those rows or impute them first."
        )
    if np.isinf(values).any():
        return f"Input column {name!r} contains infinity; replace it by finite numbers."
    return f"Input column {name!r} holds numbers too large to square; rescale it."


def triangular_factor(matrix: Floats) -> Floats:
    """Return R of matrix = QR, of shape (min(m, k), k)."""
    factor: Floats = np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)
    return factor


@dataclass(frozen=True)
class Triangle:
    """R of a QR decomposition of some rows; with other rows it merges by another one."""

    R: Floats

    def __add__(self, other: Triangle) -> Triangle:
        return Triangle(triangular_factor(np.vstack([self.R, other.R])))
