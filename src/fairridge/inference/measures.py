"""How quantities of a model move with its coefficients and with the weight of a row.

A quantity F(θ, P) of the coefficients and of the distribution P of the rows
moves by gradient·φ_θ + direct, where φ_θ is the influence of a row on θ and
`direct` that on F at the same θ. The latter includes what the row does to the
column means and to B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairridge._typing import Floats
from fairridge.inference.pairs import Partners
from fairridge.inference.rows import RowsOfModel

__all__ = ["Deviance", "Measure", "OutcomePairs", "Sum", "VarianceShareOf", "deviance_slopes"]


class Measure(Protocol):
    """A quantity near one model."""

    @property
    def value(self) -> float:
        """Its value."""
        ...

    @property
    def gradient(self) -> Floats:
        """Derivative in level, α and β, of shape (m, 1+q+p)."""
        ...

    @property
    def free_gradient(self) -> Floats | None:
        """Derivative in the coefficients of the unconstrained model; None if it has no part."""
        ...

    def direct(self, at: RowsOfModel) -> Floats:
        """Return the influence of each row on the quantity at fixed coefficients."""
        ...


@dataclass(frozen=True)
class VarianceShareOf:
    """V_h/(V_h + T), with T = V_t or T = tr(CQ⁻¹Cᵀ), C = E[t y⊥ᵀ], Q = E[y⊥y⊥ᵀ].

    Attributes
    ----------
    value, total : float
        The share and V_h + T.
    gradient : ndarray of shape (m, 1+q+p)
        Derivative in the coefficients.
    explained : ndarray of shape (m, c) or None
        G = CQ⁻¹, where the response takes the part of the predictors.
    response : tuple of ndarray
        Mean of the targets, and their coefficients on S.
    """

    value: float
    total: float
    gradient: Floats
    explained: Floats | None = None
    response: tuple[Floats, Floats] | None = None
    free_gradient = None

    def direct(self, at: RowsOfModel) -> Floats:
        """((1−ρ)h² − ρτ)/(V_h + T), τ = t² or 2tᵀGy⊥ − |Gy⊥|²; its mean is zero."""
        if self.explained is None or self.response is None:
            other = (at.t**2).sum(axis=1)
        else:
            mean, coefficients = self.response
            left = (at.rows.targets - mean - at.rows.s @ coefficients) @ self.explained.T
            other = (2.0 * at.t * left - left**2).sum(axis=1)
        own = (at.h**2).sum(axis=1)
        return ((1.0 - self.value) * own - self.value * other) / self.total


@dataclass(frozen=True)
class Deviance:
    """The mean deviance with some coefficients set to zero.

    Attributes
    ----------
    value : float
        The mean.
    score : ndarray of shape (m, 1+q+p)
        E[g z].
    q : int
        Number of sensitive columns.
    sensitive, predictors : bool
        Whether α and β are kept.
    shift : ndarray of shape (q,) or None
        Means of S, if the level is that of uncentered S.
    """

    value: float
    score: Floats
    q: int
    sensitive: bool = True
    predictors: bool = True
    shift: Floats | None = None
    free_gradient = None

    @property
    def gradient(self) -> Floats:
        """−2E[g z] of the coefficients that are kept."""
        out = -2.0 * self.score
        if not self.sensitive:
            out[:, 1 : 1 + self.q] = 0.0
        if not self.predictors:
            out[:, 1 + self.q :] = 0.0
        if self.shift is not None:
            out[:, 1 : 1 + self.q] += 2.0 * self.score[:, :1] * self.shift
        return out

    def direct(self, at: RowsOfModel) -> Floats:
        """Return d − E[d] + 2E[g]·(what centering took) + 2E[g s]ᵀ(v t)."""
        rows, level = at.rows, self.score[:, 0]
        kept = [
            part for part, is_kept in ((at.h, self.sensitive), (at.t, self.predictors)) if is_kept
        ]
        eta = np.broadcast_to(at.level, at.h.shape) if not kept else sum(kept, at.level)
        moved = sum(kept, np.zeros_like(level)) @ level if kept else 0.0
        if self.shift is not None:
            eta = eta - at.theta[:, 1 : 1 + self.q] @ self.shift
            moved = moved + at.h @ level
        if self.predictors:
            moved = moved + (at.t * (rows.v @ self.score[:, 1 : 1 + self.q].T)).sum(axis=1)
        return rows.deviance(eta) - self.value + 2.0 * moved


@dataclass(frozen=True)
class Sum:
    """A weighted sum of quantities, to first order.

    Attributes
    ----------
    value : float
        The value of what is linearized.
    parts : tuple of (float, Measure)
        Derivatives, and what they are derivatives in.
    """

    value: float
    parts: tuple[tuple[float, Measure], ...]

    @property
    def gradient(self) -> Floats:
        """Derivative in the coefficients."""
        return np.asarray(sum(c * part.gradient for c, part in self.parts))

    @property
    def free_gradient(self) -> Floats | None:
        """Derivative in the coefficients of the unconstrained model."""
        found = [c * part.free_gradient for c, part in self.parts if part.free_gradient is not None]
        return np.asarray(sum(found)) if found else None

    def direct(self, at: RowsOfModel) -> Floats:
        """Influence of each row at fixed coefficients."""
        return np.asarray(sum(c * part.direct(at) for c, part in self.parts))


@dataclass(frozen=True)
class OutcomePairs:
    """f(α)/f(α₀) of individual fairness.

    Attributes
    ----------
    value, unit : float
        The ratio, and f(α₀) per pair of rows.
    gradient, free_gradient : ndarray of shape (m, 1+q+p)
        Derivatives in the coefficients of the model and of the unconstrained one.
    partners : callable
        Sums over partners of columns 1, h, |h|², h₀, |h₀|² (h, h₀ of m columns), per weight.
    free : ndarray of shape (m, 1+q+p)
        Coefficients of the unconstrained model.
    """

    value: float
    unit: float
    gradient: Floats
    free_gradient: Floats
    partners: Partners
    free: Floats

    def direct(self, at: RowsOfModel) -> Floats:
        """2(Eⱼ[d(hᵢ−hⱼ)²] − ρEⱼ[d(h₀ᵢ−h₀ⱼ)²])/f(α₀)."""
        m = at.h.shape[1]
        sums = self.partners(at.rows.y)
        free = RowsOfModel(at.rows, self.free)
        own, other = (
            (h * h).sum(axis=1) * sums[:, 0]
            - 2.0 * (h * sums[:, k : k + m]).sum(axis=1)
            + sums[:, k + m]
            for h, k in ((at.h, 1), (free.h, 2 + m))
        )
        return 2.0 * (own - self.value * other) / self.unit


def deviance_slopes(
    measure: str, full: float, without: float, null: float
) -> tuple[float, tuple[float, float, float]]:
    """Return a share of deviance, with its derivatives in the three mean deviances.

    Parameters
    ----------
    measure : {"deviance", "nagelkerke"}
        Which share.
    full, without, null : float
        Mean deviances of the model, without S, and without S and predictors.
    """
    a, b = without - null, full - null
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
