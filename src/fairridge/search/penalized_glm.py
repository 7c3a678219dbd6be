"""The minima of a penalized deviance, for every λ: by Newton's method, warm-started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from fairridge._typing import Floats
from fairridge.families import Family
from fairridge.models import Separation
from fairridge.models.spaces import Coordinates, Space
from fairridge.search.problem import ModelSettings
from fairridge.solvers import Objective, Point, minimize
from fairridge.solvers.newton import CONVERGENCE_TOLERANCE, SHARE_OF_ROWS
from fairridge.solvers.spectrum import (
    CURVATURE_TOLERANCE,
    RANK_TOLERANCE,
    is_definite,
)

# The ridge of separated models, for each unit of weight: on α and β of standardized columns. A
# smaller one leaves coefficients so large that means no longer respond to them.
SEPARATION_RIDGE = 1e-6
# Curvature, relative to that of the null model, of a direction that has lost it. A level that
# decides the outcome loses a factor e with every Newton step.
LOST_CURVATURE = 1e-7
# The same under the ridge, at which coefficients of separating columns have stopped growing.
LITTLE_CURVATURE = 1e-3

# Decrease that may be left at a minimum to start from, relative to the deviance, as on a sample,
# where chance leaves more; and the most passes to it.
ROUGH_TOLERANCE, ROUGH_PASSES = 1e-6, 50

Start = TypeVar("Start")
# A deviance, its gradient, and its Hessian at order 2 (None at others).
Values = tuple[float, Floats, Any]


class PenalizedGLM:
    """min D(α, β) + λ·penalty(α) + λ₂‖β‖² for any λ, intercept free."""

    # It remembers the points it has solved: each new λ starts from the nearest. If columns separate
    # the responses there is no minimum, and its point says so; `ridged` is the same model with a
    # small ridge on all coefficients but the intercepts, which always has one.

    def __init__(
        self, space: Space, family: Family, settings: ModelSettings, ridge: float = 0.0
    ) -> None:
        self.space = space
        self.engine = space.engine
        self.basis = space.basis
        self.family = family
        self.settings = settings
        self.penalty = settings.penalty
        self.max_iter = settings.max_iter
        self.ridge = ridge  # on coefficients of standardized columns
        self._points: dict[float, Point] = {}
        self.warm: Point | None = None  # where another problem was asked to start, at a typical λ

    @cached_property
    def coordinates(self) -> Coordinates:
        """The coordinates θ of the model."""
        return self.space.coordinates(self.family, self.penalty)

    @cached_property
    def unit(self) -> float:
        """What deviances are measured in."""
        mean = float(self.basis.center_targets[0])
        return SHARE_OF_ROWS * self.basis.weight * self.family.unit(mean)

    @cached_property
    def penalized(self) -> Floats:
        """K, the quadratic form in θ that λ multiplies."""
        return self.coordinates.penalty(self.space.penalized(self.penalty), 0.0)

    @cached_property
    def _own(self) -> Floats:
        """The quadratic form in θ beside λK, without the ridge of separated models."""
        form = np.zeros((self.coordinates.size, self.coordinates.size))
        if self.settings.predictor_penalty > 0.0:
            nothing = 0.0 * self.space.penalized(self.penalty)
            form = self.coordinates.penalty(nothing, self.settings.predictor_penalty)
        if not self.family.has_intercept:  # whatever holds it at zero
            levels = self.coordinates.intercept_index
            form[levels, levels] = self.basis.weight
        return form

    @cached_property
    def fixed(self) -> Floats:
        """The same with that ridge."""
        if self.ridge == 0.0:
            return self._own
        return self._own + self.ridge * self.space.ridge(self.coordinates)

    @cached_property
    def ridged(self) -> PenalizedGLM:
        """The same model with the ridge of separated models; no sample helps it."""
        ridge = SEPARATION_RIDGE * self.basis.weight
        ridged = PenalizedGLM(self.space, self.family, self.settings, ridge)
        vars(ridged).update(start=self.start, coordinates=self.coordinates)
        return ridged

    def objective(self, lambda_: float) -> Objective:
        """Return the penalized deviance at a λ; at λ = ∞ α is held at zero instead."""
        quadratic, l1 = self.fixed, np.zeros(self.coordinates.size)
        free, of_sensitive = np.arange(len(l1), dtype=np.intp), self.coordinates.of_sensitive
        if np.isinf(lambda_):
            free = np.delete(free, of_sensitive)
        elif lambda_ > 0.0:
            quadratic = quadratic + lambda_ * self.penalized
            l1[of_sensitive] = 2.0 * lambda_ * self.penalty.l1
        return Objective(
            self._evaluate,
            quadratic,
            l1,
            free,
            self.typical_curvature,
            unit=self.unit,
            nearby=None if self.sample is None else self.nearby_hessian,
            hessian_cost=self.engine.hessian_cost,
            is_flat=self.is_flat,
        )

    @cached_property
    def typical_curvature(self) -> Floats:
        """Second derivatives of the deviance at the null model, none of them zero."""
        curvature = self.start.hessian.diagonal()
        return np.where(curvature > 0.0, curvature, max(float(curvature.max()), 1e-300))

    @cached_property
    def ceiling(self) -> float:
        """The smallest λ with α = 0, which is finite under absolute values."""
        if self.penalty.l1 == 0.0:
            return np.inf
        gradient = self.solved(np.inf)[1].gradient[self.coordinates.of_sensitive]
        return float(np.abs(gradient).max(initial=0.0)) / (2.0 * self.penalty.l1)

    @cached_property
    def typical(self) -> float:
        """The λ at which penalty and curvature of α balance."""
        of_sensitive = self.coordinates.of_sensitive
        if not of_sensitive.size:
            return 1.0
        curvature = float(np.diag(self.start.hessian)[of_sensitive].mean())
        penalty = float(np.diag(self.penalized)[of_sensitive].mean())
        # A partial likelihood may not depend on S; then only rounding is left, of any sign.
        curvature = max(curvature, CURVATURE_TOLERANCE * self.unit)
        return 0.5 * curvature / (penalty or 1.0)

    def _evaluate(self, theta: Floats, order: int) -> Values:
        """Return the deviance and its derivatives in θ: one pass over the rows."""
        return self.evaluated(theta, order)[0]

    def evaluated(self, theta: Floats, order: int, others: Sequence[Floats] = ()) -> list[Values]:
        """Return the same at θ, and without the Hessian at others, in one pass."""
        if others and not self.family.separable:  # rows that depend on each other take one each
            return [self._evaluate(theta, order), *(self._evaluate(at, 1) for at in others)]
        here, *places = [self.coordinates.raw(each) for each in (theta, *others)]
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.engine.derivatives(
                self.family,
                self.basis.center,
                here[:, 0],
                here[:, 1:],
                order,
                [(raw[:, 0], raw[:, 1:]) for raw in places],
            )
        found = [(s.deviance, *self.coordinates.derivatives(s)) for s in (sums, *sums.others)]
        self.saw(theta, found[0][2])
        return found

    def point_at(self, theta: Floats) -> Point:
        """Evaluate at θ, with the Hessian."""
        deviance, gradient, hessian = self._evaluate(theta, 2)
        return Point(theta, deviance, gradient, hessian)

    @cached_property
    def start(self) -> Point:
        """The null model, or near it."""
        theta = np.zeros(self.coordinates.size)
        theta[self.coordinates.intercept_index] = self.engine.initial_intercepts(self.family)
        return self.point_at(theta)

    def warm_start(self) -> Floats:
        """Return level and raw coefficients of the model at a typical λ, to start others from."""
        raw = self.coordinates.raw(self.solved(self.typical)[1].theta)
        raw[:, 0] -= raw[:, 1:] @ self.basis.center
        return raw

    def start_from(self, warm_start: Floats) -> None:
        """Start from the `warm_start` of a problem on other rows instead of from the null model."""
        raw = warm_start.copy()
        raw[:, 0] += raw[:, 1:] @ self.basis.center
        warm = self.point_at(self.coordinates.theta(raw))
        if warm.deviance < self.start.deviance:
            self.warm = warm

    def _nearest(self, lambda_: float) -> Point:
        """Return the solved point whose λ is nearest, on a log scale that ends at 0 and ∞."""
        # At λ = 0 none: the model without a bound must not depend on the bound that asks for it.
        known = {} if self.warm is None else {self.typical: self.warm}
        if lambda_ > 0.0:
            known |= self._points
            if "restricted" in self.__dict__:
                known[np.inf] = self.restricted
        if not known:
            return self._from_sample(lambda_) or self.start
        places = np.array([lambda_, *known])
        places = np.log(np.minimum(places, 1e3 * self.typical) + 1e-2 * self.typical)
        return list(known.values())[int(np.argmin(np.abs(places[1:] - places[0])))]

    # Models of many rows start from a sample: see `LargeGLM`.

    sample: PenalizedGLM | None = None

    def in_samples(self, search: Callable[[PenalizedGLM], Start | None]) -> Start | None:
        """Search in a sample of the rows; None without one, or if it leads nowhere."""
        return None

    def nearby_hessian(self, theta: Floats) -> Floats | None:
        """Return about the Hessian of all rows at θ, from a sample; None without one."""
        return None

    def saw(self, theta: Floats, hessian: Floats | None) -> None:
        """Learn that the Hessian of all rows was computed at a point."""

    def _from_sample(self, lambda_: float) -> Point | None:
        """Start from the minimum of a sample, if that is any better than the null model."""

        def found(sample: PenalizedGLM) -> Point | None:
            few, _ = minimize(
                sample.objective(lambda_), sample.start, ROUGH_PASSES, ROUGH_TOLERANCE
            )
            if not few.converged:
                return None
            point, value = self.point_at(few.theta), self.objective(lambda_).value
            return point if value(point) < value(self.start) else None

        return self.in_samples(found)

    @cached_property
    def restricted(self) -> Point:
        """The model without S (α = 0)."""
        return self._minimized(np.inf)

    @cached_property
    def null(self) -> Point:
        """The model with an intercept only."""
        start, levels = self.start, self.coordinates.intercept_index
        slope = start.gradient[levels]  # of large weights, whose square may overflow
        decrement = slope * (slope / self.typical_curvature[levels])
        if decrement.sum() <= CONVERGENCE_TOLERANCE * (self.unit + abs(start.deviance)):
            return start  # it has the mean response, unless there is an offset
        objective = replace(self.objective(np.inf), free=levels, nearby=None)
        return minimize(objective, start, self.max_iter)[0]

    def point(self, lambda_: float) -> Point:
        """Return the minimum at a λ."""
        if np.isinf(lambda_) or lambda_ >= self.ceiling:
            return self.restricted
        if lambda_ not in self._points:
            self._points[lambda_] = self._minimized(lambda_)
        return self._points[lambda_]

    def solved(self, lambda_: float) -> tuple[PenalizedGLM, Point]:
        """Return the minimum at a λ, under the ridge if there is none without, and whose it is."""
        point = self.restricted if np.isinf(lambda_) else self.point(lambda_)
        return (self.ridged, self.ridged.point(lambda_)) if point.separated else (self, point)

    def remember(self, lambda_: float, point: Point, glm: PenalizedGLM) -> None:
        """Keep the minimum at a λ that was found elsewhere, of this model or with the ridge."""
        glm._points[lambda_] = point
        if glm is not self:
            self._points[lambda_] = replace(point, converged=False, separated=True)

    def _minimized(self, lambda_: float) -> Point:
        """Minimize from the best point known, and say if there is no minimum."""
        objective = self.objective(lambda_)
        start = self._nearest(lambda_)
        if np.isinf(lambda_) and start.theta[self.coordinates.of_sensitive].any():
            theta = start.theta.copy()
            theta[self.coordinates.of_sensitive] = 0.0
            start = self.point_at(theta)
        if objective.value(self.start) < objective.value(start):
            start = self.start  # large coefficients of another λ can be worse than none
        minimum, _ = minimize(objective, start, self.max_iter)
        again = start is not self.start or objective.nearby is not None
        if again and not (minimum.converged or minimum.separated):
            plain = replace(objective, nearby=None)
            minimum, _ = minimize(plain, self.start, self.max_iter)
        if minimum.separated or self.is_flat(minimum):
            return replace(minimum, converged=False, separated=True)
        return minimum

    @cached_property
    def is_undetermined(self) -> bool:
        """Whether a partial likelihood does not depend on some direction."""
        # Rows that leave before the first event are in no risk set, and nothing is known of what
        # only they tell apart.
        if self.family.separable:
            return False
        rounding = CURVATURE_TOLERANCE * self.basis.weight * self.space.ridge(self.coordinates)
        return not is_definite(self.start.hessian + 2.0 * self._own - rounding)

    def is_flat(self, point: Point) -> bool:
        """Whether the deviance has lost its curvature in some direction since the null model."""
        if self.ridge > 0.0 or self.family.has_minimum:
            return False
        return len(self._flattened(point, LOST_CURVATURE)) > 0

    def _flattened(self, point: Point, below: float) -> Floats:
        """Return directions that have lost their curvature since the null model, one per row."""
        # A penalty on β bends the objective everywhere alike, and what it bends is not lost.
        before, after = (H + 2.0 * self._own for H in (self.start.hessian, point.hessian))
        # Coordinates of columns in other units differ by orders of magnitude, and so would
        # the rounding of their eigenvectors.
        scale = np.sqrt(np.where(np.diag(before) > 0.0, np.diag(before), 1.0))
        before, after = (H / np.outer(scale, scale) for H in (before, after))
        # In the usual case every direction keeps its curvature, and a Cholesky factor shows it.
        if is_definite(after - below * before):
            return np.zeros((0, len(point.theta)))
        # Relative to `before`, and without directions in which that was rounding.
        sizes, vectors = np.linalg.eigh(before)
        there = sizes > CURVATURE_TOLERANCE * sizes[-1]
        white = vectors[:, there] / np.sqrt(sizes[there])
        kept, vectors = np.linalg.eigh(white.T @ after @ white)
        return np.asarray(((white @ vectors)[:, kept < below] / scale[:, None]).T)

    def separation_at(self, point: Point) -> Separation | None:
        """Name the columns that separate the responses at a minimum under the ridge."""
        if self.ridge == 0.0:
            return None
        lost = self._flattened(point, LITTLE_CURVATURE)
        if not len(lost):
            if self.is_undetermined:
                return None
            lost = point.theta[None].copy()
            lost[:, self.coordinates.intercept_index] = 0.0
        lost = np.linalg.qr(lost.T)[0].T
        return self._named(lost, point.theta)

    def _named(self, lost: Floats, theta: Floats) -> Separation:
        """Name the columns that have large coefficients along some directions."""
        space, q, basis = self.space, self.engine.n_sensitive, self.basis
        names, deviations = space.all_columns.names, space.reported.deviations
        gone = space.raw_in_columns(self.coordinates.raw(lost.T @ (lost @ theta))[:, 1:])
        every = np.concatenate([self.coordinates.by_predictor(each) for each in lost])
        _, alpha, beta = self.coordinates.split(every)
        moved, rest = (
            np.asarray(variance).reshape(len(lost), -1).sum(axis=1)
            for variance in (basis.sensitive_variance(alpha), basis.predictor_variance(beta))
        )
        moves = moved > RANK_TOLERANCE * (moved + rest)
        sensitive = np.abs(alpha).reshape(len(lost), -1, q)[moves].max(axis=(0, 1), initial=0.0)
        return Separation(
            tuple(names[k] for k in largest_of(np.abs(gone).max(axis=0) * deviations)),
            tuple(names[k] for k in largest_of(sensitive * deviations[:q])),
        )


def largest_of(effect: Floats) -> list[int]:
    """Return the places of what is not small beside the largest."""
    return np.flatnonzero(effect > 0.25 * effect.max(initial=0.0)).tolist()
