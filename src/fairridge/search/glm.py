"""Generalized linear models: every λ by Newton's method, warm-started."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.engines import Engine
from fairridge.fairness import Definition, is_variance_share
from fairridge.families import Family
from fairridge.penalties import Penalty
from fairridge.search.crossing import sparse_profile
from fairridge.search.solution import Choice
from fairridge.solvers import (
    Coordinates,
    FairBasis,
    Fit,
    Objective,
    Point,
    factorize,
    fair_basis,
    minimize,
)
from fairridge.solvers.newton import CLOSE

__all__ = ["GLMProblem", "glm_problem"]

Floats = NDArray[np.float64]

# A rough minimum: coefficients to about six digits, enough to see which side of a bound it is on,
ROUGH = 1e-12
# unless its value is this near to the bound.
NEAR = 1e-3
# Numbers in [S, X] up to which a finer scan costs milliseconds.
SMALL = 20_000


class _NotConvergedError(Exception):
    """Newton's method found no minimum at a λ."""

    def __init__(self, lambda_: float) -> None:
        super().__init__(lambda_)
        self.lambda_ = lambda_


class GLMProblem:
    """min D(α, β) + λ·penalty(α) + λ₂‖β‖² for any λ, intercept free.

    It remembers the points it has solved: each new λ starts from the nearest.

    Parameters
    ----------
    engine : Engine
        Where the rows are.
    basis : FairBasis
        S and U in small matrices.
    family : Family
        The family.
    penalty : Penalty
        The penalty on α.
    predictor_penalty : float
        λ₂.
    max_iter : int
        Passes over the rows at most, for each λ.
    """

    def __init__(
        self,
        engine: Engine,
        basis: FairBasis,
        family: Family,
        penalty: Penalty,
        predictor_penalty: float,
        max_iter: int,
    ) -> None:
        self.engine = engine
        self.basis = basis
        self.family = family
        self.penalty = penalty
        self.predictor_penalty = predictor_penalty
        self.max_iter = max_iter
        self._points: dict[float, Point] = {}
        self._rough: dict[float, Point] = {}
        self._fits: dict[float, Fit] = {}

    @cached_property
    def coordinates(self) -> Coordinates:
        """The coordinates θ of the model."""
        return Coordinates(self.basis, self.family.n_predictors, by_column=self.penalty.l1 > 0.0)

    def _evaluate(self, theta: Floats, order: int) -> tuple[float, Floats, Floats | None]:
        """Return the deviance and its derivatives in θ: one pass over the rows."""
        raw = self.coordinates.raw(theta)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.engine.derivatives(
                self.family, self.basis.center, raw[:, 0], raw[:, 1:], order
            )
        return (sums.deviance, *self.coordinates.derivatives(sums))

    def _objective(self, lambda_: float) -> Objective:
        """Return the penalized deviance at a λ; at λ = ∞ α is held at zero instead."""
        coordinates, held = self.coordinates, np.isinf(lambda_)
        weight = 0.0 if held else lambda_
        everything = np.arange(int(np.prod(coordinates.shape)), dtype=np.intp)
        zero = coordinates.of_sensitive if held else everything[:0]
        fixed = zero if self._has_level else np.append(zero, coordinates.of_level)
        l1 = np.zeros(len(everything))
        l1[coordinates.of_sensitive] = 2.0 * weight * self.penalty.l1
        K = weight * self.penalty.quadratic(self.basis.sensitive)
        return Objective(
            self._evaluate,
            coordinates.penalty(K, self.predictor_penalty),
            l1,
            np.setdiff1d(everything, fixed),
            zero,
        )

    @property
    def _has_level(self) -> bool:
        return self.family.name != "cox"  # the partial likelihood has no intercept

    # ----------------------------------------------------------------- points

    @property
    def _has_ceiling(self) -> bool:
        return self.penalty.l1 > 0.0

    @cached_property
    def ceiling(self) -> float:
        """The smallest λ with α = 0: finite where the penalty has absolute values."""
        if not self._has_ceiling:
            return np.inf
        gradient = self._restricted.gradient[self.coordinates.of_sensitive]
        return float(np.abs(gradient).max(initial=0.0)) / (2.0 * self.penalty.l1)

    @cached_property
    def _start(self) -> Point:
        """The null model, or near it."""
        theta = np.zeros(int(np.prod(self.coordinates.shape)))
        theta[self.coordinates.of_level] = self.family.start(
            self.engine.response, self.engine.weights, self.engine.offset
        )
        return self._point_at(theta)

    def _point_at(self, theta: Floats) -> Point:
        deviance, gradient, hessian = self._evaluate(theta, 2)
        assert hessian is not None
        return Point(theta, deviance, gradient, hessian)

    def seed(self) -> Floats:
        """Return level and raw coefficients of the model at a typical λ, to start others from."""
        raw = self.coordinates.raw(self.point(self._typical).theta)
        raw[:, 0] -= raw[:, 1:] @ self.basis.center
        return raw

    def plant(self, seed: Floats) -> None:
        """Start from the seed of a problem on other rows instead of from the null model."""
        raw = seed.copy()
        raw[:, 0] += raw[:, 1:] @ self.basis.center
        planted = self._point_at(self.coordinates.theta(raw))
        if planted.deviance < self._start.deviance:
            self._rough[self._typical] = planted

    @cached_property
    def _restricted(self) -> Point:
        """The model without S (α = 0)."""
        return self._minimized(np.inf, CLOSE)

    def point(self, lambda_: float) -> Point:
        """Return the minimum at a λ."""
        if lambda_ >= self.ceiling:
            return self._restricted
        if lambda_ not in self._points:
            self._points[lambda_] = self._minimized(lambda_, CLOSE)
        return self._points[lambda_]

    def _minimized(self, lambda_: float, close: float) -> Point:
        """Minimize from the best point known."""
        objective = self._objective(lambda_)
        nearest = self._rough.get(lambda_) or self._nearest(lambda_)
        # Coefficients that grew large at another λ can be worse than none at this one.
        start = nearest if np.isinf(lambda_) else min(nearest, self._start, key=objective.value)
        return minimize(objective, start, self.max_iter, close)

    def _value(self, definition: Definition, lambda_: float, bounds: Floats) -> float:
        """Return a definition's value, to all digits only where a bound is near."""
        known = [x for x in self._points if abs(x - lambda_) < 0.1 * lambda_]
        if lambda_ not in self._points and lambda_ < self.ceiling and not known:
            rough = self._rough[lambda_] = self._minimized(lambda_, ROUGH)
            value = definition.value(self._as_fit(lambda_, rough))
            far = np.abs(value - bounds).min() > NEAR * max(abs(value), NEAR)
            if far and rough.converged:
                return value
        if not self.point(lambda_).converged:
            raise _NotConvergedError(lambda_)
        return definition.value(self.fit(lambda_))

    def _nearest(self, lambda_: float) -> Point:
        """Return the solved point whose λ is nearest, on a log scale that ends at 0 and ∞."""
        known = self._rough | self._points
        if "_restricted" in self.__dict__:
            known[np.inf] = self._restricted
        if not known:
            return self._start

        def place(x: float) -> float:
            return float(np.log(min(x, 1e3 * self._typical) + 1e-2 * self._typical))

        return known[min(known, key=lambda x: abs(place(x) - place(lambda_)))]

    # ------------------------------------------------------------------- fits

    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ."""
        if lambda_ not in self._fits:
            self._fits[lambda_] = self._as_fit(lambda_, self.point(lambda_))
        return self._fits[lambda_]

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        return [self.fit(float(x)) for x in lambda_]

    def unconstrained(self) -> Fit:
        """Return the model at λ = 0."""
        return self.fit(0.0)

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        return self.point(lambda_).converged

    def separated_columns(self, lambdas: Iterable[float]) -> list[str]:
        """Name the columns whose coefficients grow without bound at some λ, if there are any."""
        found: set[int] = set()
        for lambda_ in lambdas:
            directions = self.point(lambda_).separated
            for direction in () if directions is None else directions:
                raw = np.abs(self.coordinates.raw(direction))[:, 1:].max(axis=0)
                found |= set(np.flatnonzero(raw > 0.5 * raw.max()).tolist())
        return [self.engine.names[k] for k in sorted(found)]

    @cached_property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        if not self._has_level:
            return self._start.deviance
        levels = self.coordinates.of_level
        others = np.setdiff1d(np.arange(len(self._start.theta)), levels)
        objective = replace(self._objective(np.inf), free=levels, zero=others)
        return minimize(objective, self._start, self.max_iter).deviance

    def dispersion(self, fit: Fit) -> float:
        """Return Pearson's χ²/(n − rank − 1); 1 where the family fixes the dispersion."""

        def pearson(y: Floats, eta: Floats, weight: Floats) -> Floats:
            value = self.family.pearson(y, eta, weight)
            return np.array([np.nan if value is None else value])

        if self.family.pearson(self.engine.response[:1], np.zeros((1, 1)), np.ones(1)) is None:
            return 1.0
        total = fit.total(pearson, sensitive=True, predictors=True, center=True)[0]
        rank = 1 + self.basis.sensitive.rank + self.basis.predictors.rank
        return float(total) / max(self.basis.weight - rank, 1.0)

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""
        return self.family.loglik(
            fit.deviance, self.engine.response, self.engine.weights, self.dispersion(fit)
        )

    def _as_fit(self, lambda_: float, point: Point) -> Fit:
        theta = self.family.by_class(point.theta.reshape(self.coordinates.shape))
        level, alpha, beta = self.coordinates.split(theta)
        intercept: Any = level - alpha @ self.basis.center_sensitive
        if len(theta) == 1:
            alpha, beta, intercept = alpha[0], beta[0], float(intercept[0])
        return Fit(
            lambda_=lambda_,
            alpha=alpha,
            beta=beta,
            intercept=intercept,
            deviance=point.deviance,
            family=self.family,
            basis=self.basis,
            engine=self.engine,
            unconstrained=self.unconstrained,
        )

    # ----------------------------------------------------------------- search

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose λ(r) for every bound, from the side on which it holds."""
        free = Choice(0.0, "inactive", 0)
        if (bounds == 1.0).all() or not self.basis.sensitive.rank or self.ceiling == 0.0:
            return [free for _ in bounds]
        try:
            values = sparse_profile(
                lambda x: self._value(definition, x, bounds),
                self._guess(definition, bounds),
                self._typical,
                self.ceiling,
                bounds,
                **({"step": 2.0, "floor": 1e-3} if self._is_small else {}),
            )
            return [free if r == 1.0 else values.choose(float(r), tol, max_iter) for r in bounds]
        except _NotConvergedError as failure:
            # No search can go on from coefficients that are no minimum.
            failed = Choice(failure.lambda_, "not-converged")
            return [free if r == 1.0 else failed for r in bounds]

    @property
    def _is_small(self) -> bool:
        """Whether a pass costs so little that λ can be scanned finely.

        Shares that are not monotone in λ are a matter of small data.
        """
        return self.engine.response.shape[0] * len(self.engine.names) <= SMALL

    def _guess(self, definition: Definition, bounds: Floats) -> float:
        """Guess λ for a single bound from one Newton step off the null model.

        That step is cheap for any λ; only its value is an approximation.
        """
        positive = bounds[(bounds > 0.0) & (bounds < 1.0)]
        if len(positive) != 1 or self._has_ceiling:
            return self._typical
        grid = self._typical * np.logspace(3.0, -2.0, 8)
        values = [self._modeled(definition, float(x)) for x in grid]
        above = [k for k, value in enumerate(values) if value > positive.min()]
        if not above or above[0] == 0 or values[above[0] - 1] <= 0.0:
            return self._typical
        k = above[0]
        share = np.log(values[k] / positive.min()) / np.log(values[k] / values[k - 1])
        return float(grid[k] * (grid[k - 1] / grid[k]) ** share)

    def _modeled(self, definition: Definition, lambda_: float) -> float:
        """Return the value after one Newton step, the deviance taken as quadratic."""
        start, objective = self._start, self._objective(lambda_)
        step, _ = objective.step(start)
        if is_variance_share(definition, self.family):
            return definition.value(self._as_fit(lambda_, replace(start, theta=start.theta + step)))
        without = step.copy()
        without[self._objective(np.inf).zero] = 0.0
        full, reduced = (
            float(start.gradient @ d + 0.5 * d @ start.hessian @ d) for d in (step, without)
        )
        return (full - reduced) / full if full < 0.0 else 0.0

    @cached_property
    def _typical(self) -> float:
        """The λ at which penalty and curvature of α balance."""
        curvature = np.diag(self._start.hessian)[self.coordinates.of_sensitive].mean()
        if not np.diag(self.penalty.quadratic(self.basis.sensitive)).any():
            return float(0.5 * curvature)
        return float(0.5 * curvature / np.diag(self.penalty.quadratic(self.basis.sensitive)).mean())


def glm_problem(
    engine: Engine,
    family: Family,
    *,
    n_targets: int,
    penalty: Penalty,
    predictor_penalty: float = 0.0,
    standardize: bool = True,
    max_iter: int = 100,
) -> GLMProblem:
    """Decompose S and X as for a gaussian model; the response waits for the passes."""
    factor = factorize(engine, engine.moments(), n_targets)
    basis = fair_basis(factor, engine.n_sensitive, standardize=standardize, n_targets=n_targets)
    return GLMProblem(engine, basis, family, penalty, predictor_penalty, max_iter)
