"""Rows that functions are summed over: all at once in memory, or batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import narwhals as nw

from fairridge.sources.batch import Batch, add

# Numbers that are written out at once, of which a few copies are made (16 MB each), and rows that
# pieces have at least.
PIECE_NUMBERS, FEWEST_PIECE_ROWS = 1 << 21, 1024


@dataclass(frozen=True)
class Alike:
    """What all batches have alike, or of which any will do: the first is kept."""

    value: Any

    def __add__(self, other: Alike) -> Alike:
        return self


class Batches(Protocol):
    """Rows, or what was made of them, batch by batch."""

    def sum(self, function: Callable[[Any], Any]) -> Any:
        """Add up a function of the batches; it may travel to other processes."""

    def map(self, function: Callable[[Any], Any]) -> Batches:
        """Return what a function makes of every batch."""


@dataclass(frozen=True)
class InMemory:
    """All rows at once."""

    rows: Any

    def sum(self, function: Callable[[Any], Any]) -> Any:
        """Return a function of the rows."""
        return function(self.rows)

    def map(self, function: Callable[[Any], Any]) -> InMemory:
        """Apply a function once."""
        return InMemory(function(self.rows))


@dataclass(frozen=True)
class Streamed:
    """Rows of a source, which are read again for every sum."""

    source: Any  # what has `map_batches`
    columns: tuple[str, ...]  # that batches are read of
    work: Callable[..., Any]  # what is made of a batch; None if it has no rows
    piece_rows: int | None = None  # rows of a batch that are worked on at once; None for all

    def sum(self, function: Callable[[Any], Any]) -> Any:
        """Add up a function of the batches, where they are."""
        work = partial(_then, self.work, function)
        work = work if self.piece_rows is None else partial(_piecewise, work, self.piece_rows)
        total = self.source.map_batches(work, self.columns)
        if total is None:
            raise ValueError("there are no rows with a positive weight.")
        return total

    def map(self, function: Callable[[Any], Any]) -> Streamed:
        """Apply a function to every batch, as it is read."""
        return replace(self, work=partial(_then, self.work, function))

    def in_pieces(self, width: int) -> Streamed:
        """Work on so few rows at once that `width` numbers of each take little memory."""
        return replace(self, piece_rows=piece_rows(width))


def piece_rows(width: int) -> int:
    """Return of how many rows so many numbers are written out at once."""
    return max(PIECE_NUMBERS // max(width, 1), FEWEST_PIECE_ROWS)


def _piecewise(work: Callable[..., Any], size: int, batch: Batch, *beside: Any) -> Any:
    """Add up a function of pieces of a batch, and of what is beside its rows."""
    frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
    total = None
    for start in range(0, frame.shape[0], size):
        rows = slice(start, start + size)
        piece = replace(batch, frame=frame[rows].to_native(), start=batch.start + start)
        total = add(total, work(piece, *(values[rows] for values in beside)))
    return total


def _then(first: Callable[..., Any], then: Callable[[Any], Any], *batch: Any) -> Any:
    """Call two functions, one after the other; nothing stays nothing."""
    made = first(*batch)
    return None if made is None else then(made)
