"""Newton's method for a deviance whose means S may explain to a given share only.

For each form j of the means, a_j(θ) is what S explains of them (see
`MeanForm`) and V(θ) their variance. The model minimizes the deviance with a
ridge ℓ_j‖a_j‖² on each, so that

    g + Σ J_jᵀπ_j = 0,   π_j = ℓ_j a_j,   ‖a_j‖² = r_j V,

with g the gradient of the deviance and J_j that of a_j. These are equations in
θ, the multipliers π and ℓ; they stay well conditioned as ℓ → ∞, where a = 0.

One more form is held at zero from the start: what the totals of the means
exceed those of the response by. Its multipliers are the price of the balance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import scipy.linalg

from fairridge._typing import Floats
from fairridge.solvers.extrapolation import extrapolation_along
from fairridge.solvers.spectrum import block_diagonal

# Shares are lowered by this factor at most in a first step: means bend, and so does the way. After
# each step that led where it aimed, the next may go farther: by this power, up to a factor.
SHRINK, BOLDER, BOLDEST = 0.2, 1.5, 1e-3
# Error of the linearized means after a step, relative to these, above which the step was too long.
BENT = 0.5
# Steps shorter than this lead nowhere.
STUCK = 1e-3
# A share that may go to zero in one step.
NEARLY_NOTHING = 1e-6
# Step, relative to the coefficients, that ends a search; its error is of the order of its square.
CLOSE = 1e-6
# The same, up to which one more step with the same Hessian may end it: a pass for half the time.
SAME_HESSIAN = 2e-5
# Error of the coefficients that leaves totals balanced to their last digits, relative to them.
EXACT = 1e-14
# Curvature of multipliers that no equation determines, relative to those it does.
LOOSE = 1e-9
# Curvature, relative to the largest, below which a direction falls.
FALLING = -1e-9
# The same, below which it is not measured in its own units.
SMALLEST = 1e-30
# Numbers below this have lost digits.
TINY = 1e-300
# Penalty that holds as well as an infinite one, relative to one that balances the deviance.
STIFF = 1e6
# Minima through which a polynomial leads on to the next.
BEHIND = 6
# Size of a step to the goals from a point so near to them that it need not be divided.
NEAR = 0.05


@dataclass(frozen=True)
class Means:
    """Deviance and means at one θ."""

    theta: Floats  # coordinates, of shape (N,)
    deviance: float  # deviance, as users see it
    # Derivatives of the penalized deviance, halved and per row; the second derivatives of the
    # means, times the multipliers, are in the Hessian, of shape (N,) and (N, N).
    gradient: Floats
    hessian: Floats
    # a of each form, in units of the standard deviation of the means.
    explained: Sequence[Floats]
    jacobians: Sequence[Floats]  # their derivatives
    variance: float  # V in the same units
    slope: Floats  # its derivative, of shape (N,)

    def shares(self) -> Floats:
        """Return R² of each form."""
        return np.array([a @ a for a in self.explained]) / self.variance

    @property
    def is_finite(self) -> bool:
        """Whether all of it consists of numbers, and the means vary."""
        return bool(
            np.isfinite(self.deviance)
            and np.isfinite(self.hessian).all()
            and np.isfinite(self.slope).all()
            and self.variance > 0.0
        )


@dataclass(frozen=True)
class Goal:
    """A form, by its place, that S may explain to a share r; or one with a given penalty."""

    place: int
    share: float
    penalty: float | None = None  # ℓ, whatever share comes with it; None if it follows from r
    # Whether it is held at r on the whole way, as totals are, and may bend meanwhile.
    held: bool = False


@dataclass(frozen=True)
class MeanState:
    """A point with the multipliers of all forms; zeros for those without a goal."""

    at: Means
    multipliers: Sequence[Floats]
    detours: int = 0  # steps on the way here that were too long at first

    def penalties(self) -> Floats:
        """Return ℓ of each form: π = ℓa."""
        pairs = zip(self.at.explained, self.multipliers, strict=True)
        return np.array([_ratio(a, pi) for a, pi in pairs])


class Evaluate(Protocol):
    """One pass over the rows."""

    def __call__(
        self, theta: Floats, multipliers: Sequence[Floats], like: Means | None = None
    ) -> Means:
        """Return means at θ, with the second derivatives of given multipliers.

        With `like`, the Hessian and the derivatives of the means are those of that point, and
        the gradient is such that g + Σ Jᵀπ is right.
        """
        ...


def reach(
    evaluate: Evaluate, start: MeanState, goals: Sequence[Goal], max_iter: int, limit: float
) -> MeanState | None:
    """Follow the minima from a state to the goals; None if path following failed.

    Parameters
    ----------
    evaluate : callable
        One pass over the rows.
    start : MeanState
        A minimum for larger shares.
    goals : sequence of Goal
        The shares to reach; other forms are free.
    max_iter : int
        Passes at most.
    limit : float
        Deviance that no minimum has.
    """
    if not start.at.is_finite:
        return None
    state, step, length, shrink = start, _first_step(start, goals), 1.0, SHRINK
    near, detours = False, start.detours
    for _ in range(max_iter):
        if step is None or length < STUCK:
            return None
        if step.last and step.size <= CLOSE:
            return _finished(replace(state, detours=detours), step, goals)
        if not near and step.last and length == 1.0 and step.size <= SAME_HESSIAN:
            near, end = True, _end_nearby(evaluate, state, step, goals)
            if end is not None:
                return replace(end, detours=detours)
        after = _moved(evaluate, state, step.shortened(state, length), goals)
        shrink = max(shrink**BOLDER, BOLDEST) if length == 1.0 else SHRINK
        ahead = None if after is None else _step(after, goals, shrink)
        if (
            after is None
            or ahead is None
            or after.at.deviance > limit
            or _too_long(state, after, step, length, goals)
            or (step.last and length == 1.0 and ahead.size > max(step.size, 0.1))
        ):
            length, shrink, detours = 0.5 * length, SHRINK, detours + 1
            continue
        state, step, length = after, ahead, min(1.0, 2.0 * length)
    return None


@dataclass(frozen=True)
class Milestone:
    """A minimum at one share of a path, and how it moves with √r."""

    state: MeanState
    place: float  # √r
    slopes: tuple[Floats, Sequence[Floats]]  # derivatives of θ and π

    @classmethod
    def of(cls, state: MeanState, goals: Sequence[Goal]) -> Milestone | None:
        """Differentiate the equations at a minimum; None if they are singular.

        √r stands in ‖a‖ = √r √V alone, so its column of the right-hand side has √V there.

        Parameters
        ----------
        state : MeanState
            The minimum.
        goals : sequence of Goal
            That of the first form, above 0, and totals.
        """
        at = state.at
        blocks = [_equations(state, goal, goal.share) for goal in goals]
        matrix, right = _assembled(at, blocks)
        of_root = np.zeros_like(right)
        of_root[-1] = np.sqrt(at.variance)
        slopes = _solved(at, goals, blocks, matrix, of_root)
        if slopes is None:
            return None
        return cls(replace(state, detours=0), float(np.sqrt(goals[0].share)), slopes)


def ahead(evaluate: Evaluate, way: Sequence[Milestone], goals: Sequence[Goal]) -> MeanState | None:
    """Return a state near the minimum at a smaller share; None without minima behind.

    θ and π are smooth in √r, so a polynomial that touches the way at the last minima leads
    much nearer than the last of them is. If it does not, that one is returned.

    Parameters
    ----------
    evaluate : callable
        One pass over the rows.
    way : sequence of Milestone
        Minima at larger shares of the first form, in falling order.
    goals : sequence of Goal
        Its goal, and totals.
    """
    if not way:
        return None
    last, places = way[-1].state, np.array([one.place for one in way[-BEHIND:]])
    weights = extrapolation_along(places, float(np.sqrt(goals[0].share)))
    behind = list(zip(way[-len(weights[0]) :], *weights, strict=True))
    theta = sum(w * one.state.at.theta + v * one.slopes[0] for one, w, v in behind)
    multipliers = [
        sum(w * one.state.multipliers[j] + v * one.slopes[1][j] for one, w, v in behind)
        for j in range(len(last.multipliers))
    ]
    found = MeanState(evaluate(theta, multipliers), multipliers)
    step = _first_step(found, goals) if found.at.is_finite and is_minimum(found, goals) else None
    farther = step is None or step.size > _size(theta - last.at.theta, theta)
    return last if farther else found


@dataclass(frozen=True)
class _Step:
    """A change of θ, the multipliers after it, its size, and whether it aims at the goals."""

    change: Floats
    multipliers: Sequence[Floats]
    size: float
    last: bool

    def shortened(self, state: MeanState, length: float) -> _Step:
        """Go a part of the way only."""
        pairs = zip(state.multipliers, self.multipliers, strict=True)
        multipliers = [old + length * (new - old) for old, new in pairs]
        return replace(self, change=length * self.change, multipliers=multipliers)


def _too_long(
    state: MeanState, after: MeanState, step: _Step, length: float, goals: Sequence[Goal]
) -> bool:
    """Whether the means have bent too much for a step to have led where it aimed."""
    # What is nearly nothing already, such as a share that has come to zero, may bend.
    for goal in goals:
        a, b = (x.at.explained[goal.place] for x in (state, after))
        least = float(np.sqrt((1.0 if goal.held else NEARLY_NOTHING) * state.at.variance))
        aimed = a + length * state.at.jacobians[goal.place] @ step.change
        size = max(float(np.linalg.norm(aimed)), 0.3 * float(np.linalg.norm(a)), least)
        if float(np.linalg.norm(b - aimed)) > BENT * size:
            return True
    return False


def _first_step(state: MeanState, goals: Sequence[Goal]) -> _Step | None:
    """Return a step to the goals if they are near, and one on the way to them otherwise."""
    step = _step(state, goals)
    if step is None or step.last:
        return step
    whole = _step(state, goals, BOLDEST)
    return whole if whole is not None and whole.size <= NEAR else step


def _step(state: MeanState, goals: Sequence[Goal], shrink: float = SHRINK) -> _Step | None:
    """Solve the linearized equations for the goals, or for shares on the way to them."""
    at = state.at
    shares = at.shares()
    sought = [g.held or g.penalty is not None for g in goals]
    aims = [
        g.share if at_once else _aim(g.share, float(shares[g.place]), shrink)
        for g, at_once in zip(goals, sought, strict=True)
    ]
    blocks = [_equations(state, goal, aim) for goal, aim in zip(goals, aims, strict=True)]
    solved = _solved(at, goals, blocks, *_assembled(at, blocks))
    if solved is None:
        return None
    change, multipliers = solved
    reached = all(aim == goal.share for goal, aim in zip(goals, aims, strict=True))
    return _Step(change, multipliers, _size(change, at.theta), reached)


def _size(change: Floats, theta: Floats) -> float:
    """Return a change of the coefficients, relative to them."""
    return float(np.abs(change).max(initial=0.0) / (1.0 + np.abs(theta).max(initial=0.0)))


def _aim(goal: float, share: float, shrink: float) -> float:
    """Return a share not too far away; what is nearly nothing already goes at once."""
    aim = float(np.clip(goal, shrink * share, share / shrink))
    return goal if aim < NEARLY_NOTHING else aim


@dataclass(frozen=True)
class _Equations:
    """Linearized equations of one form, in the step, its multipliers and its penalty."""

    jacobian: Floats  # J, of shape (s, N)
    # Coefficients in the equations for a, of shape (s, N) and (s, s).
    of_step: Floats
    of_multipliers: Floats
    of_penalty: Floats  # the same of a change of ℓ, if ℓ is finite, of shape (s, 1) or (s, 0)
    right: Floats  # their right-hand sides, of shape (s,)
    # The equation for the share, of shape (1, N) or (0, N), and (1,) or (0,).
    bound: Floats
    excess: Floats


def _equations(state: MeanState, goal: Goal, aim: float) -> _Equations:
    """Linearize π = ℓa and ‖a‖ = √(rV); for r = 0, a = 0, and for a given ℓ the first alone."""
    at, place = state.at, goal.place
    a, J, old = (x[place] for x in (at.explained, at.jacobians, state.multipliers))
    one, none = np.eye(len(a)), (np.zeros((len(a), 0)), J[:0], np.zeros(0))
    if goal.penalty is not None:
        unit = 1.0 / max(1.0, goal.penalty)
        own = unit * goal.penalty
        return _Equations(J, own * J, -unit * one, none[0], -own * a, *none[1:])
    if aim == 0.0:
        # Equations may say the same twice (probabilities of classes sum to one).
        loose = LOOSE * stiffness(at.hessian, J)
        return _Equations(J, J, -loose * one, none[0], -a - loose * old, *none[1:])
    penalty, length = float(state.penalties()[place]), float(np.linalg.norm(a))
    unit = 1.0 / max(1.0, penalty)
    bound = a @ J / length - 0.5 * np.sqrt(aim / at.variance) * at.slope
    return _Equations(
        J,
        unit * penalty * J,
        -unit * one,
        unit * a[:, None],
        -unit * penalty * a,
        bound[None],
        np.array([np.sqrt(aim * at.variance) - length]),
    )


def _assembled(at: Means, blocks: Sequence[_Equations]) -> tuple[Floats, Floats]:
    """Return matrix and right-hand side of all equations."""
    J = np.vstack([at.hessian[:0], *(block.jacobian for block in blocks)])
    bounds = np.vstack([at.hessian[:0], *(block.bound for block in blocks)])
    diagonal = block_diagonal([block.of_multipliers for block in blocks])
    border = block_diagonal([block.of_penalty for block in blocks])
    corner = np.zeros((len(bounds), len(J) + len(bounds)))
    below = np.vstack([np.hstack([diagonal, border]), corner])
    left = np.vstack([at.hessian, *(block.of_step for block in blocks), bounds])
    top = np.hstack([J.T, np.zeros((len(at.theta), len(bounds)))])
    parts = [-at.gradient, *(b.right for b in blocks), *(b.excess for b in blocks)]
    return np.hstack([left, np.vstack([top, below])]), np.concatenate(parts)


def _solved(
    at: Means, goals: Sequence[Goal], blocks: Sequence[_Equations], matrix: Floats, right: Floats
) -> tuple[Floats, Sequence[Floats]] | None:
    """Return what equations say of θ and of the multipliers; None if they are singular."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            solved: Floats = np.linalg.solve(matrix, right).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(solved).all():
        return None
    multipliers, start = [np.zeros_like(a) for a in at.explained], len(at.theta)
    for goal, block in zip(goals, blocks, strict=True):
        multipliers[goal.place] = solved[start : start + len(block.right)]
        start += len(block.right)
    return solved[: len(at.theta)], multipliers


def _moved(
    evaluate: Evaluate, state: MeanState, step: _Step, goals: Sequence[Goal]
) -> MeanState | None:
    """Evaluate after a step; None if that is not a minimum to go on from."""
    theta = state.at.theta + step.change
    after = evaluate(theta, step.multipliers)
    if not after.is_finite:
        return None
    found = MeanState(after, step.multipliers)
    if is_minimum(found, goals):
        return found
    # Without the second derivatives of the means the Hessian is that of the deviance.
    plain = evaluate(theta, [np.zeros_like(pi) for pi in step.multipliers])
    return MeanState(plain, step.multipliers)


def _end_nearby(
    evaluate: Evaluate, state: MeanState, step: _Step, goals: Sequence[Goal]
) -> MeanState | None:
    """Take a short step and then a last one, with one Hessian; None if that is not near enough.

    The error of the last one is of the order of the product of both.
    """
    at = evaluate(state.at.theta + step.change, step.multipliers, state.at)
    after = MeanState(at, step.multipliers)
    last = _step(after, goals) if at.is_finite else None
    if last is None or not last.last or last.size * step.size > EXACT:
        return None
    return _finished(after, last, goals)


def is_minimum(state: MeanState, goals: Sequence[Goal]) -> bool:
    """Whether the penalized deviance curves upward in all directions that are left."""
    at, penalties = state.at, state.penalties()
    H = at.hessian.copy()
    for goal in goals:
        J, penalty = at.jacobians[goal.place], max(penalties[goal.place], 0.0)
        if goal.penalty is not None:
            penalty = goal.penalty
        elif goal.share == 0.0:
            penalty = np.inf
        stiff = STIFF / max(stiffness(at.hessian, J), 1e-300)
        with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
            H += min(penalty, stiff) * (J.T @ J)
    if not np.isfinite(H).all():
        return False
    largest = float(np.diag(H).max(initial=0.0))
    if not largest > TINY / SMALLEST:
        return False
    scale = np.sqrt(np.maximum(np.diag(H), SMALLEST * largest))
    H /= np.outer(scale, scale)
    # Most of them are: a factor tells so for a tenth of what eigenvalues cost.
    if scipy.linalg.lapack.dpotrf(H - FALLING * np.eye(len(H)))[1] == 0:
        return True
    try:
        values = np.linalg.eigvalsh(H)
    except np.linalg.LinAlgError:
        return False
    return bool(values[0] >= FALLING * max(values[-1], 1.0))


def _finished(state: MeanState, step: _Step, goals: Sequence[Goal]) -> MeanState | None:
    """Take the last, tiny step without looking; None if the goals are missed all the same.

    That happens if means hardly vary.
    """
    at = state.at
    moved = replace(
        at,
        theta=at.theta + step.change,
        explained=[a + J @ step.change for a, J in zip(at.explained, at.jacobians, strict=True)],
        variance=at.variance + float(at.slope @ step.change),
    )
    if not moved.variance > 0.0:
        return None
    shares = moved.shares()
    missed = [
        abs(shares[goal.place] - goal.share) > 1e-6 * goal.share + 1e-12
        for goal in goals
        if goal.penalty is None
    ]
    return None if any(missed) else MeanState(moved, step.multipliers, state.detours)


def stiffness(hessian: Floats, jacobian: Floats) -> float:
    """Return the size of JH⁻¹Jᵀ."""
    scale = np.where(np.diag(hessian) > 0.0, np.diag(hessian), np.inf)
    return float((jacobian**2 / scale).sum(axis=1).max(initial=0.0))


def _ratio(a: Floats, multipliers: Floats) -> float:
    """Return ℓ with π = ℓa, nearly."""
    squares = float(a @ a)
    return float(multipliers @ a) / squares if squares > 0.0 else 0.0
