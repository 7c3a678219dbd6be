"""Dense blocks of rows, written into a buffer that stays in the cache.

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
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
from threadpoolctl import ThreadpoolController

from fairridge._typing import Floats
from fairridge.data import Indicators, Piece, Slab, SparseSlab

Result = TypeVar("Result")

# About 2 MB of buffer: large enough for BLAS, small enough for a core's cache.
BLOCK_BYTES = 2 << 20
# Columns up to which one thread suffices for all but the passes over rows.
FEW_COLUMNS = 128
# Threads that blocks may use while BLAS is held to one.
_reserved: ContextVar[int | None] = ContextVar("reserved", default=None)


def block_slices(n_rows: int, n_columns: int, multiple: int = 1) -> list[slice]:
    """Cut rows into blocks whose buffers take about `BLOCK_BYTES`."""
    size = max(256, BLOCK_BYTES // (8 * max(n_columns, 1)), multiple * n_columns)
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
    out[:] = -shift
    codes = piece.codes[rows]
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


def in_threads(work: Callable[[slice], Result], blocks: Sequence[slice]) -> Iterator[Result]:
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
