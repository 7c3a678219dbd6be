"""The convex fair generalized linear model (Do et al. 2022), for every strength λ.

    min D(b)/n + λ bᵀMb,   η = intercept + Xb,

with D the deviance and bᵀMb the mean squared difference of linear predictors
between groups within outcomes. The model uses X alone, S only defines M.

Both parts are simple in coordinates c with b = Tc, in which the columns XT are
orthonormal and TᵀMT is the diagonal matrix of ν. As λ grows bᵀMb falls, so
the bound on bᵀMb/b₀ᵀMb₀ is met by one λ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.families import Family, Gaussian
from fairridge.models import Factor, FairBasis, Fit, canonical_space, factorize, fair_basis
from fairridge.peers.convex.definition import OutcomePairs
from fairridge.search.last_crossing import sparse_profile
from fairridge.search.problem import LeastSquares, PenalizedProblem
from fairridge.search.secular import secular_roots
from fairridge.search.solution import Choice
from fairridge.solvers import Objective, Point, minimize, shrinking_length
from fairridge.solvers.newton import SHARE_OF_ROWS

# A linear predictor beyond this adds less than 1e-13 to a deviance.
CERTAIN = 30.0


@dataclass(frozen=True)
class PairSpace:
    """Coordinates in which the columns of X are orthonormal and M is diagonal.

    Attributes
    ----------
    T : ndarray of shape (p, rank)
        b = Tc.
    nu : ndarray of shape (rank,)
        The diagonal of TᵀMT.
    target : ndarray of shape (rank,)
        c of the first target by least squares.
    residual : float
        What least squares leaves of it.
    dependent : tuple of int
        Columns of X that are constant, or linear combinations of the others.
    """

    T: Floats
    nu: Floats
    target: Floats
    residual: float
    dependent: tuple[int, ...]


def pair_space(factor: Factor, q: int, M: Floats, n_targets: int) -> PairSpace:
    """Decompose X, and M of shape (p, p) in it, from the triangular factor of [S, X, y]."""
    alone = canonical_space(factor, q, standardize=True, n_targets=n_targets)
    nu, V = np.linalg.eigh(alone.directions.T @ M @ alone.directions)
    nu = np.where(nu > 1e-12 * nu.max(initial=0.0), nu, 0.0)
    return PairSpace(
        alone.directions @ V,
        nu,
        V.T @ alone.projection[:, 0],
        float(alone.residual[0, 0]),
        alone.dependent,
    )


@dataclass(frozen=True)
class ConvexProblem(ABC):
    """The model on given rows.

    `space` has X and M in small matrices, `definition` what is bounded, with M for
    these rows; `max_iter` limits the passes over the rows per λ.
    """

    engine: Engine
    basis: FairBasis
    family: Family
    space: PairSpace
    definition: OutcomePairs
    max_iter: int

    @abstractmethod
    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ."""

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        return [self.fit(float(x)) for x in lambda_]

    def _as_fit(self, lambda_: float, theta: Floats, deviance: float) -> Fit:
        """Make a fit of levels and coordinates c, one row per linear predictor."""
        theta = self.family.to_class_coefficients(theta)
        beta = theta[:, 1:] @ self.space.T.T
        # No use of S: η = level + Xβ = level + SBβ + Uβ.
        alpha = beta @ self.basis.B.T
        intercept: Any = theta[:, 0] - alpha @ self.basis.center_sensitive
        if len(theta) == 1:
            alpha, beta, intercept = alpha[0], beta[0], float(intercept[0])
        return Fit(
            lambda_=lambda_,
            alpha=alpha,
            beta=beta,
            intercept=intercept,
            deviance=deviance,
            family=self.family,
            basis=self.basis,
            engine=self.engine,
            unconstrained=lambda: self.fit(0.0),
        )


@dataclass(frozen=True)
class _ConvexGaussian(LeastSquares, ConvexProblem):
    """c = Tᵀ Xᵀy / (1 + λnν), coordinate by coordinate."""

    family: Gaussian

    @property
    def rank(self) -> int:
        """Directions in which the fitted values can vary."""
        return len(self.space.nu)

    def converged(self, lambda_: float) -> bool:
        """Return True: every λ has a closed form."""
        return True

    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ."""
        space = self.space
        if np.isinf(lambda_):
            c = np.where(space.nu > 0.0, 0.0, space.target)
        else:
            c = space.target / (1.0 + lambda_ * self.basis.weight * space.nu)
        missed = c - space.target
        theta = np.append(self.basis.center_targets[0], c)[None, :]
        return self._as_fit(lambda_, theta, float(missed @ missed) + space.residual)

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Solve bᵀMb = r·b₀ᵀMb₀, a secular equation, for every bound at once."""
        if definition.value(self.fit(0.0)) == 0.0:
            return [Choice(0.0, "inactive", 0) for _ in bounds]
        used = self.space.nu > 0.0
        nu, target = self.basis.weight * self.space.nu[used], self.space.target[used]

        def length(lambda_: Floats) -> tuple[Floats, Floats]:
            shrunk = 1.0 / (1.0 + lambda_[:, None] * nu)
            return shrinking_length(np.sqrt(nu) * target * shrunk, nu * shrunk)

        limits = np.sqrt(bounds) * length(np.zeros(1))[0]
        roots, converged = secular_roots(length, limits, max_iter)
        return [
            Choice(
                float(root),
                "inactive" if root == 0.0 else "converged" if done else "not-converged",
            )
            for root, done in zip(roots, converged, strict=True)
        ]


@dataclass(frozen=True)
class _ConvexGLM(ConvexProblem):
    """Every λ by Newton's method."""

    _points: dict[float, Point] = field(default_factory=dict, repr=False, compare=False)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.family.n_predictors, 1 + len(self.space.nu)

    def _evaluate(self, theta: Floats, order: int) -> tuple[float, Floats, Floats | None]:
        """Return the deviance and its derivatives in (level, c): one pass over the rows."""
        q, T = self.engine.n_sensitive, self.space.T
        theta = theta.reshape(self._shape)
        raw = np.hstack([np.zeros((len(theta), q)), theta[:, 1:] @ T.T])
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.engine.derivatives(self.family, self.basis.center, theta[:, 0], raw, order)
        J = np.zeros((1 + q + len(T), theta.shape[1]))
        J[0, 0] = 1.0
        J[1 + q :, 1:] = T
        gradient = (sums.gradient @ J).ravel()
        if sums.hessian is None:
            return sums.deviance, gradient, None
        hessian = np.einsum("ij,aibk,kl->ajbl", J, sums.hessian, J, optimize=True)
        return sums.deviance, gradient, hessian.reshape(theta.size, theta.size)

    def _objective(self, lambda_: float) -> Objective:
        """Return n times what is minimized; at λ = ∞ what M sees is held at zero."""
        m, width = self._shape
        everything = np.arange(m * width, dtype=np.intp)
        seen = np.tile(np.append(False, self.space.nu > 0.0), m)
        zero = everything[seen] if np.isinf(lambda_) else everything[:0]
        weight = 0.0 if np.isinf(lambda_) else lambda_ * self.basis.weight
        quadratic = np.diag(np.tile(np.append(0.0, weight * self.space.nu), m))
        return Objective(
            self._evaluate,
            quadratic,
            np.zeros(m * width),
            np.setdiff1d(everything, zero),
            zero,
            unit=SHARE_OF_ROWS * self.basis.weight,
        )

    @cached_property
    def _start(self) -> Point:
        """The null model, or near it."""
        m, width = self._shape
        theta = np.zeros((m, width))
        theta[:, 0] = self.family.initial_intercepts(
            self.engine.response, self.engine.weights, self.engine.offset
        )
        deviance, gradient, hessian = self._evaluate(theta.ravel(), 2)
        assert hessian is not None
        return Point(theta.ravel(), deviance, gradient, hessian)

    def point(self, lambda_: float) -> Point:
        """Return the minimum at a λ, found from the best point known."""
        if lambda_ not in self._points:
            objective = self._objective(lambda_)
            known = [self._start] if np.isinf(lambda_) else [self._start, *self._points.values()]
            start = min(known, key=objective.value)
            self._points[lambda_] = minimize(objective, start, self.max_iter)
        return self._points[lambda_]

    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ."""
        point = self.point(lambda_)
        return self._as_fit(lambda_, point.theta.reshape(self._shape), point.deviance)

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        return self.point(lambda_).converged

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Find λ from values of the definition, which fall as λ grows."""
        free = Choice(0.0, "inactive", 0)
        if (bounds == 1.0).all() or definition.value(self.fit(0.0)) == 0.0:
            return [free for _ in bounds]
        used = self.space.nu[self.space.nu > 0.0]
        curvature = np.diag(self._start.hessian).reshape(self._shape)[:, 1:].mean()
        typical = 0.5 * curvature / (self.basis.weight * used.mean())
        profile = sparse_profile(
            lambda x: definition.value(self.fit(x)), float(typical), float(typical), np.inf, bounds
        )
        return [free if r == 1.0 else profile.choose(float(r), tol, max_iter) for r in bounds]

    @cached_property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        m, width = self._shape
        levels = np.arange(m, dtype=np.intp) * width
        others = np.setdiff1d(np.arange(m * width), levels)
        objective = replace(self._objective(0.0), free=levels, zero=others)
        return minimize(objective, self._start, self.max_iter).deviance

    def dispersion(self, fit: Fit) -> float:
        """Return 1: the family fixes the dispersion."""
        return 1.0

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""
        return self.engine.loglik(self.family, fit.deviance, 1.0)

    def warm_start(self) -> None:
        """Return None: a model on other rows starts by itself."""

    def start_from(self, warm_start: None) -> None:
        """Do nothing."""

    def separated_columns(self, lambda_: float) -> list[str]:
        """Name the predictors whose coefficients grow without bound at a λ.

        Either Newton's method found a direction without a minimum, or it
        stopped where all rows in which a column varies are certain.
        """
        directions = self.point(lambda_).separated
        found: set[int] = set()
        for direction in () if directions is None else directions:
            b = np.abs(direction.reshape(self._shape)[:, 1:] @ self.space.T.T).max(axis=0)
            found |= set(np.flatnonzero(b > 0.5 * b.max()).tolist())
        beta = np.atleast_2d(self.fit(lambda_).beta)
        X = self.engine.dense_columns()[1] - self.basis.center_predictors
        certain = np.abs(X @ beta.T).max(axis=1) > CERTAIN
        scatter = self.engine.weights[:, None] * X**2
        found |= set(
            np.flatnonzero(scatter[certain].sum(axis=0) > 0.999 * scatter.sum(axis=0)).tolist()
        )
        return [self.engine.names[self.engine.n_sensitive + k] for k in sorted(found)]


def convex_problem(
    engine: Engine,
    family: Family,
    *,
    groups: Integers,
    bins: int,
    n_targets: int = 1,
    max_iter: int = 100,
) -> PenalizedProblem:
    """Read the rows once, and decompose X and M."""
    factor = factorize(engine, engine.moments(), n_targets)
    q = engine.n_sensitive
    basis = fair_basis(factor, q, standardize=True, n_targets=n_targets)
    definition = OutcomePairs(bins)
    M = definition.form(engine, family.reads == "numbers", groups)
    space = pair_space(factor, q, M, n_targets)
    if family.least_squares:
        return _ConvexGaussian(engine, basis, Gaussian(), space, definition, max_iter)
    return _ConvexGLM(engine, basis, family, space, definition, max_iter)
