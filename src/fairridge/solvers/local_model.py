"""The minima of a quadratic model under a quadratic penalty, for every λ at once.

At a point θ with gradient g and Hessian M of a deviance, the next point θ + Δ minimizes

    gᵀΔ + ½ΔᵀMΔ + λ‖a + JΔ‖²   subject to   c + GΔ = 0,

where a(θ) is what λ penalizes, c(θ) what is held at zero, and J and G are their
derivatives. With multipliers π = 2λ(a + JΔ) and ν,

    Δ = −M⁻¹(g + Jᵀπ + Gᵀν),

so that only a matrix T = JM⁻¹Jᵀ (less what G takes of it) depends on π. In its
eigenvectors a + JΔ = ũ/(1 + 2λt): what is penalized shrinks as in a ridge regression,
and λ = 0 and λ = ∞ are like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from fairridge._typing import Floats, Integers
from fairridge.solvers.spectrum import curvature_scale

# Eigenvalue of T, relative to the largest, below which equations repeat each other: the
# probabilities of classes sum to one.
REPEATED_EQUATION = 1e-12
# Curvature, relative to the largest, that a direction is given at least.
LEAST_CURVATURE = 1e-12


def bent_upward(hessian: Floats, typical: Floats) -> Floats:
    """Return a Hessian whose negative eigenvalues, in units of typical curvature, are reversed."""
    unit = np.sqrt(typical)
    values, vectors = np.linalg.eigh(hessian / np.outer(unit, unit))
    if values[0] > 0.0:
        return hessian
    vectors = unit[:, None] * vectors
    least = LEAST_CURVATURE * np.abs(values).max()
    bent: Floats = (vectors * np.maximum(np.abs(values), least)) @ vectors.T
    return bent


@dataclass(frozen=True)
class LocalModel:
    """The minima of one quadratic model, for every λ above the least one that has a minimum."""

    origin: float  # the λ that is part of M
    newton: Floats  # Δ at that λ, of shape (N,)
    directions: Floats  # how Δ answers to multipliers, in eigenvectors of T, of shape (N, s)
    rates: Floats  # t, of shape (s,)
    penalized: Floats  # ũ: a + JΔ at the origin, in those eigenvectors, of shape (s,)
    turn: Floats  # the eigenvectors, of shape (s, s)
    # ν = held[:, 0] − held[:, 1:]·(multipliers beyond the origin), of shape (t, 1 + s).
    held: Floats

    @property
    def least(self) -> float:
        """The λ at and below which there is no minimum; negative if there always is one."""
        largest = float(self.rates.max(initial=0.0))
        return self.origin - 0.5 / largest if largest > 0.0 else -np.inf

    def among(self, places: Integers, size: int) -> LocalModel:
        """Return the same among more coordinates, of which the others do not move."""
        newton, directions = np.zeros(size), np.zeros((size, len(self.rates)))
        newton[places], directions[places] = self.newton, self.directions
        return replace(self, newton=newton, directions=directions)

    def changes(self, lambdas: Floats) -> Floats:
        """Return Δ at several λ, one row each."""
        change: Floats = self.newton - (self._multipliers(lambdas) @ self.directions.T)
        return change

    def remaining(self, lambdas: Floats) -> Floats:
        """Return a + JΔ at several λ, in the eigenvectors of T, one row each."""
        extra = 2.0 * (lambdas[:, None] - self.origin)
        with np.errstate(invalid="ignore", divide="ignore"):
            grown = np.where(self.rates > 0.0, 1.0 + extra * self.rates, 1.0)
            return np.asarray(self.penalized / grown)

    def multipliers(self, lambda_: float) -> tuple[Floats, Floats]:
        """Return π and ν at a λ."""
        beyond = self._multipliers(np.array([lambda_]))[0]
        of_origin = self.remaining(np.array([lambda_]))[0] * 2.0 * self.origin
        nu: Floats = self.held[:, 0] - self.held[:, 1:] @ beyond
        return self.turn @ (beyond + of_origin), nu

    def under(self, multipliers: Floats) -> tuple[Floats, Floats]:
        """Return Δ and ν for given multipliers π of a model whose origin is zero."""
        turned = multipliers @ self.turn
        change: Floats = self.newton - self.directions @ turned
        return change, self.held[:, 0] - self.held[:, 1:] @ turned

    def _multipliers(self, lambdas: Floats) -> Floats:
        """Return the multipliers beyond those of the origin, in the eigenvectors of T."""
        extra = 2.0 * (lambdas[:, None] - self.origin)
        large = self.rates > REPEATED_EQUATION * self.rates.max(initial=0.0)
        inverse = np.where(large, 1.0 / np.where(large, self.rates, 1.0), 0.0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            finite = extra / (1.0 + extra * self.rates)
        return self.penalized * np.where(np.isinf(extra), inverse, finite)


def local_model(
    hessian: Floats,
    gradient: Floats,
    penalized: tuple[Floats, Floats],
    held: tuple[Floats, Floats] | None,
    origin: float,
    typical: Floats,
) -> LocalModel | None:
    """Solve the model; None if it has no minimum at an origin of zero.

    `penalized` is a and J, `held` is c and G; all derivatives are those of the deviance and of
    penalties that do not depend on λ. At another origin negative curvature changes its sign, in
    units of `typical` ones: steps leave a saddle point, and do not creep along it.
    """
    a, J = penalized
    if not np.isfinite(hessian).all():
        return None
    if origin > 0.0:
        hessian = bent_upward(hessian + 2.0 * origin * J.T @ J, typical)
        gradient = gradient + 2.0 * origin * J.T @ a
    rows = J if held is None else np.vstack([J, held[1]])
    s, scale = len(J), curvature_scale(hessian)
    right = np.column_stack([gradient, rows.T]) / scale[:, None]
    _, solved, failed = lapack.dposv(hessian / np.outer(scale, scale), right)
    if failed:
        return None
    solved /= scale[:, None]
    newton, directions = -solved[:, 0], solved[:, 1 : 1 + s]
    left, T = a + J @ newton, J @ directions
    multipliers = np.zeros((0, 1 + s))
    if held is not None:
        c, G = held
        of_held = solved[:, 1 + s :]
        # c + GΔ = 0 decides ν for any multipliers of J.
        both = np.column_stack([c + G @ newton, G @ directions])
        # Where means have saturated, totals do not respond, and equations repeat each other.
        multipliers = np.linalg.lstsq(G @ of_held, both, rcond=REPEATED_EQUATION)[0]
        newton = newton - of_held @ multipliers[:, 0]
        directions = directions - of_held @ multipliers[:, 1:]
        left, T = a + J @ newton, J @ directions
    rates, turn = np.linalg.eigh(0.5 * (T + T.T))
    rates = np.maximum(rates, 0.0)
    multipliers = np.column_stack([multipliers[:, :1], multipliers[:, 1:] @ turn])
    return LocalModel(origin, newton, directions @ turn, rates, turn.T @ left, turn, multipliers)
