"""Many sparse predictors: the model in a few features, which grow until they suffice.

U = X − 1x̄ᵀ − (S − s̄)B is dense even if X is sparse. But with H, columns that span
[1, S] and are orthonormal under the weights W, it is

    U = X − HA,  A = HᵀWX,

so that a product with U is one with X and a correction of rank 1 + q.

With a ridge on γ = Dβ, the minimum over all γ is the minimum over those in the span
of any orthonormal directions Q that contain it. Then features F = VQ with a plain
ridge are the same model, as in `compressed`, whatever the definition of fairness and
the penalty on α. Q begins empty. The full gradient at the model in features shows
whether γ lies in its span; if it does not, a Newton step of the full model is
one more direction. So a gaussian model, whose β is the same at every λ, has one
feature, and others have several.

At a model in features, whose intercept and α are a minimum, a step of the full model solves

    (VᵀCV − VᵀCT(TᵀCT + K)⁻¹TᵀCV + 2λ₂I)Δ = −g,  g = Vᵀd + 2λ₂γ,

with d and C the derivatives of the deviance in the linear predictors of each row, T
the columns of intercept and α, and K the curvature of the penalty on these: they move
with γ, and are eliminated. Conjugate gradients form no matrix but that of T.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from fairridge._typing import Floats, Integers
from fairridge.data import Indicators, Slab, SparseSlab
from fairridge.engines import MemoryEngine
from fairridge.models.spaces.column_statistics import read_columns
from fairridge.models.spaces.compressed import ColumnSpectrum, FeatureSpace, of_features
from fairridge.solvers.spectrum import (
    COLLINEARITY_TOLERANCE,
    CONDITION_LIMIT,
    LENGTH_TOLERANCE,
    PANEL,
)

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
    """Columns of U without a decomposition: models need only products with them."""

    # Fitted values and responses are compared along the response alone.

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


@dataclass(frozen=True)
class SparseFeatures(FeatureSpace):
    """Features of sparse predictors, and the map back to the columns."""

    columns: SparseColumns  # V
    directions: Floats  # Q, of shape (p, k)
    targets: Floats  # the response outside [1, S], of shape (n, m)

    def expand(self, delta: Floats) -> Floats:
        """Return β = D⁻¹Qδ for coefficients δ of the features (last axis)."""
        return delta @ self.directions.T / self.columns.scale

    def grown(self, more: Floats) -> SparseFeatures:
        """Return features with more directions, of shape (p, c)."""
        # Of steps that are nearly parallel only what they have in common is added.
        Q = self.directions
        for _ in range(2):  # twice is enough for orthogonality
            more = more - Q @ (Q.T @ more)
        new, lengths, _ = np.linalg.svd(more, full_matrices=False)
        new = new[:, lengths > COLLINEARITY_TOLERANCE * lengths[0]]
        values: Floats = np.asarray(self.engine.rows.predictors[0].values)  # type: ignore[union-attr]
        values = np.hstack([values, self.columns.outside(self.columns.times(new))])
        features = self._in_features(np.hstack([Q, new]), values)
        features.engine.passes = self.engine.passes + 1
        return features

    def _in_features(self, Q: Floats, values: Floats) -> SparseFeatures:
        """Turn directions so that the features VQ are orthogonal to each other."""
        weight = self.columns.weights[:, None]
        variances, turn = np.linalg.eigh(values.T @ (weight * values))
        variances, turn = variances[::-1], turn[:, ::-1]
        kept = variances > LENGTH_TOLERANCE**2 * variances.max(initial=0.0)
        values, Q, sizes = values @ turn[:, kept], Q @ turn[:, kept], np.sqrt(variances[kept])
        on_features = (values / sizes).T @ (weight * self.targets)
        rest = self.targets - (values / sizes) @ on_features
        basis = replace(
            of_features(self.original, sizes),
            on_predictors=on_features,
            residual=rest.T @ (weight * rest),
        )
        engine = self.whole.with_predictors(values)
        return replace(self, engine=engine, basis=basis, directions=Q)


def sparse_features(engine: MemoryEngine, *, standardize: bool) -> SparseFeatures:
    """Decorrelate sparse predictors from S; no features yet."""
    known, weights = read_columns(engine, standardize=standardize), engine.weights
    X = slice(engine.n_sensitive, len(engine.names))
    mean, squares = known.mean[X], known.squares[X]
    # H: columns with the span of [1, S] that are orthonormal under the weights.
    span = known.span / known.root_weight
    span = np.asfortranarray(span)  # products with a few long columns take half the time
    pieces, ones = _centered(engine, mean), np.ones(len(mean))
    # A = HᵀWX needs products with X alone, so that it is found before scale and squares.
    columns = SparseColumns(pieces, weights, span, np.empty((0, 0)), ones, ones)
    columns = replace(columns, along=columns.products(span * weights[:, None]).T)
    # The first row of A belongs to the constant.
    outside, along = columns.squares_outside(squares), columns.along[1:]
    squares, scale, _ = known.decorrelated(slice(0, len(mean)), outside, along)
    columns = replace(columns, scale=scale, squares=squares)

    # U has no decomposition to project the response on. It is compared only along the response,
    # so that an orthonormal basis of its part outside [1, S] stands for the left singular vectors.
    targets = columns.outside(engine.rows.targets - known.mean[len(engine.names) :])
    left = np.linalg.qr(targets * known.root_weight)[0]
    spectrum = SparseSpectrum(columns, left * known.root_weight)
    original = known.basis(engine.rows.targets, spectrum, left, along)
    none = np.zeros((len(mean), 0))
    empty = SparseFeatures(engine, original, engine, original, columns, none, targets)
    return empty._in_features(none, np.zeros((engine.n_rows, 0)))


def _centered(engine: MemoryEngine, mean: Floats) -> tuple[Numbers, ...]:
    """Return the predictors, dense ones centered."""
    centered: list[Numbers] = []
    start = 0
    for piece in engine.rows.predictors:
        assert not isinstance(piece, Indicators)
        here = mean[start : start + piece.width]
        centered.append(Slab(piece.values - here) if isinstance(piece, Slab) else piece)
        start += piece.width
    return tuple(centered)


@dataclass(frozen=True)
class SparseModel:
    """A model with m linear predictors at coefficients γ of V."""

    columns: SparseColumns  # V
    gamma: Floats  # γ, of shape (p, m)
    slope: Floats  # d, of shape (n, m)
    curvature: Floats  # C, of shape (n, m, m)
    ridge: float  # λ₂
    # Second derivatives of the penalty in the coefficients of the first t columns of the span
    # of [1, S], which are T, of shape (t, t).
    penalty: Floats

    @cached_property
    def gradient(self) -> Floats:
        """g, of shape (p, m)."""
        return self.columns.transposed(self.slope) + 2.0 * self.ridge * self.gamma

    @cached_property
    def diagonal(self) -> Floats:
        """About the diagonal of the system: as if all rows had their mean curvature."""
        columns = self.columns
        mean = np.einsum("naa->a", self.curvature) / columns.weights.sum()
        squares = columns.squares / columns.scale**2
        return squares[:, None] * mean + 2.0 * self.ridge

    @property
    def lacks(self) -> float:
        """About how long a Newton step is, relative to γ."""
        return relative_length(self.gradient / self.diagonal, self.gamma)

    def newton_step(self, *, tol: float, most: int) -> tuple[Floats, int]:
        """Return Δ, of shape (p, m), and how many products with V and Vᵀ it took."""
        # Conjugate gradients are preconditioned by the diagonal, and stop where the residual has
        # the length `tol`, relative to the gradient.
        (curved, inverse), unit, counts = self._of_span(), np.sqrt(self.diagonal), list[int]()

        def product(direction: Floats) -> Floats:
            counts.append(1)
            along = self._product(curved, inverse, direction.reshape(unit.shape) / unit)
            return (along / unit).ravel()

        system = LinearOperator((unit.size, unit.size), matvec=product, dtype=np.float64)
        step, _ = cg(system, -(self.gradient / unit).ravel(), rtol=tol, maxiter=most)
        return step.reshape(unit.shape) / unit, len(counts)

    def _of_span(self) -> tuple[Floats, Floats]:
        """Return HᵀCH of the span H of [1, S], and (TᵀCT + K)⁻¹, of shapes (sm, sm), (tm, tm)."""
        H, m, t = self.columns.span, self.curvature.shape[1], len(self.penalty)
        s = H.shape[1]
        pairs = np.empty((s, m, s, m))
        for a in range(m):
            for b in range(m):
                pairs[:, a, :, b] = H.T @ (self.curvature[:, a, b, None] * H)
        curved = pairs.reshape(s * m, s * m)
        system = curved[: t * m, : t * m] + np.kron(self.penalty, np.eye(m))
        return curved, np.linalg.pinv(system, hermitian=True)

    def _product(self, curved: Floats, inverse: Floats, direction: Floats) -> Floats:
        """Return the system times a direction."""
        # V = (X − HA)D⁻¹, and T are columns of H: what is subtracted along H, by V and by the
        # elimination of T, is found in small matrices, so that rows are read four times in all.
        columns, m = self.columns, direction.shape[1]
        product, along = columns.in_parts(direction)
        on_span = (columns.span.T @ self._curved(product)).ravel() - curved @ along.ravel()
        moved = inverse @ on_span[: len(inverse)]
        along.ravel()[: len(inverse)] += moved
        product -= columns.span @ along
        on_span -= curved[:, : len(inverse)] @ moved
        out = columns.from_parts(self._curved(product), on_span.reshape(-1, m))
        out += 2.0 * self.ridge * direction
        return out

    def _curved(self, x: Floats) -> Floats:
        """Cx for one vector of linear predictors per row."""
        if x.shape[1] == 1:
            return self.curvature[:, 0] * x
        return np.einsum("nab,nb->na", self.curvature, x)


def relative_length(step: Floats, gamma: Floats) -> float:
    """Return the length of a step, relative to where it ends."""
    length = float(np.linalg.norm(step))
    return length / max(float(np.linalg.norm(gamma + step)), length) if length > 0.0 else 0.0
