"""Least squares whose share of variance explained by S is bounded (Komiyama et al. 2018).

    min ‖y − Sα − Uβ‖²  subject to  (1 − r)‖Sα‖² ≤ r‖Uβ‖²

is not convex, but has one quadratic constraint and S ⟂ U. In the plane of
(‖Sα‖, ‖Uβ‖) the constraint is a wedge, and the solution the projection of the
least-squares point (a, b) on its edge (√r, √(1−r)):

    t = √r·a + √(1−r)·b,   α = (√r·t/a)·α_OLS,   β = (√(1−r)·t/b)·β_OLS.

The multiplier of the constraint is μ with α = α_OLS/(1 + μ(1−r)) and
β = β_OLS/(1 − μr). Other covariance matrices for S and U, in objective and
constraint, change a, b and the least-squares coefficients, and nothing else.
With λ₂‖β‖² in the objective β is (UᵀU(1 − μr) + λ₂I)⁻¹Uᵀy, and μ a root.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import StatisticalParity
from fairridge.models import Fit
from fairridge.models.spaces import Space, plain_space
from fairridge.peers._model import fair_columns
from fairridge.search.problem import Choice, LeastSquares, Solution
from fairridge.solvers import Spectrum
from fairridge.solvers.spectrum import CURVATURE_TOLERANCE, RANK_TOLERANCE

# Maps the standardized columns [S, U] to their covariance matrix.
Covariance = Callable[[Floats], Floats]

# A bound this small counts as zero.
TINY = 1e-100


@dataclass(frozen=True)
class Block:
    """Columns Z with a covariance matrix, and the response seen from them."""

    spectrum: Spectrum  # n times the covariance matrix Q of the scaled columns
    # The response in its singular basis: A diag(√l) projection = Zᵀy, of shape (rank,).
    projection: Floats

    def with_ridge(self, ridge: float) -> Block:
        """Return the block with Q + ridge·I."""
        values = self.spectrum.eigenvalues
        return Block(
            replace(self.spectrum, eigenvalues=values + ridge),
            np.sqrt(values / (values + ridge)) * self.projection,
        )

    def with_covariance(self, V: Floats, weight: float, label: str) -> Block:
        """Return the block with another covariance matrix V of the scaled columns."""
        # `weight` is n, and `label` names the columns in messages.
        products = self.spectrum.vectors @ (np.sqrt(self.spectrum.eigenvalues) * self.projection)
        values, vectors = np.linalg.eigh(0.5 * weight * (V + V.T))
        largest = float(np.abs(values).max(initial=0.0))
        if (values < -1e-8 * largest).any():
            raise ValueError(f"covariance gives the {label} a negative variance.")
        kept = values > CURVATURE_TOLERANCE * largest
        values, vectors = values[kept], vectors[:, kept]
        rotated = vectors.T @ products
        if np.linalg.norm(products - vectors @ rotated) > 1e-6 * np.linalg.norm(products):
            raise ValueError(
                f"covariance gives no variance to a combination of the {label} that varies with "
                "the response; use an estimator that shrinks, such as LedoitWolf()."
            )
        spectrum = replace(self.spectrum, eigenvalues=values, vectors=vectors)
        return Block(spectrum, rotated / np.sqrt(values))

    def coefficients(self, fitted: Floats) -> Floats:
        """Return the coefficients, original scale, whose fit in the singular basis this is."""
        return self.spectrum.original(self.spectrum.ridge(fitted, 0.0))


class Place(NamedTuple):
    """Where a bound puts the model."""

    shrinkage: float  # α as a multiple of the least-squares α
    fitted: Floats  # Uβ, in the singular basis
    multiplier: float  # μ; 0 if the bound is inactive, ∞ at r = 0
    is_determined: bool = True  # whether no other model is as good


def _penalized_place(
    a: float, predictors: Block, penalty: float, r: float, nothing: float
) -> Place:
    """Find μ below the pole, at which a direction of β becomes undetermined."""
    # `a` is ‖Sα‖ at least squares, `predictors` is U, `penalty` λ₂, and `nothing` a length that is
    # rounding.
    # With δ = μ_max − μ, the denominators lᵢ(1 − μr) + λ₂ of β are λ₂(1 − lᵢ/l₁) + δrlᵢ, l₁ the
    # largest eigenvalue.
    values, c = predictors.spectrum.eigenvalues, predictors.projection
    longest, edge = float(values.max()), float(np.sqrt((1.0 - r) / r))
    most = (1.0 + penalty / longest) / r
    at_pole = values >= (1.0 - 1e-12) * longest
    size = float(np.linalg.norm(c[at_pole]))
    if size <= nothing:
        c = np.where(at_pole, 0.0, c)

    def sizes(gap: float) -> tuple[float, Floats]:
        below = penalty * (1.0 - values / longest) + gap * r * values
        fitted = values * np.divide(c, below, out=np.zeros_like(c), where=c != 0.0)
        return 1.0 / (1.0 + (most - gap) * (1.0 - r)), fitted

    def excess(gap: float) -> float:
        shrinkage, fitted = sizes(gap)
        return float(np.linalg.norm(fitted)) - edge * a * shrinkage

    if size <= nothing and excess(0.0) < 0.0:
        # Any multiple of the direction at the pole would meet the bound; none is taken.
        _, fitted = sizes(0.0)
        return Place(float(np.linalg.norm(fitted)) / (edge * a), fitted, most, False)
    if excess(most) >= 0.0:  # the bound is inactive up to rounding
        return Place(*sizes(most), 0.0)
    gap = size / (r * edge * a) if size > nothing else 0.0
    if excess(gap) > 0.0:  # rounding may deny it
        gap = brentq(excess, gap, most, xtol=1e-300, rtol=1e-15, maxiter=1000)
    return Place(*sizes(gap), max(most - gap, 0.0))


@dataclass(frozen=True)
class KomiyamaProblem(LeastSquares):
    """The model for every bound."""

    # `sensitive` and `predictors` are S and U, with the covariance matrices that the bound sees;
    # `predictor_penalty` is λ₂.

    space: Space
    sensitive: Block
    predictors: Block
    predictor_penalty: float

    def solve(self, bounds: Floats) -> list[Solution]:
        """Find the model for every bound."""
        return [self._solution(r) for r in bounds.tolist()]

    def place(self, r: float) -> Place:
        """Return where a bound puts the model."""
        a = float(np.linalg.norm(self.sensitive.projection))
        # So small a projection of y has no direction that means anything.
        nothing = RANK_TOLERANCE * float(np.sqrt(self.null_deviance))
        predictors, penalty = self.predictors, self.predictor_penalty
        values = predictors.spectrum.eigenvalues
        free = values / (values + penalty) * predictors.projection
        b = float(np.linalg.norm(free))
        x, y = np.sqrt(r), np.sqrt(1.0 - r)
        if y * a <= x * b:
            return Place(1.0, free, 0.0)
        if r <= TINY or not values.size:
            return Place(0.0, free, np.inf)
        if penalty > 0.0 or b <= nothing:
            return _penalized_place(a, predictors, penalty, r, nothing)
        t = x * a + y * b
        multiplier = (y * a - x * b) / (r * y * a + (1.0 - r) * x * b)
        return Place(float(x * t / a), y * t / b * free, float(multiplier))

    def unconstrained(self) -> Fit:
        """Return the model without a bound."""
        return self._fit(self.place(1.0))

    def _solution(self, r: float) -> Solution:
        definition, place = StatisticalParity(), self.place(r)
        fit, inactive = self._fit(place), place.multiplier == 0.0
        choice = Choice(fit.lambda_, "inactive" if inactive else "converged", int(not inactive))
        return Solution(r, fit, definition.value(fit), definition.components(fit), choice)

    def _fit(self, place: Place) -> Fit:
        basis = self.basis
        alpha = place.shrinkage * self.sensitive.coefficients(self.sensitive.projection)
        beta = self.predictors.coefficients(place.fitted)
        missed = (
            basis.on_sensitive[:, 0] - basis.sensitive.rotate(alpha),
            basis.on_predictors[:, 0] - basis.predictors.rotate(beta),
        )
        return Fit(
            lambda_=place.multiplier,
            alpha=alpha,
            beta=beta,
            intercept=float(basis.center_targets[0] - alpha @ basis.center_sensitive),
            deviance=float(sum(part @ part for part in missed) + basis.residual[0, 0]),
            family=self.family,
            basis=basis,
            engine=self.engine,
            unconstrained=self.unconstrained,
        )


def komiyama_problem(
    engine: Engine,
    *,
    predictor_penalty: float = 0.0,
    ridge: float = 0.0,
    covariance: Covariance | None = None,
) -> KomiyamaProblem:
    """Read the rows once, or twice if they are ill-conditioned, and decompose."""
    # `ridge` is added to SᵀS and UᵀU of standardized columns. `covariance` is used instead of the
    # covariance matrix of the standardized columns [S, U]; the rows are read for that.
    space = plain_space(engine, standardize=True, n_targets=1)
    basis = space.basis
    S = Block(basis.sensitive, basis.on_sensitive[:, 0])
    U = Block(basis.predictors, basis.on_predictors[:, 0])
    if covariance is not None:
        rows_of_S, rows_of_U = fair_columns(engine, basis)
        columns = [rows_of_S / basis.sensitive.scale, rows_of_U / basis.predictors.scale]
        V, q = covariance(np.hstack(columns)), engine.n_sensitive
        S = S.with_covariance(V[:q, :q], basis.weight, "sensitive attributes")
        U = U.with_covariance(V[q:, q:], basis.weight, "predictors")
    if ridge > 0.0:
        S, U = S.with_ridge(ridge), U.with_ridge(ridge)
    return KomiyamaProblem(space, S, U, predictor_penalty)
