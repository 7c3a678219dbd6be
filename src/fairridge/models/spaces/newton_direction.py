"""Newton steps of a model with many sparse columns, by conjugate gradients.

At a model in features, whose intercept and α are a minimum, a step of the full model solves

    (VᵀCV − VᵀCT(TᵀCT + K)⁻¹TᵀCV + 2λ₂I)Δ = −g,  g = Vᵀd + 2λ₂γ,

with d and C the derivatives of the deviance in the linear predictors of each row, T
the columns of intercept and α, and K the curvature of the penalty on these: they move
with γ, and are eliminated. No matrix is formed but that of T.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from fairridge._typing import Floats
from fairridge.models.spaces.sparse_columns import SparseColumns


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
        """Return Δ, of shape (p, m), and how many products with V and Vᵀ it took.

        Conjugate gradients are preconditioned by the diagonal, and stop where the residual has
        the length `tol`, relative to the gradient.
        """
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
        """Return the system times a direction.

        V = (X − HA)D⁻¹, and T are columns of H: what is subtracted along H, by V and by the
        elimination of T, is found in small matrices, so that rows are read four times in all.
        """
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
