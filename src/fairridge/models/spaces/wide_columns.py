"""More columns than rows, in blocks, and their singular basis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Piece
from fairridge.engines import column_blocks
from fairridge.solvers.spectrum import Spectrum, dependent_columns


@dataclass(frozen=True)
class WideColumns:
    """W^½V of shape (n, p): weighted, decorrelated, scaled predictors, never written out."""

    pieces: tuple[Piece, ...]  # the encoded predictors
    root_weight: Floats  # square roots of the weights, of shape (n, 1)
    span: Floats  # orthonormal columns with the span of W^½[1, S], of shape (n, s)
    center: Floats  # means of X, of shape (p,)
    scale: Floats  # D, of shape (p,)
    squares: Floats  # ‖W^½u‖² of the columns u of U; zero if one is in the span of S, of shape (p,)

    def blocks(self, fewest: int = 64) -> Iterator[tuple[slice, Floats]]:
        """Yield W^½V, some columns at a time."""
        for place, block in column_blocks(self.pieces, len(self.span), self.center, fewest=fewest):
            outside, _ = decorrelated(block, self.root_weight, self.span)
            outside *= self._per_scale(place)
            yield place, outside

    def transposed(self, vectors: Floats) -> Floats:
        """VᵀW^½ times vectors of shape (n, m)."""
        out = np.empty((len(self.center), vectors.shape[1]))
        # The span is projected out of the vectors, which are few, instead of out of the columns.
        weighted = self._outside(vectors) * self.root_weight
        for place, block in column_blocks(self.pieces, len(self.span), self.center):
            out[place] = (block.T @ weighted) * self._per_scale(place)[:, None]
        return out

    def times(self, coefficients: Floats) -> Floats:
        """W^½V times coefficients of shape (p, m)."""
        out = np.zeros((len(self.span), coefficients.shape[1]))
        for place, block in column_blocks(self.pieces, len(self.span), self.center):
            out += block @ (coefficients[place] * self._per_scale(place)[:, None])
        return self._outside(out * self.root_weight)

    def _outside(self, vectors: Floats) -> Floats:
        for _ in range(2):  # twice is enough for orthogonality
            vectors = vectors - self.span @ (self.span.T @ vectors)
        return vectors

    def _per_scale(self, place: slice) -> Floats:
        return np.where(self.squares[place] > 0.0, 1.0 / self.scale[place], 0.0)


class ColumnSpectrum(Spectrum):
    """Columns of U that are known by their products, and a basis to compare responses along."""

    _columns: Any
    _left: Floats

    def squares(self) -> Floats:
        """‖u‖² of every column."""
        return np.asarray(self._columns.squares)

    def products(self, projection: Floats) -> Floats:
        """Uᵀy for a projection of y."""
        flat = projection[:, None] if projection.ndim == 1 else projection
        products = self._columns.transposed(self._left @ flat) * self.scale[:, None]
        return products.reshape(len(self.scale), *projection.shape[1:])

    def rotate(self, coefficients: Floats) -> Floats:
        """Fitted values Ub along the basis, for original-scale coefficients b (last axis)."""
        rotated = self._fitted(coefficients).T @ self._left
        return rotated.reshape(*coefficients.shape[:-1], self._left.shape[1])

    def _fitted(self, coefficients: Floats) -> Floats:
        flat = coefficients.reshape(-1, len(self.scale))
        return np.asarray(self._columns.times((flat * self.scale).T))


class WideSpectrum(ColumnSpectrum):
    """Wide columns in their singular basis; its p × rank vectors are computed on first use.

    Parameters
    ----------
    columns : WideColumns
        The columns.
    left : ndarray of shape (n, rank)
        E.
    values : ndarray of shape (rank,)
        s.
    """

    def __init__(self, columns: WideColumns, left: Floats, values: Floats) -> None:
        vars(self).update(eigenvalues=values**2, scale=columns.scale, _columns=columns, _left=left)

    @cached_property
    def vectors(self) -> Floats:
        """Q."""
        return np.asarray(self._columns.transposed(self._left / np.sqrt(self.eigenvalues)))

    @cached_property
    def dependent(self) -> tuple[int, ...]:
        """Columns that are constant, or linear combinations of the others."""
        blocks = (block for _, block in self._columns.blocks())
        return dependent_columns(blocks, len(self.scale), self.rank)


def decorrelated(block: Floats, root_weight: Floats, span: Floats) -> tuple[Floats, Floats]:
    """Weight columns and project the span out; return the residuals, and products with the span."""
    block *= root_weight
    products = span.T @ block
    inside, total = (products**2).sum(axis=0), np.einsum("ij,ij->j", block, block)
    block -= span @ products
    if (inside > 0.5 * total).any():  # the residuals may not be orthogonal yet
        more = span.T @ block
        block -= span @ more
        products += more
    return block, products
