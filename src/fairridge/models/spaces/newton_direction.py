"""Newton steps of a model with many sparse columns, by conjugate gradients.

At a model in features, whose intercept and α are a minimum, a step of the full model solves

    (VᵀCV − VᵀCT(TᵀCT + K)⁻¹TᵀCV + 2λ₂I)Δ = −g,  g = Vᵀd + 2λ₂γ,

with d and C the derivatives of the deviance in the linear predictors of each row, T
the columns of intercept and α, and K the curvature of the penalty on these: they move
with γ, and are eliminated. No matrix is formed but that of T.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.models.spaces.sparse_columns import SparseColumns
from fairridge.solvers.conjugate_gradients import conjugate_gradients


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

    def gradient(self) -> Floats:
        """Return g, of shape (p, m)."""
        return self.columns.transposed(self.slope) + 2.0 * self.ridge * self.gamma

    def diagonal(self) -> Floats:
        """Return about the diagonal of the system: as if all rows had the mean curvature."""
        columns = self.columns
        mean = np.einsum("naa->a", self.curvature) / columns.weights.sum()
        squares = columns.squares / columns.scale**2
        return squares[:, None] * mean + 2.0 * self.ridge

    def newton_step(self, gradient: Floats, *, tol: float, most: int) -> tuple[Floats, int]:
        """Return Δ, of shape (p, m), and how many products with V and Vᵀ it took."""
        eliminate = self._eliminate()

        def product(direction: Floats) -> Floats:
            along = self._curved(self.columns.times(direction))
            along = self.columns.transposed(along - eliminate(along))
            along += 2.0 * self.ridge * direction
            return along

        return conjugate_gradients(product, -gradient, self.diagonal(), tol=tol, most=most)

    def _eliminate(self) -> Callable[[Floats], Floats]:
        """Return the map from Cx to CT(TᵀCT + K)⁻¹TᵀCx."""
        m, t = self.curvature.shape[1], len(self.penalty)
        T = self.columns.span[:, :t]
        system = np.empty((t, m, t, m))
        for a in range(m):
            for b in range(m):
                system[:, a, :, b] = T.T @ (self.curvature[:, a, b, None] * T)
        system = system.reshape(t * m, t * m) + np.kron(self.penalty, np.eye(m))
        inverse = np.linalg.pinv(system, hermitian=True)

        def eliminate(along: Floats) -> Floats:
            moved = inverse @ (T.T @ along).ravel()
            return self._curved(T @ moved.reshape(t, m))

        return eliminate

    def _curved(self, x: Floats) -> Floats:
        """Cx for one vector of linear predictors per row."""
        if x.shape[1] == 1:
            return self.curvature[:, 0] * x
        return np.einsum("nab,nb->na", self.curvature, x)
