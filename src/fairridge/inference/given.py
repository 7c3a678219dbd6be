"""Ridges on α and β, in the coefficients of columns that rows do not move.

Tildes are residuals on w = (1, c), with c the controls, or on 1 without any:

    α = γ + Bβ,   ũ = x̃ − Bᵀs̃,   v = Σ_S⁻¹s̃,   h = s̃ᵀα,   t = ũᵀβ,

with Σ_S and B those of residuals. A row moves α by v t at fixed γ and β,
because it moves B by vũᵀ. The ridge αᵀPα then has the row c_S + P v t in Pα, where
c_S is Pα with the row in the place of its mean, and ũ(vᵀPα) + Bᵀ(c_S + P v t) in BᵀPα.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import block_diag, pinvh

from fairridge._arrays import DeviceConstants, joined, namespace, taken, to_device
from fairridge._typing import Floats, Integers
from fairridge.inference.rows import RowsOfModel
from fairridge.inference.state import State, to_raw
from fairridge.models import FairBasis, Fit
from fairridge.models.spaces.given_controls import ConditionalBasis


def basis_given(fit: Fit) -> FairBasis:
    """Return S and U of a model, less what its controls explain of them if it has any."""
    return fit.basis if fit.given is None else fit.given.basis


@dataclass(frozen=True)
class Given(DeviceConstants):
    """How rows and coefficients look given the controls, if there are any."""

    # M with (1, s̃, ũ and c) = (1, s, u)M, ũ and c in the places of the columns of X, of
    # shape (k, k).
    to_residuals: Floats
    inverse: Floats  # Σ_S⁻¹, of shape (q, q)
    inverse_w: Floats  # E[wwᵀ]⁻¹, of shape (1+c, 1+c)
    controls: Integers  # places of controls among (1, s, u)
    others: Any  # places of other predictors (slice or ndarray of int)
    theta: Floats  # the coefficients of residuals and controls, of shape (m, k)

    @classmethod
    def of(cls, state: State) -> Given:
        """Describe a model."""
        basis, (q, p) = basis_given(state.fit), state.fit.basis.B.shape
        inverse = np.asarray(pinvh(basis.sensitive.scatter() / basis.weight))
        M = np.eye(1 + q + p)
        if not isinstance(basis, ConditionalBasis):
            nothing, others = np.zeros(0, dtype=np.intp), slice(1 + q, None)
            return cls(M, inverse, np.ones((1, 1)), nothing, others, state.theta)
        controls, others = 1 + q + basis.controls, 1 + q + basis.others
        on = basis.on_controls[:, : q + len(others)]
        M[np.ix_(controls, np.append(np.arange(1, 1 + q), others))] = -on
        M[:, others] -= M[:, 1 : 1 + q] @ basis.B
        M = to_raw(state.fit.basis) @ M
        inverse_w = block_diag(1.0, pinvh(basis.of_controls.scatter() / basis.weight))
        return cls(M, inverse, inverse_w, controls, others, state.theta @ np.linalg.inv(M).T)

    @property
    def q(self) -> int:
        """Number of sensitive columns."""
        return self.inverse.shape[0]

    @cached_property
    def alpha(self) -> Floats:
        """α, of shape (m, q)."""
        return self.theta[:, 1 : 1 + self.q]

    @cached_property
    def beta(self) -> Floats:
        """β without the coefficients of controls."""
        return self.theta[:, self.others]

    @property
    def head(self) -> Floats:
        """H with (w, s) = (1, s, u)H, controls in units of their spread, of shape (k, 1+c+q)."""
        controls, unit = self.to_residuals[:, self.controls], np.eye(len(self.to_residuals))
        scale = np.sqrt(1.0 / np.maximum(np.diag(self.inverse_w)[1:], 1e-300))
        return np.hstack([unit[:, :1], controls / scale, unit[:, 1 : 1 + self.q]])

    @cached_property
    def to_alpha(self) -> Floats:
        """A with α = θAᵀ, of shape (q, k)."""
        return np.asarray(np.linalg.inv(self.to_residuals)[1 : 1 + self.q], dtype=np.float64)

    def seen(self, at: RowsOfModel) -> ConditionalRows:
        """Return rows given the controls."""
        rows = at.rows
        if not len(self.controls):
            xp = namespace(rows.sx)
            w = partial(xp.ones_like, rows.sx[:, :1])
            return ConditionalRows(rows.s, lambda: rows.u, w, rows.v, at.h, at.t)
        z = rows.times(self.to_residuals)
        s, u = z[:, 1 : 1 + self.q], taken(z, self.others, axis=1)
        w = joined([z[:, :1], taken(z, self.controls, axis=1)], axis=1)
        v, h, t = s @ self.inverse, s @ self.alpha.T, u @ self.beta.T
        return ConditionalRows(s, lambda: u, lambda: w, v, h, t)


@dataclass(frozen=True)
class ConditionalRows:
    """s̃, ũ, w, v, h and t of some rows."""

    s: Floats
    # Few ask for these two.
    u: Callable[[], Floats]
    w: Callable[[], Floats]
    v: Floats
    h: Floats
    t: Floats

    @cached_property
    def moved(self) -> Floats:
        """What each row moves α by, of shape (n, m, q)."""
        return self.t[:, :, None] * self.v[:, None, :]


@dataclass(frozen=True)
class SensitiveRidge(DeviceConstants):
    """αᵀPα, or, with multipliers π, α = 0."""

    given: Given  # the model given its controls
    penalty: Floats  # P, of shape (q, q)
    seen: str  # what the ridge sees of S̃
    multipliers: Floats | None = None  # π, if α is zero, of shape (m, q)

    def held(self, state: State, multipliers: Floats) -> SensitiveRidge:
        """Return α = 0 with known multipliers."""
        return replace(self, multipliers=multipliers.reshape(self.given.alpha.shape))

    @property
    def _pull(self) -> Floats:
        """Pα, or π."""
        pi = self.multipliers
        return self.given.alpha @ self.penalty if pi is None else pi

    @property
    def is_alpha(self) -> bool:
        """Whether α is that of the fair basis: without controls it is."""
        return not len(self.given.controls)

    @property
    def jacobian(self) -> Floats:
        """∂α/∂θ, of shape (m·q, m·k)."""
        return np.asarray(np.kron(np.eye(len(self.given.theta)), self.given.to_alpha), np.float64)

    @property
    def slope(self) -> Floats:
        """½ ∂(αᵀPα)/∂θ."""
        return self._pull @ self.given.to_alpha

    @property
    def curvature(self) -> Floats:
        """½ ∂²(αᵀPα)/∂θ²."""
        m, A = len(self.given.theta), self.given.to_alpha
        return np.asarray(np.kron(np.eye(m), A.T @ self.follows @ A), np.float64)

    def subtract_rows(self, at: RowsOfModel, factor: float, out: Floats) -> None:
        """Subtract what each row adds to the slope from what it adds to the equations."""
        given, rows, xp = self.given, self.given.seen(at), namespace(out)
        on_u = factor * self.of_predictors(rows)
        _subtract_at(out, given.others, on_u[:, :, None] * rows.u()[:, None, :])
        pull = factor * self.of_sensitive(rows)
        if self.is_alpha:
            out[:, :, 1 : 1 + given.q] -= pull
        else:
            # As one product: NumPy would multiply the matrices of single rows one by one.
            out -= xp.reshape(xp.reshape(pull, (-1, given.q)) @ given.to_alpha, out.shape)

    @property
    def value(self) -> float:
        """αᵀPα, summed over linear predictors."""
        return float((self._pull * self.given.alpha).sum())

    def subtract_left(self, at: RowsOfModel, out: Floats) -> None:
        """Subtract h ∂t/∂θ of each row from `out`, of shape (n, m, k)."""
        rows = self.given.seen(at)
        _subtract_at(out, self.given.others, rows.h[:, :, None] * rows.u()[:, None, :])

    def of_predictors(self, rows: ConditionalRows) -> Floats:
        """Return vᵀPα, which each row adds times ũ to the slope, of shape (n, m)."""
        return rows.v @ self._pull.T

    def of_sensitive(self, rows: ConditionalRows) -> Floats:
        """Return what each row has in the place of Pα, of shape (n, m, q); or π, the same."""
        own = self.own_of_sensitive(rows)
        xp = namespace(rows.v)
        follows = xp.reshape(rows.moved, (-1, self.given.q)) @ self.follows
        return own + xp.reshape(follows, rows.moved.shape)

    def own_of_sensitive(self, rows: ConditionalRows) -> Floats:
        """Return c_S, which leaves out what follows from v t; or π."""
        if self.multipliers is not None:
            return self._pull
        return _penalized_rows(rows.s, rows.h, self.given.alpha, self.seen)

    @property
    def follows(self) -> Floats:
        """P, with which Pα follows the move v t of α; zeros if α is zero."""
        return self.penalty if self.multipliers is None else 0.0 * self.penalty

    def values(self, at: RowsOfModel) -> Floats:
        """Return the influence of each row on α at fixed θ."""
        moved = self.given.seen(at).moved
        values: Floats = namespace(moved).reshape(moved, (moved.shape[0], -1))
        return values


@dataclass(frozen=True)
class PredictorRidge(DeviceConstants):
    """λ₂'s Σ(scaleⱼβⱼ)², as a form in θ."""

    theta: Floats  # all coefficients, of shape (m, k)
    # Maps (1, s, u) to the columns that it sees; None for u, of shape (k, c).
    columns: Floats | None
    places: Any  # places of their coefficients (slice or ndarray of int)
    squares: Floats  # scale², of shape (c,)
    seen: str  # whether scales are standard deviations

    @property
    def slope(self) -> Floats:
        """scale²β."""
        return self.theta * np.diag(self.curvature).reshape(self.theta.shape)

    @property
    def curvature(self) -> Floats:
        """Diagonal of scale²."""
        each = np.zeros(self.theta.shape)
        each[:, self.places] = self.squares
        return np.diag(each.ravel())

    def subtract_rows(self, at: RowsOfModel, factor: float, out: Floats) -> None:
        """Subtract what each row adds to the slope from what it adds to the equations."""
        z = at.rows.u if self.columns is None else at.rows.times(self.columns)
        _subtract_at(out, self.places, _penalized_rows(z, z, factor * self._beta, self.seen))

    @cached_property
    def _beta(self) -> Floats:
        return self.theta[:, self.places]


def _subtract_at(out: Floats, places: Any, each: Floats) -> None:
    """Subtract columns from some of those of `out`, of shape (n, m, k)."""
    if isinstance(places, slice) or namespace(out) is np:
        out[:, :, places] -= each
    else:
        out -= each @ to_device(np.eye(out.shape[2])[places], each)


def _penalized_rows(z: Floats, fitted: Floats, coefficients: Floats, seen: str) -> Floats:
    """Return what a row has in the place of Pα, of shape (n, m, k)."""
    if seen == "radial":
        return fitted[:, :, None] * z[:, None, :]
    if seen == "standardized":
        return (z * z)[:, None, :] * coefficients
    rows: Floats = namespace(z).broadcast_to(coefficients, (z.shape[0], *coefficients.shape))
    return rows
