"""Dense blocks of columns, for data with more columns than rows.

As with blocks of rows, the expanded matrix never exists: a block of columns
is written, used and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Piece
from fairridge.engines.blocks import write_block
from fairridge.engines.samples import BATCH_BYTES


def column_blocks(
    pieces: Sequence[Piece], n_rows: int, shift: Floats | None = None, fewest: int = 64
) -> Iterator[tuple[slice, Floats]]:
    """Write columns less a shift, some at a time."""
    # Blocks have at least the `fewest` columns, unless there are fewer, and are for the caller to
    # change.
    size = max(fewest, BATCH_BYTES // (8 * n_rows))
    start = 0
    for group in _groups(pieces, size):
        width = sum(piece.width for piece in group)
        columns = slice(start, start + width)
        less = np.zeros(width) if shift is None else shift[columns]
        block = np.empty((n_rows, width))
        write_block(group, slice(0, n_rows), less, block)
        yield columns, block
        start += width


def _groups(pieces: Sequence[Piece], size: int) -> Iterator[list[Piece]]:
    """Cut and join pieces to groups of `size` columns; the last may have fewer."""
    group: list[Piece] = []
    room = size
    for piece in pieces:
        start = 0
        while start < piece.width:
            stop = min(start + room, piece.width)
            group.append(piece.columns(start, stop))
            room -= stop - start
            start = stop
            if not room:
                yield group
                group, room = [], size
    if group:
        yield group
