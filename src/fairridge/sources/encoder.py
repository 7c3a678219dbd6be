"""From a batch to encoded rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import Design, Piece, RowLevel, Rows, as_table, require_usual_size
from fairridge.data.columns import CategoricalColumn, Encoding
from fairridge.sources.batch import Batch
from fairridge.sources.responses import ResponseReader, numbers_of, offset_of
from fairridge.sources.roles import Roles


@dataclass(frozen=True)
class EncodedBatch:
    """Encoded rows of one batch, and their positions."""

    rows: Rows  # the rows of positive weight
    part: int  # number of the file or partition
    positions: Integers  # positions of the rows in it


@dataclass(frozen=True)
class BatchEncoder:
    """Encodes batches by a design that is known; a pure function that travels."""

    roles: Roles  # which columns are what
    design: Design  # how S and X are encoded
    reader: ResponseReader  # how the response is read
    # Whether S and X are read.
    sensitive: bool = True
    predictors: bool = True
    isolated: tuple[RowLevel, ...] = ()  # levels whose rows are left out

    @property
    def categories(self) -> tuple[range, ...]:
        """Positions of each categorical predictor's columns among those of X."""
        encoding = self.design.predictors
        assert isinstance(encoding, Encoding)  # maps need the rows in memory
        by_column = (
            encoding.places[column.name]
            for column in encoding.columns
            if isinstance(column, CategoricalColumn)
        )
        return tuple(range(places[0], places[-1] + 1) for places in by_column if places)

    @property
    def _inputs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns of S and of X that it reads, of X be it to know which rows to leave out."""
        roles = self.roles
        S = roles.sensitive if self.sensitive else ()
        return S, roles.predictors if self.predictors or self.isolated else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        roles, (S, X) = self.roles, self._inputs
        names = tuple(name for name in roles.names if name in {*S, *X})
        return (*names, *roles.response, *roles.extras)

    def only(self, *, sensitive: bool) -> BatchEncoder:
        """Return an encoder of the response, with S or without it."""
        return replace(self, sensitive=sensitive, predictors=False)

    def __call__(self, batch: Batch) -> EncodedBatch | None:
        """Encode the rows of positive weight; None if there are none."""
        roles, design = self.roles, self.design
        frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
        keep, weight = kept_rows(frame, roles.weight)
        positions = batch.start + np.arange(frame.shape[0], dtype=np.intp)[keep]
        if not len(positions):
            return None
        offset = offset_of(frame, roles, keep)
        values, targets = self.reader(frame, roles.response, keep, offset)
        of_S, of_X = self._inputs
        S = _pieces(frame, keep, of_S, design.sensitive)
        X = _pieces(frame, keep, of_X, design.predictors)
        names = (
            *(design.sensitive.names if self.sensitive else ()),
            *(design.predictors.names if self.predictors else ()),
        )
        # If the response is read less its offset, that is all the offset means.
        shift = None if self.reader.less_offset else offset
        rows = Rows(S, X, names, values, targets, weight, shift)
        if self.isolated:
            chosen = np.flatnonzero(~rows.in_any(self.isolated))
            rows, positions = rows.take(chosen), positions[chosen]
            if not self.predictors:
                rows = rows.with_columns(rows.sensitive, (), names)
        return EncodedBatch(rows, batch.part, positions) if len(positions) else None


def _pieces(
    frame: nw.DataFrame[Any], keep: Any, columns: tuple[str, ...], encoding: Any
) -> tuple[Piece, ...]:
    """Encode columns of the rows that are kept; none if none are read."""
    if not columns:
        return ()
    table = as_table(frame.select(columns).to_native())
    kept = table if isinstance(keep, slice) else table.take(keep)
    return encoding.pieces(kept, range(len(columns)), "error")


def on_rows(encode: BatchEncoder, function: Callable[[EncodedBatch], Any], batch: Batch) -> Any:
    """Show the rows of a batch to a function; a batch without rows of weight adds nothing."""
    placed = encode(batch)
    return None if placed is None else function(placed)


def kept_rows(frame: nw.DataFrame[Any], weight: str | None) -> tuple[Any, Floats | None]:
    """Return which rows have a positive weight, and their weights."""
    if weight is None:
        return slice(None), None
    values = numbers_of(frame, weight)
    if (values < 0).any():
        raise ValueError(
            f"weight column {weight!r} has the negative value {values[np.argmax(values < 0)]:g}; "
            "weights must be zero or positive."
        )
    require_usual_size(values, f"weight column {weight!r}")
    if values.all():
        return slice(None), values
    keep = np.flatnonzero(values)
    return keep, values[keep]
