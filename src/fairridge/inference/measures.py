"""How quantities of a model move with its coefficients and with the weight of a row.

A quantity F(θ, P) of the coefficients and of the distribution P of the rows
moves by gradient·φ_θ + direct, where φ_θ is the influence of a row on θ, the
coefficients of fixed columns, and `direct` that on F at the same θ. The latter
includes what the row does to the column means and to B, and through B to α.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from fairridge._arrays import DeviceConstants
from fairridge._typing import Floats
from fairridge.inference.given import Given
from fairridge.inference.pairs import Partners
from fairridge.inference.rows import RowsOfModel, over_predictors
from fairridge.inference.state import State, derivatives_at


class Direct(Protocol):
    """A quantity that rows move at fixed coefficients."""

    def direct(self, at: RowsOfModel) -> Floats:
        """Return the influence of each row on the quantity at fixed coefficients."""
        ...


class Measure(Direct, Protocol):
    """A quantity near one model, which moves with the coefficients too."""

    @property
    def value(self) -> float:
        """Its value."""
        ...

    @property
    def gradient(self) -> Floats:
        """Derivative in intercept, α and β, of shape (m, 1+q+p)."""
        ...

    @property
    def free_gradient(self) -> Floats | None:
        """Derivative in the coefficients of the unconstrained model; None if it has no part."""
        ...


@dataclass(frozen=True)
class VarianceShareOf(DeviceConstants):
    """V_h/(V_h + T), with T = V_t or T = tr(CQ⁻¹Cᵀ), C = E[t y⊥ᵀ], Q = E[y⊥y⊥ᵀ]."""

    # The share and V_h + T.
    value: float
    total: float
    slope: Floats  # derivative in the coefficients times V_h + T, of shape (m, 1+q+p)
    given: Given  # the model given its controls
    # G = CQ⁻¹, if the response takes the part of the predictors, of shape (m, c).
    explained: Floats | None = None
    # Mean of the targets, and their coefficients on S.
    response: tuple[Floats, Floats] | None = None
    free_gradient = None

    @property
    def gradient(self) -> Floats:
        """Derivative in the coefficients."""
        return over_variance(self.slope, self.total)

    def direct(self, at: RowsOfModel) -> Floats:
        """((1−ρ)(h² + 2ht) − ρτ)/(V_h + T), τ = t² or 2tᵀGy⊥ − |Gy⊥|²; its mean is zero."""
        rows = self.given.seen(at)
        h, t = rows.h, rows.t
        other = t * t
        if self.explained is not None and self.response is not None:
            mean, coefficients = self.response
            explained_y = (at.rows.targets - mean - at.rows.s @ coefficients) @ self.explained.T
            other = 2.0 * t * explained_y - explained_y**2
        each = (1.0 - self.value) * (h * h + 2.0 * h * t) - self.value * other
        return over_predictors(each) / self.total


@dataclass(frozen=True)
class MeanDeviance(DeviceConstants):
    """The mean deviance."""

    value: float  # the mean
    gradient: Floats  # −2E[g z], of shape (m, 1+q+p)
    free_gradient = None

    @classmethod
    def of(cls, at: State) -> MeanDeviance:
        """Return the mean deviance of a model; at a minimum without penalties it has no slope."""
        penalized = any(factor for factor, _ in at.forms)
        gradient = -2.0 * at.gradient if penalized else np.zeros_like(at.gradient)
        return cls(at.fit.deviance / at.fit.basis.weight, gradient)

    def direct(self, at: RowsOfModel) -> Floats:
        """Return d − E[d]."""
        return at.rows.deviance(at.without_offset) - self.value


@dataclass(frozen=True)
class WithoutSensitive(DeviceConstants):
    """The mean deviance without S̃α, or without S̃α and Ũβ; controls stay."""

    given: Given  # the model given its controls
    value: float  # the mean
    score: Floats  # E[g z̃] of residuals and controls, of shape (m, k)
    predictors: bool  # whether Ũβ is kept
    shift: Floats | None  # means of S, if what is left out is S̃α of uncentered S, of shape (q,)
    free_gradient = None

    @classmethod
    def of(
        cls, at: State, given: Given, *, predictors: bool, shift: Floats | None
    ) -> WithoutSensitive:
        """Sum over the rows of a model."""
        theta = given.theta.copy()
        theta[:, 1 : 1 + given.q] = 0.0
        if shift is not None:
            theta[:, 0] -= given.alpha @ shift
        if not predictors:
            theta[:, given.others] = 0.0
        value, score, _ = derivatives_at(at.fit, theta @ given.to_residuals.T, 1)
        return cls(given, value, score @ given.to_residuals, predictors, shift)

    @property
    def gradient(self) -> Floats:
        """−2E[g ∂η/∂θ], with η a function of the intercept, ζ and, if kept, β."""
        kept = self.score.copy()
        kept[:, 1 : 1 + self.given.q] = 0.0 if self.shift is None else -kept[:, :1] * self.shift
        if not self.predictors:
            kept[:, self.given.others] = 0.0
        return -2.0 * kept @ np.linalg.inv(self.given.to_residuals)

    def direct(self, at: RowsOfModel) -> Floats:
        """Return d − E[d] − 2E[g w]ᵀE[wwᵀ]⁻¹w·(what was left out) + 2E[g s̃]ᵀ(v t)."""
        # What was left out of uncentered S does not depend on means.
        given, rows = self.given, self.given.seen(at)
        eta, centered, on_alpha = at.without_offset - rows.h, rows.h, 0.0 * given.alpha
        if self.predictors:
            on_alpha = self.score[:, 1 : 1 + given.q]
        if self.shift is not None:
            eta, centered = eta - given.alpha @ self.shift, 0.0 * rows.h
            on_alpha = on_alpha + self.score[:, :1] * self.shift
        if not self.predictors:
            eta, centered = eta - rows.t, centered + rows.t
        moved = rows.t * (rows.v @ on_alpha.T) - centered * (rows.w() @ self._on_w.T)
        return at.rows.deviance(eta) - self.value + 2.0 * over_predictors(moved)

    @cached_property
    def _on_w(self) -> Floats:
        """E[g w]ᵀE[wwᵀ]⁻¹, of shape (m, 1+c)."""
        return self.score[:, np.append(0, self.given.controls)] @ self.given.inverse_w


@dataclass(frozen=True)
class Sum(DeviceConstants):
    """A weighted sum of quantities, to first order."""

    value: float  # the value of what is linearized
    parts: tuple[tuple[float, Measure], ...]  # derivatives, and what they are derivatives in

    @property
    def gradient(self) -> Floats:
        """Derivative in the coefficients."""
        return np.asarray(sum(c * part.gradient for c, part in self.parts))

    @property
    def free_gradient(self) -> Floats | None:
        """Derivative in the coefficients of the unconstrained model."""
        slopes = [
            c * part.free_gradient for c, part in self.parts if part.free_gradient is not None
        ]
        return np.asarray(sum(slopes)) if slopes else None

    def direct(self, at: RowsOfModel) -> Floats:
        """Influence of each row at fixed coefficients."""
        parts = [c * part.direct(at) for c, part in self.parts]
        return sum(parts[1:], parts[0])


@dataclass(frozen=True)
class PairRatio:
    """f(α)/f(α₀) of individual fairness."""

    # The ratio, and f(α₀) per pair of rows.
    value: float
    unit: float
    # Derivatives in the coefficients of the model and of the unconstrained one, of shape
    # (m, 1+q+p).
    gradient: Floats
    free_gradient: Floats
    # Sums over partners of columns 1, h, |h|², h₀, |h₀|² (h, h₀ of m columns), per weight.
    partners: Partners
    free: Floats  # coefficients of the unconstrained model, of shape (m, 1+q+p)

    def direct(self, at: RowsOfModel) -> Floats:
        """2(Eⱼ[d(hᵢ−hⱼ)²] − ρEⱼ[d(h₀ᵢ−h₀ⱼ)²])/f(α₀), and what follows α and α₀."""
        m, alpha = at.h.shape[1], slice(1, 1 + at.rows.v.shape[1])
        sums = self.partners(at.rows.y)
        free = RowsOfModel(at.rows, self.free)
        model, other = (
            (h * h).sum(axis=1) * sums[:, 0]
            - 2.0 * (h * sums[:, k : k + m]).sum(axis=1)
            + sums[:, k + m]
            for h, k in ((at.h, 1), (free.h, 2 + m))
        )
        moved = (
            at.moved * self.gradient[:, alpha] + free.moved * self.free_gradient[:, alpha]
        ).sum(axis=(1, 2))
        return np.asarray(2.0 * (model - self.value * other) / self.unit + moved)


def over_variance(slope: Floats, variance: float) -> Floats:
    """Return the derivative of a share from that of its numerator less share times denominator."""
    if not variance > 0.0:
        raise ValueError(
            "there are no standard errors: what the bound is a share of varies by no more than "
            "rounding."
        )
    return slope / variance


def deviance_slopes(
    measure: str, full: float, without: float, null: float
) -> tuple[float, tuple[float, float, float]]:
    """Return a share of deviance, with its derivatives in the three mean deviances."""
    a, b = without - null, full - null
    if b == 0.0:
        raise ValueError("The model explains nothing of the response: S has no share of that.")
    if measure == "deviance":
        value = (full - without) / b
        slopes = ((1.0 - value) / b, -1.0 / b, value / b)
    else:  # Nagelkerke's: 1 − (eᵃ − 1)/(eᵇ − 1)
        top, bottom = np.expm1(a), np.expm1(b)
        value = 1.0 - top / bottom
        by_a, by_b = -np.exp(a) / bottom, top * np.exp(b) / bottom**2
        slopes = (by_b, by_a, -by_a - by_b)
    if not np.isfinite([value, *slopes]).all():
        raise ValueError("the deviances of this model are beyond floating point.")
    return float(value), (float(slopes[0]), float(slopes[1]), float(slopes[2]))
