"""A generalized linear model of X alone, at any limit on covariances with S.

min D(intercept, b)  subject to  |COV(Sⱼ, Xb)| ≤ c for every j.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.families.sums import GLMSums
from fairridge.models import FairBasis, Fit
from fairridge.peers.zafar.bounded import BoundedObjective, ModelMinimum, bounded_objective
from fairridge.peers.zafar.predictor_space import PredictorSpace
from fairridge.search.fold_starts import FoldStart
from fairridge.solvers import Objective, Point, minimize
from fairridge.solvers.newton import CLOSE, SHARE_OF_ROWS

Evaluation = Callable[[Floats, int], tuple[float, Floats, Floats | None]]

# A step this short, relative to θ, can be taken unseen at a minimum.
SHORT_STEP = 1e-3
# ε, relative to the curvature of the deviance at the null model.
RIDGE = 3e-10
# Curvature, relative to that, of a direction without any, and of one with little.
FLAT, LITTLE = 1e-7, 1e-4
# How much larger a limit may be than another one for the model at the larger to start from that
# at the smaller, and the other way round. Going up, huge coefficients of a level without events,
# which the small limit had restrained, move against the steps; going down is easy.
LARGEST_RISE, LARGEST_FALL = 1.03, 1.6
# Promised decrease, relative to the deviance, at a point from which any limit is near.
HALFWAY = 1e-2
# Slope of the correlation in the limit, in logarithms, below which it does not guide.
LEAST_SLOPE = 0.02


@dataclass(frozen=True)
class Solved:
    """The model at one limit on covariances."""

    limit: float  # the limit
    point: Point  # where the search ended, θ: the intercept, then w
    theta: Floats  # the same after a last step, too small to be evaluated, of shape (1+d,)
    model: ModelMinimum  # the multipliers there, and how θ changes with the limit
    top: float  # max_j |normalsⱼᵀw|
    is_rough: bool  # whether some digits are missing

    @property
    def is_active(self) -> bool:
        """Whether the limit costs anything."""
        return bool(self.model.multipliers.any())

    @property
    def ratio(self) -> float:
        """The largest correlation, if the normals have been scaled for that."""
        size = float(np.linalg.norm(self.theta[1:]))
        return self.top / size if size > 0.0 else 0.0

    def gap(self, ratio: float) -> float:
        """How far the ratio is from another one, in logarithms."""
        return math.log(self.ratio / ratio)

    @property
    def slope(self) -> float:
        """How the logarithm of the ratio grows with that of the limit."""
        w, move = self.theta[1:], self.model.direction[1:]
        return 1.0 - self.top * float(w @ move) / float(w @ w)

    def limit_for(self, ratio: float) -> float:
        """Return the limit at which a Newton step in logarithms reaches a ratio."""
        return self.top * math.exp(-self.gap(ratio) / max(self.slope, LEAST_SLOPE))


@dataclass(eq=False)
class LimitedModels:
    """The models at every limit, in the space of X; it remembers those it has solved."""

    engine: Engine
    basis: FairBasis
    family: Family
    space: PredictorSpace
    max_iter: int
    _solved: dict[float, Solved] = field(default_factory=dict)
    _warm: Point | None = None
    _near: dict[float, Point] = field(default_factory=dict)
    _halfway: Point | None = None

    def derivatives(
        self, T: Floats, intercept: float, b: Floats, order: int
    ) -> tuple[float, Floats, Floats | None]:
        """Return the deviance and its derivatives in the intercept and in w, for b = Tw.

        One pass over the rows.
        """
        raw = np.concatenate([np.zeros(self.engine.n_sensitive), b])
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.engine.derivatives(
                self.family, self.basis.center, np.array([intercept]), raw[None], order
            )
        return self._in_coordinates(T, sums)

    def _in_coordinates(self, T: Floats, sums: GLMSums) -> tuple[float, Floats, Floats | None]:
        q, (p, d) = self.engine.n_sensitive, T.shape
        M = np.zeros((1 + q + p, 1 + d))
        M[0, 0], M[1 + q :, 1:] = 1.0, T
        hessian = None if sums.hessian is None else M.T @ sums.hessian[0, :, 0] @ M
        return sums.deviance, sums.gradient[0] @ M, hessian

    def _evaluation(self, space: PredictorSpace, ridge: float) -> Evaluation:
        T = space.to_coefficients

        def evaluate(theta: Floats, order: int) -> tuple[float, Floats, Floats | None]:
            terms = self.derivatives(T, float(theta[0]), T @ theta[1:], order)
            return _with_ridge(terms, theta[1:], ridge)

        return evaluate

    @property
    def unit(self) -> float:
        """What deviances are measured in."""
        return SHARE_OF_ROWS * self.basis.weight

    @cached_property
    def null(self) -> Point:
        """The model with an intercept only."""
        theta = np.append(
            self.engine.initial_intercepts(self.family), np.zeros(self.space.dimension)
        )
        evaluate = self._evaluation(self.space, 0.0)
        everything, N = np.arange(len(theta), dtype=np.intp), len(theta)
        objective = Objective(
            evaluate,
            np.zeros((N, N)),
            np.zeros(N),
            everything[:1],
            everything[1:],
            unit=self.unit,
        )
        return minimize(objective, _point_at(evaluate, theta), self.max_iter)

    @cached_property
    def curvature(self) -> float:
        """Curvature of the deviance in a direction of w, at the null model."""
        return float(np.diag(self.null.hessian)[1:].mean()) if self.space.dimension else 1.0

    @property
    def ridge(self) -> float:
        """ε."""
        return RIDGE * self.curvature

    def unlimited(self, space: PredictorSpace) -> tuple[Point, Floats]:
        """Return the minimum in another space without a limit, and θ after a last step."""
        evaluate = self._evaluation(space, self.ridge)
        start = self._start_in(space, evaluate)
        objective = bounded_objective(evaluate, np.zeros((len(start.theta), 0)), np.inf, self.unit)
        point = minimize(objective, start, self.max_iter)
        model = self._last_step(objective, point)
        return point, model.theta if self._is_near(model, point) else point.theta

    def _from(self, space: PredictorSpace) -> Floats:
        """Return the coordinates θ, here, of those of another space."""
        M = np.zeros((1 + self.space.dimension, 1 + space.dimension))
        M[0, 0], M[1:, 1:] = 1.0, self._to_coordinates @ space.to_coefficients
        return M

    def _start_in(self, space: PredictorSpace, evaluate: Evaluation) -> Point:
        """Return the null model, or where the quadratic model at a start is least in the space."""
        if not self._near or not space.dimension:
            return _point_at(evaluate, np.append(self.null.theta[0], np.zeros(space.dimension)))
        near, M = self._known_near(0.0), self._from(space)
        H, slope = near.hessian, near.gradient - near.hessian @ near.theta
        theta = np.linalg.solve(M.T @ H @ M, -(M.T @ slope))
        return _point_at(evaluate, theta.astype(np.float64))

    @cached_property
    def _to_coordinates(self) -> Floats:
        """Return the coordinates w of coefficients b, of shape (d, p)."""
        return np.linalg.pinv(self.space.to_coefficients).astype(np.float64)

    def _last_step(self, objective: BoundedObjective, point: Point) -> ModelMinimum:
        """Return the next minimum of the model: without ε, unless only ε keeps it near."""
        plain = objective.model(self.plain(point))
        return plain if self._is_near(plain, point) else objective.model(point)

    def plain(self, point: Point) -> Point:
        """Return the same point without ε‖w‖² in its deviance and derivatives."""
        w = np.append(0.0, point.theta[1:])
        return replace(
            point,
            deviance=max(point.deviance - self.ridge * float(w @ w), 0.0),
            gradient=point.gradient - 2.0 * self.ridge * w,
            hessian=point.hessian - 2.0 * self.ridge * np.diag(np.arange(len(w)) > 0),
        )

    def flat(self, space: PredictorSpace, point: Point) -> Floats:
        """Return directions of b in which the deviance has no curvature left, one per row.

        If classes are separated, and only then, it falls forever along them.
        """
        if not space.dimension:
            return np.zeros((0, len(space.to_coefficients)))
        values, vectors = _without_intercept(point.hessian)
        if values[0] < LITTLE * self.curvature:
            # The Hessian may be that of an earlier point.
            values, vectors = _without_intercept(
                _point_at(self._evaluation(space, 0.0), point.theta).hessian
            )
        return (space.to_coefficients @ vectors[:, values < FLAT * self.curvature]).T

    def _is_near(self, model: ModelMinimum, point: Point) -> bool:
        """Whether the next step is short; a long one leads where the deviance is flat."""
        # Coordinates of fitted values have the scale of the root of the weights.
        unit = np.full(len(point.theta), np.sqrt(self.basis.weight))
        unit[0] = 1.0
        move = float(np.abs((model.theta - point.theta) / unit).max())
        return move <= SHORT_STEP * (1.0 + float(np.abs(point.theta / unit).max()))

    def at(self, limit: float, close: float = CLOSE) -> Solved:
        """Return the model at a limit, positive or ∞ for none.

        `close` is the promised decrease, relative to the deviance, at which to stop.
        """
        known = self._solved.get(limit)
        if known is None or (known.is_rough and close == CLOSE):
            self._solved[limit] = self._minimized(limit, close)
        return self._solved[limit]

    def _minimized(self, limit: float, close: float) -> Solved:
        free = self._solved.get(np.inf)
        if free is not None and free.top <= limit:
            return replace(free, limit=limit)
        normals = np.vstack([np.zeros(self.space.normals.shape[1]), self.space.normals])
        evaluate = self._evaluation(self.space, self.ridge)
        objective = bounded_objective(evaluate, normals, limit, self.unit)
        nearest = self._nearest(limit)
        start = self._start(objective, nearest)
        if nearest is None and not self._near and self._halfway is None and np.isfinite(limit):
            start = self._halfway = minimize(objective, start, self.max_iter, HALFWAY)
        point = minimize(objective, start, self.max_iter, close)
        model = self._last_step(objective, point)
        if nearest is not None and not model.multipliers.any():
            # How far a level without events goes depends on the start: all models without an
            # active limit are the one found from the null model.
            free = self.at(np.inf)
            if free.top <= limit:
                return replace(free, limit=limit)
        if close > CLOSE and not self._is_near(model, point):
            return self._minimized(limit, CLOSE)
        theta = model.theta if self._is_near(model, point) else point.theta
        top = float(np.abs(self.space.normals.T @ theta[1:]).max(initial=0.0))
        solved = Solved(limit, point, theta, model, top, close > CLOSE)
        if nearest is None and not solved.is_active and not solved.is_rough:
            self._solved.setdefault(np.inf, replace(solved, limit=np.inf))
        return solved

    def _nearest(self, limit: float) -> Solved | None:
        """Return a model at a similar limit, if one is known."""
        known = [
            s
            for s in self._solved.values()
            if limit < LARGEST_RISE * s.top and s.top < LARGEST_FALL * limit
        ]
        return min(known, key=lambda s: abs(math.log(s.top / limit)), default=None)

    def _start(self, objective: BoundedObjective, nearest: Solved | None) -> Point:
        """Return the nearest point known, moved inside the bounds."""
        if nearest is None and self._near:
            known = self._known_near(objective.limit)
            # Coefficients of rare levels move far from one fold to another: so does the Hessian.
            return self._inside(objective, known, objective.model(known).theta, 2)
        if nearest is None:
            near = self._halfway if np.isfinite(objective.limit) else None
            near = near or self._warm or self.null
            return self._inside(objective, near, near.theta)
        theta = nearest.point.theta
        if objective.limit < nearest.top and nearest.is_active:
            theta = theta + (objective.limit - nearest.limit) * nearest.model.direction
        return self._inside(objective, nearest.point, theta)

    def _inside(
        self, objective: BoundedObjective, near: Point, theta: Floats, order: int = 1
    ) -> Point:
        theta = objective.feasible(theta)
        if theta is near.theta:
            return replace(near, passes=0, separated=None)
        deviance, gradient, hessian = self._evaluation(self.space, self.ridge)(theta, order)
        moved = Point(theta, deviance, gradient, near.hessian if hessian is None else hessian)
        return moved if deviance < self.null.deviance else self.null

    def warm_start(self) -> Floats:
        """Return intercept and coefficients of the model without a limit, to start others from."""
        theta = self.at(np.inf).theta
        b = self.space.to_coefficients @ theta[1:]
        return np.append(theta[0] - b @ self.basis.center_predictors, b)

    def fold_starts(self, fits: Mapping[float, Fit]) -> tuple[FoldStart, ...]:
        """Return models to start others on most of the rows from, by what they reach."""
        center, q = self.basis.center, self.engine.n_sensitive
        starts = []
        for value, fit in fits.items():
            raw = np.concatenate([[fit.mean_intercept], np.zeros(q), fit.beta])[None]
            top = float(np.abs(self.space.normals.T @ (self._to_coordinates @ fit.beta)).max())
            starts.append(FoldStart.at(self.engine, self.family, center, raw, top, value))
        return tuple(starts)

    def start_near(self, starts: Iterable[FoldStart]) -> None:
        """Start from models of more rows, with the derivatives on these rows."""
        T, q = self.space.to_coefficients, self.engine.n_sensitive
        for start in starts:
            here = start.about(self.basis.center)
            w = self._to_coordinates @ here.raw[0, 1 + q :]
            terms = _with_ridge(self._in_coordinates(T, here.sums), w, self.ridge)
            deviance, gradient, hessian = terms
            assert hessian is not None
            theta = np.append(here.raw[0, 0], w)
            self._near[start.place] = Point(theta, deviance, gradient, hessian)

    def _known_near(self, limit: float) -> Point:
        """Return the start whose covariances are nearest to a limit, as a ratio."""
        known = sorted(self._near)
        target = min(max(limit, known[0]), known[-1])
        return self._near[min(known, key=lambda x: abs(x - target) / (x + target or 1.0))]

    def start_from(self, warm_start: Floats) -> None:
        """Start from the `warm_start` of models of other rows instead of from the null model."""
        b = warm_start[1:]
        w = self._to_coordinates @ b
        intercept = warm_start[0] + b @ self.basis.center_predictors
        warm = _point_at(self._evaluation(self.space, self.ridge), np.append(intercept, w))
        if warm.deviance < self.null.deviance:
            self._warm = warm


def _with_ridge(
    terms: tuple[float, Floats, Floats | None], w: Floats, ridge: float
) -> tuple[float, Floats, Floats | None]:
    """Add ridge·‖w‖² to a deviance and its derivatives."""
    deviance, gradient, hessian = terms
    gradient[1:] += 2.0 * ridge * w
    if hessian is not None:
        hessian[np.diag_indices_from(hessian)] += np.append(0.0, np.full(len(w), 2 * ridge))
    return deviance + ridge * float(w @ w), gradient, hessian


def _point_at(evaluate: Evaluation, theta: Floats) -> Point:
    deviance, gradient, hessian = evaluate(theta, 2)
    assert hessian is not None
    return Point(theta, deviance, gradient, hessian)


def _without_intercept(hessian: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues and eigenvectors of a Hessian in w, with the intercept eliminated."""
    cross = hessian[0, 1:]
    values, vectors = np.linalg.eigh(hessian[1:, 1:] - np.outer(cross, cross) / hessian[0, 0])
    return values, vectors
