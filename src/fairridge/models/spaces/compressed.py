"""More predictors than rows: the same model in as many features as U has rank.

A penalty on β sees γ = Dβ, with D the scale of U's columns, and the rows see
Uβ = Vγ with V = UD⁻¹. Whatever the family, the definition of fairness and the
penalty on α, the γ of smallest norm with given Vγ is in the span of V's rows.
With the singular value decomposition of the weighted columns,

    W^½V = E diag(s) Qᵀ,

that is γ = Qδ: features F = W^−½ E diag(s) with a plain ridge, Fδ = Vγ and
‖δ‖ = ‖γ‖. They are orthogonal to S already. Q is never written out: it is
VᵀW^½E/s, so that β = D⁻¹VᵀW^½(E/s)δ takes one sweep over the columns.

E and s come from the n × n matrix G = W^½VVᵀW^½, which costs least but squares
the condition number: rounding moves its eigenvalues s² by about n·eps·s₁². With
γ = VᵀW^½(G + λ₂I)⁻¹W^½y that costs as many digits as G + λ₂I is ill-conditioned,
so that a penalty makes up for small eigenvalues. A QR decomposition of Vᵀ, block
by block, serves if this is too much, and if G does not show whether an
eigenvalue is zero: a direction with s = 10⁻⁸s₁ adds next to nothing to the
fitted values, s²/(s² + λ₂), but to γ it adds s/(s² + λ₂).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.data import Piece
from fairridge.engines import MemoryEngine, column_blocks, triangular_factor
from fairridge.models.basis import FairBasis
from fairridge.models.fit import Fit
from fairridge.models.spaces.base import Space
from fairridge.models.spaces.column_statistics import ColumnStatistics, read_columns
from fairridge.solvers.spectrum import (
    CONDITION_LIMIT,
    EPS,
    LENGTH_TOLERANCE,
    Spectrum,
    dependent_columns,
)


@dataclass(frozen=True)
class FeatureSpace(Space, ABC):
    """Features F of the predictors, and the map back to the columns that they are made of."""

    compressed = True

    engine: MemoryEngine
    whole: MemoryEngine  # the rows with all their columns
    original: FairBasis  # S and U

    all_columns = delegated("whole")
    reported = delegated("original")

    def ridge(self, coordinates: Any) -> Floats:
        """Return ‖α‖² + ‖β‖² of columns as penalties see them: features have the same length."""
        columns = np.eye(len(self.basis.center_sensitive))
        form: Floats = coordinates.apart(coordinates.penalty(columns, 1.0))
        return form

    @abstractmethod
    def expand(self, delta: Floats) -> Floats:
        """Return β for coefficients δ of the features (last axis)."""

    def raw_in_columns(self, raw: Floats) -> Floats:
        """Bring raw coefficients of [S, F], which are (α, δ), to [S, X] (last axis)."""
        alpha, delta = np.split(raw, [len(self.original.center_sensitive)], axis=-1)
        return self.original.raw_coefficients(alpha, self.expand(delta))

    def in_columns(self, fits: Sequence[Fit], unconstrained: Callable[[], Fit]) -> list[Fit]:
        """Return models of S and U for models of S and F, in one sweep over the columns."""
        betas = self.expand(np.array([fit.beta for fit in fits]))
        return [
            replace(
                fit,
                beta=beta,
                basis=self.original,
                engine=self.whole,
                unconstrained=unconstrained,
                features=fit,
            )
            for fit, beta in zip(fits, betas, strict=True)
        ]


@dataclass(frozen=True)
class Compression(FeatureSpace):
    """As many features as U has rank."""

    columns: WideColumns  # W^½V
    directions: Floats  # E/s, of shape (n, rank)

    def expand(self, delta: Floats) -> Floats:
        """Return β = D⁻¹Qδ for coefficients δ of the features (last axis)."""
        before, scale = delta.shape[:-1], self.columns.scale
        flat = delta.reshape(int(np.prod(before)), delta.shape[-1]).T
        gamma = self.columns.transposed(self.directions @ flat)
        values = np.sqrt(self.basis.predictors.eigenvalues)[:, None]
        # Of columns in different units E is not exact, and Vγ may miss Fδ.
        exact = (values**2 * CONDITION_LIMIT >= values.max(initial=0.0) ** 2).all()
        for _ in range(0 if exact else 2):
            missed = (self.directions * values.T).T @ self.columns.times(gamma) - values * flat
            lengths = np.linalg.norm(values * flat, axis=0)
            seen = np.linalg.norm(missed, axis=0) > LENGTH_TOLERANCE * lengths
            if not seen.any():
                break
            gamma -= self.columns.transposed(self.directions @ np.where(seen, missed / values, 0.0))
        return (gamma.T / scale).reshape(*before, len(scale))


def compress(engine: MemoryEngine, *, standardize: bool, predictor_penalty: float) -> Compression:
    """Replace predictors by as many features as U has rank."""
    known = read_columns(engine, standardize=standardize)
    X = slice(engine.n_sensitive, len(engine.names))
    columns = WideColumns(
        engine.rows.predictors,
        known.root_weight,
        known.span,
        known.mean[X],
        known.scale[X],
        known.squares[X],
    )
    columns, along, rounding, gram = _measured(columns, known)
    left, values = _singular(columns, gram, rounding * np.sqrt(known.weight), predictor_penalty)
    spectrum = WideSpectrum(columns, left, values)
    original = known.basis(engine.rows.targets, spectrum, left, along)
    features = engine.with_predictors(left * values / known.root_weight)
    features.passes = 2  # over the columns: their statistics, and G
    basis = of_features(original, values)
    return Compression(features, basis, engine, original, columns, left / values)


def _measured(
    columns: WideColumns, known: ColumnStatistics
) -> tuple[WideColumns, Floats, Floats, Floats]:
    """Replace scale and squares of X by those of U."""
    # A column that is in the span of S up to rounding has squares of zero.
    # Also returned are PᵀW^½X (rank, p), what rounding contributes to each column of V (p,), and
    # W^½VVᵀW^½ (n, n).
    squares, scale, rounding = np.empty((3, len(columns.center)))
    n, along = len(columns.span), np.empty((columns.span.shape[1] - 1, len(scale)))
    gram = np.zeros((n, n))
    for place, block in column_blocks(columns.pieces, n, columns.center):
        outside, products = decorrelated(block, columns.root_weight, columns.span)
        along[:, place], squares_U = products[1:], np.einsum("ij,ij->j", outside, outside)
        squares[place], scale[place], rounding[place] = known.decorrelated(
            place, squares_U, products[1:]
        )
        outside *= (squares[place] > 0.0) / scale[place]
        gram += outside @ outside.T
    return replace(columns, scale=scale, squares=squares), along, rounding, gram


def _singular(
    columns: WideColumns, gram: Floats, rounding: Floats, penalty: float
) -> tuple[Floats, Floats]:
    """Return E and s, largest first, without directions that are nothing but rounding."""
    n, span = len(gram), columns.span
    most = min(n - span.shape[1], int(np.count_nonzero(columns.squares)))
    if most <= 0:
        return np.zeros((n, 0)), np.zeros(0)
    # G has no part along the span; below zero it cannot be mixed up with small eigenvalues.
    gram -= gram.trace() / most * span @ span.T
    eigenvalues, left = scipy.linalg.eigh(gram, overwrite_a=True, check_finite=False)
    eigenvalues, left = np.maximum(eigenvalues[::-1], 0.0), left[:, ::-1]
    largest, smallest = eigenvalues[0], eigenvalues[most - 1]
    well = largest + penalty <= CONDITION_LIMIT * (smallest + penalty)
    if well and smallest > n * EPS * largest:
        return left[:, :most], np.sqrt(eigenvalues[:most])
    factor = np.zeros((0, n))
    for _, block in columns.blocks(fewest=n // 2):
        factor = triangular_factor(np.vstack([factor, block.T]))
    _, values, right = np.linalg.svd(factor, full_matrices=False)
    values, right = values[:most], right[:most]
    kept = values > _rounding_along(columns, right, values, rounding)
    # Rounding of large columns has a part along the span, and small directions have it, too.
    left = right[kept].T
    return left - span @ (span.T @ left), values[kept]


def _rounding_along(
    columns: WideColumns, right: Floats, values: Floats, rounding: Floats
) -> Floats:
    """Return what rounding of the columns contributes to singular directions."""
    # A direction is judged by the columns in it, each in units of its own, so that columns in large
    # units do not hide those in small ones. That there are many columns, whose rounding adds up in
    # the largest direction, counts as it does for few of them, where that direction's size is the
    # yardstick.
    squares, size = np.zeros(len(values)), np.where(values > 0.0, values, 1.0)
    for place, block in columns.blocks():
        shares = (right @ block) / size[:, None]
        squares += shares**2 @ rounding[place] ** 2
    along: Floats = np.sqrt(squares * np.count_nonzero(rounding))
    # A singular value of zero has no direction in the columns.
    return np.where(values > 0.0, along, np.inf)


def of_features(original: FairBasis, values: Floats) -> FairBasis:
    """Return the basis of S and the features, which are orthogonal to S and to each other."""
    q, k = len(original.center_sensitive), len(values)
    return replace(
        original,
        center_predictors=np.zeros(k),
        B=np.zeros((q, k)),
        predictors=Spectrum(values**2, np.eye(k), np.ones(k), ()),
    )


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
    """Wide columns in their singular basis; its p × rank vectors are computed on first use."""

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
