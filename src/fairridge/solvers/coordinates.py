"""Coordinates in which a generalized linear model is penalized and solved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairridge.engines import GLMSums
from fairridge.solvers.basis import FairBasis

__all__ = ["Coordinates"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


@dataclass(frozen=True)
class Coordinates:
    """θ: for each linear predictor its level at the column means, then standardized S and U.

    Where S or U is collinear the coordinates are those of its singular basis,
    which makes every answer the minimum-norm one. Raw-space sums over rows are
    changed to θ here: the gradient by Mᵀg, the Hessian by MᵀHM.

    Attributes
    ----------
    basis : FairBasis
        S and U in small matrices.
    n_predictors : int
        Linear predictors, m.
    by_column : bool
        Whether S must keep a coordinate per column, as absolute values require.
    """

    basis: FairBasis
    n_predictors: int
    by_column: bool

    @cached_property
    def sensitive(self) -> Floats:
        """α per coordinate of S, of shape (q, a)."""
        S = self.basis.sensitive
        whole = self.by_column or S.rank == len(S.scale)
        return (np.eye(len(S.scale)) if whole else S.vectors) / S.scale[:, None]

    @cached_property
    def predictors(self) -> Floats:
        """β per coordinate of U, of shape (p, b)."""
        U = self.basis.predictors
        whole = U.rank == len(U.scale)
        return (np.eye(len(U.scale)) if whole else U.vectors) / U.scale[:, None]

    @cached_property
    def to_raw(self) -> Floats:
        """M: level and raw coefficients of [S, X] per coordinate of one linear predictor."""
        (q, a), (p, b) = self.sensitive.shape, self.predictors.shape
        out = np.zeros((1 + q + p, 1 + a + b))
        out[0, 0] = 1.0
        out[1 : 1 + q, 1 : 1 + a] = self.sensitive
        out[1 : 1 + q, 1 + a :] = -self.basis.B @ self.predictors
        out[1 + q :, 1 + a :] = self.predictors
        return out

    @property
    def shape(self) -> tuple[int, int]:
        """Linear predictors, and coordinates of each."""
        return self.n_predictors, self.to_raw.shape[1]

    @cached_property
    def of_level(self) -> Integers:
        """Positions of the levels in θ."""
        m, width = self.shape
        return np.arange(m, dtype=np.intp) * width

    @cached_property
    def of_sensitive(self) -> Integers:
        """Positions of the coordinates of S in θ."""
        first = np.arange(1, 1 + self.sensitive.shape[1], dtype=np.intp)
        return np.concatenate([start + first for start in self.of_level])

    def raw(self, theta: Floats) -> Floats:
        """Level at the means and raw coefficients, one row per linear predictor."""
        return theta.reshape(self.shape) @ self.to_raw.T

    def theta(self, raw: Floats) -> Floats:
        """Return the θ nearest to given levels and raw coefficients."""
        return (raw @ np.linalg.pinv(self.to_raw).T).ravel()

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Level, α and β, one row per row of θ."""
        level, a, b = np.split(theta, [1, 1 + self.sensitive.shape[1]], axis=1)
        return level[:, 0], a @ self.sensitive.T, b @ self.predictors.T

    def derivatives(self, sums: GLMSums) -> tuple[Floats, Floats | None]:
        """Gradient and Hessian in θ."""
        gradient = (sums.gradient @ self.to_raw).ravel()
        if sums.hessian is None:
            return gradient, None
        M, size = self.to_raw, len(gradient)
        hessian = np.einsum("ij,aibk,kl->ajbl", M, sums.hessian, M, optimize=True)
        return gradient, hessian.reshape(size, size)

    def penalty(self, sensitive: Floats, predictor_penalty: float) -> Floats:
        """Matrix of the quadratic penalty on θ: αᵀ(sensitive)α + predictor_penalty·‖β‖²."""
        m, width = self.shape
        a = self.sensitive.shape[1]
        A = self.sensitive * self.basis.sensitive.scale[:, None]
        Q = np.zeros((width, width))
        Q[1 : 1 + a, 1 : 1 + a] = A.T @ sensitive @ A
        Q[1 + a :, 1 + a :] = predictor_penalty * np.eye(width - 1 - a)
        return np.kron(np.eye(m), Q).astype(np.float64, copy=False)
