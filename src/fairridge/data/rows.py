"""The encoded rows an engine works on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats, Integers
from fairridge.data.pieces import Indicators, Piece, Slab

__all__ = ["RowLevel", "Rows"]


@dataclass(frozen=True)
class RowLevel:
    """Rows that share a level of one predictor, or a value of a 0/1 column.

    Attributes
    ----------
    columns : tuple of int
        Positions among the encoded columns of X: the level's own, or, for a
        base level, those of all other levels.
    value : int
        What the columns are in these rows: 1, or 0.
    """

    columns: tuple[int, ...]
    value: int


@dataclass(frozen=True)
class Rows:
    """Rows [S, X, y] in memory, encoded but not expanded.

    Attributes
    ----------
    sensitive, predictors : tuple of Slab or Indicators
        The encoded columns of S and of X.
    names : tuple of str
        Encoded names of S, then of X.
    response : ndarray of shape (n, c)
        What the family reads: one column, or (time, event).
    targets : ndarray of shape (n, m)
        The response as numbers whose moments mean something: itself, 0/1
        columns of its classes, or −log time.
    weight : ndarray of shape (n,) or None
        Positive weights; None means 1 for every row.
    offset : ndarray of shape (n,) or None
        Added to the linear predictor.
    """

    sensitive: tuple[Piece, ...]
    predictors: tuple[Piece, ...]
    names: tuple[str, ...]
    response: Floats
    targets: Floats
    weight: Floats | None = None
    offset: Floats | None = None

    def take(self, positions: Integers) -> Rows:
        """Return these rows only."""
        return Rows(
            tuple(piece.take(positions) for piece in self.sensitive),
            tuple(piece.take(positions) for piece in self.predictors),
            self.names,
            self.response[positions],
            self.targets[positions],
            None if self.weight is None else self.weight[positions],
            None if self.offset is None else self.offset[positions],
        )

    def members(self, level: RowLevel) -> Booleans:
        """Return which rows have a level."""
        start = 0
        for piece in self.predictors:
            k = level.columns[0] - start
            if k < piece.width:
                if isinstance(piece, Indicators):
                    return np.asarray(piece.codes == (k if level.value else -1))
                part = piece.columns(k, k + len(level.columns))  # they are neighbors
                own = part.values if isinstance(part, Slab) else part.dense()
                return np.asarray((own == level.value).all(axis=1))
            start += piece.width
        raise IndexError(f"there is no predictor column {level.columns[0]}.")

    def in_any(self, levels: tuple[RowLevel, ...]) -> Booleans:
        """Return which rows have one of some levels."""
        found = np.zeros(self.n_rows, dtype=bool)
        for level in levels:
            found |= self.members(level)
        return found

    def followed_by(self, other: Rows) -> Rows:
        """Return these rows, then others whose columns are numbers of the same widths."""

        def joined(mine: Any, theirs: Any) -> Any:
            return None if mine is None else np.concatenate([mine, theirs])

        def pieces(mine: tuple[Piece, ...], theirs: tuple[Piece, ...]) -> tuple[Piece, ...]:
            return tuple(
                Slab(np.concatenate([a.values, b.values]))
                for a, b in zip(mine, theirs, strict=True)
                if isinstance(a, Slab) and isinstance(b, Slab)
            )

        return Rows(
            pieces(self.sensitive, other.sensitive),
            pieces(self.predictors, other.predictors),
            self.names,
            joined(self.response, other.response),
            joined(self.targets, other.targets),
            joined(self.weight, other.weight),
            joined(self.offset, other.offset),
        )

    def with_columns(
        self, sensitive: tuple[Piece, ...], predictors: tuple[Piece, ...], names: tuple[str, ...]
    ) -> Rows:
        """Return the same rows with other columns of S and X."""
        return replace(self, sensitive=sensitive, predictors=predictors, names=names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.response.shape[0])

    @property
    def n_sensitive(self) -> int:
        """Number of encoded sensitive columns, q."""
        return sum(piece.width for piece in self.sensitive)

    @property
    def n_predictors(self) -> int:
        """Number of encoded predictor columns, p."""
        return sum(piece.width for piece in self.predictors)
