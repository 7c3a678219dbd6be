"""The encoded rows an engine works on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairridge._typing import Floats, Integers
from fairridge.data.encoding import Piece

__all__ = ["Rows"]


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
