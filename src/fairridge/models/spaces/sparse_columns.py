"""Many sparse columns: U in products alone, never written out.

U = X − 1x̄ᵀ − (S − s̄)B is dense even if X is sparse. But with H, columns that span
[1, S] and are orthonormal under the weights W, it is

    U = X − HA,  A = HᵀWX,

so that a product with U is one with X and a correction of rank 1 + q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import Slab, SparseSlab
from fairridge.models.spaces.wide_columns import ColumnSpectrum
from fairridge.solvers.spectrum import CONDITION_LIMIT, PANEL

Numbers = Slab | SparseSlab


@dataclass(frozen=True)
class SparseColumns:
    """V = UD⁻¹ of shape (n, p): decorrelated, scaled predictors."""

    pieces: tuple[Numbers, ...]  # the predictors X; dense ones centered
    weights: Floats  # W, of shape (n,)
    span: Floats  # H, with a constant first column, of shape (n, s)
    along: Floats  # A, of shape (s, p)
    scale: Floats  # D, of shape (p,)
    # ‖W^½u‖² of the columns u of U; zero if one is in the span of S, and V then is, of shape
    # (p,).
    squares: Floats

    def times(self, gamma: Floats) -> Floats:
        """V times coefficients of shape (p, m)."""
        product, along = self.in_parts(gamma)
        product -= self.span @ along
        return product

    def in_parts(self, gamma: Floats) -> tuple[Floats, Floats]:
        """Return XD⁻¹ and AD⁻¹ times coefficients: V times them is the first − H·the second."""
        beta = gamma * self._per_scale[:, None]
        ends = np.cumsum([piece.width for piece in self.pieces[:-1]], dtype=np.intp)
        parts = zip(self.pieces, np.split(beta, ends), strict=True)
        product = sum((piece.values @ part for piece, part in parts), np.zeros(()))
        return product, self.along @ beta

    def transposed(self, vectors: Floats) -> Floats:
        """Vᵀ times vectors of shape (n, m)."""
        return self.from_parts(vectors, self.span.T @ vectors)

    def from_parts(self, vectors: Floats, on_span: Floats) -> Floats:
        """Return the same, given Hᵀ times the vectors."""
        product = self.products(vectors)
        product -= self.along.T @ on_span
        product *= self._per_scale[:, None]
        return product

    def products(self, vectors: Floats) -> Floats:
        """Xᵀ times vectors of shape (n, m)."""
        return np.concatenate([piece.values.T @ vectors for piece in self.pieces])

    def outside(self, vectors: Floats) -> Floats:
        """Subtract from vectors what [1, S] explains of them."""
        for _ in range(2):  # twice is enough for orthogonality
            vectors = vectors - self.span @ ((self.span * self.weights[:, None]).T @ vectors)
        return vectors

    @cached_property
    def _per_scale(self) -> Floats:
        return np.where(self.squares > 0.0, 1.0 / self.scale, 0.0)

    def squares_outside(self, total: Floats) -> Floats:
        """Return ‖W^½u‖² from that of the centered columns of X."""
        squares = total - (self.along[1:] ** 2).sum(axis=0)
        cancelled = np.flatnonzero(CONDITION_LIMIT * squares < total)  # digits were lost
        for places in np.split(cancelled, range(PANEL, len(cancelled), PANEL)):
            columns = self.outside(_columns(self.pieces, places, len(self.weights)))
            squares[places] = self.weights @ columns**2
        return squares


class SparseSpectrum(ColumnSpectrum):
    """Columns of U without a decomposition: models need only products with them.

    Fitted values and responses are compared along the response alone.

    Parameters
    ----------
    columns : SparseColumns
        The columns.
    left : ndarray of shape (n, m)
        W times columns with the span of the response outside S, orthonormal under the weights.
    """

    def inverse_diagonal(self) -> None:
        """Return None: not computed for sparse columns."""

    def __init__(self, columns: SparseColumns, left: Floats) -> None:
        vars(self).update(scale=columns.scale, _columns=columns, _left=left)

    @property
    def rank(self) -> int:
        """Number of columns with variance, taken as independent; at most that of the rows."""
        n, s = self._columns.span.shape
        return min(int(np.count_nonzero(self._columns.squares)), n - s)

    def quadratic(self, coefficients: Floats) -> Floats:
        """‖Ub‖² for original-scale coefficients b (last axis)."""
        squares = self._columns.weights @ self._fitted(coefficients) ** 2
        return np.asarray(squares).reshape(coefficients.shape[:-1])


def _columns(pieces: tuple[Numbers, ...], places: Integers, n_rows: int) -> Floats:
    """Write some columns out."""
    blocks, start = [np.empty((n_rows, 0))], 0
    for piece in pieces:
        local = places[(places >= start) & (places < start + piece.width)] - start
        part: Any = piece.values[:, local]
        blocks.append(part if isinstance(piece, Slab) else part.toarray())
        start += piece.width
    return np.hstack(blocks)
