"""Rows written out block by block, dense or with codes left as codes, and kept if they are few."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Piece, Slab
from fairridge.engines.blocks import block_slices, row_major, write_block
from fairridge.engines.linear_predictor import dense
from fairridge.engines.split import Block, DenseBlock, SplitBlock, prefers_codes

__all__ = ["WrittenRows"]

# Up to this size the rows are written out once and kept for all passes.
KEEP_BYTES = 1 << 30


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
        self._kept: dict[int, Block] = {}
        self._order = "C" if row_major(pieces) else "F"

    def block(self, block: slice) -> Block:
        """Write [1, z − typical row] for some rows, or return it where it was kept."""
        if block.start in self._kept:
            return self._kept[block.start]
        written: Block
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
