"""Models with a bound on what S explains of their predicted means, for every λ.

Minima under a ridge on what S explains of the means are followed from λ = 0 to
each bound; `fairridge.solvers.mean_ridge` takes the steps. All of them are balanced:
their means have the totals of the response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Booleans, Floats
from fairridge.fairness import Definition
from fairridge.models import Fit
from fairridge.search.mean_minima import SAME, MeanMinima, Reached
from fairridge.search.mean_objective import TOO_LARGE, MeanObjective, mean_objective
from fairridge.search.problem import LOOSE, AttributeShare, Choice, Solution, Status
from fairridge.solvers import Point
from fairridge.solvers.mean_ridge import (
    Goal,
    MeanState,
    Milestone,
    ahead,
    is_minimum,
    reach,
)

# Penalty next to the model at r = 0, in typical ones.
FAR = 1e4
# Steps that were too long at first, on the way to a minimum. After more of them other starts lead
# to a better one often: in about a tenth of such problems that were drawn at random.
DETOURS = 7
# Bounds, in units of one, from whose minima that one is looked for in the end.
NEIGHBORS = np.array([0.5, 2.0, 0.25])
# Step of log λ between penalties that are tried in turn, if path following failed,
SCAN = 1.5
# how far they go,
LARGEST = 30.0
# and by how little, relative to what is left, a share falls from one to the next near its limit.
SETTLED = 1e-3
# Parts of the strictest bound of an attribute, one of which on all of S is met for sure.
PARTS = (1.0, 0.5, 0.1, 0.0)
# Relative rounding error of a share: sums in another order give another last digit.
ROUNDING_OF_SHARES = 1e-13
# How many times a bound the share of a model near the free one exceeds it, if it surely binds.
BINDING = 1.5
# Passes that it takes from there at most: where classes are separated, coefficients go on growing.
EARLY = 20
# By which a model that is found again may exceed r = 0.
RESUMED = 1e-10
# What may become of the bound of one attribute, from bad to good.
EACH: tuple[Status, ...] = ("not-converged", "converged", "inactive")


class MeanProblem(MeanMinima):
    """min D + λW‖a‖² + λ₂‖β‖² subject to Σ w μ = Σ w y, for every λ.

    ‖a‖² is what S explains of the means; with several classes each has its total. Means
    bend, so this is not convex: minima are followed from λ = 0 on. One bound is on
    what all of S explains, or each attribute has one.
    """

    def warm_start(self) -> Floats | None:
        """Return intercept and raw coefficients of the model without a bound."""
        if self.space.compressed:
            return None
        raw = self.minima.coordinates.raw(self.minima.point(0.0).theta)
        raw[:, 0] -= raw[:, 1:] @ self._basis.center
        return raw

    def resume(self, lambda_: float, raw: Floats) -> None:
        """Find the model of an earlier fit to these rows again, from its level and coefficients.

        Models with λ = ∞ are searched for again: their multipliers are not known.
        """
        if lambda_ == 0.0 or self.space.compressed:
            self.start_from(raw)
            return
        if np.isinf(lambda_):
            self._choose_means(np.zeros(1), RESUMED)
            return
        moved = raw.copy()
        moved[:, 0] += raw[:, 1:] @ self._basis.center
        start = replace(self.minima.start, theta=self.minima.coordinates.theta(moved))
        self._points[lambda_] = self._loose_objective.minimum(lambda_, start)

    # ------------------------------------------------------------------- fits

    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ."""
        if lambda_ not in self._fits:
            self._fits[lambda_] = self._as_fit(lambda_, self._point(lambda_))
        return self._fits[lambda_]

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        return self._point(lambda_).converged

    def _point(self, lambda_: float) -> Point:
        if lambda_ == 0.0:
            return self._free_objective.best
        if lambda_ not in self._points and np.isinf(lambda_):
            self._constant()
        if lambda_ not in self._points:
            # From the same place always, so that it does not matter what was asked before.
            self._points[lambda_] = self._loose_objective.minimum(
                lambda_, self._fair or self.minima.start
            )
        return self._points[lambda_]

    # ----------------------------------------------------------------- search

    def _floor(self) -> float:
        """Return the unfairness that no finite λ goes below; not known beside controls.

        Means bend, so that controls can make up for what S explains through the predictors,
        and predictors for what it explains through offsets.
        """
        floor = 0.0 if self.space.controls else super()._floor()
        return floor if floor > 0.0 and self._is_constant_fair else 0.0

    def _choose_above(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for bounds that some λ meets."""
        with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
            return self._choose_means(bounds, self.settings.tol)

    def _choose_means(self, bounds: Floats, tol: float) -> list[Choice]:
        """Choose the smallest λ that meets each bound, from the loosest bound on."""
        chosen = {1.0: Choice.UNCONSTRAINED}
        path: list[Milestone] = []
        for r in sorted(set(bounds.tolist()) - {1.0}, reverse=True):
            early = self._reached_early(r, tol) if len(bounds) == 1 else None
            if early is not None:
                chosen[r] = self._kept(early)
                continue
            self._begun = self.engine.passes
            if self._free_objective.shares[0] <= r * (1.0 + ROUNDING_OF_SHARES):
                chosen[r] = chosen[1.0]
                continue
            # No share lies between all and none if S explains all of any means.
            aim = 0.0 if self._free_objective.is_saturated else r
            reached = self._followed(path, aim, tol)
            if reached is None:
                chosen[r] = self._bracketed(aim)
                continue
            # Where equations have become singular, the next bounds start from the free model.
            passed = Milestone.of(reached.state, self._goals(aim)) if aim > 0.0 else None
            path = [] if passed is None else [*path, passed]
            chosen[r] = self._kept(reached)
        return [chosen[r] for r in bounds.tolist()]

    def _kept(self, reached: Reached) -> Choice:
        """Remember a minimum at a bound."""
        self._points[reached.lambda_], self._fits[reached.lambda_] = reached.point, reached.fit
        return Choice(reached.lambda_, "converged")

    def _reached_early(self, r: float, tol: float) -> Reached | None:
        """Go to a bound that clearly binds from near the free model; None if there is doubt.

        That model itself is not needed, and its last digits cost as many passes as the bound.
        """
        near = self.minima.near_point(0.0) if r > 0.0 and self._has_others else None
        if near is None:
            return None
        space = mean_objective(self.minima, self._means, self._elsewhere, near)
        if space.is_saturated or not space.shares[0] > BINDING * r or self._has_few_rows:
            return None
        goals = [Goal(0, r), space.totals]
        return self._trusted(self._end_of(space, space.start, goals, tol, most=EARLY))

    def _trusted(self, reached: Reached | None) -> Reached | None:
        """Return a minimum that is better than a constant, if the way to it was smooth."""
        if reached is None or reached.state.detours > DETOURS:
            return None
        return reached if self._objective(reached) <= self.minima.null.deviance else None

    def _followed(self, path: Sequence[Milestone], r: float, tol: float) -> Reached | None:
        """Follow the minima to a bound, from those before or others; None if that fails."""
        goals = self._goals(r)
        starts = self._starts(ahead(self._free_objective.evaluate, path, goals), goals)
        first = self._end_of(*next(starts), goals, tol)
        if self._trusted(first) is not None and not self._has_few_rows:
            return first
        # If the way bends or ends the start matters, and few rows have several minima more often
        # than many: the best of all is taken.
        reached = [] if first is None else [first]
        sure = self._add_ends(reached, chain(starts, self._from_far(r, reached)), goals, tol)
        if sure or not reached:  # a search over λ is shorter than others at bounds beside r
            return self._best(reached)
        beside: list[Reached] = []
        self._add_ends(beside, self._from_neighbors(r, tol), goals, tol)
        return self._best([*reached, *beside])

    def _add_ends(
        self,
        reached: list[Reached],
        starts: Iterator[tuple[MeanObjective, MeanState]],
        goals: Sequence[Goal],
        tol: float,
    ) -> bool:
        """Follow the minima from more starts, and say whether two of them led to the best one."""
        for origin, state in starts:
            again = self._end_of(origin, state, goals, tol)
            reached += [] if again is None else [again]
            values = sorted(self._objective(one) for one in reached)
            if len(values) > 1 and values[1] - values[0] <= SAME * abs(values[0]):
                return True
        return False

    def _best(self, reached: Sequence[Reached]) -> Reached | None:
        return min(reached, key=lambda one: self._objective(one), default=None)

    def _from_neighbors(self, r: float, tol: float) -> Iterator[tuple[MeanObjective, MeanState]]:
        """Yield minima at bounds beside r, from which the way to r may be open.

        A model that fits a few rows perfectly is the end of many branches of minima, and
        some of them can be entered in the middle only.
        """
        for beside in NEIGHBORS * r:
            if not 0.0 < beside < 1.0 or self._is_separated or self._is_spent:
                continue
            goals, reached = self._goals(beside), list[Reached]()
            self._add_ends(reached, self._starts(None, goals), goals, tol)
            best = self._best(reached)
            if best is not None:
                yield best.space, best.state

    def _from_far(
        self, r: float, reached: Sequence[Reached]
    ) -> Iterator[tuple[MeanObjective, MeanState]]:
        """Yield a minimum next to the model at r = 0, if that is known."""
        # Of separated classes it takes longer than all the rest.
        if r == 0.0 or self._is_spent or (reached and self._is_separated):
            return
        if self._fair is not None:
            yield self._as_start(self._far)

    @cached_property
    def _far(self) -> tuple[float, Point]:
        """A minimum next to the model at r = 0, which must be known."""
        assert self._fair is not None
        lambda_ = FAR * self._loose_objective.typical
        return lambda_, self._loose_objective.minimum(lambda_, self._fair)

    @cached_property
    def _fair(self) -> Point | None:
        """The model at r = 0."""
        reached = self._followed([], 0.0, 1e-10)
        return None if reached is None else reached.point

    def _bracketed(self, r: float) -> Choice:
        """Find λ(r) by minimizing at one λ after another: slow, but it always ends."""
        if r == 0.0 or not self._has_others:
            return self._constant()
        if r in self._nearly:  # where classes are separated: it meets the bound, with a tiny ridge
            lambda_, self._points[lambda_] = self._nearly[r]
            return Choice(lambda_, "not-converged")
        form, shares, good = self._free_objective.forms[0], dict[float, float](), list[float]()

        def gap(log_lambda: float) -> float:
            if self._is_spent:
                raise _SpentError
            lambda_ = float(np.exp(log_lambda))
            sums = self._free_objective.sums(self._point(lambda_).theta)
            share = form.share(sums)
            shares[lambda_] = share if np.isfinite(share) else np.inf
            if sums.deviance <= self._limit:  # far out, means of 0 and 1 meet any bound
                good.append(lambda_)
            return shares[lambda_] - r

        status: Status = "converged"
        try:
            self._bracket(gap, r)
        except _SpentError:
            status = "not-converged"
        met = [x for x in good if shares[x] <= r]
        if met:
            return Choice(min(met), status)
        self._begun = self.engine.passes
        constant = self._constant()
        return replace(constant, status=status) if constant.met else constant

    def _bracket(self, gap: Callable[[float], float], r: float) -> None:
        """Look at one log λ after another, until the share is known to cross r at one of them."""
        typical = self._loose_objective.typical
        if not 0.0 < typical < np.inf:
            return  # means of rows that have overflowed tell nothing
        low = high = middle = float(np.log(typical))
        rigid, before = self._free_objective.is_rigid, np.inf
        while (excess := gap(high)) > 0.0:
            # Models that shrink to the constant one, the only fair one, have shares with a limit.
            if high > middle + LARGEST or (rigid and 0.0 <= before - excess <= SETTLED * excess):
                return
            low, high, before = high, high + SCAN, excess
        # Shares may jump at λ = 0: the bound can hold at every penalty, however small.
        if low == high:
            while gap(low) <= 0.0:
                low, high = low - SCAN, low
                if low < middle - LARGEST:
                    return
        # Infinite shares, of means that have overflowed, leave nothing to interpolate.
        brentq(lambda x: min(gap(x), 1.0), low, high, xtol=1e-14, disp=False)

    def _constant(self) -> Choice:
        """Return the model at r = 0, or that with an intercept only.

        S explains the means of neither. If there are predictors the second
        is not the best model, unless there are more means than they can serve; without
        S it is the only one left.
        """
        if self._fair is not None:
            self._points[np.inf] = self._fair
            return Choice(np.inf, "converged")
        null = self._free_objective.sums(self._null.theta)
        if not np.isfinite(null.products).all() or not np.isfinite(null.squares).all():
            raise ValueError(TOO_LARGE)
        self._points[np.inf] = self._null
        alone = self._is_constant_alone
        if self.space.uses_sensitive:
            return Choice(np.inf, "converged" if alone else "not-converged")
        # With fewer directions than S has columns nothing but a constant is left.
        few = self.space.within.rank < self._basis.sensitive.rank
        return Choice(np.inf, "infeasible" if alone or few else "not-converged")

    # ---------------------------------------------------------- several bounds

    def solve_each(
        self,
        bounds: Mapping[str, float],
        columns: Mapping[str, Sequence[int]],
    ) -> Solution:
        """Bound what each of several attributes alone explains of the means.

        The penalty is Σ_j λ_j W a_jᵀΣ_jj⁻¹a_j, with λ_j = 0 for attributes that
        meet their bounds without it.

        Parameters
        ----------
        bounds : mapping of str to float
            The largest R² of the means on each attribute. Attributes that are
            not named are not bounded.
        columns : mapping of str to sequence of int
            The columns of S that belong to each attribute.
        """
        tol = self.settings.tol
        limits = np.array(list(bounds.values()), dtype=np.float64)
        groups = [np.asarray(columns[name], dtype=np.intp) for name in bounds]
        self._begun = self.engine.passes
        space = self._free_objective.of(groups)
        with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
            state, active = self._each(space, limits, tol)
        optimal = True
        if state is None:
            choice, fit = self._joint(space, limits)
            # A bound on the only attribute is a bound on all of S.
            optimal = choice.met and len(groups[0]) == self.engine.n_sensitive
            lambdas = np.where(active, choice.lambda_, 0.0)
        else:
            lambdas = np.where(active, state.penalties()[:-1] / space.unit, 0.0)
            lambdas[active & (limits == 0.0)] = np.inf
            fit = self._as_fit(float(lambdas.max()), space.point(state))
        shares = space.shares_of(fit)
        missed = (shares > limits + LOOSE * tol) | (False if optimal else active)
        states = np.select([missed, active], EACH[:2], EACH[2])
        columns_of = (limits, lambdas, shares, states)
        each = {
            name: AttributeShare(*values)
            for name, *values in zip(bounds, *(a.tolist() for a in columns_of), strict=True)
        }
        worst = next(status for status in EACH if status in states)
        (reported,) = self.in_columns([fit])
        value, parts = self.definition.value(reported), self.definition.components(reported)
        choice = Choice(fit.lambda_, worst)
        return self.finished(Solution(1.0, reported, value, parts, choice, each=each), fit)

    def _each(
        self, space: MeanObjective, limits: Floats, tol: float
    ) -> tuple[MeanState | None, Booleans]:
        """Find the bounds that bind, and the model that meets them; None if path following failed.

        Bounds are added one by one: one attribute may say nearly the same as another, and then
        only one of their bounds can bind.
        """
        state, active = space.start, np.zeros(len(limits), dtype=bool)
        if (space.shares <= limits).all():
            return state, active
        for _ in range(4 * len(limits)):
            shares = state.at.shares()[:-1]
            idle = active & (limits > 0.0) & (state.penalties()[:-1] < 0.0)
            above = ~active & (shares > limits + tol)
            if not (above.any() or idle.any()):
                return state, active
            if idle.any():
                active = active & ~idle
            else:
                active = active.copy()
                active[np.argmax(np.where(above, shares / np.maximum(limits, tol), 0.0))] = True
            goals = [Goal(int(j), float(limits[j])) for j in np.flatnonzero(active)]
            goals.append(space.totals)
            following = self._reached(space, state, goals)
            if following is None:
                break
            state = following
        return None, active | (space.shares > limits)

    def _reached(
        self, space: MeanObjective, state: MeanState, goals: Sequence[Goal]
    ) -> MeanState | None:
        """Follow the minima to several bounds, from a state or from others."""
        strictest = min((goal.share for goal in goals if not goal.held), default=0.0)
        of_all = [Goal(0, strictest), self._free_objective.totals]
        for origin, start in self._starts(state, of_all):
            here = replace(space, gone=origin.gone)
            # States of other spaces have one form for all S.
            at = (
                state
                if start is state
                else here.state(start.at.theta, self._loose_objective.typical)
            )
            end = reach(here.evaluate, at, goals, self.minima.max_iter, self._limit)
            if end is not None and is_minimum(end, goals):
                return end
            if self._is_spent:
                break
        return None

    def _joint(self, space: MeanObjective, limits: Floats) -> tuple[Choice, Fit]:
        """Bound what all of S explains, so that every attribute meets its own bound.

        What all attributes explain together is no less than what any of them does. If a search
        under the strictest of their bounds fails it may miss that one: then stricter ones follow,
        down to none at all, and last comes the model with an intercept only.
        """
        for part in PARTS:
            (choice,) = self.choose(self._share, part * limits.min(keepdims=True))
            fit = self.fit(choice.lambda_)
            if (space.shares_of(fit) <= limits + self.settings.tol).all():
                return choice, fit
        return Choice(np.inf, "infeasible"), super()._as_fit(np.inf, self._null)


class _SpentError(Exception):
    """A search has made as many passes as it may."""
