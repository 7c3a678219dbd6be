"""Models with a bound on what S explains of their predicted means, for every λ.

Minima under a ridge on what S explains of the means are followed from λ = 0 to
each bound; `fairridge.solvers.mean_ridge` takes the steps. All of them are balanced:
their means have the totals of the response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Booleans, Floats, Integers
from fairridge.engines import MeanSums
from fairridge.fairness import Definition
from fairridge.fairness.means import MeanForm, mean_form
from fairridge.models import Fit, Isolation
from fairridge.search.glm import GLMProblem
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import LOOSE, AttributeShare, Choice, Solution, Status
from fairridge.solvers import Point
from fairridge.solvers.mean_ridge import (
    SMALLEST,
    STUCK,
    Goal,
    Means,
    MeanState,
    ahead,
    is_minimum,
    reach,
    stiffness,
)
from fairridge.solvers.trust_region import descend

# Penalties at which to start if path following from the free model fails, in typical ones.
MIDDLE = (1.0, 20.0, 400.0)
# The same next to the model at r = 0.
FAR = 1e4
# Step of log λ between penalties that are tried in turn, if path following failed,
SCAN = 1.5
# and how far they go.
LARGEST = 30.0
# Promised decrease, relative to the deviance, at which a minimum is near, or a limit.
NEAR, LIMIT = 1e-6, 1e-11
# Difference of two deviances, relative to them, that are those of one model.
SAME = 1e-8
# Passes for one bound, in units of those for one minimum, after which a search ends.
PATIENCE = 15
# Parts of the strictest bound of an attribute, one of which on all of S is met for sure.
PARTS = (1.0, 0.5, 0.1, 0.0)
# Relative rounding error of a share: sums in another order give another last digit.
ROUNDING_OF_SHARES = 1e-13
# By which a model that is found again may exceed r = 0.
RESUMED = 1e-10
# Excess of a total over that of the response, relative to it, which is nothing.
BALANCED = 1e-11
# Penalty on totals in a descent, relative to how much the deviance itself resists,
FIRM = 100.0
# and Newton steps from a point near a minimum.
MOST_STEPS = 20
TOO_LARGE = (
    "predicted means are larger than the largest number, or exposures differ so much that one row "
    "has all the weight: what S explains of means is not known. Offsets add to the linear "
    "predictor; give them in its units (the logarithm of exposures, for instance)."
)
# What may become of the bound of one attribute, from bad to good.
EACH: tuple[Status, ...] = ("not-converged", "converged", "inactive")


class MeanProblem(GLMProblem):
    """min D + λW‖a‖² + λ₂‖β‖² subject to Σ w μ = Σ w y, for every λ.

    ‖a‖² is what S explains of the means; with several classes each has its total. Means
    bend, so this is not convex: minima are followed from λ = 0 on. One bound is on
    what all of S explains, or each attribute has one.

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
        self._points: dict[float, Point] = {}
        self._middle: dict[float, Point] = {}
        self._begun = 0

    def warm_start(self) -> Floats | None:
        """Return intercept and raw coefficients of the model without a bound."""
        if self.space.compressed:
            return None
        raw = self.minima.coordinates.raw(self.minima.point(0.0).theta)
        raw[:, 0] -= raw[:, 1:] @ self._basis.center
        return raw

    @property
    def _has_others(self) -> bool:
        """Whether there are coordinates that λ does not penalize, including controls."""
        return super()._has_others or bool(self.space.controls)

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

    def _as_fit(self, lambda_: float, point: Point) -> Fit:
        fit = self._plain_fit(lambda_, point)
        # The same pass tells the definition's value.
        return replace(fit, deviance=fit.mean_sums(self._means).deviance)

    def _plain_fit(self, lambda_: float, point: Point) -> Fit:
        return replace(super()._as_fit(lambda_, point), classes=self.settings.classes)

    @cached_property
    def _means(self) -> Any:
        """Which means are bounded, and which have totals to meet (MeansOfRows)."""
        return self._share.means(self._plain_fit(0.0, self.minima.point(0.0)), totals=True)

    def _point(self, lambda_: float) -> Point:
        if lambda_ == 0.0:
            return self._free_objective.best
        if lambda_ not in self._points and np.isinf(lambda_) and not self._has_others:
            self._points[lambda_] = self._null
        if lambda_ not in self._points:
            # From the same place always, so that it does not matter what was asked before.
            self._points[lambda_] = self._loose_objective.minimum(
                lambda_, self._fair or self.minima.start
            )
        return self._points[lambda_]

    def _objective(self, at: Point) -> float:
        """Return the deviance of a point with what λ₂ adds."""
        return at.deviance + self.minima.objective(0.0).penalty(at.theta)

    @cached_property
    def _free_objective(self) -> MeanObjective:
        return mean_objective(self.minima, self._means, self._elsewhere)

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

    # ----------------------------------------------------------------- search

    def _floor(self) -> float:
        """Return the unfairness that no finite λ goes below; not known beside controls.

        Means bend, so that controls can make up for what S explains through the predictors.
        """
        return 0.0 if self.space.controls else super()._floor()

    def _choose_above(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for bounds that some λ meets."""
        with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
            return self._choose_means(bounds, self.settings.tol)

    def _choose_means(self, bounds: Floats, tol: float) -> list[Choice]:
        """Choose the smallest λ that meets each bound, from the loosest bound on."""
        chosen = {1.0: Choice.FREE}
        path: list[MeanState] = []
        for r in sorted(set(bounds.tolist()) - {1.0}, reverse=True):
            self._begun = self.engine.passes
            if self._free_objective.shares[0] <= r * (1.0 + ROUNDING_OF_SHARES):
                chosen[r] = chosen[1.0]
                continue
            reached = self._followed(path, r, tol)
            if reached is None:
                chosen[r] = self._bracketed(r)
                continue
            path.append(reached.state)
            self._points[reached.lambda_], self._fits[reached.lambda_] = reached.point, reached.fit
            chosen[r] = Choice(reached.lambda_, "converged")
        return [chosen[r] for r in bounds.tolist()]

    def _followed(self, path: Sequence[MeanState], r: float, tol: float) -> _Reached | None:
        """Follow the minima to a bound, from those before or others; None if that fails."""
        goals = [Goal(0, r), self._free_objective.totals]
        starts = self._starts(ahead(self._free_objective.evaluate, path, goals))
        first = self._end_of(*next(starts), goals, tol)
        if first is not None and self._objective(first.point) <= self.minima.null.deviance:
            return first
        # If path following failed the start matters: the best of all is taken, or that to
        # which two of them lead.
        reached = [] if first is None else [first]
        for origin, state in chain(starts, self._from_far(r)):
            again = None if self._is_spent else self._end_of(origin, state, goals, tol)
            reached += [] if again is None else [again]
            values = sorted(self._objective(one.point) for one in reached)
            if len(values) > 1 and values[1] - values[0] <= SAME * abs(values[0]):
                break
        return min(reached, key=lambda one: self._objective(one.point), default=None)

    def _from_far(self, r: float) -> Iterator[tuple[MeanObjective, MeanState]]:
        """Yield a minimum next to the model at r = 0, if that is known."""
        if r > 0.0 and self._fair is not None:
            yield self._as_start(self._far)

    def _end_of(
        self, space: MeanObjective, start: MeanState, goals: Sequence[Goal], tol: float
    ) -> _Reached | None:
        """Follow the minima from one start, and look at what is reached."""
        r, state = goals[0].share, start
        reached: _Reached | None = None
        for _ in range(3):
            end = reach(space.evaluate, state, goals, self.minima.max_iter, self._limit)
            if end is None or not is_minimum(end, goals):
                return None
            lambda_ = np.inf if r == 0.0 else space.lambda_of(end, 0)
            if not lambda_ > 0.0:
                return None
            point = space.point(end)
            fit = self._as_fit(lambda_, point)
            value, balanced = self._share.value(fit), space.is_balanced(fit.mean_sums(self._means))
            reached = _Reached(end, lambda_, point, fit) if value <= r + tol and balanced else None
            if balanced and (value == 0.0 if r == 0.0 else abs(value - r) <= tol):
                break
            # The final step was not re-evaluated; the search goes on from there.
            state = MeanState(space.evaluate(point.theta, end.multipliers), end.multipliers)
        return reached

    def _starts(self, state: MeanState | None) -> Iterator[tuple[MeanObjective, MeanState]]:
        """Yield minima to start from: the free model, or models under penalties."""
        yield self._free_objective, state or self._free_objective.start
        for size in MIDDLE if self._has_others else ():
            yield self._as_start(self._penalized(size))

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

    @cached_property
    def _far(self) -> tuple[float, Point]:
        """A minimum next to the model at r = 0, which must be known."""
        assert self._fair is not None
        lambda_ = FAR * self._loose_objective.typical
        return lambda_, self._loose_objective.minimum(lambda_, self._fair)

    @property
    def _is_spent(self) -> bool:
        """Whether the search for one bound, or for those of attributes, has made enough passes."""
        return self.engine.passes - self._begun > PATIENCE * self.minima.max_iter

    @cached_property
    def _fair(self) -> Point | None:
        """The model at r = 0."""
        reached = self._followed([], 0.0, 1e-10)
        return None if reached is None else reached.point

    @cached_property
    def _loose_objective(self) -> MeanObjective:
        """The same, with no direction left alone."""
        return replace(self._free_objective, gone=None)

    @property
    def _limit(self) -> float:
        """A deviance beyond that of the model with an intercept only."""
        return 2.0 * self.minima.null.deviance

    def _bracketed(self, r: float) -> Choice:
        """Find λ(r) by minimizing at one λ after another: slow, but it always ends."""
        if r == 0.0 or not self._has_others:
            return self._constant()
        form, shares = self._free_objective.forms[0], dict[float, float]()

        def gap(log_lambda: float) -> float:
            if self._is_spent:
                raise _SpentError
            lambda_ = float(np.exp(log_lambda))
            share = form.share(self._free_objective.sums(self._point(lambda_).theta))
            shares[lambda_] = share if np.isfinite(share) else np.inf
            return shares[lambda_] - r

        status: Status = "converged"
        try:
            self._bracket(gap, r)
        except _SpentError:
            status = "not-converged"
        met = [x for x, share in shares.items() if share <= r]
        return Choice(min(met), status) if met else self._constant()

    def _bracket(self, gap: Callable[[float], float], r: float) -> None:
        """Look at one log λ after another, until the share is known to cross r at one of them."""
        typical = self._loose_objective.typical
        if not 0.0 < typical < np.inf:
            return  # means of rows that have overflowed tell nothing
        low = high = middle = float(np.log(typical))
        while gap(high) > 0.0:
            low, high = high, high + SCAN
            if high > middle + LARGEST:
                return
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
        others = self._has_others and not self._free_objective.is_rigid
        if self.space.uses_sensitive:
            return Choice(np.inf, "not-converged" if others else "converged")
        # With fewer directions than S has columns nothing but a constant is left.
        few = self.space.within.rank < self._basis.sensitive.rank
        return Choice(np.inf, "not-converged" if others and not few else "infeasible")

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
        for origin, start in self._starts(state):
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


@dataclass(frozen=True)
class _Reached:
    """A minimum at a bound."""

    state: MeanState
    lambda_: float
    point: Point
    fit: Fit


@dataclass(frozen=True)
class Balance:
    """What totals of the means exceed those of the response by, as a form in their sums.

    Of K classes that is K − 1 contrasts of them: probabilities sum to one.
    """

    map: Floats  # maps Σ w μ[1, s] of all means to totals, of shape (b, K·(1+q))
    target: Floats  # what these are to be, of shape (b,)
    observed: Floats  # the same without what is subtracted from the means
    size: float  # weight of all rows times the size of the means, to compare an excess with

    def excess(self, sums: MeanSums) -> Floats:
        """Return by how much totals are exceeded."""
        return self.map @ sums.products.ravel() - self.target


@dataclass(frozen=True)
class MeanObjective:
    """A model without a bound, and forms in the means that it predicts."""

    minima: PenalizedGLM  # the model without a bound
    means: Any  # which means are looked at (MeansOfRows)
    forms: Sequence[MeanForm]  # what the columns of S, or some of them, explain of the means
    balance: Balance  # what is held at zero
    # The balanced model without a bound, and sums and multipliers there.
    best: Point
    free: MeanSums
    prices: Floats
    # Directions to leave alone, because the model without a bound has no minimum in them but
    # a limit, of shape (s, N).
    gone: Floats | None = None

    def of(self, groups: Sequence[Integers]) -> MeanObjective:
        """Return the same with one form for each of some groups of columns of S."""
        basis, count = self.minima.basis, self.means.n_bounded
        return replace(self, forms=[mean_form(self.free, basis, count, group) for group in groups])

    @property
    def shares(self) -> Floats:
        """R² of each form in the model without a bound."""
        return np.array([form.share(self.free) for form in self.forms])

    def shares_of(self, fit: Fit) -> Floats:
        """Return R² of each form in a model."""
        sums = fit.mean_sums(self.means)
        return np.array([form.share(sums) for form in self.forms])

    @property
    def totals(self) -> Goal:
        """The goal that means have the totals of the response; its form comes last."""
        return Goal(len(self.forms), 0.0, held=True)

    def is_balanced(self, sums: MeanSums) -> bool:
        """Whether means have the totals of the response."""
        excess = np.abs(self.balance.excess(sums)).max(initial=0.0)
        return bool(excess <= BALANCED * self.balance.size)

    @cached_property
    def unit(self) -> float:
        """Variance of the means of the model without a bound: a and V are in its units."""
        return self.forms[0].variance(self.free) or 1.0

    @cached_property
    def _maps(self) -> list[Floats]:
        """Maps from sums to the forms and, last, to the excess of totals per row."""
        per_row = self.balance.map / self.minima.basis.weight
        return [part / np.sqrt(self.unit) for part in (*(form.map for form in self.forms), per_row)]

    @cached_property
    def _quadratic(self) -> Floats:
        return self.minima.objective(0.0).quadratic

    def sums(self, theta: Floats, multipliers: Floats | None = None) -> MeanSums:
        """Pass over the rows."""
        minima = self.minima
        raw = minima.coordinates.raw(theta)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return minima.engine.means(
                minima.family,
                self.means,
                minima.basis.center,
                raw[:, 0],
                raw[:, 1:],
                multipliers,
                raw.shape[1] - 1 if len(minima.basis.given_columns) else None,
            )

    def explained(self, sums: MeanSums) -> list[Floats]:
        """Return a of each form and, last, the excess of the totals per row."""
        *of_S, _ = (L @ sums.products.ravel() for L in self._maps)
        per_row = self.balance.excess(sums) / self.minima.basis.weight
        return [*of_S, per_row / np.sqrt(self.unit)]

    def evaluate(self, theta: Floats, multipliers: Sequence[Floats]) -> Means:
        """Return deviance and means at θ, with the second derivatives of given multipliers."""
        twice = 2.0 * self.minima.basis.weight
        K, head = self.free.products.shape
        combined = sum(pi @ L for pi, L in zip(multipliers, self._maps, strict=True))
        sums = self.sums(theta, twice * np.asarray(combined).reshape(K, head))
        with np.errstate(over="ignore", invalid="ignore"):
            return self._without_gone(self._means(theta, sums, twice))

    def _means(self, theta: Floats, sums: MeanSums, twice: float) -> Means:
        slopes, Q, form = sums.slopes, self._quadratic, self.forms[0]
        assert slopes is not None
        gradient, hessian = self.minima.coordinates.derivatives(slopes.glm)
        assert hessian is not None
        M = self.minima.coordinates.to_raw
        jacobian = (slopes.jacobian @ M).reshape(sums.products.size, -1)
        squares = (slopes.squares @ M).reshape(len(sums.squares), -1)
        return Means(
            theta,
            sums.deviance,
            (gradient + 2.0 * Q @ theta) / twice,
            (hessian + 2.0 * Q) / twice,
            self.explained(sums),
            [L @ jacobian for L in self._maps],
            form.variance(sums) / self.unit,
            form.variance_slope(sums, squares, jacobian) / self.unit,
        )

    def _without_gone(self, at: Means) -> Means:
        """Leave directions alone."""
        if self.gone is None:
            return at
        gone = self.gone
        kept = np.eye(len(at.theta)) - gone.T @ gone
        stiff = float(np.diag(self.minima.start.hessian).max()) / (2.0 * self.minima.basis.weight)
        return Means(
            at.theta,
            at.deviance,
            kept @ at.gradient,
            kept @ at.hessian @ kept + stiff * gone.T @ gone,
            at.explained,
            [J @ kept for J in at.jacobians],
            at.variance,
            kept @ at.slope,
        )

    # ------------------------------------------------------------------ states

    def none(self) -> list[Floats]:
        """Return multipliers of zero."""
        return [np.zeros(len(part)) for part in self._maps]

    @cached_property
    def start(self) -> MeanState:
        """The model without a bound."""
        multipliers = [*self.none()[:-1], self.prices]
        return MeanState(self.evaluate(self.best.theta, multipliers), multipliers)

    @cached_property
    def typical(self) -> float:
        """The λ at which the penalty and the deviance of the null model balance."""
        at = self.evaluate(self.minima.start.theta, self.none())
        size = stiffness(at.hessian, at.jacobians[0])
        return 1.0 / (size * self.unit) if size > 0.0 else 1.0

    @cached_property
    def is_rigid(self) -> bool:
        """Whether no other model is near the null model if S is to explain nothing.

        So it is if there are as many equations as coefficients, as among rows of many classes.
        """
        at = self.evaluate(self.minima.start.theta, self.none())
        scale = np.sqrt(np.maximum(np.diag(at.hessian), SMALLEST))
        J = np.vstack([at.jacobians[0], at.jacobians[-1]]) / scale
        return bool(np.isfinite(J).all() and np.linalg.matrix_rank(J) == len(at.theta))

    def state(self, theta: Floats, lambda_: float) -> MeanState:
        """Return the minimum at a λ as a state."""
        at = self.evaluate(theta, self.none())
        multipliers = [lambda_ * self.unit * a for a in at.explained[:-1]]
        multipliers.append(_prices(at, multipliers))
        return MeanState(self.evaluate(theta, multipliers), multipliers)

    def minimum(self, lambda_: float, start: Point) -> Point:
        """Minimize D + λW‖a‖² + λ₂‖β‖² at one λ, with totals held.

        A descent in which totals have a penalty, firm beside what the deviance
        resists, comes near; Newton's method with totals held does the rest. If it
        fails there may be a limit instead of a minimum: the descent goes on, and
        directions without curvature are left alone.
        """
        at, ell = self.evaluate(start.theta, self.none()), lambda_ * self.unit
        firm = FIRM / max(stiffness(at.hessian, at.jacobians[-1]), 1e-300)
        priced, theta = _Priced(self, ell, firm, _prices(at, [ell * at.explained[0]])), start.theta
        objective = replace(self.minima.objective(0.0), evaluate=priced.evaluate)
        for close in (NEAR, LIMIT):
            theta = self._descended(priced, theta, close * (self.minima.unit + abs(start.deviance)))
            near = Point(theta, *priced.evaluate(theta), converged=False)
            if not np.isfinite(near.hessian).all():
                break
            if close == LIMIT:
                near = replace(near, separated=objective.flat(near))
            found = replace(self, gone=near.separated)._polished(near, lambda_)
            if found is not None:
                return found
        return self.leveled(near)  # not the minimum, but balanced

    def _descended(self, priced: _Priced, start: Floats, close: float) -> Floats:
        """Return a point near a minimum, at which a step promises little."""
        curvature = np.diag(self.minima.start.hessian)
        curvature = np.where(curvature > 0.0, curvature, curvature.max())
        limits = curvature, close, self.minima.max_iter
        return descend(priced.value, priced.derivatives, start, *limits)

    def _polished(self, near: Point, lambda_: float) -> Point | None:
        """Take Newton steps to the minimum at a λ; None if they fail."""
        state = self.state(near.theta, lambda_)
        if not state.at.is_finite:
            return None
        goals = [Goal(0, 0.0, lambda_ * self.unit), self.totals]
        end = reach(self.evaluate, state, goals, MOST_STEPS, np.inf)
        if end is None or not is_minimum(end, goals):
            return None
        point = self.point(end)
        return point if self.is_balanced(self.sums(point.theta)) else None

    def leveled(self, point: Point) -> Point:
        """Return a point with other intercepts, at which means have the totals of the response."""
        levels, theta = self.minima.coordinates.of_level, point.theta
        sums, length = self.sums(theta), 1.0
        excess = float(np.linalg.norm(self.balance.excess(sums)))
        for _ in range(self.minima.max_iter):
            if self.is_balanced(sums) or length < STUCK or not np.isfinite(excess):
                break
            trial = theta.copy()
            trial[levels] -= length * self._to_level(theta, sums)
            sums_there = self.sums(trial)
            left = float(np.linalg.norm(self.balance.excess(sums_there)))
            if left < excess:
                theta, sums, excess, length = trial, sums_there, left, min(1.0, 2.0 * length)
            else:
                length *= 0.25
        return point if theta is point.theta else replace(point, theta=theta)

    def _to_level(self, theta: Floats, sums: MeanSums) -> Floats:
        """Return by how much intercepts are too high: exactly under a log link, or by Newton."""
        if self.minima.family.link == "log":
            return np.log1p(self.balance.excess(sums) / self.balance.observed)
        at = self.evaluate(theta, self.none())
        J = at.jacobians[-1][:, self.minima.coordinates.of_level]
        return np.asarray(np.linalg.pinv(J) @ at.explained[-1])

    def lambda_of(self, state: MeanState, place: int) -> float:
        """Return λ of one form: its π is λ·unit·a."""
        return float(state.penalties()[place]) / self.unit

    def point(self, state: MeanState) -> Point:
        """Return a state as a minimum."""
        at = state.at
        return Point(at.theta, at.deviance, at.gradient, at.hessian, True, self.gone)

    def balanced(self) -> MeanObjective:
        """Return the same about the best of the balanced models.

        Canonical links balance the best model of all, but for a few digits.
        """
        finite = all(map(np.isfinite, (*self.free.products.flat, *self.free.squares.flat)))
        if self.is_balanced(self.free) or not finite:
            return self
        best, prices, end = self.leveled(self.best), self.prices, None
        sums = self.sums(best.theta)
        # A limit is near enough, and no step leads on from it.
        if self.gone is None or not self.is_balanced(sums):
            end = reach(self.evaluate, self.start, [self.totals], self.minima.max_iter, np.inf)
            best = self.minimum(0.0, best) if end is None else self.point(end)
            prices = prices if end is None else end.multipliers[-1]
            sums = self.sums(best.theta)
        # Under a log link a level balances any means, unless they leave the range of numbers.
        if self.minima.family.link == "log" and not self.is_balanced(sums):
            raise ValueError(TOO_LARGE)
        gram = self.free.gram
        best = replace(best, deviance=sums.deviance)
        return replace(self, best=best, free=replace(sums, gram=gram), prices=prices)


@dataclass(frozen=True)
class _Priced:
    """D + λW‖a‖² + λ₂‖β‖² with prices and a firm penalty on the excess of totals."""

    space: MeanObjective
    ell: float  # λ in units of the means
    firm: float
    prices: Floats
    # Sums at the last θ, which a step is decided by and then taken from.
    _last: dict[bytes, MeanSums] = field(default_factory=dict, repr=False)

    def _sums(self, theta: Floats) -> MeanSums:
        key = theta.tobytes()
        if key not in self._last:
            self._last.clear()
            self._last[key] = self.space.sums(theta)
        return self._last[key]

    def _added(self, explained: Sequence[Floats]) -> float:
        """Return what is added to the deviance."""
        a, c = explained[0], explained[-1]
        each = self.ell * float(a @ a) + float((2.0 * self.prices + self.firm * c) @ c)
        return self.space.minima.basis.weight * each

    def value(self, theta: Floats) -> float:
        """Return the objective."""
        sums = self._sums(theta)
        penalty = self.space.minima.objective(0.0).penalty(theta)
        return sums.deviance + penalty + self._added(self.space.explained(sums))

    def evaluate(self, theta: Floats, order: int = 2) -> tuple[float, Floats, Floats]:
        """Return the objective without λ₂, its gradient and Hessian."""
        _, gradient, hessian, value = self._slopes(theta)
        return value, gradient - self._bent @ theta, hessian - self._bent

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return gradient and Hessian."""
        _, gradient, hessian, _ = self._slopes(theta)
        return gradient, hessian

    @property
    def _bent(self) -> Floats:
        return 2.0 * self.space._quadratic

    def _slopes(self, theta: Floats) -> tuple[Means, Floats, Floats, float]:
        # The multipliers belong to this θ: those of another one would spoil the Hessian.
        space, ell, firm = self.space, self.ell, self.firm
        explained = space.explained(self._sums(theta))
        a, price = explained[0], self.prices + firm * explained[-1]
        at = space.evaluate(theta, [ell * a, *space.none()[1:-1], price])
        J, G, twice = at.jacobians[0], at.jacobians[-1], 2.0 * space.minima.basis.weight
        with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
            gradient = twice * (at.gradient + ell * a @ J + price @ G)
            hessian = twice * (at.hessian + ell * J.T @ J + firm * G.T @ G)
            return at, gradient, hessian, at.deviance + self._added(explained)


def _prices(at: Means, multipliers: Sequence[Floats]) -> Floats:
    """Return the multipliers of totals for which the equations of θ hold best."""
    rest = at.gradient + sum(pi @ J for pi, J in zip(multipliers, at.jacobians, strict=False))
    G = at.jacobians[-1]
    if not (np.isfinite(G).all() and np.isfinite(rest).all()):
        return np.zeros(len(G))
    scale = np.sqrt(np.where(np.diag(at.hessian) > 0.0, np.diag(at.hessian), np.inf))
    return np.asarray(-np.linalg.lstsq((G / scale).T, rest / scale, rcond=1e-12)[0])


def mean_objective(minima: PenalizedGLM, means: Any, elsewhere: Floats) -> MeanObjective:
    """Look at the means of the model without a bound.

    Parameters
    ----------
    minima : PenalizedGLM
        The model without a bound.
    means : MeansOfRows
        Which means are looked at.
    elsewhere : ndarray of shape (K,)
        What totals of other rows exceed those observed by, for which these make up.
    """
    point = minima.point(0.0)
    blank = MeanObjective(minima, means, (), None, point, None, None)  # type: ignore[arg-type]
    free = blank.sums(point.theta)
    forms = [mean_form(free, minima.basis, means.n_bounded)]
    balance = _balance(minima, means, free, elsewhere)
    prices = np.zeros(len(balance.target))
    return MeanObjective(
        minima, means, forms, balance, point, free, prices, point.separated
    ).balanced()


def _balance(minima: PenalizedGLM, means: Any, free: MeanSums, elsewhere: Floats) -> Balance:
    """Hold means at the totals of the response."""
    (K, head), n, basis = free.products.shape, means.n_means, minima.basis
    assert free.gram is not None
    family: Any = minima.family
    contrasts = np.eye(1) if n == 1 else family.contrasts.T
    # Indicators of all classes, of two only that of the second: its weight is that of its rows.
    weights = np.ones(n) if means.class_weights is None else np.array(means.class_weights)[-n:]
    observed = basis.weight * weights * basis.center_targets - elsewhere
    total = observed - means.reference * free.gram[K - n :, 0, 0]
    map_ = np.zeros((len(contrasts), K, head))
    map_[:, K - n :, 0] = contrasts
    size = float(np.abs(total).max() + abs(means.reference) * free.gram[-1, 0, 0])
    return Balance(map_.reshape(len(contrasts), -1), contrasts @ total, contrasts @ observed, size)
