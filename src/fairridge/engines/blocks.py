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
from typing import Any, TypeVar, cast

import numpy as np
from threadpoolctl import ThreadpoolController

from fairridge._typing import Booleans, Floats
from fairridge.data import Indicators, Piece, Slab, SparseSlab
from fairridge.data.columns import missing_message

Item = TypeVar("Item")
Result = TypeVar("Result")

# About 2 MB of buffer: large enough for BLAS, small enough for a core's cache.
BLOCK_BYTES = 2 << 20
# Blocks for work of many steps: how many times as long they become at most, how many of them each
# thread gets at least, and how many threads there are. On 16 cores, 16 take longer than 12.
LONG_BLOCK_FACTOR, BLOCKS_PER_THREAD, MAX_STEP_THREADS = 8, 3, 12
# Columns up to which one thread suffices for all but the passes over rows. Measured on 2 cores: a
# fit of 900 levels takes half of the processor time that two threads spend, and less wall time.
ONE_THREAD_COLUMNS = 1024
# Columns of a gaussian model, which is solved once, between which one thread is worth asking for:
# of fewer no thread is woken, and of more, matrices need all of them. On a busy machine the
# singular values of 100 columns took two threads 10 to 100 ms; one thread took 2.
GAUSSIAN_ONE_THREAD_COLUMNS = (32, 256)
# Levels of a small categorical. Up to here comparing every code with each takes less time than
# finding its place. Measured on 2 cores and 200,000 rows: with two categoricals of 20 levels each
# tabmat forms the Gram matrix 6 times as fast as dense blocks, with 300 levels 130 times. With
# many categoricals of few levels (ADULT: 7 of 7) the two are even; there combined codes are
# faster than both.
SMALL_CATEGORICAL_LEVELS = 16
# Rows from which threads cost less than they save, for each column.
PARALLEL_COLUMN_ROWS = 50_000
# A sum of squares below this has lost digits to the end of the range of numbers.
SMALLEST_SQUARES = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
# Threads that blocks may use while BLAS is held to one.
_reserved: ContextVar[int | None] = ContextVar("reserved", default=None)


def block_slices(n_rows: int, n_columns: int, multiple: int = 1) -> list[slice]:
    """Cut rows into blocks whose buffers take about `BLOCK_BYTES`."""
    size = max(256, BLOCK_BYTES // (8 * max(n_columns, 1)), multiple * n_columns)
    return [slice(lo, min(lo + size, n_rows)) for lo in range(0, n_rows, size)]


def long_slices(n_rows: int, n_columns: int) -> list[slice]:
    """Cut rows into blocks for work of many steps, longer than those of `block_slices`."""
    # Between steps threads wait for each other, because one of them at a time runs Python. With 16
    # of them blocks that fit into the cache take four times as long, with two 1.4 times as long.
    size = max(256, BLOCK_BYTES // (8 * max(n_columns, 1)))
    threads = min(_n_threads(), MAX_STEP_THREADS)
    size = max(size, min(LONG_BLOCK_FACTOR * size, n_rows // (BLOCKS_PER_THREAD * threads)))
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
    if piece.width <= SMALL_CATEGORICAL_LEVELS:
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
    allowed = max((blas.num_threads for blas in _controller().lib_controllers), default=1)
    return max(1, min(int(allowed), os.cpu_count() or 1))


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS on one thread: on small matrices more threads only wait for each other."""
    return cast(AbstractContextManager[object], _controller().limit(limits=1))


@contextmanager
def threads_for_blocks(n_columns: int) -> Iterator[None]:
    """Leave the cores to blocks of rows, while passes over them alternate with small matrices."""
    # A thread of BLAS that has helped with a small matrix goes on spinning for milliseconds, on a
    # core that the next pass needs. Matrices of many columns do need all threads.
    if n_columns > ONE_THREAD_COLUMNS or _reserved.get() is not None:
        yield
        return
    token = _reserved.set(_n_threads())
    try:
        with one_blas_thread():
            yield
    finally:
        _reserved.reset(token)


def threads_for_passes(engine: Any, family: Any) -> AbstractContextManager[None]:
    """Share the cores: large gaussian models are all matrices, the others passes over rows."""
    n_columns = len(engine.names)
    low, high = GAUSSIAN_ONE_THREAD_COLUMNS
    if family.least_squares and not low < n_columns <= high:
        return nullcontext()
    return threads_for_blocks(n_columns)


def in_threads(
    work: Callable[[Item], Result], blocks: Sequence[Item], fewest: int = 3, most: int | None = None
) -> Iterator[Result]:
    """Run `work` on every block, on all cores if there are enough, and yield results in order."""
    # BLAS runs on one thread meanwhile: writing a block is bound by memory and multiplying it by
    # arithmetic, and two blocks under way overlap the two.
    threads = min(_n_threads(), len(blocks), most or len(blocks)) if len(blocks) >= fewest else 1
    if threads == 1:
        yield from map(work, blocks)
        return
    with nullcontext() if _reserved.get() is not None else one_blas_thread():
        yield from _pool(threads).map(work, blocks)


def columns_in_threads(
    work: Callable[[Item], Result], columns: Sequence[Item], n_rows: int
) -> list[Result]:
    """Run `work` on every column, on all cores if there are many rows."""
    return list(in_threads(work, columns) if n_rows > PARALLEL_COLUMN_ROWS else map(work, columns))


def binary_columns(means: Floats, variances: Floats) -> Booleans:
    """Return which columns are 0 or 1 in every row, as far as two moments show."""
    inside = (means >= 0.0) & (means <= 1.0)
    bounded = np.where(inside, means, 0.0)
    return inside & (np.abs(variances - bounded * (1.0 - bounded)) <= 1e-8 * bounded)


def typical_values(rows: Floats, weight: Floats | None = None) -> Floats:
    """Return the (weighted) median of each column, a value that does occur."""
    # Where few rows have nearly all of the weight, the mean is near them, and so must be what is
    # subtracted before squares are added up.
    if weight is None:  # what np.median does, which takes four times as long for few numbers
        middle = len(rows) // 2
        return np.partition(rows, middle, axis=0)[middle]
    order = np.argsort(rows, axis=0)
    below = np.cumsum(weight[order], axis=0)
    place = (below < 0.5 * below[-1]).sum(axis=0)
    return np.take_along_axis(rows, np.take_along_axis(order, place[None], axis=0), axis=0)[0]


@dataclass(frozen=True)
class Moments:
    """Weight, means and centered scatter of the columns [S, X, y]."""

    # Moments of disjoint sets of rows add; moments of a subset subtract. Both keep the scatter
    # centered, so nothing is lost to means far from zero.

    n_rows: int  # rows counted
    weight: float  # sum of their weights
    mean: Floats  # weighted column means, of shape (k,)
    scatter: Floats  # Σ w (z − mean)(z − mean)ᵀ, of shape (k, k)

    @classmethod
    def from_raw(cls, n_rows: int, gram: Floats, shift: Floats) -> Moments:
        """Center the Gram matrix of [1, z − shift]."""
        # The shift is any point near the data; centering then does not reduce precision.
        weight = float(gram[0, 0])
        first = gram[0, 1:] / weight
        scatter = gram[1:, 1:] - weight * np.outer(first, first)
        return cls(n_rows, weight, shift + first, scatter)

    @cached_property
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
    """Raise for a column with NaN, infinity, or differences too large or small to square."""
    # `squares` are sums of squares of the shifted columns.
    beyond = np.flatnonzero(~np.isfinite(squares)).tolist()
    if beyond:
        raise ValueError(not_finite_message((names[k], column(k)) for k in beyond))
    for k in np.flatnonzero(squares < SMALLEST_SQUARES).tolist():
        if np.ptp(column(k)) > 0.0:
            raise ValueError(f"Column {names[k]!r} holds numbers too small to square; rescale it.")


def not_finite_message(columns: Iterable[tuple[str, Floats]]) -> str:
    """Say what is wrong with columns whose sums of squares are not finite."""
    missing, others = {}, []
    for name, values in columns:
        if gone := int(np.isnan(values).sum()):
            missing[name] = gone
        elif np.isinf(values).any():
            others.append(f"Column {name!r} contains infinity; replace it by finite numbers.")
        else:
            others.append(f"Column {name!r} holds numbers too large to square; rescale it.")
    return missing_message(missing) if missing else others[0]


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

    @property
    def square(self) -> Floats:
        """R with a row for every column: of few rows the last ones are zero."""
        rows, columns = self.R.shape
        return np.vstack([self.R, np.zeros((columns - rows, columns))])
