"""What S explains of numbers that a model predicts: its linear predictors, or its means.

With c_k = 1 for the rows in which number f_k(θ) counts, and means m_k and f̄_k
over those,

    Q = Σ_k A_kᵀS_k⁻¹A_k,   A_k = E[c_k(s − m_k)f_k],   S_k = E[c_k(s − m_k)(s − m_k)ᵀ],
    R² = Q/V,               V = Σ_k E[c_k(f_k − f̄_k)²].

With b = S⁻¹A, h = c(s − m)ᵀb, f̃ = c(f − f̄), f′ the derivative in η and
J = E[c(s − m)f′zᵀ], a row adds

    h f′z − h E[c f′z]/E[c] + JᵀS⁻¹c(s − m)(f̃ − h)     to ½ ∂Q/∂θ,
    2hf̃ − h² to Q, and f̃² to V.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.families.sums import RowMeans
from fairridge.inference.rows import RowsOfModel
from fairridge.inference.state import State


class LinearPredictors:
    """The linear predictors as numbers, less their means and without the offset."""

    def __call__(self, at: RowsOfModel, order: int) -> RowMeans:
        """Return η, and its derivative 1."""
        m = at.theta.shape[0]
        first = np.broadcast_to(np.eye(m), (len(at.h), m, m)) if order else None
        return RowMeans(at.h + at.t, first, None)

    def sums(self, state: State) -> _NumberSums:
        """Return the sums without a pass over the rows: they are moments of [S, X]."""
        basis, m = state.fit.basis, len(state.theta)
        S, U = basis.sensitive.scatter(), basis.predictors.scatter()
        (q, p), alpha, beta = basis.B.shape, state.alpha, state.beta
        gram, slopes = np.zeros((m, 1 + q, 2 + q)), np.zeros((m, 2 + q, m, 1 + q + p))
        gram[:, 0, 0], gram[:, 1:, 1:-1], gram[:, 1:, -1] = basis.weight, S, alpha @ S
        for k in range(m):
            slopes[k, 0, k, 0] = basis.weight
            slopes[k, 1:-1, k, 1 : 1 + q] = S
            slopes[k, -1, k, 1:] = np.append(alpha[k] @ S, beta[k] @ U)
        squares = ((alpha @ S) * alpha).sum(axis=1) + ((beta @ U) * beta).sum(axis=1)
        return _NumberSums(gram, slopes, squares)


@dataclass(frozen=True)
class Predicted:
    """The predicted means as numbers."""

    means: Any  # which means, among which rows (MeansOfRows)

    def __call__(self, at: RowsOfModel, order: int) -> RowMeans:
        """Return μ, and its derivatives in η."""
        predicted: RowMeans = self.means(at.rows.y, at.eta, order)
        return predicted

    def sums(self, state: State) -> _NumberSums:
        """Sum over the rows."""
        sums: _NumberSums = state.sum_over_rows(partial(_collected, self))
        return sums


Numbers = LinearPredictors | Predicted


def _counted(predicted: RowMeans) -> Floats:
    return np.ones_like(predicted.values) if predicted.counted is None else predicted.counted


@dataclass(frozen=True)
class _NumberSums:
    """Σ w c [1, s]ᵀ[1, s, f], Σ w c [1, s, f]ᵀf′z and Σ w c f² for every number."""

    gram: Floats
    slopes: Floats
    squares: Floats

    def __add__(self, other: _NumberSums) -> _NumberSums:
        return _NumberSums(
            self.gram + other.gram, self.slopes + other.slopes, self.squares + other.squares
        )


def _collected(numbers: Numbers, at: RowsOfModel) -> _NumberSums:
    """Sum the numbers, their slopes and S over some rows."""
    predicted, z, m = numbers(at, 2), at.rows.z, len(at.theta)
    counted, ones = at.rows.weight[:, None] * _counted(predicted), z[:, : 1 + at.rows.v.shape[1]]
    grams, slopes, squares = [], [], []
    assert predicted.first is not None
    for k, f in enumerate(predicted.values.T):
        columns = np.column_stack([ones, f])
        weighted = columns * counted[:, k : k + 1]
        each = [weighted.T @ (predicted.first[:, k, c, None] * z) for c in range(m)]
        grams.append(weighted[:, :-1].T @ columns)
        slopes.append(np.stack(each, axis=1))
        squares.append(weighted[:, -1] @ f)
    return _NumberSums(np.stack(grams), np.stack(slopes), np.array(squares))


def _bent(numbers: Numbers, mean: Floats, slopes: Floats, at: RowsOfModel) -> Floats:
    """Return Σ w c (s − m)ᵀb f″zzᵀ over some rows."""
    predicted, z, m = numbers(at, 2), at.rows.z, len(at.theta)
    explained = _explained(at, _counted(predicted), mean, slopes)
    assert predicted.bend is not None
    bend = predicted.bend(at.rows.weight[:, None] * explained)
    out = np.empty((m, z.shape[1], m, z.shape[1]))
    for a in range(m):
        for b in range(m):
            out[a, :, b, :] = (z * bend[:, a, b, None]).T @ z
    return out


def _explained(at: RowsOfModel, counted: Floats, mean: Floats, slopes: Floats) -> Floats:
    """Return c(s − m)ᵀb of each row and number, of shape (n, K)."""
    fitted = at.rows.s @ slopes.T - (mean * slopes).sum(axis=1)
    return np.asarray(counted * fitted)


@dataclass(frozen=True)
class Explained:
    """Q near one model; see the module."""

    numbers: Numbers  # which numbers
    mean: Floats  # m, of shape (K, q)
    mean_values: Floats  # f̄, of shape (K,)
    covariance: Floats  # A, of shape (K, q)
    inverse: Floats  # S⁻¹, of shape (K, q, q)
    jacobian: Floats  # J, of shape (K, q, m, k)
    typical: Floats  # E[c f′z]/E[c], of shape (K, m, k)
    variance: float  # V
    variance_slope: Floats  # ½ ∂V/∂θ, of shape (m, k)
    bent: Floats  # E[h f″zzᵀ], of shape (m·k, m·k)

    @classmethod
    def of(cls, state: State, numbers: Numbers) -> Explained:
        """Sum over the rows of a model, twice if the numbers bend."""
        basis, sums = state.fit.basis, numbers.sums(state)
        gram, slopes = sums.gram / basis.weight, sums.slopes / basis.weight
        count = gram[:, 0, 0, None]
        mean, mean_values = gram[:, 0, 1:-1] / count, gram[:, 0, -1] / count[:, 0]
        covariance = gram[:, 1:, -1] - mean * gram[:, :1, -1]
        spread = gram[:, 1:, 1:-1] - gram[:, 1:, :1] * mean[:, None, :]
        inverse = np.stack([np.linalg.pinv(part, hermitian=True) for part in spread])
        typical = slopes[:, 0] / count[:, :, None]
        jacobian = slopes[:, 1:-1] - mean[:, :, None, None] * slopes[:, :1]
        variance = float((sums.squares / basis.weight - gram[:, 0, -1] * mean_values).sum())
        by_theta = (slopes[:, -1] - mean_values[:, None, None] * slopes[:, 0]).sum(axis=0)
        blank = np.zeros_like(state.hessian)
        explained = cls(
            numbers,
            mean,
            mean_values,
            covariance,
            inverse,
            jacobian,
            typical,
            variance,
            by_theta,
            blank,
        )
        return explained._bent(state, explained.slopes)

    def _bent(self, state: State, slopes: Floats) -> Explained:
        """Return the same with E[(s − m)ᵀb f″zzᵀ] for given b."""
        if isinstance(self.numbers, LinearPredictors):
            return self
        total: Floats = state.sum_over_rows(partial(_bent, self.numbers, self.mean, slopes))
        return replace(self, bent=total.reshape(state.hessian.shape) / state.fit.basis.weight)

    @property
    def slopes(self) -> Floats:
        """B, of shape (K, q): coefficients of the numbers on S."""
        return np.einsum("kij,kj->ki", self.inverse, self.covariance)

    @property
    def value(self) -> float:
        """Q."""
        return float((self.slopes * self.covariance).sum())

    @property
    def slope(self) -> Floats:
        """½ ∂Q/∂θ, of shape (m, k)."""
        return np.einsum("kq,kqmz->mz", self.slopes, self.jacobian)

    @property
    def curvature(self) -> Floats:
        """½ ∂²Q/∂θ²."""
        K, q, m, k = self.jacobian.shape
        J = self.jacobian.reshape(K, q, m * k)
        return np.einsum("kqi,kqr,krj->ij", J, self.inverse, J, optimize=True) + self.bent

    def seen(self, at: RowsOfModel) -> tuple[Floats, Floats, RowMeans]:
        """Return h and f̃ of each row and number, and the numbers."""
        predicted = self.numbers(at, 2)
        counted = _counted(predicted)
        explained = _explained(at, counted, self.mean, self.slopes)
        return explained, counted * (predicted.values - self.mean_values), predicted

    def subtract_rows(self, at: RowsOfModel, factor: float, out: Floats) -> None:
        """Subtract what each row adds to the slope from what it adds to the equations."""
        explained, deviation, predicted = self.seen(at)
        self.subtract_bending(at, factor * explained, predicted, out)
        counted = factor * _counted(predicted) * (deviation - explained)
        K, q, m, k = self.jacobian.shape
        for j in range(K):
            onto = self.inverse[j] @ self.jacobian[j].reshape(q, -1)
            weighted = (at.rows.s - self.mean[j]) * counted[:, j : j + 1]
            out -= (weighted @ onto).reshape(-1, m, k)

    def subtract_bending(
        self, at: RowsOfModel, explained: Floats, predicted: RowMeans, out: Floats
    ) -> None:
        """Subtract Σ_k h f′z − h E[c f′z]/E[c] of each row from `out` of shape (n, m, k)."""
        assert predicted.first is not None
        by_eta = np.einsum("nk,nkm->nm", explained, predicted.first)
        out -= by_eta[:, :, None] * at.rows.z[:, None, :]
        typical = self.typical.reshape(len(self.typical), -1)
        out += (explained @ typical).reshape(out.shape)


@dataclass(frozen=True)
class ExplainedShare:
    """R² = Q/V near one model."""

    explained: Explained  # Q and V
    free_gradient = None

    @property
    def value(self) -> float:
        """R²; 0 for numbers that do not vary."""
        variance = self.explained.variance
        return self.explained.value / variance if variance > 0.0 else 0.0

    @property
    def gradient(self) -> Floats:
        """Derivative in θ."""
        explained = self.explained
        return 2.0 * (explained.slope - self.value * explained.variance_slope) / explained.variance

    def direct(self, at: RowsOfModel) -> Floats:
        """Return (2hf̃ − h² − R²f̃²)/V of each row, summed over the numbers."""
        h, f, _ = self.explained.seen(at)
        each = (2.0 * h * f - h * h - self.value * f * f).sum(axis=1)
        return np.asarray(each / self.explained.variance)


@dataclass(frozen=True)
class NotExplained:
    """A = 0, with multipliers π: what r = 0 means."""

    explained: Explained  # at the model, with E[(s − m)ᵀπ f″zzᵀ]
    multipliers: Floats  # π, of shape (K, q)
    is_alpha = False

    @classmethod
    def of(cls, state: State, explained: Explained) -> NotExplained:
        """Find the multipliers: E[g z] − ½λ̄₂∂R = Jᵀπ."""
        K, q = explained.mean.shape
        J, N = explained.jacobian.reshape(K * q, -1), state.directions
        remainder = state.gradient - sum(c * form.slope for c, form in state.fixed)
        units = np.sqrt(((N @ state.hessian) * N).sum(axis=1))
        right = N @ remainder.ravel() / units
        multipliers = np.linalg.lstsq((J @ N.T / units).T, right, rcond=1e-10)[0]
        pi: Floats = np.asarray(multipliers.reshape(K, q), dtype=np.float64)
        return cls(explained._bent(state, pi), pi)

    @property
    def jacobian(self) -> Floats:
        """J, of shape (K·q, m·k)."""
        K, q, m, k = self.explained.jacobian.shape
        return self.explained.jacobian.reshape(K * q, m * k)

    @property
    def slope(self) -> Floats:
        """Jᵀπ."""
        return np.einsum("kq,kqmz->mz", self.multipliers, self.explained.jacobian)

    @property
    def curvature(self) -> Floats:
        """E[(s − m)ᵀπ f″zzᵀ]."""
        return self.explained.bent

    def subtract_rows(self, at: RowsOfModel, factor: float, out: Floats) -> None:
        """Subtract what each row adds to Jᵀπ from what it adds to the equations."""
        form, predicted = self.explained, self.explained.numbers(at, 2)
        explained = _explained(at, factor * _counted(predicted), form.mean, self.multipliers)
        form.subtract_bending(at, explained, predicted, out)

    def values(self, at: RowsOfModel) -> Floats:
        """Return c(s − m)f̃ of each row and number."""
        _, deviation, _ = self.explained.seen(at)
        s = at.rows.s[:, None, :] - self.explained.mean
        return np.asarray(deviation[:, :, None] * s).reshape(len(s), -1)
