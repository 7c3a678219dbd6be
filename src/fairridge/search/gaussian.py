"""The gaussian model: every λ in closed form, every bound from one decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairridge.engines import Engine
from fairridge.fairness import Combined, Definition, VarianceShare
from fairridge.families import Gaussian
from fairridge.penalties import Penalty, SecularPenalty
from fairridge.search.crossing import profile
from fairridge.search.secular import secular_roots
from fairridge.search.solution import Choice, Solution
from fairridge.solvers import FairBasis, Fit, factorize, fair_basis
from fairridge.solvers.factor import WELL_CONDITIONED

__all__ = ["GaussianProblem", "gaussian_problem", "solve_gaussian"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GaussianProblem:
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

    def alpha(self, lambda_: Floats) -> Floats:
        """Return α(λ) on the original scale, one row per λ."""
        spectrum = self.basis.sensitive
        scaled = self.penalty.coefficients(spectrum, self.basis.on_sensitive, lambda_)
        return spectrum.original(scaled)

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        basis, lambda_ = self.basis, np.asarray(lambda_, dtype=np.float64)
        alphas = self.alpha(lambda_)
        spectrum = basis.sensitive
        # What α leaves of y within the span of S, in its singular basis.
        fitted = (alphas * spectrum.scale) @ spectrum.vectors * np.sqrt(spectrum.eigenvalues)
        missed = ((basis.on_sensitive - fitted) ** 2).sum(axis=1)
        deviances = missed + self._deviance_of_predictors
        intercepts = basis.center_response - alphas @ basis.center_sensitive
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

    @cached_property
    def _unconstrained(self) -> Fit:
        return self.fit(0.0)

    @cached_property
    def _deviance_of_predictors(self) -> float:
        spectrum = self.basis.predictors
        kept = spectrum.eigenvalues / (spectrum.eigenvalues + self.predictor_penalty)
        return float((((1.0 - kept) * self.basis.on_predictors) ** 2).sum()) + self.basis.residual


def gaussian_problem(
    engine: Engine,
    *,
    penalty: Penalty,
    predictor_penalty: float = 0.0,
    standardize: bool = True,
) -> GaussianProblem:
    """Read the rows once, or thrice where they are ill-conditioned, and decompose."""
    factor = factorize(engine, engine.moments())
    basis = fair_basis(factor, engine.n_sensitive, standardize=standardize)
    spectrum = basis.predictors
    beta = spectrum.original(spectrum.ridge(basis.on_predictors, predictor_penalty))
    problem = GaussianProblem(engine, basis, Gaussian(), penalty, predictor_penalty, beta)
    if factor.condition > WELL_CONDITIONED:
        return replace(problem, beta=beta + _correction(problem, factor.scale))
    return problem


def _correction(problem: GaussianProblem, scale: Floats) -> Floats:
    """One step of iterative refinement of β, with residuals from the rows.

    Uᵀ(y − Sα − Uβ) − λ₂β is zero at the solution; what is left of it is
    rounding, and solving once more with it as right-hand side removes that.
    """
    basis, free = problem.basis, problem.unconstrained()
    raw = basis.raw_coefficients(free.alpha, problem.beta)
    center = np.concatenate([basis.center_sensitive, basis.center_predictors])
    gradient = problem.engine.residual_products(raw, center, basis.center_response)
    q = len(free.alpha)
    spectrum = basis.predictors
    on_U = (gradient[q:] - basis.B.T @ gradient[:q]) / spectrum.scale
    on_U -= problem.predictor_penalty * problem.beta * spectrum.scale
    rotated = spectrum.vectors.T @ on_U / (spectrum.eigenvalues + problem.predictor_penalty)
    return spectrum.original(spectrum.vectors @ rotated)


def solve_gaussian(
    problem: GaussianProblem,
    definition: Definition,
    unfairness: Sequence[float] | Floats,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> list[Solution]:
    """Find the model for every bound."""
    bounds = np.asarray(unfairness, dtype=np.float64)
    choices = choose(problem, definition, bounds, tol, max_iter)
    fits = problem.fits(np.array([choice.lambda_ for choice in choices]))
    solutions = []
    for r, fit, choice in zip(bounds, fits, choices, strict=True):
        achieved = definition.value(fit)
        solutions.append(Solution(float(r), fit, achieved, definition.components(fit), choice))
    return solutions


def choose(
    problem: GaussianProblem, definition: Definition, bounds: Floats, tol: float, max_iter: int
) -> list[Choice]:
    """Choose λ(r) for every bound; r = 1 bounds nothing, whatever the definition."""
    if isinstance(definition, Combined) and definition.is_maximum:
        parts = [choose(problem, part, bounds, tol, max_iter) for part in definition.definitions]
        return [_strictest(options) for options in zip(*parts, strict=True)]
    if isinstance(definition, VarianceShare) and isinstance(problem.penalty, SecularPenalty):
        return _choose_secular(problem, problem.penalty, definition, bounds, max_iter)
    return _choose_by_scan(problem, definition, bounds, tol, max_iter)


def _strictest(options: Sequence[Choice]) -> Choice:
    """λ that meets every bound: the largest, with the worst status."""
    order = ("inactive", "converged", "not-converged", "infeasible")
    worst = max(options, key=lambda choice: order.index(choice.status))
    return Choice(
        max(choice.lambda_ for choice in options),
        worst.status,
        max(choice.crossings for choice in options),
    )


def _choose_secular(
    problem: GaussianProblem,
    penalty: SecularPenalty,
    definition: VarianceShare,
    bounds: Floats,
    max_iter: int,
) -> list[Choice]:
    basis = problem.basis
    rest = definition.rest(problem.unconstrained()) * basis.weight
    with np.errstate(divide="ignore", invalid="ignore"):
        targets = np.where(bounds < 1.0, bounds / (1.0 - bounds) * rest, np.inf)

    def explained(lambda_: Floats) -> tuple[Floats, Floats]:
        return penalty.explained(basis.sensitive, basis.on_sensitive, lambda_)

    roots, converged = secular_roots(explained, targets, max_iter)
    return [
        Choice(float(root), "inactive" if root == 0.0 else "converged" if done else "not-converged")
        for root, done in zip(roots, converged, strict=True)
    ]


def _choose_by_scan(
    problem: GaussianProblem, definition: Definition, bounds: Floats, tol: float, max_iter: int
) -> list[Choice]:
    eigenvalues = problem.basis.sensitive.eigenvalues
    if not eigenvalues.size or (bounds == 1.0).all():
        return [Choice(0.0, "inactive", 0) for _ in bounds]
    values = profile(
        lambda x: definition.value(problem.fit(x)), float(eigenvalues[-1]), float(eigenvalues[0])
    )
    return [
        Choice(0.0, "inactive", 0) if r == 1.0 else values.choose(float(r), tol, max_iter)
        for r in bounds
    ]
