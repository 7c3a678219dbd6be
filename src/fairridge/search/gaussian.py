"""The gaussian model: every λ in closed form, every bound from one decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import Definition, VarianceShare, is_variance_share
from fairridge.families import Gaussian
from fairridge.models import FairBasis, Fit, factorize, fair_basis
from fairridge.models.basis import WELL_CONDITIONED
from fairridge.penalties import Penalty, SecularPenalty
from fairridge.search.last_crossing import dense_profile
from fairridge.search.problem import LeastSquares, ModelSettings
from fairridge.search.secular import secular_roots
from fairridge.search.solution import Choice


@dataclass(frozen=True)
class GaussianProblem(LeastSquares):
    """min ‖y − Sα − Uβ‖² + λ·penalty(α) + λ₂‖β‖², for every λ.

    S ⟂ U, so β = (UᵀU + λ₂I)⁻¹Uᵀy does not depend on λ, and α(λ) not on β.

    Attributes
    ----------
    engine : Engine
        Where the rows are.
    basis : FairBasis
        S, U and y in small matrices.
    family : Gaussian
        The family.
    penalty : Penalty
        The penalty on α.
    predictor_penalty : float
        λ₂.
    beta : ndarray of shape (p,)
        Coefficients of U, original scale.
    """

    engine: Engine
    basis: FairBasis
    family: Gaussian
    penalty: Penalty
    predictor_penalty: float
    beta: Floats

    @classmethod
    def of(cls, engine: Engine, basis: FairBasis, settings: ModelSettings) -> GaussianProblem:
        """Set the model up in a basis."""
        spectrum, lambda_2 = basis.predictors, settings.predictor_penalty
        beta = spectrum.original(spectrum.ridge(basis.on_predictors[:, 0], lambda_2))
        return cls(engine, basis, Gaussian(), settings.penalty, lambda_2, beta)

    def alpha(self, lambda_: Floats) -> Floats:
        """Return α(λ) on the original scale, one row per λ."""
        spectrum = self.basis.sensitive
        scaled = self.penalty.coefficients(spectrum, self._projection, lambda_)
        return spectrum.original(scaled)

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        basis, lambda_ = self.basis, np.asarray(lambda_, dtype=np.float64)
        alphas = self.alpha(lambda_)
        # What α leaves of y within the span of S, in its singular basis.
        missed = ((self._projection - basis.sensitive.rotate(alphas)) ** 2).sum(axis=1)
        deviances = missed + self._deviance_of_predictors
        intercepts = basis.center_targets[0] - alphas @ basis.center_sensitive
        return [
            Fit(
                lambda_=float(lambda_[k]),
                alpha=alphas[k],
                beta=self.beta,
                intercept=float(intercepts[k]),
                deviance=float(deviances[k]),
                family=self.family,
                basis=basis,
                engine=self.engine,
                unconstrained=self.unconstrained,
            )
            for k in range(len(lambda_))
        ]

    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ."""
        return self.fits(np.array([lambda_]))[0]

    def unconstrained(self) -> Fit:
        """Return the model at λ = 0."""
        return self._unconstrained

    @property
    def compared(self) -> list[Fit]:
        """Return nothing: β is the same in all models."""
        return []

    def converged(self, lambda_: float) -> bool:
        """Return True: every λ has a closed form."""
        return True

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose λ(r) for every bound, from a secular equation if there is one."""
        if definition.maximum_of:
            parts = [self.choose(part, bounds, tol, max_iter) for part in definition.maximum_of]
            return [_strictest(options) for options in zip(*parts, strict=True)]
        if is_variance_share(definition, self.family) and isinstance(self.penalty, SecularPenalty):
            return self._choose_secular(self.penalty, definition, bounds, max_iter)
        return self._choose_by_scan(definition, bounds, tol, max_iter)

    def _choose_secular(
        self, penalty: SecularPenalty, definition: VarianceShare, bounds: Floats, max_iter: int
    ) -> list[Choice]:
        rest = definition.other_variance(self.unconstrained()) * self.basis.weight
        active = bounds < 1.0
        odds = bounds / np.where(active, 1.0 - bounds, 1.0)
        # A root of each factor: their product may be too small a number.
        limits = np.where(active, np.sqrt(odds) * np.sqrt(rest), np.inf)
        roots, converged = secular_roots(
            lambda x: penalty.length(self.basis.sensitive, self._projection, x), limits, max_iter
        )
        states = ["converged" if done else "not-converged" for done in converged]
        return [
            Choice(float(root), "inactive" if root == 0.0 else state)  # type: ignore[arg-type]
            for root, state in zip(roots, states, strict=True)
        ]

    def _choose_by_scan(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        eigenvalues = self.basis.sensitive.eigenvalues
        ceiling = self.penalty.ceiling(self.basis.sensitive, self._projection)
        if not eigenvalues.size or ceiling == 0.0 or (bounds == 1.0).all():
            return [Choice(0.0, "inactive", 0) for _ in bounds]
        values = dense_profile(
            lambda x: definition.value(self.fit(x)),
            float(eigenvalues[-1]),
            float(eigenvalues[0]),
            ceiling,
        )
        return [
            Choice(0.0, "inactive", 0) if r == 1.0 else values.choose(float(r), tol, max_iter)
            for r in bounds
        ]

    @property
    def _projection(self) -> Floats:
        return self.basis.on_sensitive[:, 0]

    @cached_property
    def _unconstrained(self) -> Fit:
        return self.fit(0.0)

    @cached_property
    def _deviance_of_predictors(self) -> float:
        spectrum = self.basis.predictors
        kept = spectrum.eigenvalues / (spectrum.eigenvalues + self.predictor_penalty)
        missed = (1.0 - kept) * self.basis.on_predictors[:, 0]
        return float(missed @ missed + self.basis.residual[0, 0])


def gaussian_problem(engine: Engine, settings: ModelSettings) -> GaussianProblem:
    """Read the rows once, or thrice if they are ill-conditioned, and decompose."""
    factor = factorize(engine, engine.moments())
    basis = fair_basis(factor, engine.n_sensitive, standardize=settings.standardize)
    problem = GaussianProblem.of(engine, basis, settings)
    if factor.condition > WELL_CONDITIONED:
        return replace(problem, beta=problem.beta + _correction(problem))
    return problem


def _correction(problem: GaussianProblem) -> Floats:
    """One step of iterative refinement of β, with residuals from the rows.

    Uᵀ(y − Sα − Uβ) − λ₂β is zero at the solution; what is left of it is
    rounding, and solving once more with it as right-hand side removes that.
    """
    basis, free = problem.basis, problem.unconstrained()
    raw = basis.raw_coefficients(free.alpha, problem.beta)
    level = float(basis.center_targets[0])
    gradient = problem.engine.residual_products(raw, basis.center, level)
    q = len(free.alpha)
    spectrum = basis.predictors
    on_U = (gradient[q:] - basis.B.T @ gradient[:q]) / spectrum.scale
    on_U -= problem.predictor_penalty * problem.beta * spectrum.scale
    rotated = spectrum.vectors.T @ on_U / (spectrum.eigenvalues + problem.predictor_penalty)
    return spectrum.original(spectrum.vectors @ rotated)


def _strictest(options: Sequence[Choice]) -> Choice:
    """λ that meets every bound: the largest, with the worst status."""
    order = ("inactive", "converged", "not-converged", "infeasible")
    worst = max(options, key=lambda choice: order.index(choice.status))
    return Choice(
        max(choice.lambda_ for choice in options),
        worst.status,
        max(choice.crossings for choice in options),
    )
