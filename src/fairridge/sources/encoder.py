"""From a batch to encoded rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import Design, Piece, RowLevel, Rows, as_table, require_usual_size
from fairridge.data.columns import CategoricalColumn
from fairridge.data.encoding import Encoding
from fairridge.sources.batch import Batch
from fairridge.sources.responses import ResponseReader, numbers_of
from fairridge.sources.roles import Roles

__all__ = ["BatchEncoder", "Placed", "kept_rows"]

Pieces = tuple[tuple[Piece, ...], tuple[Piece, ...]]


@dataclass(frozen=True)
class Placed:
    """Encoded rows of one batch, and their positions.

    Attributes
    ----------
    rows : Rows
        The rows of positive weight.
    part : int
        Number of the file or partition.
    positions : ndarray of int
        Positions of the rows in it.
    """

    rows: Rows
    part: int
    positions: Integers


@dataclass(frozen=True)
class BatchEncoder:
    """Encodes batches by a design that is known; a pure function that travels.

    Attributes
    ----------
    roles : Roles
        Which columns are what.
    design : Design
        How S and X are encoded.
    reader : ResponseReader
        How the response is read.
    sensitive, predictors : bool
        Whether S and X are read.
    isolated : tuple of RowLevel
        Levels whose rows are left out.
    """

    roles: Roles
    design: Design
    reader: ResponseReader
    sensitive: bool = True
    predictors: bool = True
    isolated: tuple[RowLevel, ...] = ()

    @property
    def categories(self) -> tuple[range, ...]:
        """Positions of each categorical predictor's columns among those of X."""
        encoding = self.design.predictors
        assert isinstance(encoding, Encoding)  # maps need the rows in memory
        places = encoding.places
        return tuple(
            range(len(encoding.names))[places[column.name][0] : places[column.name][-1] + 1]
            for column in encoding.columns
            if isinstance(column, CategoricalColumn) and places[column.name]
        )

    @property
    def _reads_predictors(self) -> bool:
        """Whether X must be read, be it to know which rows to leave out."""
        return self.predictors or bool(self.isolated)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        roles = self.roles
        chosen = {
            *(roles.sensitive if self.sensitive else ()),
            *(roles.predictors if self._reads_predictors else ()),
        }
        names = tuple(name for name in roles.names if name in chosen)
        return (*names, *roles.response, *roles.extras)

    def only(self, *, sensitive: bool) -> BatchEncoder:
        """Return an encoder of the response, with S or without it."""
        return replace(self, sensitive=sensitive, predictors=False)

    def __call__(self, batch: Batch) -> Placed | None:
        """Encode the rows of positive weight; None if there are none."""
        roles = self.roles
        frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
        keep, weight = kept_rows(frame, roles.weight)
        positions = batch.start + np.arange(frame.shape[0], dtype=np.intp)[keep]
        if not len(positions):
            return None
        offset = None if roles.offset is None else numbers_of(frame, roles.offset, keep)
        values, targets = self.reader(frame, roles.response, keep, offset)
        S, X = self._pieces(frame, keep)
        names = (
            *(self.design.sensitive.names if self.sensitive else ()),
            *(self.design.predictors.names if self.predictors else ()),
        )
        # Where the response is read less its offset, that is all the offset means.
        shift = None if self.reader.less_offset else offset
        rows = Rows(S, X, names, values, targets, weight, shift)
        if self.isolated:
            chosen = np.flatnonzero(~rows.in_any(self.isolated))
            rows, positions = rows.take(chosen), positions[chosen]
            if not self.predictors:
                rows = rows.with_columns(rows.sensitive, (), names)
        return Placed(rows, batch.part, positions) if len(positions) else None

    def _pieces(self, frame: nw.DataFrame[Any], keep: Any) -> Pieces:
        parts: list[tuple[Piece, ...]] = []
        for wanted, columns, encoding in (
            (self.sensitive, self.roles.sensitive, self.design.sensitive),
            (self._reads_predictors, self.roles.predictors, self.design.predictors),
        ):
            if not (wanted and columns):
                parts.append(())
                continue
            table = as_table(frame.select(columns).to_native())
            if not isinstance(keep, slice):
                table = table.take(keep)
            parts.append(encoding.pieces(table, range(len(columns)), "error"))
        return parts[0], parts[1]


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
