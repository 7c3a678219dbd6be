"""Newton's method for a penalized deviance, sparing passes over the rows.

A step needs the gradient at the current point, and a Hessian that may be an
old one: while such chord steps contract well the Hessian is not computed anew.
The penalty is exact in every step, so an old Hessian also serves another λ.

If a column separates the responses the deviance has no minimum, only a
limit at infinity. Its slope then falls by a factor e with every Newton step,
where that of a minimum would vanish: such steps are prolonged, and directions
that have lost their curvature are left alone once the deviance no longer changes.

If a level nearly separates them, a step may lead it to where its curvature is next to
nothing. Steps from there are damped (Levenberg and Marquardt).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.solvers.lasso import proximal_step
from fairridge.solvers.spectrum import solve_definite

# The unit of deviances, as that of a share of the weight of all rows: the same for rows that
# are weighted and rows that are repeated, and proportional to the weights.
SHARE_OF_ROWS = 0.1
# Predicted decrease, relative to the deviance, below which the last step is taken unseen.
CLOSE = 1e-24
# Below this, a decrease is too small for the objective itself to show it,
BLIND = 1e-12
# and, if it no longer shrinks, rounding for certain.
ROUNDING_OF_DECREASE = 1e-17
# Decrease that may be left if there is a limit instead of a minimum.
LIMIT = 1e-11
# Deviance, relative to that of the null model, which is as good as none.
EXPLAINED = 1e-10
# Promised decrease above which a start is far from the minimum.
FAR = 1e-3
# Contraction of the promised decrease by which a step shows that its Hessian will do for more.
CONTRACTION = 1e-2
# A pass with the Hessian, in passes with the gradient alone.
HESSIAN_COSTS = 4.0
# Change of the slope along a step, in units of the deviance, above which the Hessian changes, too.
LONG = 1e-6
# The same above which it is another one all along.
TOO_LONG = 1e-2
# Slope left after a Newton step, above which the step was too short: at a limit e⁻¹ is left.
LEFT = 0.35
# Curvature, relative to that of the null model, of a direction that has none.
FLAT = 1e-7
# The same that is not even rounding: what is divided by it cannot be taken for small.
NEGLIGIBLE_CURVATURE = 1e-18
# Parts of a typical curvature that are added to a Hessian if its step fails, what says so, and
# passes after which that is not what is missing.
DAMPING, DAMPED, EARLY = (0.1, 1.0), 0.0, 20
# Curvature along a step, relative to the old one, that is of another region altogether.
STEEPER = 1e10


@dataclass(frozen=True)
class Point:
    """A point, its deviance and derivatives (of the deviance alone)."""

    theta: Floats  # coordinates, of shape (N,)
    deviance: float  # deviance there
    gradient: Floats  # its gradient there, of shape (N,)
    hessian: Floats  # its Hessian, there or at an earlier point, of shape (N, N)
    # Whether it is the minimum it was meant to be, or its deviance the limit.
    converged: bool = True
    # Directions in which the deviance falls forever, if there are any; orthonormal, of shape
    # (s, N).
    separated: Floats | None = None
    passes: int = 0  # evaluations on the way there

    def after(self, step: Floats) -> Point:
        """Return the point after a short step, with what its derivatives say of the deviance."""
        change = self.hessian @ step
        return Point(
            self.theta + step,
            self.deviance + float((self.gradient + 0.5 * change) @ step),
            self.gradient + change,
            self.hessian,
            self.converged,
            self.separated,
            self.passes,
        )


@dataclass(frozen=True)
class Objective:
    """Deviance + θᵀQθ + Σ l1ⱼ|θⱼ|, over the free coordinates."""

    # Maps θ and an order to (deviance, gradient, Hessian or None).
    evaluate: Callable[[Floats, int], tuple[float, Floats, Floats | None]]
    quadratic: Floats  # Q, of shape (N, N)
    l1: Floats  # weights of the absolute values; zero for smooth penalties, of shape (N,)
    free: Integers  # coordinates that may move; the others stay where they are
    zero: Integers  # coordinates that must be zero
    # Deviance of the null model; 0 if a perfect fit is nothing to end at.
    null: float = field(default=0.0, kw_only=True)
    # Its second derivative in each coordinate; None for that of the start, of shape (N,).
    curvature: Floats | None = field(default=None, kw_only=True)
    # What deviances are measured in: a decrease is small relative to this and to the
    # deviance, whatever the scale of weights and responses.
    unit: float = field(default=1.0, kw_only=True)
    # Maps θ to about the Hessian there, for a fraction of its cost; None if it cannot.
    nearby: Callable[[Floats], Floats | None] | None = field(default=None, kw_only=True)
    # Whether a step that fails may be damped.
    damps: bool = field(default=True, kw_only=True)

    def value(self, point: Point) -> float:
        """Return the objective at a point that was evaluated."""
        return point.deviance + self.penalty(point.theta)

    def penalty(self, theta: Floats) -> float:
        """Return θᵀQθ + Σ l1ⱼ|θⱼ|."""
        smooth = float(theta @ self.quadratic @ theta) if self._is_penalized else 0.0
        return smooth + float(self.l1 @ np.abs(theta))

    @cached_property
    def _is_penalized(self) -> bool:
        """Whether there is a quadratic penalty, which with many columns takes time to multiply."""
        return bool(self.quadratic.any())

    def slope(self, point: Point) -> Floats:
        """Return the gradient of deviance and quadratic penalty, but for directions left alone."""
        slope = point.gradient.copy()
        if self._is_penalized:
            slope += 2.0 * (self.quadratic @ point.theta)
        if point.separated is not None:
            slope -= point.separated.T @ (point.separated @ slope)
        return slope

    def step(self, point: Point) -> tuple[Floats, float]:
        """Return the Newton step and the decrease it promises."""
        free, slope = self.free, self.slope(point)
        H, step = self._hessian(point), np.zeros_like(point.theta)
        if len(free) < len(H):
            H = H[np.ix_(free, free)]
        if self.l1.any():
            step[free] = proximal_step(H, slope[free], point.theta[free], self.l1[free])
        else:
            step[free] = solve_definite(H, -slope[free])
        beyond = np.maximum(-np.sign(point.theta) * (point.theta + step), 0.0)  # past zero
        return step, -self.growth(point, step) - 2.0 * float(self.l1 @ beyond)

    def growth(self, point: Point, direction: Floats) -> float:
        """Return the rate at which the objective grows in a direction."""
        signs = np.where(point.theta == 0.0, np.sign(direction), np.sign(point.theta))
        return float((self.slope(point) + self.l1 * signs) @ direction)

    def _hessian(self, point: Point) -> Floats:
        """Hessian of deviance and quadratic penalty, stiff in directions left alone."""
        H = point.hessian.copy()
        if self._is_penalized:
            H += 2.0 * self.quadratic
        typical = self._typical(point)
        H[np.diag_indices_from(H)] += NEGLIGIBLE_CURVATURE * typical
        if point.separated is not None:
            H += typical.max() * point.separated.T @ point.separated
        return H

    def _typical(self, point: Point) -> Floats:
        """Second derivatives to compare others with, none of them zero."""
        curvature = np.diag(point.hessian) if self.curvature is None else self.curvature
        return np.where(curvature > 0.0, curvature, 1.0)

    def unbounded(self, point: Point) -> Floats | None:
        """Return those of a point's directions in which this penalty does not grow."""
        if point.separated is None:
            return None
        typical, separated = self._typical(point), point.separated
        size = separated**2 @ typical
        bent = 2.0 * ((separated @ self.quadratic) * separated).sum(axis=1)
        held = self.l1 > 0.0
        held[np.setdiff1d(np.arange(len(held)), self.free)] = True
        bent += separated**2 @ np.where(held, typical, 0.0)
        kept = bent < FLAT * size
        return separated[kept] if kept.any() else None

    def allows_separation(self, point: Point) -> bool:
        """Whether directions that were left alone may be so under this penalty too."""
        kept = self.unbounded(point)
        return point.separated is None or (kept is not None and len(kept) == len(point.separated))

    def flat(self, point: Point) -> Floats | None:
        """Return orthonormal directions that span what has no curvature, if there are any."""
        free = self.free
        typical = self._typical(point)[free]
        H = (point.hessian + 2.0 * self.quadratic)[np.ix_(free, free)]
        H = H + np.diag(np.where(self.l1[free] > 0.0, typical, 0.0))
        root = np.sqrt(typical)
        values, vectors = np.linalg.eigh(H / np.outer(root, root))
        if not (values < FLAT).any():
            return None
        out = np.zeros((int(np.count_nonzero(values < FLAT)), len(point.theta)))
        out[:, free] = np.linalg.qr(vectors[:, values < FLAT] / root[:, None])[0].T
        return out


@dataclass(frozen=True)
class _NewtonState:
    """A point, what Newton's method proposes there, and how it proceeds.

    `renew` says that every step takes a new Hessian; `length` is more than 1
    if steps have been too short.
    """

    point: Point
    step: Floats
    decrease: float
    unit: float
    renew: bool
    length: float = 1.0

    @classmethod
    def at(cls, objective: Objective, point: Point, *, renew: bool) -> _NewtonState:
        """Ask the objective for a step."""
        return cls(point, *objective.step(point), objective.unit, renew)

    @property
    def scale(self) -> float:
        """What a decrease is compared with."""
        return self.unit + abs(self.point.deviance)


def minimize(objective: Objective, start: Point, max_iter: int, close: float = CLOSE) -> Point:
    """Minimize from a point that has a Hessian.

    Parameters
    ----------
    objective : Objective
        What to minimize.
    start : Point
        Where to start; its Hessian may be that of a point nearby.
    max_iter : int
        Maximum number of evaluations.
    close : float
        Promised decrease, relative to the deviance, at which to stop.
    """
    if objective.curvature is None:
        objective = replace(objective, curvature=np.diag(start.hessian))
    point = _restricted(objective, start)
    state = _NewtonState.at(objective, point, renew=False)
    if state.decrease > FAR * state.scale and objective.nearby is None:
        # Far from the minimum every step wants its own Hessian; near it an old one will do.
        state = replace(state, renew=True)
    while state.point.passes < start.passes + max_iter:
        if objective.damps and state.point.passes > start.passes + EARLY:
            objective = replace(objective, damps=False)
        if abs(state.decrease) <= close * state.scale:
            if _nothing_was_missed(objective, state):
                return _finished(state, last=close == CLOSE)
            state = _renewed(objective, replace(state.point, separated=None))
            continue
        after = _advanced(objective, state, close)
        if after is None:
            # No decrease is left that the arithmetic can see.
            return replace(state.point, converged=abs(state.decrease) <= LIMIT * state.scale)
        goal = BLIND if state.renew else ROUNDING_OF_DECREASE
        if 0.5 * state.decrease < after.decrease <= goal * state.scale:
            # Nothing but rounding is left.
            return replace(after.point, converged=_nothing_was_missed(objective, after))
        state = after
    return replace(state.point, converged=False)


def _advanced(objective: Objective, state: _NewtonState, close: float) -> _NewtonState | None:
    """Take one step; None if no step lowers the objective."""
    # A step that promises to climb comes from a Hessian that rounding has left indefinite.
    trial, length = _search(objective, state) if state.decrease > 0.0 else (None, 0.0)
    if trial is None:
        return _renewed(objective, state.point) if not state.renew else None
    after = _NewtonState.at(objective, trial, renew=state.renew or length == DAMPED)
    if length == DAMPED:
        return after
    if not state.renew:
        most = HESSIAN_COSTS * (1.0 if objective.nearby is None else 2.0)
        slow = _passes_left(after, state.decrease, close) > most
        return (
            _renewed(objective, trial)
            if slow and after.decrease > ROUNDING_OF_DECREASE * after.scale
            else after
        )
    short = -objective.growth(trial, state.step) > (LEFT * state.decrease if length <= 1.0 else 0.0)
    if short and _nothing_left_to_gain(objective, after):
        return _freeze_flat_directions(objective, after)
    short = short and after.decrease < state.decrease
    renew = after.decrease >= CONTRACTION * state.decrease
    return replace(after, renew=renew, length=max(2.0 * length, 4.0) if renew and short else 1.0)


def _nothing_left_to_gain(objective: Objective, state: _NewtonState) -> bool:
    """Whether there is next to nothing left to gain."""
    explained = abs(objective.value(state.point)) <= EXPLAINED * abs(objective.null)
    return explained or abs(state.decrease) <= LIMIT * state.scale


def _freeze_flat_directions(objective: Objective, state: _NewtonState) -> _NewtonState:
    """Leave directions without curvature alone, if there are any."""
    if state.point.separated is not None:
        return state
    point = replace(state.point, separated=objective.flat(state.point))
    return _NewtonState.at(objective, point, renew=False)


def _renewed(objective: Objective, point: Point) -> _NewtonState:
    """Go on from the same point with its own Hessian."""
    point = _evaluated(objective, point, point.theta, 2)
    return _NewtonState.at(objective, point, renew=True)


def _passes_left(state: _NewtonState, before: float, close: float) -> float:
    """How many more steps like the last one reach the goal."""
    new, goal = state.decrease, close * state.scale
    if new <= goal:
        return 0.0
    return np.inf if new >= before else float(np.log(new / goal) / np.log(before / new))


def _finished(state: _NewtonState, *, last: bool) -> Point:
    """Take the last step unseen, unless it is long: along a flat direction."""
    point, step = state.point, state.step
    small = np.abs(step).max(initial=0.0) <= 1e-6 * (1.0 + np.abs(point.theta).max(initial=0.0))
    if not (last and small):
        return point
    # The objective stays as it is to all digits, but what the penalty gains the deviance loses.
    return point.after(step)


def _nothing_was_missed(objective: Objective, state: _NewtonState) -> bool:
    """Whether directions that were left alone have indeed nothing left to gain."""
    if state.point.separated is None:
        return True
    point = replace(state.point, separated=None)
    return _nothing_left_to_gain(objective, _NewtonState.at(objective, point, renew=False))


def _restricted(objective: Objective, start: Point) -> Point:
    """Start with zeros where they must be, and hold what this objective lets fall forever."""
    point = replace(start, separated=objective.unbounded(start), converged=True)
    if not start.theta[objective.zero].any():
        return point
    theta = start.theta.copy()
    theta[objective.zero] = 0.0
    return _evaluated(objective, point, theta, 1)


def _evaluated(objective: Objective, before: Point, theta: Floats, order: int) -> Point:
    """Evaluate at θ; without a new Hessian the one before learns from the gradient."""
    return _moved(objective, before, theta, objective.evaluate(theta, order))


def _moved(
    objective: Objective,
    before: Point,
    theta: Floats,
    found: tuple[float, Floats, Floats | None],
    *,
    learns: bool = True,
) -> Point:
    """Return the point at θ with what was found there; its Hessian may learn from the gradient."""
    deviance, gradient, hessian = found
    if hessian is None:
        hessian = before.hessian
        if learns:
            hessian = hessian_at(theta, before, gradient, objective.nearby, objective.unit)
    return replace(
        before,
        theta=theta,
        deviance=deviance,
        gradient=gradient,
        hessian=hessian,
        passes=before.passes + 1,
    )


def _search(objective: Objective, state: _NewtonState) -> tuple[Point | None, float]:
    """Take the step, or what is better than a part of it; no point if the objective never falls.

    Also return its length, `DAMPED` if it is another step.
    """
    trial, length = _shortened(objective, state)
    if trial is not None and length >= 1.0:
        return trial, length
    # What is left may be rounding, or absolute values have kinks.
    left = state.decrease > BLIND * state.scale
    may_damp = left and objective.damps and not objective.l1.any()
    damped = _damped(objective, state, trial or state.point) if may_damp else None
    passes = max(each.passes for each in (state.point, trial, damped) if each is not None)
    if damped is not None and (trial is None or objective.value(damped) < objective.value(trial)):
        trial, length = damped, DAMPED
    if trial is None:
        return None, 0.0
    trial = replace(trial, passes=passes)
    return _evaluated(objective, trial, trial.theta, 2) if state.renew else trial, length


def _shortened(objective: Objective, state: _NewtonState) -> tuple[Point | None, float]:
    """Shorten the step until the objective falls; no point if it never does."""
    point, order = state.point, 2 if state.renew else 1
    before = objective.value(point)
    slack = (1e-13 if state.decrease > BLIND * state.scale else 1e-9) * (state.unit + abs(before))
    length = state.length
    for trials in range(30):
        theta = point.theta + length * state.step
        # A full step is usual, and a Hessian with it saves a pass; after that it would not.
        found = objective.evaluate(theta, order if length >= 1.0 else 1)
        after = found[0] + objective.penalty(theta)
        if (
            np.isfinite(after)
            and after <= before - 1e-4 * min(length, 1.0) * state.decrease + slack
        ):
            counted = replace(point, passes=point.passes + trials)
            # A part of a step gets a new Hessian anyway, where every step takes one.
            return _moved(objective, counted, theta, found, learns=not state.renew), length
        if length > 1.0:
            length = 1.0
        else:
            length *= 0.5 if np.isfinite(after) and length > 0.1 else 0.1
    return None, 0.0


def _damped(objective: Objective, state: _NewtonState, before: Point) -> Point | None:
    """Return where a step leads that is short only where curvature was lost; None if nowhere.

    Levels that a step has led too far, because they nearly decide the outcome, have next to no
    curvature left, and the next step would be as long as that is small: a part of it brings
    nothing for others. Levenberg and Marquardt add a typical curvature instead.
    """
    point, free = state.point, objective.free
    H, slope = objective._hessian(point)[np.ix_(free, free)], objective.slope(point)[free]
    typical, step, trial = objective._typical(point)[free], np.zeros_like(point.theta), before
    for part in DAMPING:
        step[free] = solve_definite(H + part * np.diag(typical), -slope)
        counted = replace(point, passes=trial.passes)
        trial = _evaluated(objective, counted, point.theta + step, 1)
        if objective.value(trial) < objective.value(point):
            return trial
    return None


def hessian_at(
    theta: Floats,
    before: Point,
    gradient: Floats,
    nearby: Callable[[Floats], Floats | None] | None,
    unit: float,
) -> Floats:
    """Return about the Hessian at θ, after a step that has changed the gradient.

    Parameters
    ----------
    theta : ndarray of shape (N,)
        Where.
    before : Point
        The point before the step.
    gradient : ndarray of shape (N,)
        The gradient at θ.
    nearby : callable or None
        Maps θ to about the Hessian there.
    unit : float
        What deviances are measured in.
    """
    move, change = theta - before.theta, gradient - before.gradient
    if nearby is None:
        return updated_hessian(before.hessian, move, change)
    length = abs(float(change @ move)) / unit
    near = nearby(theta) if length > LONG else None
    if near is None:
        return updated_hessian(before.hessian, move, change)
    # What the gradient tells of a long way is a mean of Hessians along it.
    return near if length > TOO_LONG else updated_hessian(near, move, change)


def updated_hessian(hessian: Floats, move: Floats, change: Floats) -> Floats:
    """Let an old Hessian explain how the gradient changed (Broyden, Fletcher, Goldfarb, Shanno)."""
    along = hessian @ move
    with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
        old, bent = float(move @ along), float(move @ change)
    if not 0.1 * old < bent < STEEPER * old:
        return hessian  # a long way, or rounding: nothing to learn
    change, along = change / np.sqrt(bent), along / np.sqrt(old)
    return hessian + np.outer(change, change) - np.outer(along, along)
