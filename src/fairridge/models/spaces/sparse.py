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
from fairridge.models.spaces.column_statistics import read_columns
from fairridge.models.spaces.compressed import FeatureSpace, of_features
from fairridge.models.spaces.sparse_columns import Numbers, SparseColumns, SparseSpectrum
from fairridge.solvers.spectrum import COLLINEARITY_TOLERANCE, LENGTH_TOLERANCE


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
        basis = replace(
            of_features(self.original, sizes),
            on_predictors=on_features,
            residual=rest.T @ (weight * rest),
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
    # Q begins empty; searches add directions until they suffice (`SparseFeatures.grown`).
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
