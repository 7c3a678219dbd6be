"""What S explains of the means that a model predicts.

With c_k = 1 for the rows in which mean f_k(θ) counts, or what they count by (the exposure
of rates), and tildes for residuals on w over those, w = 1, or (1, C) if the bound is
conditional on controls C,

    Q = Σ_k A_kᵀS_k⁻¹A_k,   A_k = E[c_k s̃ f_k],   S_k = E[c_k s̃s̃ᵀ],
    R² = Q/V,               V = Σ_k E[c_k f̃_k²].

With b = S⁻¹A, h = s̃ᵀb, f′ the derivative in η and J = E[c s̃ f′zᵀ], a row adds

    ch f′z − ch E[c f′z wᵀ]E[c wwᵀ]⁻¹w + JᵀS⁻¹c s̃(f̃ − h)     to ½ ∂Q/∂θ,
    c(2hf̃ − h²) to Q, and cf̃² to V.

Q is the difference of two minima, E[c(f − w·)²] and E[c(f − w· − s·)²], so that the
coefficients of neither regression move it to first order. Of linear predictors Q is αᵀΣ_Sα, a
ridge on α; see `given`. Means are held at the totals of
the response, E[c(μ − y)] = 0, c the weights of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from fairridge._arrays import DeviceConstants, blank, joined, namespace
from fairridge._typing import Floats
from fairridge.families.sums import RowMeans, any_arrays
from fairridge.inference.given import Given
from fairridge.inference.measures import over_variance
from fairridge.inference.rows import RowsOfModel
from fairridge.inference.state import State


def _predicted(means: Any, at: RowsOfModel) -> RowMeans:
    """Return μ, and its derivatives in η."""
    predicted: RowMeans = means(at.rows.y, at.eta, 2, at.rows.offset)
    return predicted


def _counted(predicted: RowMeans) -> Floats:
    if predicted.counted is not None:
        return predicted.counted
    ones: Floats = namespace(predicted.values).ones_like(predicted.values)
    return ones


@dataclass(frozen=True)
class _MeanSums(DeviceConstants):
    """Σ w c [w, s]ᵀ[w, s, f], Σ w c [w, s, f]ᵀf′z and Σ w c f² for every mean."""

    gram: Floats
    slopes: Floats
    squares: Floats

    def __add__(self, other: _MeanSums) -> _MeanSums:
        return _MeanSums(
            self.gram + other.gram, self.slopes + other.slopes, self.squares + other.squares
        )


@any_arrays
def _collected(means: Any, head: Floats, at: RowsOfModel) -> _MeanSums:
    """Sum the means, their slopes, w and S over some rows."""
    predicted, z, m, xp = _predicted(means, at), at.rows.z, at.theta.shape[0], namespace(at.rows.z)
    counted, first = at.rows.weight[:, None] * _counted(predicted), z @ head
    grams, slopes, squares = [], [], []
    assert predicted.first is not None
    for k in range(predicted.values.shape[1]):
        f = predicted.values[:, k]
        columns = joined([first, f[:, None]], axis=1)
        weighted = columns * counted[:, k : k + 1]
        each = [weighted.T @ (predicted.first[:, k, c, None] * z) for c in range(m)]
        grams.append(weighted[:, :-1].T @ columns)
        slopes.append(xp.stack(each, axis=1))
        squares.append(weighted[:, -1] @ f)
    return _MeanSums(xp.stack(grams), xp.stack(slopes), xp.stack(squares))


@any_arrays
def _bent(means: Any, to_explained: Floats, at: RowsOfModel) -> Floats:
    """Return Σ w c s̃ᵀb f″zzᵀ over some rows, with s̃ᵀb of each number from z."""
    predicted, z = _predicted(means, at), at.rows.z
    explained = _counted(predicted) * (z @ to_explained)
    assert predicted.bend is not None
    return _outer(z, predicted.bend(at.rows.weight[:, None] * explained))


def _outer(z: Floats, bend: Floats) -> Floats:
    """Return Σ bend zzᵀ over some rows, of shape (m, k, m, k)."""
    m, k = bend.shape[1], z.shape[1]
    out = blank((m, k, m, k), z)
    for a in range(m):
        for b in range(m):
            out[a, :, b, :] = (z * bend[:, a, b, None]).T @ z
    return out


@dataclass(frozen=True)
class Explained(DeviceConstants):
    """Q near one model, or, with multipliers π, A = 0: what r = 0 means; see the module."""

    means: Any  # which means, among which rows (PredictedMeans)
    columns: Floats  # maps z to w, of shape (k, 1+c)
    residuals: Floats  # maps z to s̃, of shape (K, k, q)
    fitted: Floats  # coefficients of f on w, of shape (K, 1+c)
    covariance: Floats  # A, of shape (K, q)
    inverse: Floats  # S⁻¹, of shape (K, q, q)
    jacobian: Floats  # J, of shape (K·q, m·k)
    typical: Floats  # E[c wwᵀ]⁻¹E[c w f′z], of shape (K, 1+c, m·k)
    variance: float  # V
    variance_slope: Floats  # ½ ∂V/∂θ, of shape (m, k)
    bent: Floats  # E[h f″zzᵀ], of shape (m·k, m·k), or E[s̃ᵀπ f″zzᵀ]
    multipliers: Floats | None = None  # π, of shape (K, q)
    is_alpha = False

    @classmethod
    def of(cls, state: State, given: Given, means: Any) -> Explained:
        """Sum over the rows of a model, twice."""
        weight, head, c = state.fit.basis.weight, given.head, 1 + len(given.controls)
        sums: _MeanSums = state.sum_over_rows(partial(_collected, means, head))
        gram, slopes = sums.gram / weight, sums.slopes / weight
        inverse = np.stack([np.linalg.pinv(part, hermitian=True) for part in gram[:, :c, :c]])
        on_w, fitted = gram[:, c:, :c] @ inverse, np.einsum("kij,kj->ki", inverse, gram[:, :c, -1])
        spread = gram[:, c:, c:-1] - on_w @ gram[:, :c, c:-1]
        by_theta = slopes[:, -1] - np.einsum("kc,kcmz->kmz", fitted, slopes[:, :c])
        by_sensitive = slopes[:, c:-1] - np.einsum("kqc,kcmz->kqmz", on_w, slopes[:, :c])
        explained = cls(
            means=means,
            columns=head[:, :c],
            residuals=head[:, c:] - head[:, :c] @ on_w.transpose(0, 2, 1),
            fitted=fitted,
            covariance=gram[:, c:, -1] - np.einsum("kqc,kc->kq", on_w, gram[:, :c, -1]),
            inverse=np.stack([np.linalg.pinv(part, hermitian=True) for part in spread]),
            jacobian=by_sensitive.reshape(-1, state.theta.size),
            typical=inverse @ slopes[:, :c].reshape(len(slopes), c, -1),
            variance=float((sums.squares / weight).sum() - (fitted * gram[:, :c, -1]).sum()),
            variance_slope=by_theta.sum(axis=0),
            bent=np.zeros_like(state.hessian),
        )
        return explained._bent(state)

    def _bent(self, state: State) -> Explained:
        """Return the same with what bending adds to the curvature."""
        total: Floats = state.sum_over_rows(partial(_bent, self.means, self._to_explained))
        return replace(self, bent=total.reshape(state.hessian.shape) / state.fit.basis.weight)

    def held(self, state: State, multipliers: Floats) -> Explained:
        """Return A = 0 with known multipliers."""
        pi = multipliers.reshape(self.covariance.shape)
        return replace(self, multipliers=pi)._bent(state)

    @cached_property
    def slopes(self) -> Floats:
        """B, of shape (K, q): coefficients of the means on S."""
        return np.einsum("kij,kj->ki", self.inverse, self.covariance)

    @cached_property
    def value(self) -> float:
        """Q."""
        return float((self.slopes * self.covariance).sum())

    @property
    def _pull(self) -> Floats:
        """B, or π."""
        return self.slopes if self.multipliers is None else self.multipliers

    @cached_property
    def _to_explained(self) -> Floats:
        """Maps z to h of each mean, or to s̃ᵀπ, of shape (k, K)."""
        return np.einsum("kzq,kq->zk", self.residuals, self._pull)

    @cached_property
    def to_theta(self) -> Floats:
        """S⁻¹J, of shape (K, q, m·k): what s̃ of a row is multiplied by."""
        return np.asarray(self.inverse @ self.jacobian.reshape(*self.covariance.shape, -1))

    @property
    def slope(self) -> Floats:
        """½ ∂Q/∂θ, or Jᵀπ, of shape (m, k)."""
        return (self._pull.ravel() @ self.jacobian).reshape(self.variance_slope.shape)

    @property
    def curvature(self) -> Floats:
        """½ ∂²Q/∂θ², or ∂(Jᵀπ)/∂θ."""
        if self.multipliers is not None:
            return self.bent
        J = self.jacobian.reshape(*self.covariance.shape, -1)
        return np.einsum("kqi,kqj->ij", J, self.to_theta) + self.bent

    def seen(self, at: RowsOfModel) -> tuple[Floats, Floats, Floats, RowMeans]:
        """Return c, h and f̃ of each row and mean, and the means."""
        predicted, z = _predicted(self.means, at), at.rows.z
        deviation = predicted.values - z @ (self.columns @ self.fitted.T)
        return _counted(predicted), z @ self._to_explained, deviation, predicted

    def subtract_rows(self, at: RowsOfModel, factor: float, out: Floats) -> None:
        """Subtract what each row adds to the slope from what it adds to the equations."""
        counted, explained, deviation, predicted = self.seen(at)
        self.subtract_bending(at, factor * counted * explained, predicted, out)
        if self.multipliers is None:
            self.subtract_following(at, factor * counted * (deviation - explained), out)

    def values(self, at: RowsOfModel) -> Floats:
        """Return c s̃f̃ of each row and mean."""
        counted, _, deviation, _ = self.seen(at)
        each = counted * deviation
        parts = [
            each[:, j : j + 1] * (at.rows.z @ self.residuals[j, ...]) for j in range(each.shape[1])
        ]
        values: Floats = joined(parts, axis=1)
        return values

    def subtract_left(self, at: RowsOfModel, out: Floats) -> None:
        """Subtract Σ_k ch ∂t/∂θ of each row, t what S leaves of a mean, from `out`, (n, m, k)."""
        counted, explained, _, predicted = self.seen(at)
        self.subtract_bending(at, counted * explained, predicted, out)
        self.subtract_following(at, -counted * explained, out)

    def subtract_following(self, at: RowsOfModel, weight: Floats, out: Floats) -> None:
        """Subtract Σ_k weight·JᵀS⁻¹s̃ of each row from `out`, (n, m, k)."""
        for j in range(weight.shape[1]):
            weighted = (at.rows.z @ self.residuals[j, ...]) * weight[:, j : j + 1]
            out -= namespace(out).reshape(weighted @ self.to_theta[j, ...], out.shape)

    def subtract_bending(
        self, at: RowsOfModel, explained: Floats, predicted: RowMeans, out: Floats
    ) -> None:
        """Subtract Σ_k ch(f′z − E[c f′z wᵀ]E[c wwᵀ]⁻¹w) of each row from `out`, (n, m, k)."""
        assert predicted.first is not None
        xp = namespace(out)
        by_eta = xp.sum(explained[:, :, None] * predicted.first, axis=1)
        out -= by_eta[:, :, None] * at.rows.z[:, None, :]
        w = at.rows.z @ self.columns
        for j in range(explained.shape[1]):
            moved = (explained[:, j : j + 1] * w) @ self.typical[j, ...]
            out += xp.reshape(moved, out.shape)


@dataclass(frozen=True)
class ExplainedShare(DeviceConstants):
    """R² = Q/V near one model."""

    explained: Explained  # Q and V
    free_gradient = None

    @cached_property
    def value(self) -> float:
        """R²; 0 for means that do not vary."""
        variance = self.explained.variance
        return self.explained.value / variance if variance > 0.0 else 0.0

    @property
    def gradient(self) -> Floats:
        """Derivative in θ."""
        explained = self.explained
        slope = explained.slope - self.value * explained.variance_slope
        return over_variance(2.0 * slope, explained.variance)

    def direct(self, at: RowsOfModel) -> Floats:
        """Return c(2hf̃ − h² − R²f̃²)/V of each row, summed over the means."""
        c, h, f, _ = self.explained.seen(at)
        each = c * (2.0 * h * f - h * h - self.value * f * f)
        direct: Floats = namespace(each).sum(each, axis=1) / self.explained.variance
        return direct


@dataclass(frozen=True)
class Totals(DeviceConstants):
    """E[c(μ − y)] = 0, with multipliers ν: means have the totals of the response."""

    # Of K classes that is K − 1 contrasts of them. If rows were isolated the others make up for
    # these, and the mean is a constant near zero.

    means: Any  # all means among all rows (PredictedMeans)
    contrasts: Floats  # of shape (b, K)
    jacobian: Floats  # of the contrasts, of shape (b, m·k)
    multipliers: Floats  # ν, of shape (b,)
    curvature: Floats  # E[c νᵀμ″zzᵀ], of shape (m·k, m·k)
    level: Floats  # E[c(μ − y)] of the contrasts, of shape (b,)
    is_alpha = False

    @classmethod
    def of(cls, state: State) -> Totals:
        """Sum over the rows of a model, with multipliers of zero."""
        family: Any = state.fit.family
        means, size = family.means(None), state.theta.size
        contrasts = family.to_contrasts(np.eye(means.n_means))
        sums: Floats = state.sum_over_rows(partial(_total_slopes, means))
        sums = contrasts @ sums / state.fit.basis.weight
        blank = np.zeros(len(sums)), np.zeros((size, size))
        return cls(means, contrasts, sums[:, :-1], *blank, sums[:, -1])

    def priced(self, state: State, multipliers: Floats) -> Totals:
        """Return the same with multipliers."""
        each = multipliers @ self.contrasts
        bent: Floats = state.sum_over_rows(partial(_total_bent, self.means, each))
        curvature = bent.reshape(state.hessian.shape) / state.fit.basis.weight
        return replace(self, multipliers=multipliers, curvature=curvature)

    @property
    def slope(self) -> Floats:
        """Jᵀν, of shape (m, k)."""
        return (self.multipliers @ self.jacobian).reshape(len(self.contrasts), -1)

    def subtract_rows(self, at: RowsOfModel, factor: float, out: Floats) -> None:
        """Subtract what each row adds to Jᵀν from what it adds to the equations."""
        predicted: RowMeans = self.means(at.rows.y, at.eta, 2)
        each = factor * self.means.in_totals(at.rows.y) * self._prices
        assert predicted.first is not None
        by_eta = namespace(out).sum(each[:, :, None] * predicted.first, axis=1)
        out -= by_eta[:, :, None] * at.rows.z[:, None, :]

    @cached_property
    def _prices(self) -> Floats:
        """Multipliers of the totals of all means, of shape (1, K)."""
        return (self.multipliers @ self.contrasts)[None, :]

    def values(self, at: RowsOfModel) -> Floats:
        """Return contrasts of c(μ − y) of each row, less their mean."""
        excess = self.means(at.rows.y, at.eta, 0).values - at.rows.targets
        values: Floats = self.means.in_totals(at.rows.y) * excess @ self.contrasts.T - self.level
        return values


@any_arrays
def _total_slopes(means: Any, at: RowsOfModel) -> Floats:
    """Return Σ w c μ′z and Σ w c (μ − y) over some rows, of shape (K, m·k + 1)."""
    predicted = means(at.rows.y, at.eta, 2)
    weight = at.rows.weight[:, None] * means.in_totals(at.rows.y)
    n, K, m = predicted.first.shape
    xp, z = namespace(at.rows.z), at.rows.z
    slopes = xp.reshape(weight[:, :, None] * predicted.first, (n, K * m)).T @ z
    excess = xp.sum(weight * (predicted.values - at.rows.targets), axis=0)
    sums: Floats = joined([xp.reshape(slopes, (K, m * z.shape[1])), excess[:, None]], axis=1)
    return sums


@any_arrays
def _total_bent(means: Any, multipliers: Floats, at: RowsOfModel) -> Floats:
    """Return Σ w c νᵀμ″zzᵀ over some rows."""
    weight = at.rows.weight[:, None] * means.in_totals(at.rows.y)
    return _outer(at.rows.z, means(at.rows.y, at.eta, 2).bend(weight * multipliers))


def multipliers_of(state: State, held: Sequence[Floats]) -> list[Floats]:
    """Return multipliers for which the equations hold: E[g z] − penalties = Σ Jᵀπ."""
    # `held` are derivatives of what is held at zero, of shape (c, m·k).
    J, N = np.vstack(held), state.directions
    remainder = state.gradient - sum(c * form.slope for c, form in state.forms)
    units = np.sqrt(((N @ state.hessian) * N).sum(axis=1))
    right = N @ remainder.ravel() / units
    found = np.linalg.lstsq((J @ N.T / units).T, right, rcond=1e-10)[0]
    return np.split(np.asarray(found, dtype=np.float64), np.cumsum([len(j) for j in held])[:-1])
