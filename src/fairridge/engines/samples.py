"""Some rows, spread over all and weighted to stand for them: where searches start.

What is found on a sample is a start and nothing else. A sample that misleads costs
passes over the rows, never the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from fairridge._typing import Integers
from fairridge.data import Indicators, Piece, Rows, Slab

# A sample has one row of so many at most: if it had more, it would save little.
MIN_SAMPLING_INTERVAL = 16
# Bytes of rows, of columns, or of sums over groups of rows that travel at once: large enough that
# reading and multiplying run at full speed, small against any memory.
BATCH_BYTES = 16 << 20
# The golden ratio's fraction, in units of 2⁻³²: its multiples are spread evenly, and repeat no
# pattern of the rows.
GOLDEN_FRACTION = 2_654_435_769


def spread_rows(n_rows: int, count: int) -> Integers | None:
    """Return positions of about `count` rows, one of each run of rows; None if those are many."""
    each = n_rows // max(count, 1)
    if each < MIN_SAMPLING_INTERVAL:
        return None
    runs = np.arange(n_rows // each, dtype=np.uint64)
    fraction = runs.astype(np.uint32) * np.uint32(GOLDEN_FRACTION)  # the rest of 2³² is dropped
    within = (fraction.astype(np.uint64) * np.uint64(each)) >> np.uint64(32)
    return np.asarray(runs * np.uint64(each) + within, dtype=np.intp)


def with_total_weight(rows: Rows, total: float) -> Rows:
    """Return the rows with weights that sum up to those of all rows."""
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    return replace(rows, weight=weight * (total / weight.sum()))


@dataclass(frozen=True)
class RowSample:
    """Evenly spaced rows; samples of disjoint rows add."""

    rows: Rows
    stride: int  # how many rows each of these stands for, a power of two
    most: int  # how many rows there may be

    @classmethod
    def of(cls, rows: Rows) -> RowSample:
        """Take evenly spaced rows in memory."""
        stored = sum(1 if isinstance(p, Indicators) else p.width for p in rows.columns)
        small = cls(rows, 1, max(BATCH_BYTES // (8 * max(stored, 1)), 1))._within_limit()
        # A copy, lest a view keep all rows alive; and the same slabs for rows from anywhere,
        # because what lies evenly in memory has been read as one.
        S, X = (_plain(each) for each in (small.rows.sensitive, small.rows.predictors))
        return replace(small, rows=small.rows.with_columns(S, X, rows.names))

    def __add__(self, other: RowSample) -> RowSample:
        stride = max(self.stride, other.stride)
        mine, theirs = (part.thinned(stride // part.stride) for part in (self, other))
        return replace(mine, rows=mine.rows.followed_by(theirs.rows))._within_limit()

    def _within_limit(self) -> RowSample:
        excess = self.rows.n_rows / self.most
        return self if excess <= 1.0 else self.thinned(1 << int(np.ceil(np.log2(excess))))

    def thinned(self, by: int) -> RowSample:
        """Return one of each `by` rows."""
        if by <= 1:
            return self
        positions = np.arange(0, self.rows.n_rows, by)
        return replace(self, rows=self.rows.take(positions), stride=self.stride * by)


def _plain(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Copy neighboring slabs into one of float64 numbers."""
    out: list[Piece] = []
    for dense, run in groupby(pieces, lambda piece: isinstance(piece, Slab)):
        members: list[Any] = list(run)
        if dense:
            values = np.hstack([piece.values for piece in members])
            members = [Slab(np.array(values, dtype=np.float64))]
        out += members
    return tuple(out)
