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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import Engine, triangular_factor
from fairridge.fairness import Definition
from fairridge.families import Family
from fairridge.models import Factor, FairBasis, Fit, factorize, fair_basis
from fairridge.peers.convex.definition import OutcomePairs
from fairridge.search.last_crossing import sparse_profile
from fairridge.search.secular import secular_roots
from fairridge.search.solution import Choice
from fairridge.solvers import Objective, Point, minimize, shrinking_length
from fairridge.solvers.newton import SHARE_OF_ROWS

__all__ = ["ConvexProblem", "PairSpace", "convex_problem"]


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
    """Decompose X, and M in it.

    Parameters
    ----------
    factor : Factor
        Triangular factor of [S, X, y].
    q : int
        Columns of S.
    M : ndarray of shape (p, p)
        The quadratic form.
    n_targets : int
        Columns of y.
    """
    alone = replace(
        factor,
        center=factor.center[q:],
        scale=factor.scale[q:],
        noise=factor.noise[q:],
        R=triangular_factor(factor.R[:, q:]),
    )
    basis = fair_basis(alone, 0, standardize=True, n_targets=n_targets)
    spectrum = basis.predictors
    whitened = spectrum.vectors / np.sqrt(spectrum.eigenvalues) / spectrum.scale[:, None]
    nu, V = np.linalg.eigh(whitened.T @ M @ whitened)
    nu = np.where(nu > 1e-12 * nu.max(initial=0.0), nu, 0.0)
    return PairSpace(
        whitened @ V,
        nu,
        V.T @ basis.on_predictors[:, 0],
        float(basis.residual[0, 0]),
        spectrum.dependent,
    )


class ConvexProblem(ABC):
    """The model on given rows.

    Parameters
    ----------
    engine : Engine
        Where the rows are.
    basis : FairBasis
        S and U in small matrices.
    family : Family
        The family.
    space : PairSpace
        X and M in small matrices.
    definition : OutcomePairs
        What is bounded, with M for these rows.
    max_iter : int
        Passes over the rows at most, for each λ.
    """

    def __init__(
        self,
        engine: Engine,
        basis: FairBasis,
        family: Family,
        space: PairSpace,
        definition: OutcomePairs,
        max_iter: int,
    ) -> None:
        self.engine = engine
        self.basis = basis
        self.family = family
        self.space = space
        self.definition = definition
        self.max_iter = max_iter

    @property
    @abstractmethod
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""

    @abstractmethod
    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ."""

    @abstractmethod
    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose λ for every bound."""

    @abstractmethod
    def dispersion(self, fit: Fit) -> float:
        """Estimate the dispersion; 1 where the family fixes it."""

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        return [self.fit(float(x)) for x in lambda_]

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        return True

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""
        return self.family.loglik(
            fit.deviance, self.engine.response, self.engine.weights, self.dispersion(fit)
        )

    def warm_start(self) -> Any:
        """Return None: a model on other rows starts by itself."""
        return None

    def start_from(self, warm_start: Any) -> None:  # noqa: B027
        """Do nothing."""

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


class _ConvexGaussian(ConvexProblem):
    """c = Tᵀ Xᵀy / (1 + λnν), coordinate by coordinate."""

    @property
    def null_deviance(self) -> float:
        """Total sum of squares."""
        return float(self.basis.target_scatter[0, 0])

    def dispersion(self, fit: Fit) -> float:
        """Return RSS/(n − rank − 1)."""
        return fit.deviance / max(self.basis.weight - len(self.space.nu) - 1, 1.0)

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


class _ConvexGLM(ConvexProblem):
    """Every λ by Newton's method."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._points: dict[float, Point] = {}

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
        """Return 1."""
        return 1.0

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
) -> ConvexProblem:
    """Read the rows once, and decompose X and M."""
    factor = factorize(engine, engine.moments(), n_targets)
    q = engine.n_sensitive
    basis = fair_basis(factor, q, standardize=True, n_targets=n_targets)
    definition = OutcomePairs(bins)
    M = definition.form(engine, family.reads == "numbers", groups)
    space = pair_space(factor, q, M, n_targets)
    kind = _ConvexGaussian if family.least_squares else _ConvexGLM
    return kind(engine, basis, family, space, definition, max_iter)
