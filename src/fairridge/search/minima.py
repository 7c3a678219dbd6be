"""The minima of a penalized deviance, for every λ: by Newton's method, warm-started."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.penalties import Penalty
from fairridge.solvers import Coordinates, FairBasis, Objective, Point, minimize
from fairridge.solvers.newton import CLOSE

__all__ = ["Minima"]

Floats = NDArray[np.float64]

# A rough minimum: coefficients to about six digits, enough to see which side of a bound it is on.
ROUGH = 1e-12


class Minima:
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

    @cached_property
    def coordinates(self) -> Coordinates:
        """The coordinates θ of the model."""
        m, absolute = self.family.n_predictors, self.penalty.l1 > 0.0
        contrasts = self.family.by_class(np.eye(m)) if absolute and m > 1 else None
        return Coordinates(self.basis, m, absolute, contrasts)

    # --------------------------------------------------------------- objectives

    def objective(self, lambda_: float) -> Objective:
        """Return the penalized deviance at a λ; at λ = ∞ α is held at zero instead."""
        coordinates, held = self.coordinates, np.isinf(lambda_)
        weight = 0.0 if held else lambda_
        everything = np.arange(coordinates.size, dtype=np.intp)
        zero = coordinates.of_sensitive if held else everything[:0]
        fixed = zero if self.family.has_intercept else np.append(zero, coordinates.of_level)
        l1 = np.zeros(len(everything))
        l1[coordinates.of_sensitive] = 2.0 * weight * self.penalty.l1
        K = weight * self.penalty.quadratic(self.basis.sensitive)
        quadratic = coordinates.penalty(K, self.predictor_penalty)
        if weight == 0.0 and coordinates.contrasts is not None:
            quadratic += self.typical * coordinates.common
        return Objective(
            self._evaluate,
            quadratic,
            l1,
            np.setdiff1d(everything, fixed),
            zero,
            null=self.start.deviance,
            curvature=np.diag(self.start.hessian),
        )

    def _evaluate(self, theta: Floats, order: int) -> tuple[float, Floats, Floats | None]:
        """Return the deviance and its derivatives in θ: one pass over the rows."""
        raw = self.coordinates.raw(theta)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.engine.derivatives(
                self.family, self.basis.center, raw[:, 0], raw[:, 1:], order
            )
        return (sums.deviance, *self.coordinates.derivatives(sums))

    @property
    def has_ceiling(self) -> bool:
        """Whether α = 0 at a finite λ: under absolute values."""
        return self.penalty.l1 > 0.0

    @cached_property
    def ceiling(self) -> float:
        """The smallest λ with α = 0."""
        if not self.has_ceiling:
            return np.inf
        gradient = self.restricted.gradient[self.coordinates.of_sensitive]
        return float(np.abs(gradient).max(initial=0.0)) / (2.0 * self.penalty.l1)

    @cached_property
    def typical(self) -> float:
        """The λ at which penalty and curvature of α balance."""
        curvature = np.diag(self.start.hessian)[self.coordinates.of_sensitive].mean()
        quadratic = np.diag(self.penalty.quadratic(self.basis.sensitive))
        return float(0.5 * curvature / (quadratic.mean() if quadratic.any() else 1.0))

    # ------------------------------------------------------------------- points

    @cached_property
    def start(self) -> Point:
        """The null model, or near it."""
        theta = np.zeros(self.coordinates.size)
        theta[self.coordinates.of_level] = self.engine.start(self.family)
        return self._point_at(theta)

    def _point_at(self, theta: Floats) -> Point:
        deviance, gradient, hessian = self._evaluate(theta, 2)
        assert hessian is not None
        return Point(theta, deviance, gradient, hessian)

    def seed(self) -> Floats:
        """Return level and raw coefficients of the model at a typical λ, to start others from."""
        raw = self.coordinates.raw(self.point(self.typical).theta)
        raw[:, 0] -= raw[:, 1:] @ self.basis.center
        return raw

    def plant(self, seed: Floats) -> None:
        """Start from the seed of a problem on other rows instead of from the null model."""
        raw = seed.copy()
        raw[:, 0] += raw[:, 1:] @ self.basis.center
        planted = self._point_at(self.coordinates.theta(raw))
        if planted.deviance < self.start.deviance:
            self._rough[self.typical] = planted

    @cached_property
    def restricted(self) -> Point:
        """The model without S (α = 0)."""
        return self._minimized(np.inf, CLOSE)

    @cached_property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        if not self.family.has_intercept:
            return self.start.deviance
        levels = self.coordinates.of_level
        others = np.setdiff1d(np.arange(len(self.start.theta)), levels)
        objective = replace(self.objective(np.inf), free=levels, zero=others)
        return minimize(objective, self.start, self.max_iter).deviance

    def point(self, lambda_: float) -> Point:
        """Return the minimum at a λ."""
        if lambda_ >= self.ceiling:
            return self.restricted
        if lambda_ not in self._points:
            self._points[lambda_] = self._minimized(lambda_, CLOSE)
        return self._points[lambda_]

    def rough_point(self, lambda_: float) -> Point | None:
        """Return the minimum at a λ to some digits; None where all digits cost little more."""
        near = any(abs(x - lambda_) < 0.1 * lambda_ for x in self._points)
        if near or lambda_ in self._points or lambda_ >= self.ceiling:
            return None
        self._rough[lambda_] = self._minimized(lambda_, ROUGH)
        return self._rough[lambda_]

    def unsettled(self, lambda_: float, point: Point) -> float:
        """Share of the explained deviance that a minimum may still be off by."""
        step, _ = self.objective(lambda_).step(point)
        explained = abs(self.start.deviance - point.deviance)
        return 2.0 * float(abs(point.gradient @ step)) / explained if explained > 0.0 else np.inf

    def _minimized(self, lambda_: float, close: float) -> Point:
        """Minimize from the best point known."""
        objective = self.objective(lambda_)
        nearest = self._rough.get(lambda_) or self._nearest(lambda_, objective)
        # Coefficients that grew large at another λ can be worse than none at this one.
        start = nearest if np.isinf(lambda_) else min(nearest, self.start, key=objective.value)
        found = minimize(objective, start, self.max_iter, close)
        if found.converged or start is self.start:
            return found
        return minimize(objective, self.start, self.max_iter, close)

    def _nearest(self, lambda_: float, objective: Objective) -> Point:
        """Return the solved point whose λ is nearest, on a log scale that ends at 0 and ∞."""
        known = self._rough | self._points
        if "restricted" in self.__dict__:
            known[np.inf] = self.restricted
        # From coefficients at infinity it is a long way back.
        known = {x: point for x, point in known.items() if objective.lets_be(point)}
        if not known:
            return self.start

        def place(x: float) -> float:
            return float(np.log(min(x, 1e3 * self.typical) + 1e-2 * self.typical))

        return known[min(known, key=lambda x: abs(place(x) - place(lambda_)))]

    # --------------------------------------------------------------- separation

    def separated_columns(self, lambda_: float) -> list[int]:
        """Return the columns whose coefficients grow without bound at a λ, if there are any."""
        point = self.point(lambda_)
        if point.separated is None:
            return []
        # The part of θ that has gone far is the part along those directions.
        gone = self.coordinates.raw(point.separated.T @ (point.separated @ point.theta))
        effect = np.abs(gone[:, 1:]).max(axis=0) * self.deviations
        return np.flatnonzero(effect > 0.25 * effect.max()).tolist()

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the columns of S and X."""
        basis, scatter = self.basis, self.basis.sensitive.scatter()
        ours = np.diag(basis.B.T @ scatter @ basis.B) + np.diag(basis.predictors.scatter())
        return np.sqrt(np.append(np.diag(scatter), ours) / basis.weight)
