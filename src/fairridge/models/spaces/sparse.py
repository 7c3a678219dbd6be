"""Many sparse predictors: the model in a few features, which grow until they suffice.

With a ridge on γ = Dβ, the minimum over all γ is the minimum over those in the span
of any orthonormal directions Q that contain it. Then features F = VQ with a plain
ridge are the same model, as in `compressed`, whatever the definition of fairness and
the penalty on α. Q begins empty. The full gradient at the model in features shows
whether γ lies in its span; if it does not, a Newton step of the full model is
one more direction. So a gaussian model, whose β is the same at every λ, has one
feature, and others have several.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Indicators, Slab
from fairridge.engines import MemoryEngine
from fairridge.models.basis import FairBasis, rounding_noise, scale_of
from fairridge.models.spaces.compressed import (
    FeatureSpace,
    column_statistics,
    explained_share,
    of_features,
    sensitive_basis,
)
from fairridge.models.spaces.sparse_columns import Numbers, SparseColumns, SparseSpectrum
from fairridge.solvers.spectrum import COLLINEARITY_TOLERANCE, LENGTH_TOLERANCE, Spectrum


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
        """Return features with more directions, of shape (p, c).

        Of steps that are nearly parallel only what they have in common is added.
        """
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
        basis = of_features(self.original, sizes)
        basis = replace(
            basis,
            on_predictors=on_features,
            residual=rest.T @ (weight * rest),
            rank_of_columns=self.original.predictors.rank,
        )
        engine = self.whole.with_predictors(values)
        return replace(self, engine=engine, basis=basis, directions=Q)


def sparse_features(engine: MemoryEngine, *, standardize: bool) -> SparseFeatures:
    """Decorrelate sparse predictors from S; no features yet.

    Parameters
    ----------
    engine : MemoryEngine
        The rows.
    standardize : bool
        Whether penalties see columns of S and U divided by their standard deviations.
    """
    rows, weights = engine.rows, engine.weights
    total = float(weights.sum())
    mean_S, squares_S = column_statistics(rows.sensitive, weights)
    scale_S = scale_of(squares_S, mean_S, total)
    noise_S = rounding_noise(mean_S, scale_S)
    sensitive, P = sensitive_basis(engine, mean_S, scale_S, noise_S, standardize=standardize)
    # H: columns with the span of [1, S] that are orthonormal under the weights. P has them for
    # W^½S, so that the root of the weights is divided out.
    root = np.sqrt(weights)[:, None]
    span = np.hstack([np.full_like(root, 1.0 / np.sqrt(total)), P / root])
    span = np.asfortranarray(span)  # products with a few long columns take half the time

    pieces, mean, squares = _centered(engine)
    # A column of zeros alone has a square of zero, and needs no check.
    checked = np.where((squares == 0.0) & (mean == 0.0), 1.0, squares)
    of_targets = column_statistics([Slab(rows.targets)], weights)[1]
    engine.require_numbers(np.concatenate([squares_S, checked, of_targets]))
    columns, B = _decorrelated(
        pieces, weights, span, sensitive, noise_S * scale_S, mean, squares, standardize=standardize
    )

    # U has no decomposition to project the response on. It is compared only along the response,
    # so that an orthonormal basis of its part outside [1, S] stands for the left singular
    # vectors; nothing of the response is outside its own span, and the residual is zero.
    center = weights @ rows.targets / total
    response = rows.targets - center
    targets = columns.outside(response)
    left, on_left = np.linalg.qr(targets * root)
    original = FairBasis(
        weight=total,
        center_sensitive=mean_S,
        center_predictors=mean,
        center_targets=center,
        B=B,
        sensitive=sensitive,
        predictors=SparseSpectrum(columns, left / root),
        on_sensitive=P.T @ (response * root),
        on_predictors=on_left,
        residual=np.zeros((targets.shape[1], targets.shape[1])),
        explained=explained_share(columns.squares, squares),
    )
    # Q begins empty; searches add directions until they suffice (`SparseFeatures.grown`).
    none = np.zeros((len(mean), 0))
    empty = SparseFeatures(engine, original, engine, original, columns, none, targets)
    return empty._in_features(none, np.zeros((rows.n_rows, 0)))


def _decorrelated(
    pieces: tuple[Numbers, ...],
    weights: Floats,
    span: Floats,
    sensitive: Spectrum,
    noise_S: Floats,
    mean: Floats,
    squares: Floats,
    *,
    standardize: bool,
) -> tuple[SparseColumns, Floats]:
    """Return V, and B; see `sparse_features`. `noise_S` is in the units of S."""
    total, ones = float(weights.sum()), np.ones(len(mean))
    # A = HᵀWX needs products with X alone, so that it is found before scale and squares.
    columns = SparseColumns(pieces, weights, span, np.empty((0, 0)), ones, ones)
    columns = replace(columns, along=columns.products(span * weights[:, None]).T)
    outside = columns.squares_outside(squares)
    unit = scale_of(squares, mean, total)
    # The first row of A belongs to the constant; the others are along S, in its singular basis.
    to_B = sensitive.vectors / np.sqrt(sensitive.eigenvalues) / sensitive.scale[:, None]
    B = to_B @ columns.along[1:]
    # As in `fair_basis`: what S explains of a column up to rounding, of X and of S, counts as
    # explained, since its coefficient would be made of rounding. Its squares are set to zero.
    noise = rounding_noise(mean, unit) + noise_S @ np.abs(B) / unit
    spread = np.sqrt(np.maximum(outside, 0.0) / total) / unit
    used = spread > noise * np.maximum(np.sqrt(squares / total) / unit, 1.0)
    scale = np.where(used, spread, 1.0) * unit if standardize else ones
    return replace(columns, scale=scale, squares=np.where(used, outside, 0.0)), B


def _centered(engine: MemoryEngine) -> tuple[tuple[Numbers, ...], Floats, Floats]:
    """Return the predictors, dense ones centered, and mean and Σ w(x − mean)² of each."""
    weights = engine.weights
    centered: list[tuple[Numbers, Floats, Floats]] = []
    for piece in engine.rows.predictors:
        assert not isinstance(piece, Indicators)
        mean, squares = column_statistics([piece], weights)
        dense = isinstance(piece, Slab)
        centered.append((Slab(piece.values - mean) if dense else piece, mean, squares))
    means, scatters = (np.concatenate([part[k] for part in centered]) for k in (1, 2))
    return tuple(part[0] for part in centered), means, scatters
