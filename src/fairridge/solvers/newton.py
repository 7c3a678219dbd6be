"""Newton's method for a penalized deviance, sparing passes over the rows.

A step needs the gradient at the current point, and a Hessian that may be an
old one: while such steps contract well the Hessian is not computed anew. If a step
raises the objective, it is tried within a radius: a part of the typical curvature is
added to the Hessian (Levenberg and Marquardt), so that the step gets short where
curvature was lost, and stays as it is elsewhere.

The same loop serves objectives at one penalty and searches for a bound: these
propose a penalty with every step.

A search for a bound needs the minima of a quadratic model under a quadratic penalty for
every λ at once (`LocalModel`). At a point θ with gradient g and Hessian M, the next point
θ + Δ minimizes

    gᵀΔ + ½ΔᵀMΔ + λ‖a + JΔ‖²   subject to   c + GΔ = 0,

where a(θ) is what λ penalizes, c(θ) what is held at zero, and J and G are their
derivatives. With multipliers π = 2λ(a + JΔ) and ν,

    Δ = −M⁻¹(g + Jᵀπ + Gᵀν),

so that only a matrix T = JM⁻¹Jᵀ (less what G takes of it) depends on π. In its
eigenvectors a + JΔ = ũ/(1 + 2λt): what is penalized shrinks as in a ridge regression,
and λ = 0 and λ = ∞ are like any other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.linalg import blas, lapack

from fairridge._typing import Floats, Integers
from fairridge.solvers.lasso import proximal_step
from fairridge.solvers.spectrum import CURVATURE_TOLERANCE, curvature_scale, solve_definite

# The unit of deviances, as that of a share of the weight of all rows: the same for rows that
# are weighted and rows that are repeated, and proportional to the weights.
SHARE_OF_ROWS = 0.1
# Decreases are relative to the deviance. Relative rounding error of an objective: a change below
# it says nothing, and derivatives foretell it, so that a last step need not be evaluated. What it
# may leave: coefficients then have about eleven digits.
ROUNDING, CONVERGENCE_TOLERANCE = 1e-12, 1e-23
# Decrease, and change of the slope along a step, that are small: an old Hessian may serve, since
# a new one would gain less than a pass.
SMALL_STEP = 1e-6
# A pass with the Hessian, in passes with the gradient alone, if nobody knows; and what it may cost
# for every new bound to have one.
HESSIAN_COST = 4.0
# Contraction of the decrease that is too slow for Newton's method near a minimum: at a
# limit at infinity, e⁻¹ is left. Of such steps and shortened ones every third asks for curvature.
SLOW, TROUBLED_STEPS = 0.2, 3
# Decrease, and change of the slope along a step, that are large: the step is far from a minimum,
# whatever its contraction, and gradients tell nothing of the Hessian at its end.
LARGE_STEP = 1e-2
# A step that fails is shortened by a factor. One that keeps this part of its promise may be
# followed by one that is longer by another; and steps shorter than this lead nowhere.
SHORTER, KEPT_PROMISE, LONGER, LEAST_RADIUS = 0.25, 0.5, 3.0, 1e-9
# Parts of the typical curvature that damp a step, from 10⁻⁷ to 100: by a factor apart that makes a
# step no longer than is allowed next.
DAMPINGS: list[float] = (1e-7 * LONGER ** np.arange(20.0)).tolist()


@dataclass(frozen=True)
class Point:
    """A point, its deviance and derivatives (of the deviance alone)."""

    theta: Floats  # coordinates, of shape (N,)
    deviance: float  # deviance there
    gradient: Floats  # its gradient there, of shape (N,)
    hessian: Floats  # its Hessian, there or at an earlier point, of shape (N, N)
    converged: bool = True  # whether it is the minimum it was meant to be
    passes: int = 0  # evaluations on the way there
    fresh: bool = True  # whether the Hessian is that of the point
    separated: bool = False  # whether the deviance has lost its curvature in some direction
    beside: Any = None  # what else a pass has told, for whoever proposes steps

    def after(self, step: Floats) -> Point:
        """Return the point after a short step, with what its derivatives say of the deviance."""
        change = self.hessian @ step
        return replace(
            self,
            theta=self.theta + step,
            deviance=self.deviance + float((self.gradient + 0.5 * change) @ step),
            gradient=self.gradient + change,
        )


@dataclass(frozen=True)
class Step:
    """A step that a quadratic model proposes."""

    change: Floats  # of θ
    decrease: float  # what it promises of the objective, twice: the Newton decrement
    lambda_: Any = 0.0  # the penalty that it is for
    multipliers: Any = None  # those after it, if something is held or bent


class Descent(Protocol):
    """What Newton's method needs to know."""

    @property
    def unit(self) -> float:
        """What decreases are measured in, beside the deviance itself."""

    @property
    def typical(self) -> Floats:
        """Second derivatives of the deviance at the null model, of shape (N,)."""

    @property
    def hessian_cost(self) -> float:
        """What a pass with the Hessian costs, in passes without it."""

    @property
    def has_sample(self) -> bool:
        """Whether a sample keeps Hessians near for little."""

    def propose(self, point: Point, damping: float, before: float) -> Step | None:
        """Return the next step, or None if there is none; `before` is the last decrease."""

    def value(self, point: Point, step: Step) -> float:
        """Return the objective at a point, with the penalty of a step."""

    def evaluate(self, before: Point, step: Step, order: int) -> Point:
        """Make a pass after a step; order 2 includes the Hessian."""

    def finish(self, point: Point, step: Step) -> Point:
        """Return the point after a last step, which is not evaluated."""

    def has_lost_curvature(self, point: Point) -> bool:
        """Whether the deviance has a limit at infinity instead of a minimum, for all we see."""


def minimize(
    descent: Descent, start: Point, max_iter: int, tolerance: float = CONVERGENCE_TOLERANCE
) -> tuple[Point, Step | None]:
    """Minimize from a point that has a Hessian, or one nearby; also return the last step."""
    # A `tolerance` above the default is the decrease, relative to the deviance, that may be left.
    point, before, radius, troubled = start, np.inf, np.inf, 0
    size = descent.unit + abs(start.deviance) or 1.0
    step: Step | None = None
    while point.passes < start.passes + max_iter:
        step, damping = _within(descent, point, radius * np.sqrt(size), before)
        if step is None:
            break
        scale = descent.unit + abs(point.deviance)
        left = abs(step.decrease) / scale
        exact = damping == 0.0
        slow = exact and LARGE_STEP > left > SLOW * before
        following = _following(left, before, point.fresh)
        if exact and _is_last(left, following, slow and point.fresh, tolerance):
            return descent.finish(point, step), step
        if slow and not point.fresh:
            same = replace(step, change=np.zeros_like(step.change))
            point, before = descent.evaluate(point, same, 2), np.inf
            continue
        order = _order(descent, left, before, following) if exact else 2
        trial = descent.evaluate(point, step, order)
        gain = descent.value(point, step) - descent.value(trial, step)
        length = _length(descent, step) / np.sqrt(size)
        if not gain >= -ROUNDING * scale:
            point, radius = replace(point, passes=trial.passes), SHORTER * length
            if radius < LEAST_RADIUS:
                break
            continue
        before = left if exact else np.inf
        if 2.0 * gain > KEPT_PROMISE * step.decrease:
            radius = max(radius, LONGER * length)
        point = trial
        if exact and not slow:
            continue
        troubled += 1
        if troubled % TROUBLED_STEPS == 0 and descent.has_lost_curvature(point):
            return replace(point, converged=False, separated=True), step
    return replace(point, converged=False), step


def _within(
    descent: Descent, point: Point, radius: float, before: float
) -> tuple[Step | None, float]:
    """Return the step with the least damping that is not longer than a radius."""
    step = descent.propose(point, 0.0, before)
    if step is None or radius == np.inf or _length(descent, step) <= radius:
        return step, 0.0
    steps: dict[float, Step | None] = {}

    def is_short(damping: float) -> bool:
        steps[damping] = trial = descent.propose(point, damping, before)
        return trial is None or _length(descent, trial) <= radius

    place = bisect_left(DAMPINGS, True, key=is_short)
    damping = DAMPINGS[min(place, len(DAMPINGS) - 1)]
    step = steps[damping]
    if place < len(DAMPINGS) or step is None:
        return step, damping
    # What is held at zero asks for a step of this length.
    return replace(step, change=radius / _length(descent, step) * step.change), damping


def _length(descent: Descent, step: Step) -> float:
    """Return the length of a step, as the curvature of the null model measures it."""
    return float(blas.dnrm2(np.sqrt(descent.typical) * step.change))  # squares may overflow


def _following(left: float, before: float, fresh: bool) -> float:
    """Return the decrease after a step, as the contraction so far foretells."""
    # With an old Hessian the next contraction is like the last one; a new one squares it.
    contraction = left / before
    return left * (contraction * contraction if fresh else contraction)  # a power overflows


def _is_last(left: float, following: float, rounded: bool, tolerance: float) -> bool:
    """Whether a step leaves next to nothing; `rounded` steps have only rounding left."""
    if tolerance > CONVERGENCE_TOLERANCE:
        return left <= tolerance
    return left <= ROUNDING and (rounded or following <= tolerance)


def _order(descent: Descent, left: float, before: float, following: float) -> int:
    """Whether the next pass takes a Hessian of all rows: 2 if it does, else 1."""
    if descent.has_sample:
        if np.isinf(before):
            return 1  # the sample keeps the Hessian near
        passes = _contractions(left, left / before, ROUNDING * SLOW)
        return 2 if passes > descent.hessian_cost else 1
    if left > SMALL_STEP:
        return 2
    # With the Hessian of this point all further steps contract like the next one.
    passes = np.ceil(_contractions(following, following / left, CONVERGENCE_TOLERANCE))
    return 2 if passes >= descent.hessian_cost else 1


def _contractions(decrease: float, contraction: float, least: float) -> float:
    """Return how many contractions leave no more than the least decrease."""
    if decrease <= least:
        return 0.0
    return float(np.log(least / decrease) / np.log(contraction)) if contraction < 1.0 else np.inf


@dataclass(frozen=True)
class Objective:
    """Deviance + θᵀQθ + Σ l1ⱼ|θⱼ|, over the free coordinates: a descent at one penalty."""

    # Maps θ and an order to (deviance, gradient, Hessian or None).
    evaluated: Callable[[Floats, int], tuple[float, Floats, Floats | None]]
    quadratic: Floats  # Q, of shape (N, N)
    l1: Floats  # weights of the absolute values; zero for smooth penalties, of shape (N,)
    free: Integers  # coordinates that may move; the others are zero, or stay where they are
    # Second derivatives of the deviance at the null model, of shape (N,).
    typical: Floats
    # What deviances are measured in: a decrease is small relative to this and to the
    # deviance, whatever the scale of weights and responses.
    unit: float = field(default=1.0, kw_only=True)
    # Maps θ to about the Hessian there, for a fraction of its cost; None if it cannot.
    nearby: Callable[[Floats], Floats | None] | None = field(default=None, kw_only=True)
    hessian_cost: float = field(default=HESSIAN_COST, kw_only=True)
    # Whether the curvature at a point is lost; None if nobody asks.
    is_flat: Callable[[Point], bool] | None = field(default=None, kw_only=True)

    @property
    def has_sample(self) -> bool:
        """Whether a sample keeps Hessians near for little."""
        return self.nearby is not None

    def penalty(self, theta: Floats) -> float:
        """Return θᵀQθ + Σ l1ⱼ|θⱼ|."""
        smooth = float(theta @ self.quadratic @ theta) if self._is_penalized else 0.0
        return smooth + float(self.l1 @ np.abs(theta))

    @cached_property
    def _is_penalized(self) -> bool:
        """Whether there is a quadratic penalty, which with many columns takes time to multiply."""
        return bool(self.quadratic.any())

    def slope(self, point: Point) -> Floats:
        """Return the gradient of deviance and quadratic penalty."""
        if not self._is_penalized:
            return point.gradient
        return np.asarray(point.gradient + 2.0 * (self.quadratic @ point.theta))

    def bent(self, point: Point, damping: float = 0.0) -> Floats:
        """Return the Hessian of deviance and quadratic penalty, in the free coordinates."""
        H = point.hessian + 2.0 * self.quadratic if self._is_penalized else point.hessian
        H = H[np.ix_(self.free, self.free)] if len(self.free) < len(H) else H
        return H + np.diag(damping * self.typical[self.free]) if damping > 0.0 else H

    def propose(self, point: Point, damping: float = 0.0, before: float = np.inf) -> Step:
        """Return Newton's step and the decrease it promises."""
        free, slope = self.free, self.slope(point)
        H, change = self.bent(point, damping), np.zeros_like(point.theta)
        if not self.l1.any():
            change[free] = solve_definite(H, -slope[free])
            return Step(change, -float(slope @ change))
        change[free] = proximal_step(H, slope[free], point.theta[free], self.l1[free])
        theta = point.theta
        signs = np.where(theta == 0.0, np.sign(change), np.sign(theta))
        past_zero = np.maximum(-np.sign(theta) * (theta + change), 0.0)
        growth = float((slope + self.l1 * signs) @ change) + 2.0 * float(self.l1 @ past_zero)
        return Step(change, -growth)

    def value(self, point: Point, step: Step | None = None) -> float:
        """Return the objective at a point that was evaluated."""
        return point.deviance + self.penalty(point.theta)

    def evaluate(self, before: Point, step: Step, order: int) -> Point:
        """Evaluate after a step; without a new Hessian the one before learns from the gradient."""
        theta = before.theta + step.change
        found = self.evaluated(theta, order)
        return moved(before, theta, found, self.nearby, self.unit)

    def finish(self, point: Point, step: Step) -> Point:
        """Return the point after a last step: what the penalty gains the deviance loses."""
        return replace(point.after(step.change), converged=True)

    def has_lost_curvature(self, point: Point) -> bool:
        """Whether the deviance has a limit at infinity, for all we see."""
        return self.is_flat is not None and self.is_flat(point)


def moved(
    before: Point,
    theta: Floats,
    found: tuple[float, Floats, Floats | None],
    nearby: Callable[[Floats], Floats | None] | None,
    unit: float,
    beside: Any = None,
) -> Point:
    """Return the point at θ with what was found there; an old Hessian learns from the gradient."""
    deviance, gradient, hessian = found
    fresh, passes = hessian is not None, before.passes + 1
    if hessian is None:
        move, change = theta - before.theta, gradient - before.gradient
        length = 0.0 if nearby is None else abs(float(change @ move)) / unit
        hessian = nearby(theta) if nearby is not None and length > SMALL_STEP else None
        # What the gradient tells of a long way is a mean of Hessians along it.
        if hessian is None or length <= LARGE_STEP:
            hessian = updated_hessian(before.hessian if hessian is None else hessian, move, change)
    return Point(theta, deviance, gradient, hessian, True, passes, fresh, False, beside)


def updated_hessian(hessian: Floats, move: Floats, change: Floats) -> Floats:
    """Let an old Hessian explain how the gradient changed (Broyden, Fletcher, Goldfarb, Shanno)."""
    along = hessian @ move
    with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
        old, bent = float(move @ along), float(move @ change)
    if not (old > 0.0 and 0.1 * old < bent < np.inf):
        return hessian  # a long way, or rounding: nothing to learn
    change, along = change / np.sqrt(bent), along / np.sqrt(old)
    return hessian + np.outer(change, change) - np.outer(along, along)


def bent_upward(hessian: Floats, typical: Floats) -> Floats:
    """Return a Hessian whose negative eigenvalues, in units of typical curvature, are reversed."""
    unit = np.sqrt(typical)
    values, vectors = np.linalg.eigh(hessian / np.outer(unit, unit))
    if values[0] > 0.0:
        return hessian
    vectors = unit[:, None] * vectors
    least = CURVATURE_TOLERANCE * np.abs(values).max()
    bent: Floats = (vectors * np.maximum(np.abs(values), least)) @ vectors.T
    return bent


@dataclass(frozen=True)
class LocalModel:
    """The minima of one quadratic model, for every λ above the least one that has a minimum."""

    origin: float  # the λ that is part of M
    newton: Floats  # Δ at that λ, of shape (N,)
    directions: Floats  # how Δ answers to multipliers, in eigenvectors of T, of shape (N, s)
    rates: Floats  # t, of shape (s,)
    penalized: Floats  # ũ: a + JΔ at the origin, in those eigenvectors, of shape (s,)
    turn: Floats  # the eigenvectors, of shape (s, s)
    # ν = held[:, 0] − held[:, 1:]·(multipliers beyond the origin), of shape (t, 1 + s).
    held: Floats

    @property
    def least(self) -> float:
        """The λ at and below which there is no minimum; negative if there always is one."""
        largest = float(self.rates.max(initial=0.0))
        return self.origin - 0.5 / largest if largest > 0.0 else -np.inf

    @cached_property
    def moves(self) -> Floats:
        """What Δ is a combination of at any λ, see `along`; of shape (1 + s, N)."""
        return np.concatenate([self.newton[None], self.directions.T])

    def along(self, lambdas: Floats) -> Floats:
        """Return the parts of `moves` that add up to Δ at several λ, one row each."""
        parts = np.ones((len(lambdas), 1 + len(self.rates)))
        parts[:, 1:] = -self._multipliers(lambdas)
        return parts

    # λ = ∞ comes alone.

    def changes(self, lambdas: Floats) -> Floats:
        """Return Δ at several λ, one row each."""
        return self.along(lambdas) @ self.moves

    def remaining(self, lambdas: Floats) -> Floats:
        """Return a + JΔ at several λ, in the eigenvectors of T, one row each."""
        if np.isinf(lambdas[0]):
            return np.where(self.rates > 0.0, 0.0, self.penalized)[None]
        extra = 2.0 * (lambdas[:, None] - self.origin)
        return self.penalized / (1.0 + extra * self.rates)

    def multipliers(self, lambda_: float) -> tuple[Floats, Floats]:
        """Return π and ν at a λ."""
        beyond = self._multipliers(np.array([lambda_]))[0]
        nu: Floats = self.held[:, 0] - self.held[:, 1:] @ beyond
        if self.origin > 0.0:
            beyond = beyond + 2.0 * self.origin * self.remaining(np.array([lambda_]))[0]
        return self.turn @ beyond, nu

    def under(self, multipliers: Floats) -> tuple[Floats, Floats]:
        """Return Δ and ν for given multipliers π of a model whose origin is zero."""
        turned = multipliers @ self.turn
        change: Floats = self.newton - self.directions @ turned
        return change, self.held[:, 0] - self.held[:, 1:] @ turned

    def _multipliers(self, lambdas: Floats) -> Floats:
        """Return the multipliers beyond those of the origin, in the eigenvectors of T."""
        if np.isinf(lambdas[0]):
            large = self.rates > CURVATURE_TOLERANCE * self.rates.max(initial=0.0)
            nothing = np.zeros_like(self.rates)
            return np.divide(self.penalized, self.rates, out=nothing, where=large)[None]
        extra = 2.0 * (lambdas[:, None] - self.origin)
        return self.penalized * (extra / (1.0 + extra * self.rates))


def local_model(
    hessian: Floats,
    gradient: Floats,
    penalized: tuple[Floats, Floats],
    held: tuple[Floats, Floats] | None,
    origin: float | None,
    typical: Floats,
) -> LocalModel | None:
    """Solve the model; without an origin None if it has no minimum at λ = 0."""
    # `penalized` is a and J, `held` is c and G; derivatives are of what does not depend on λ. At an
    # origin negative curvature changes its sign, in units of `typical` ones: steps leave saddles.
    a, J = penalized
    if not np.isfinite(hessian).all():
        return None
    if origin is not None:
        hessian = bent_upward(hessian + 2.0 * origin * J.T @ J, typical)
        gradient = gradient + 2.0 * origin * J.T @ a
    c, G = held or (np.zeros(0), np.zeros((0, len(gradient))))
    rows, s, scale = np.concatenate([J, G]), len(J), curvature_scale(hessian)
    right = np.concatenate([gradient[None], rows]).T / scale[:, None]
    _, solved, failed = lapack.dposv(hessian / (scale * scale[:, None]), right)
    if failed:
        return None
    solved /= scale[:, None]
    newton, directions, of_held = -solved[:, 0], solved[:, 1 : 1 + s], solved[:, 1 + s :]
    # What a step by each of these changes of what is penalized, and of what is held.
    changed = rows @ solved
    of_J, of_G = changed[:s], changed[s:]
    left, T = a - of_J[:, 0], of_J[:, 1 : 1 + s]
    multipliers = np.zeros((0, 1 + s))
    if len(c):
        # c + GΔ = 0 decides ν for any multipliers of J.
        multipliers = np.concatenate([(c - of_G[:, 0])[:, None], of_G[:, 1 : 1 + s]], axis=1)
        multipliers = _solved_equations(of_G[:, 1 + s :], multipliers)
        newton = newton - of_held @ multipliers[:, 0]
        directions = directions - of_held @ multipliers[:, 1:]
        left = left - of_J[:, 1 + s :] @ multipliers[:, 0]
        T = T - of_J[:, 1 + s :] @ multipliers[:, 1:]
    rates, turn, failed = lapack.dsyevd(0.5 * (T + T.T))
    if failed:
        return None
    multipliers[:, 1:] = multipliers[:, 1:] @ turn
    rates = np.maximum(rates, 0.0)
    return LocalModel(
        origin or 0.0, newton, directions @ turn, rates, turn.T @ left, turn, multipliers
    )


def _solved_equations(matrix: Floats, right: Floats) -> Floats:
    """Solve equations that may repeat each other."""
    # Where means have saturated, totals do not respond.
    if len(matrix) == 1 and matrix[0, 0] != 0.0:
        return right / matrix
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=CURVATURE_TOLERANCE)[0])
