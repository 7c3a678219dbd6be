"""Penalties and shares of models with controls, in the coefficients of the columns.

Tildes are residuals on w = (1, c), with c the controls:

    α = γ + Bβ,   ũ = x̃ − Bᵀs̃,   v = Σ_S⁻¹s̃,   h = s̃ᵀα,   t = ũᵀβ,

with Σ_S and B those of residuals. A row moves α by v t at fixed γ and β,
because it moves B by vũᵀ. The ridge αᵀPα then has the row c_S + P v t in Pα and
ũ(vᵀPα) + Bᵀ(c_S + P v t) in BᵀPα.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import pinvh as pinv

from fairridge._typing import Floats, Integers
from fairridge.inference.influence import penalized_rows
from fairridge.inference.measures import Sum, deviance_slopes
from fairridge.inference.raw import RawDeviance, RawState
from fairridge.inference.rows import FairRows, RowsOfModel
from fairridge.models import ConditionalBasis

__all__ = ["ConditionalRidge", "ConditionalVariances", "Given", "WithoutSensitive", "shares"]


@dataclass(frozen=True)
class Given:
    """How rows and coefficients look given the controls.

    Attributes
    ----------
    to_residuals : ndarray of shape (k, k)
        M with (1, s̃, ũ and c) = (1, s, x)M, ũ and c in the places of the columns of X.
    inverse : ndarray of shape (q, q)
        Σ_S⁻¹.
    of_level : ndarray of shape (1+c, 1+c)
        E[wwᵀ]⁻¹.
    controls, others : ndarray of int
        Places of controls and of other predictors among (1, s, x).
    theta : ndarray of shape (m, k)
        The coefficients of residuals and controls.
    """

    to_residuals: Floats
    inverse: Floats
    of_level: Floats
    controls: Integers
    others: Integers
    theta: Floats

    @classmethod
    def of(cls, state: RawState, basis: ConditionalBasis) -> Given:
        """Describe a model with controls."""
        (q, p), weight = basis.whole.B.shape, basis.weight
        controls, others = 1 + q + basis.controls, 1 + q + basis.others
        on = basis.on_controls[:, : q + len(others)]
        M = np.eye(1 + q + p)
        M[np.ix_(controls, np.append(np.arange(1, 1 + q), others))] = -on
        M[:, others] -= M[:, 1 : 1 + q] @ basis.B
        inverse: Floats = pinv(basis.sensitive.scatter() / weight)
        level = np.zeros((1 + len(controls),) * 2)
        level[0, 0] = 1.0
        level[1:, 1:] = pinv(basis.of_controls.scatter() / weight)
        raw = state.theta.copy()
        raw[:, 1 : 1 + q] -= raw[:, 1 + q :] @ basis.whole.B.T
        return cls(M, inverse, level, controls, others, raw @ np.linalg.inv(M).T)

    @property
    def q(self) -> int:
        """Number of sensitive columns."""
        return len(self.inverse)

    @property
    def alpha(self) -> Floats:
        """α, of shape (m, q)."""
        return self.theta[:, 1 : 1 + self.q]

    @cached_property
    def to_alpha(self) -> Floats:
        """A with α = θAᵀ, of shape (q, k)."""
        return np.asarray(np.linalg.inv(self.to_residuals)[1 : 1 + self.q], dtype=np.float64)

    def seen(self, rows: FairRows) -> GivenRows:
        """Return rows given the controls."""
        z = np.column_stack([np.ones(len(rows.s)), rows.s, rows.x]) @ self.to_residuals
        s, u = z[:, 1 : 1 + self.q], z[:, self.others]
        level = np.column_stack([z[:, 0], z[:, self.controls]])
        t = u @ self.theta[:, self.others].T
        return GivenRows(s, u, level, s @ self.inverse, s @ self.alpha.T, t)


@dataclass(frozen=True)
class GivenRows:
    """s̃, ũ, w, v, h and t of some rows."""

    s: Floats
    u: Floats
    level: Floats
    v: Floats
    h: Floats
    t: Floats

    @property
    def moved(self) -> Floats:
        """What each row moves α by, of shape (n, m, q)."""
        return self.t[:, :, None] * self.v[:, None, :]


@dataclass(frozen=True)
class ConditionalRidge:
    """αᵀPα, or, with multipliers π, α = 0.

    Attributes
    ----------
    given : Given
        The model given its controls.
    penalty : ndarray of shape (q, q)
        P.
    seen : {"standardized", "raw", "radial"}
        What the ridge sees of S̃.
    multipliers : ndarray of shape (m, q) or None
        π, if α is held at zero.
    """

    given: Given
    penalty: Floats
    seen: str
    multipliers: Floats | None = None

    @property
    def _pull(self) -> Floats:
        """Pα, or π."""
        pi = self.multipliers
        return self.given.alpha @ self.penalty if pi is None else pi

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
        P = self.penalty if self.multipliers is None else np.zeros_like(self.penalty)
        return np.asarray(np.kron(np.eye(m), A.T @ P @ A), np.float64)

    def rows(self, at: RowsOfModel) -> Floats:
        """Return what each row puts into the slope."""
        given, own = self.given, self.given.seen(at.rows)
        pull: Any = self._pull
        if self.multipliers is None:
            pull = penalized_rows(own.s, own.h, given.alpha, self.seen) + own.moved @ self.penalty
        out = np.asarray(np.broadcast_to(pull, own.moved.shape) @ given.to_alpha)
        out[:, :, given.others] += (own.v @ self._pull.T)[:, :, None] * own.u[:, None, :]
        return out

    def values(self, at: RowsOfModel) -> Floats:
        """Return the influence of each row on α at fixed θ."""
        moved = self.given.seen(at.rows).moved
        return moved.reshape(len(moved), -1)


@dataclass(frozen=True)
class ConditionalVariances:
    """VAR(s̃α)/(VAR(s̃α) + VAR(ũβ)).

    Attributes
    ----------
    given : Given
        The model given its controls.
    sensitive, predictors : ndarray
        Variances of S̃ and of Ũ.
    """

    given: Given
    sensitive: Floats
    predictors: Floats
    free_gradient = None

    @property
    def _parts(self) -> tuple[Floats, Floats]:
        alpha, beta = self.given.alpha, self.given.theta[:, self.given.others]
        return alpha @ self.sensitive, beta @ self.predictors

    @cached_property
    def total(self) -> float:
        """VAR(s̃α) + VAR(ũβ)."""
        own, other = self._parts
        beta = self.given.theta[:, self.given.others]
        return float((own * self.given.alpha).sum() + (other * beta).sum())

    @cached_property
    def value(self) -> float:
        """The share."""
        own = float((self._parts[0] * self.given.alpha).sum())
        return own / self.total if self.total > 0.0 else 0.0

    @property
    def gradient(self) -> Floats:
        """Derivative in θ."""
        own, other = self._parts
        out = 2.0 * (1.0 - self.value) * own @ self.given.to_alpha
        out[:, self.given.others] -= 2.0 * self.value * other
        return np.asarray(out / self.total)

    def direct(self, at: RowsOfModel) -> Floats:
        """Return ((1−ρ)(h² + 2ht) − ρt²)/(VAR(s̃α) + VAR(ũβ)) of each row."""
        own = self.given.seen(at.rows)
        h, t = own.h, own.t
        each = (1.0 - self.value) * (h * h + 2.0 * h * t) - self.value * t * t
        return np.asarray(each.sum(axis=1) / self.total)


@dataclass(frozen=True)
class _Totals:
    """The deviance and Σ g z of η without S̃α, or without S̃α and Ũβ."""

    family: Any
    theta: Floats
    B: Floats
    given: Given
    predictors: bool

    def __call__(self, y: Floats, Z: Floats, weight: Floats, offset: Floats | None) -> Floats:
        q = len(self.B)
        s, x = Z[:, :q], Z[:, q:]
        rows = FairRows(self.family, y, s, x, s, self.B, offset, weight)
        eta = _reduced(RowsOfModel(rows, self.theta), self.given.seen(rows), self.predictors)
        terms = self.family.deviance_terms(y, rows.with_offset(eta), weight, 1)
        z = np.column_stack([np.ones(len(s)), s, x]) @ self.given.to_residuals
        return np.append((-0.5 * terms.gradient.T @ z).ravel(), terms.deviance)


def _reduced(at: RowsOfModel, own: GivenRows, predictors: bool) -> Floats:
    eta = at.level + at.h + at.t - own.h
    return np.asarray(eta if predictors else eta - own.t)


@dataclass(frozen=True)
class WithoutSensitive:
    """The mean deviance without S̃α, or without S̃α and Ũβ; controls stay.

    Attributes
    ----------
    given : Given
        The model given its controls.
    value : float
        The mean.
    score : ndarray of shape (m, k)
        E[g z] of residuals and controls.
    predictors : bool
        Whether Ũβ is kept.
    """

    given: Given
    value: float
    score: Floats
    predictors: bool
    free_gradient = None

    @classmethod
    def of(cls, state: RawState, given: Given, *, predictors: bool) -> WithoutSensitive:
        """Sum over the rows of a model."""
        fit, basis = state.fit, state.fit.basis
        function = _Totals(fit.family, state.theta, basis.B, given, predictors)
        total: Floats = fit.engine.sum_over_columns(function, basis.center) / basis.weight
        return cls(given, float(total[-1]), total[:-1].reshape(state.theta.shape), predictors)

    @property
    def gradient(self) -> Floats:
        """−2E[g ∂η/∂θ], with η a function of the level, ζ and, if kept, β."""
        kept = self.score.copy()
        kept[:, 1 : 1 + self.given.q] = 0.0
        if not self.predictors:
            kept[:, self.given.others] = 0.0
        return -2.0 * kept @ np.linalg.inv(self.given.to_residuals)

    def direct(self, at: RowsOfModel) -> Floats:
        """Return d − E[d] − 2E[g w]ᵀE[wwᵀ]⁻¹w·(what was left out) + 2E[g s̃]ᵀ(v t)."""
        given, own = self.given, self.given.seen(at.rows)
        deviance = at.rows.deviance(_reduced(at, own, self.predictors))
        of_level = self.score[:, np.append(0, given.controls)] @ given.of_level
        left = own.h if self.predictors else own.h + own.t
        moved = -((own.level @ of_level.T) * left).sum(axis=1)
        if self.predictors:
            on_sensitive = self.score[:, 1 : 1 + given.q]
            moved = moved + (own.t * (own.v @ on_sensitive.T)).sum(axis=1)
        return np.asarray(deviance - self.value + 2.0 * moved)


def shares(state: RawState, given: Given, basis: ConditionalBasis, measure: str) -> Any:
    """Return the share of S̃ in what a model explains beyond its controls."""
    if measure == "variance":
        S, U = (part.scatter() / basis.weight for part in (basis.sensitive, basis.predictors))
        return ConditionalVariances(given, S, U)
    full = RawDeviance.of(state)
    parts = [WithoutSensitive.of(state, given, predictors=kept) for kept in (True, False)]
    value, slopes = deviance_slopes(measure, full.value, parts[0].value, parts[1].value)
    return Sum(value, tuple(zip(slopes, (full, *parts), strict=True)))
