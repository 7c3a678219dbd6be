"""Models at one bound on what S explains of their predicted means, each from one start.

Means bend, so that a bound has several minima now and then, and the way to one of them can
end. `fairridge.solvers.mean_ridge` takes the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness import Definition
from fairridge.models import Fit, Isolation
from fairridge.search.glm import GLMProblem
from fairridge.search.mean_objective import MOST_STEPS, MeanObjective, mean_objective
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.solvers import Point
from fairridge.solvers.mean_ridge import Goal, MeanState, is_minimum, reach

# Penalties at which to start besides the free model, in typical ones.
MIDDLE = (1.0, 20.0, 400.0)
# Ridge where classes are separated, relative to the curvature of the null model: the first, and
# one that is nothing.
EASE, LEAST_EASE = 1e-2, 1e-11
# Factors from one of them to the next, and the ridge below which minima do not jump.
EASING, NO_DESCENT = (0.1, 0.3, 0.6), 1e-8
# Rows per coefficient, by their effective number, up to which minima are confirmed by other
# starts: of 770 such ones drawn at random 17 were not the best, and of 148 with more rows none.
FEW_ROWS_EACH = 20.0
# Difference of two deviances, relative to them, that are those of one model.
SAME = 1e-8
# Passes for one bound, in units of those for one minimum, after which a search ends; fewer where
# classes are separated, since the first way there seldom fails.
PATIENCE, SEPARATED_PATIENCE = 15, 6


@dataclass(frozen=True)
class Reached:
    """A minimum at a bound."""

    space: MeanObjective  # where the search went
    state: MeanState
    lambda_: float
    point: Point
    fit: Fit


class MeanMinima(GLMProblem):
    """What a search under a bound on means starts from, and where it ends.

    Parameters
    ----------
    minima : PenalizedGLM
        The model without a bound.
    definition : MeanShare, or one given controls
        Says which means are looked at.
    isolation : Isolation, optional
        Rows that the model is fitted without.
    """

    def __init__(
        self, minima: PenalizedGLM, definition: Definition, isolation: Isolation | None = None
    ) -> None:
        super().__init__(minima, definition, isolation)
        self.explains = True
        self._share: Any = definition.within_space  # a MeanShare
        self._points: dict[float, Point] = {}  # minima by λ
        self._middle: dict[float, Point] = {}  # those to start from, by λ in typical ones
        self._nearly: dict[float, tuple[float, Point]] = {}
        self._begun = 0  # passes that were made before the search for a bound began

    @property
    def _has_others(self) -> bool:
        """Whether there are other fair models than constant ones: with predictors or controls.

        Means that count among rows of one class only leave some of S free, too: within a class
        of a few rows S does not vary in all of its directions. And where offsets vary with S,
        a constant is not fair, and α makes up for them.
        """
        named = super()._has_others or bool(self.space.controls)
        return named or not self._is_constant_alone

    @property
    def _is_constant_alone(self) -> bool:
        """Whether the model with an intercept only is fair, and no other near it is."""
        return self._free_objective.is_rigid and self._is_constant_fair

    @cached_property
    def _is_constant_fair(self) -> bool:
        """Whether S explains nothing of the means of the model with an intercept only."""
        space = self._free_objective
        return space.forms[0].share(space.sums(self._null.theta)) == 0.0

    @cached_property
    def _has_few_rows(self) -> bool:
        """Whether rows are few for so many coefficients."""
        rows, enough = float(self.engine.n_rows), FEW_ROWS_EACH * len(self.minima.start.theta)
        small = self._is_small and not self.engine.on_device  # where rows are many, and stay
        if rows > enough and small:  # unless few of them count
            rows = self._basis.weight**2 / self.engine.sum_of(_squared_weight)
        return rows <= enough

    @property
    def _is_separated(self) -> bool:
        """Whether the model without a bound is a limit, not a minimum."""
        return self.minima.point(0.0).separated is not None

    @property
    def _is_spent(self) -> bool:
        """Whether the search for one bound, or for those of attributes, has made enough passes."""
        most = SEPARATED_PATIENCE if self._is_separated else PATIENCE
        return self.engine.passes - self._begun > most * self.minima.max_iter

    @property
    def _limit(self) -> float:
        """A deviance beyond that of the model with an intercept only."""
        return 2.0 * self.minima.null.deviance

    # ---------------------------------------------------------------- objectives

    @cached_property
    def _means(self) -> Any:
        """Which means are bounded, and which have totals to meet (MeansOfRows)."""
        return self._share.means(self._plain_fit(1.0, self.minima.start), totals=True)

    @cached_property
    def _free_objective(self) -> MeanObjective:
        return mean_objective(self.minima, self._means, self._elsewhere)

    @cached_property
    def _loose_objective(self) -> MeanObjective:
        """The same, with no direction left alone."""
        return replace(self._free_objective, gone=None)

    @cached_property
    def _elsewhere(self) -> Floats:
        """What totals of rows that the model is fitted without will exceed those observed by."""
        observed = self._basis.weight * self._basis.center_targets
        if self.isolation is None:
            return 0.0 * observed
        weights = self._means.class_weights or np.ones(self.family.n_predictors + 1)
        excess = self.isolation.excess(self._basis, np.asarray(weights))
        # Rows that are kept make up for it, unless that would take most of their total.
        rest = np.inf if self.family.link == "log" else self._basis.weight - observed
        small = np.abs(excess) < 0.5 * np.minimum(observed, rest)
        return excess if small.all() else 0.0 * excess

    @cached_property
    def _null(self) -> Point:
        """The balanced model with an intercept only."""
        return self._free_objective.leveled(self.minima.null)

    # ---------------------------------------------------------------------- ends

    def _as_fit(self, lambda_: float, point: Point) -> Fit:
        fit = self._plain_fit(lambda_, point)
        # The same pass tells the definition's value.
        return replace(fit, deviance=fit.mean_sums(self._means).deviance)

    def _plain_fit(self, lambda_: float, point: Point) -> Fit:
        return replace(super()._as_fit(lambda_, point), classes=self.settings.classes)

    def _objective(self, one: Reached) -> float:
        """Return the deviance of a minimum, after its last step, with what λ₂ adds."""
        return one.fit.deviance + self.minima.objective(0.0).penalty(one.point.theta)

    def _goals(self, r: float) -> list[Goal]:
        """Return a bound as a goal, and that means have the totals of the response."""
        return [Goal(0, r), self._free_objective.totals]

    def _end_of(
        self,
        space: MeanObjective,
        start: MeanState,
        goals: Sequence[Goal],
        tol: float,
        most: int | None = None,
    ) -> Reached | None:
        """Follow the minima from one start, for some passes at most, and look at the end."""
        r, state, most = goals[0].share, start, most or self.minima.max_iter
        reached: Reached | None = None
        for _ in range(3):
            end = reach(space.evaluate, state, goals, most, self._limit)
            if end is None or not is_minimum(end, goals):
                return None
            lambda_ = np.inf if r == 0.0 else space.lambda_of(end, 0)
            if not lambda_ > 0.0:
                return None
            point = space.point(end)
            fit = self._as_fit(lambda_, point)
            value, balanced = self._share.value(fit), space.is_balanced(fit.mean_sums(self._means))
            met = value <= r + tol and balanced
            reached = Reached(space, end, lambda_, point, fit) if met else None
            if balanced and (value == 0.0 if r == 0.0 else abs(value - r) <= tol):
                break
            # The final step was not re-evaluated; the search goes on from there.
            at = space.evaluate(point.theta, end.multipliers)
            state = MeanState(at, end.multipliers, end.detours)
        return reached

    # -------------------------------------------------------------------- starts

    def _starts(
        self, state: MeanState | None, goals: Sequence[Goal]
    ) -> Iterator[tuple[MeanObjective, MeanState]]:
        """Yield minima to start from: the free model, or models under penalties."""
        yield self._free_objective, state or self._free_objective.start
        if self._is_separated and self._has_others and goals[0].share > 0.0:
            eased = self._eased(goals)
            if eased is not None:
                yield eased
        for size in MIDDLE if self._has_others else ():
            if self._is_spent:
                return
            yield self._as_start(self._penalized(size))

    def _eased(self, goals: Sequence[Goal]) -> tuple[MeanObjective, MeanState] | None:
        """Follow the minima under a small ridge to a bound above 0, and let the ridge vanish.

        Separated classes have no minima but limits, where means hardly respond to anything.
        None if that fails.
        """
        space = replace(self._loose_objective, ease=EASE)
        start = space.state(space.minimum(0.0, self.minima.start).theta, 0.0)
        state = reach(space.evaluate, start, goals, self.minima.max_iter, self._limit)
        if state is None:
            return None
        before: MeanState | None = None
        while space.ease > LEAST_EASE:
            space, end, smooth = self._less_eased(space.ease, before, state, goals)
            if end is None:
                break
            same = abs(end.at.deviance - state.at.deviance) <= SAME * end.at.deviance
            before, state = (state if smooth else None), end
            if same:
                break
        lambda_ = self._loose_objective.lambda_of(state, 0)
        if not lambda_ > 0.0:
            return None
        self._nearly[goals[0].share] = lambda_, self._loose_objective.point(state)
        limit = self._loose_objective.without_flat(state.at.theta, lambda_)
        return limit, MeanState(
            limit.evaluate(state.at.theta, state.multipliers), state.multipliers
        )

    def _less_eased(
        self, ease: float, before: MeanState | None, state: MeanState, goals: Sequence[Goal]
    ) -> tuple[MeanObjective, MeanState | None, bool]:
        """Make the ridge smaller: at once, by less, or by a descent where minima jump.

        Also say whether the way from one state to the next leads on.
        """
        loose, guess = self._loose_objective, state if before is None else _ahead_of(before, state)
        for part, start in zip(EASING, (guess, state, state), strict=True):
            space = replace(loose, ease=part * ease)
            end = self._at_bound(space, start, goals)
            if end is not None:
                return space, end, part == EASING[0]
        space, lambda_ = replace(loose, ease=EASING[0] * ease), loose.lambda_of(state, 0)
        if ease > NO_DESCENT and lambda_ > 0.0:
            point = space.minimum(lambda_, space.point(state))
            if point.converged:
                end = self._at_bound(space, space.state(point.theta, lambda_), goals)
        return space, end, False

    def _at_bound(
        self, space: MeanObjective, guess: MeanState, goals: Sequence[Goal]
    ) -> MeanState | None:
        """Follow the minima of another ridge to a bound."""
        at = space.evaluate(guess.at.theta, guess.multipliers)
        start = MeanState(at, guess.multipliers)
        return reach(space.evaluate, start, goals, MOST_STEPS, self._limit)

    def _penalized(self, size: float) -> tuple[float, Point]:
        """Return λ in units of the typical one, and the minimum at it from the null model.

        From another minimum it can be a long way: if classes are separated, means that have
        become nothing or one hardly ever come back.
        """
        lambda_ = size * self._loose_objective.typical
        if size not in self._middle:
            self._middle[size] = self._loose_objective.minimum(lambda_, self.minima.start)
        return lambda_, self._middle[size]

    def _as_start(self, model: tuple[float, Point]) -> tuple[MeanObjective, MeanState]:
        """Return a minimum under a penalty as a state to start from."""
        lambda_, point = model
        space = replace(self._free_objective, gone=point.separated)
        return space, space.state(point.theta, lambda_)


def _squared_weight(engine: Any) -> float:
    return float(engine.weights @ engine.weights)


def _ahead_of(before: MeanState, state: MeanState) -> MeanState:
    """Go on as from one state to the next."""
    theta = 2.0 * state.at.theta - before.at.theta
    pairs = zip(before.multipliers, state.multipliers, strict=True)
    return MeanState(replace(state.at, theta=theta), [2.0 * new - old for old, new in pairs])
