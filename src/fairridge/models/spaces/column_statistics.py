"""Statistics of columns that are too many for a matrix of their products, and S as a basis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Piece, Slab, SparseSlab
from fairridge.engines import MemoryEngine, column_blocks
from fairridge.models.basis import FairBasis, rounding_noise, scale_of
from fairridge.solvers.spectrum import Spectrum, spectrum_of


@dataclass(frozen=True)
class ColumnStatistics:
    """What is known of all columns [S, X, y] before X is decorrelated, and S as a basis."""

    weight: float  # sum of the weights
    root_weight: Floats  # their square roots, of shape (n, 1)
    # Means, Σ w(z − mean)², standard deviations, and what rounding contributes, relative to these.
    mean: Floats
    squares: Floats
    scale: Floats
    noise: Floats
    sensitive: Spectrum
    span: Floats  # orthonormal columns with the span of W^½[1, S], of shape (n, 1 + rank)
    standardize: bool  # whether penalties see columns divided by their standard deviations

    def decorrelated(
        self, place: slice, outside: Floats, along: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return squares and scale of some columns of U, and what rounding contributes to V."""
        # As in `fair_basis`, what S explains of a column up to rounding, of X and of S, counts as
        # explained, since its coefficient would be made of rounding. Its squares are zero.
        # `outside` is ‖W^½u‖² of the columns, and `along` their products with the span of S.
        to_B = self.sensitive.to_orthonormal
        q = len(to_B)
        X = slice(q + place.start, q + place.stop)
        unit = self.scale[X]
        spread, total = (
            np.sqrt(np.maximum(squares, 0.0) / self.weight) / unit
            for squares in (outside, self.squares[X])
        )
        from_sensitive = (self.noise * self.scale)[:q] @ np.abs(to_B @ along) / unit
        noise = self.noise[X] + from_sensitive
        used = spread > noise * np.maximum(total, 1.0)
        scale = np.where(used, spread, 1.0) * unit if self.standardize else np.ones(len(unit))
        return np.where(used, outside, 0.0), scale, used * noise * unit / scale

    def basis(
        self, targets: Floats, predictors: Spectrum, left: Floats, along: Floats
    ) -> FairBasis:
        """Return S and U, given orthonormal columns that the response is projected on."""
        q, last = len(self.sensitive.scale), len(self.mean) - targets.shape[1]
        response, P = (targets - self.mean[last:]) * self.root_weight, self.span[:, 1:]
        on_sensitive = P.T @ response
        response -= P @ on_sensitive
        on_predictors = left.T @ response
        rest = response - left @ on_predictors
        return FairBasis(
            weight=self.weight,
            center_sensitive=self.mean[:q],
            center_predictors=self.mean[q:last],
            center_targets=self.mean[last:],
            B=self.sensitive.to_orthonormal @ along,
            sensitive=self.sensitive,
            predictors=predictors,
            on_sensitive=on_sensitive,
            on_predictors=on_predictors,
            residual=rest.T @ rest,
        )


def read_columns(engine: MemoryEngine, *, standardize: bool) -> ColumnStatistics:
    """Read the columns once, and decompose S."""
    rows, weights, q = engine.rows, engine.weights, engine.n_sensitive
    total = float(weights.sum())
    mean, squares = column_statistics((*rows.columns, Slab(rows.targets)), weights)
    # A column of zeros alone has a square of zero, and needs no check.
    engine.require_numbers(np.where((squares == 0.0) & (mean == 0.0), 1.0, squares))
    scale = scale_of(squares, mean, total)
    noise, root = rounding_noise(mean, scale), np.sqrt(weights)[:, None]
    S = np.empty((engine.n_rows, q))
    for columns, block in column_blocks(rows.sensitive, engine.n_rows, mean[:q]):
        S[:, columns] = block
    Q, R = np.linalg.qr(S * root)
    unit = scale[:q] if standardize else np.ones(q)
    sensitive, P, _ = spectrum_of(R, unit, noise[:q], scale[:q])
    span = np.hstack([root / np.sqrt(total), Q @ P])
    return ColumnStatistics(total, root, mean, squares, scale, noise, sensitive, span, standardize)


def column_statistics(pieces: Sequence[Piece], weights: Floats) -> tuple[Floats, Floats]:
    """Return mean and Σ w(z − mean)² of every column."""
    parts = [np.empty((2, 0))]
    with np.errstate(over="ignore", invalid="ignore"):
        for is_sparse, run in groupby(pieces, lambda piece: isinstance(piece, SparseSlab)):
            alike = list(run)
            if is_sparse:
                parts += [_of_sparse(piece, weights) for piece in alike]
            else:
                parts.append(_of_dense(alike, weights))
    mean, squares = np.hstack(parts)
    return mean, squares


def _of_dense(pieces: Sequence[Piece], weights: Floats) -> Floats:
    """Return mean and Σ w(z − mean)² of columns that are written out, some at a time."""
    weight = weights.sum()
    out = np.empty((2, sum(piece.width for piece in pieces)))
    mean, squares = out
    for columns, block in column_blocks(pieces, len(weights)):
        # Less its first row a constant column is zero, with a spread of exactly zero.
        mean[columns] = block[0]
        block -= mean[columns]
        for _ in range(2):  # a first row far from the others would cost digits
            step = weights @ block / weight
            mean[columns] += step
            block -= step
        squares[columns] = weights @ np.square(block, out=block)
    return out


def _of_sparse(piece: Any, weights: Floats) -> Floats:
    """Return mean and Σ w(z − mean)²; the zeros of a column add one term."""
    values, total = piece.values, float(weights.sum())
    mean = values.T @ weights / total
    each = np.repeat(weights, np.diff(values.indptr))
    stored = np.bincount(values.indices, each, piece.width)
    each *= (values.data - mean[values.indices]) ** 2
    squares = np.bincount(values.indices, each, piece.width) + (total - stored) * mean**2
    return np.stack([mean, squares])
