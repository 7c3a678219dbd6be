"""Newton's method for a penalized deviance, sparing passes over the rows.

A step needs the gradient at the current point, and a Hessian that may be an
old one: while such chord steps contract well the Hessian is not computed anew.
The penalty is exact in every step, so an old Hessian also serves another λ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fairridge.solvers.lasso import coordinate_descent

__all__ = ["Objective", "Point", "minimize"]

Floats = NDArray[np.float64]

# Predicted decrease, relative to the deviance, below which the last step is taken unseen.
CLOSE = 1e-24
# Below this, a decrease that no longer shrinks is rounding.
ROUNDING = 1e-17
# The same for a deviance that has no minimum, only a limit (separation).
LIMIT = 1e-11
# Promised decrease above which a start is far from the minimum.
FAR = 1e-3
# Decrease that may be left where the objective itself no longer shows any.
INVISIBLE = 1e-9
# Contraction of the promised decrease by which a step shows that its Hessian will do for more.
CONTRACTION = 1e-2
# A pass with the Hessian, in passes with the gradient alone.
HESSIAN_COSTS = 4.0


@dataclass(frozen=True)
class Point:
    """A point, its deviance and derivatives (of the deviance alone).

    Attributes
    ----------
    theta : ndarray of shape (N,)
        Coordinates.
    deviance : float
        Deviance there.
    gradient : ndarray of shape (N,)
        Its gradient there.
    hessian : ndarray of shape (N, N)
        Its Hessian, there or at an earlier point.
    converged : bool
        Whether it is the minimum it was meant to be.
    separated : ndarray of shape (s, N) or None
        Directions in which the deviance falls forever, where there are any.
    passes : int
        Evaluations on the way there.
    """

    theta: Floats
    deviance: float
    gradient: Floats
    hessian: Floats
    converged: bool = True
    separated: Floats | None = None
    passes: int = 0


@dataclass(frozen=True)
class Objective:
    """Deviance + θᵀQθ + Σ l1ⱼ|θⱼ|, over the free coordinates.

    Attributes
    ----------
    evaluate : callable
        Maps θ and an order to (deviance, gradient, Hessian or None).
    quadratic : ndarray of shape (N, N)
        Q.
    l1 : ndarray of shape (N,)
        Weights of the absolute values; zero for smooth penalties.
    free : ndarray of int
        Coordinates that may move; the others stay where they are.
    zero : ndarray of int
        Coordinates that must be zero.
    """

    evaluate: Callable[[Floats, int], tuple[float, Floats, Floats | None]]
    quadratic: Floats
    l1: Floats
    free: NDArray[np.intp]
    zero: NDArray[np.intp]

    def value(self, point: Point) -> float:
        """Return the objective at a point that was evaluated."""
        return point.deviance + self.penalty(point.theta)

    def penalty(self, theta: Floats) -> float:
        """Return θᵀQθ + Σ l1ⱼ|θⱼ|."""
        return float(theta @ self.quadratic @ theta + self.l1 @ np.abs(theta))

    def step(self, point: Point) -> tuple[Floats, float]:
        """Return the Newton step and the decrease it promises."""
        free = self.free
        gradient = point.gradient + 2.0 * self.quadratic @ point.theta
        H = point.hessian + 2.0 * self.quadratic
        if point.separated is not None:
            # Along these the deviance has reached its limit: stiff enough to stay.
            H = H + np.diag(H).max() * point.separated.T @ point.separated
        H = H[np.ix_(free, free)]
        step = np.zeros_like(point.theta)
        if self.l1.any():
            step[free] = _proximal_step(H, gradient[free], point.theta[free], self.l1[free])
        else:
            step[free] = _solve(H, -gradient[free])
        change = self.l1 @ (np.abs(point.theta + step) - np.abs(point.theta))
        return step, -float(gradient @ step + change)


def minimize(objective: Objective, start: Point, max_iter: int, close: float = CLOSE) -> Point:
    """Minimize from a point that has a Hessian.

    Parameters
    ----------
    objective : Objective
        What to minimize.
    start : Point
        Where to start; its Hessian may be that of a point nearby.
    max_iter : int
        Evaluations at most.
    close : float
        Promised decrease, relative to the deviance, at which to stop.
    """
    point = _restricted(objective, start)
    step, decrease = objective.step(point)
    # Far from the minimum every step wants its own Hessian; near it an old one will do.
    order = 2 if decrease > FAR * (1.0 + abs(point.deviance)) else 1
    previous: Floats | None = None
    while point.passes < start.passes + max_iter:
        scale = 1.0 + abs(point.deviance)
        if decrease <= close * scale:
            # The last step is taken unseen, unless it is long: along a flat direction.
            small = np.abs(step).max() <= 1e-6 * (1.0 + np.abs(point.theta).max())
            theta = point.theta + step if close == CLOSE and small else point.theta
            return replace(point, theta=theta, converged=True)
        if previous is not None and _repeats(step, previous):
            # On the way to a far minimum, or to a limit at infinity: go there faster.
            if decrease <= LIMIT * scale:
                point, previous = _held(point, step), None
            else:
                point, previous = _far_along(objective, point, step), None
            step, decrease = objective.step(point)
            continue
        trial = _search(objective, point, step, decrease, order)
        if trial is None:
            if order == 2:
                # No decrease is left that the arithmetic can see.
                return replace(point, converged=decrease <= INVISIBLE * scale)
            # The old Hessian misleads.
            point, order = _evaluated(objective, point, point.theta, 2), 2
            step, decrease = objective.step(point)
            continue
        previous = step if order == 2 else None
        step, new = objective.step(trial)
        if order == 1 and _passes_left(new, decrease, close * scale) > HESSIAN_COSTS:
            trial, order = _evaluated(objective, trial, trial.theta, 2), 2
            step, new = objective.step(trial)
        elif order == 2 and new < CONTRACTION * decrease:
            order = 1
        if new <= ROUNDING * scale and new > 0.5 * decrease:
            return replace(trial, converged=True)
        point, decrease = trial, new
    return replace(point, converged=False)


def _passes_left(new: float, old: float, goal: float) -> float:
    """How many more steps like the last one reach the goal."""
    if new <= goal:
        return 0.0
    return np.inf if new >= old else float(np.log(new / goal) / np.log(old / new))


def _restricted(objective: Objective, start: Point) -> Point:
    """Start with the coordinates that must be zero at zero."""
    if not start.theta[objective.zero].any():
        return start
    theta = start.theta.copy()
    theta[objective.zero] = 0.0
    return _evaluated(objective, start, theta, 1)


def _held(point: Point, step: Floats) -> Point:
    """Remember a direction without a minimum; later steps leave it alone."""
    direction = (step / np.linalg.norm(step))[None, :]
    known = point.separated
    return replace(point, separated=direction if known is None else np.vstack([known, direction]))


def _evaluated(objective: Objective, before: Point, theta: Floats, order: int) -> Point:
    """Evaluate at θ; without a new Hessian the one before serves on."""
    deviance, gradient, hessian = objective.evaluate(theta, order)
    hessian = before.hessian if hessian is None else hessian
    return Point(
        theta,
        deviance,
        gradient,
        hessian,
        separated=before.separated,
        passes=before.passes + 1,
    )


def _search(
    objective: Objective, point: Point, step: Floats, decrease: float, order: int
) -> Point | None:
    """Halve the step until the objective falls; None where it never does."""
    before = point.deviance + objective.penalty(point.theta)
    slack = 1e-13 * (1.0 + abs(before))
    length, trial = 1.0, point
    for _ in range(40):
        theta = point.theta + length * step
        # A full step is usual, and a Hessian with it saves a pass; after that it would not.
        counted = replace(point, passes=trial.passes)
        trial = _evaluated(objective, counted, theta, order if length == 1.0 else 1)
        after = trial.deviance + objective.penalty(theta)
        if np.isfinite(after) and after <= before - 1e-4 * length * decrease + slack:
            return trial if length == 1.0 or order == 1 else _evaluated(objective, trial, theta, 2)
        length *= 0.5 if np.isfinite(after) else 0.1
    return None


def _far_along(objective: Objective, point: Point, step: Floats) -> Point:
    """Double the step while the objective falls; a new Hessian where it ends."""
    best, length = point, 2.0
    lowest = point.deviance + objective.penalty(point.theta)
    while length <= 64.0:
        trial = _evaluated(objective, best, point.theta + length * step, 1)
        value = trial.deviance + objective.penalty(trial.theta)
        if not value < lowest:
            break
        best, lowest, length = trial, value, 2.0 * length
    return _evaluated(objective, best, best.theta, 2)


def _repeats(step: Floats, previous: Floats) -> bool:
    """Whether two steps in a row are alike, as on the way to a limit at infinity."""
    a, b = float(np.linalg.norm(step)), float(np.linalg.norm(previous))
    if a == 0.0 or b == 0.0:
        return False
    return float(step @ previous) > 0.995 * a * b and 0.6 < a / b < 1.7


def _solve(H: Floats, b: Floats) -> Floats:
    """Solve a positive definite system; the minimum-norm answer where it is singular."""
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    scaled = H / np.outer(scale, scale)
    try:
        factor = scipy.linalg.cho_factor(scaled, check_finite=False)
        return scipy.linalg.cho_solve(factor, b / scale, check_finite=False) / scale
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        kept = values > 1e-13 * values[-1]
        return vectors[:, kept] @ ((vectors[:, kept].T @ (b / scale)) / values[kept]) / scale


def _proximal_step(H: Floats, gradient: Floats, theta: Floats, l1: Floats) -> Floats:
    """Step to the minimum of the quadratic model plus absolute values.

    The smooth coordinates are eliminated by a Schur complement; what is left
    is a lasso in the penalized ones.
    """
    rough, smooth = np.flatnonzero(l1), np.flatnonzero(l1 == 0.0)
    right = H @ theta - gradient  # the model in the new point x: ½xᵀHx − rightᵀx + l1|x|
    cross = H[np.ix_(smooth, rough)]
    eliminated = np.column_stack([cross, right[smooth]])
    solved = np.column_stack([_solve(H[np.ix_(smooth, smooth)], c) for c in eliminated.T])
    schur = H[np.ix_(rough, rough)] - cross.T @ solved[:, :-1]
    x = np.empty_like(theta)
    b = right[rough] - cross.T @ solved[:, -1]
    x[rough] = coordinate_descent(0.5 * (schur + schur.T), b, l1[rough], theta[rough])
    x[smooth] = solved[:, -1] - solved[:, :-1] @ x[rough]
    return x - theta
