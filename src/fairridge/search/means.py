"""Models with a bound on what S explains of their predicted means, for every λ.

All of them are balanced: their means have the totals of the response. Means bend, so that
a bound can have several minima, and minima can jump over a bound as λ grows.

A bound that the search from the null model has not reached is searched for from another start,
the minimum under a given λ. If that fails, too, minima are followed from the fair side as λ
falls. If they jump over the bound, no minimum has the share r, and the bound is met with what is
left of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.arguments import largest_bound
from fairridge.fairness import Definition
from fairridge.fairness.means import form_of
from fairridge.models import Fit, Isolation
from fairridge.search.driver import Found
from fairridge.search.glm import SAME, GLMProblem
from fairridge.search.mean_search import BoundedMeans, BoundsOfAttributes, MeanSearch, bounded_means
from fairridge.search.penalized_glm import ROUGH_PASSES, ROUGH_TOLERANCE, PenalizedGLM
from fairridge.search.problem import BOUND_TOLERANCES, AttributeShare, Choice, Solution, Status
from fairridge.solvers import Point, minimize

# Relative rounding error of a share: sums in another order give another last digit.
ROUNDING_OF_SHARES = 1e-13
# The first λ of a way, the factor to the next, and the largest; the least is its inverse.
FIRST, FACTOR, LARGEST = 15.0, 5.0, 1e6
# How often the λ between a share that is too large and one that is not is halved, in logarithms.
BISECTIONS = 8
TOO_LARGE = (
    "Predicted means overflow. The usual cause is an exposure passed as offset=: pass it as "
    "exposure=, or pass its logarithm."
)


class MeanParityProblem(GLMProblem):
    """min D + λW‖a‖² + λ₂‖β‖² subject to Σ w μ = Σ w y, for every λ."""

    # ‖a‖² is what S explains of the means; with several classes each has its total. One bound is on
    # what all of S explains, or each attribute has one.

    def __init__(
        self, glm: PenalizedGLM, definition: Definition, isolation: Isolation | None = None
    ) -> None:
        super().__init__(glm, definition, isolation)
        self.explains = True
        self._share: Any = definition.within_space  # a MeanShare
        self._points: dict[float, Point] = {}
        self._glm_of: dict[float, PenalizedGLM] = {}  # the model that each is a point of

    def warm_start(self) -> Floats | None:
        """Return intercept and raw coefficients of the model without a bound."""
        if self.space.compressed:
            return None
        raw = self.glm.coordinates.raw(self.point(0.0).theta)
        raw[:, 0] -= raw[:, 1:] @ self.glm.basis.center
        return raw

    def resume(self, lambda_: float, raw: Floats) -> None:
        """Find the model of an earlier fit to these rows again, from its level and coefficients."""
        if self.space.compressed:
            return
        moved = raw.copy()
        moved[:, 0] += raw[:, 1:] @ self.glm.basis.center
        theta = self.glm.coordinates.theta(moved)
        for search in self._searches:
            found = search.at_penalty(lambda_, search.evaluated(search.null, theta, 2, None))
            if not self._is_separated(search, lambda_, found):
                break
        self._points[lambda_], self._glm_of[lambda_] = found, search.glm

    @cached_property
    def _means(self) -> Any:
        """Which means are bounded, and which have totals to meet (PredictedMeans)."""
        return self._share.means(self._null_fit, totals=True)

    @cached_property
    def _null_fit(self) -> Fit:
        return self._plain_fit(1.0, self.glm, self.glm.start)

    @cached_property
    def _bounded(self) -> BoundedMeans:
        sums = self._null_fit.mean_sums(self._means)
        if not (np.isfinite(sums.products).all() and np.isfinite(sums.squares).all()):
            raise ValueError(TOO_LARGE)
        return bounded_means(self.glm, self._means, self._elsewhere, sums)

    @cached_property
    def _searches(self) -> tuple[MeanSearch, MeanSearch]:
        """The search, and the one with a ridge, if there is no minimum without."""
        plain = MeanSearch(self.glm, self._bounded)
        return plain, plain.on(self.glm.ridged)

    @cached_property
    def _elsewhere(self) -> Floats:
        """What totals of rows that the model is fitted without will exceed those observed by."""
        observed = self.glm.basis.weight * self.glm.basis.center_targets
        if self.isolation is None:
            return 0.0 * observed
        weights = self._means.class_weights or np.ones(self.family.n_predictors + 1)
        excess = self.isolation.excess(self.glm.basis, np.asarray(weights))
        # Rows that are kept make up for it, unless that would take most of their total.
        rest = np.inf if self.family.link == "log" else self.glm.basis.weight - observed
        small = np.abs(excess) < 0.5 * np.minimum(observed, rest)
        return excess if small.all() else 0.0 * excess

    def _solved(self, lambda_: float) -> tuple[PenalizedGLM, Point]:
        point = self.point(lambda_)
        return self._glm_of[lambda_], point

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        return self.point(lambda_).converged

    def point(self, lambda_: float) -> Point:
        """Return the minimum at a λ, from the nearest that is known."""
        if lambda_ not in self._points:
            for search in self._searches:
                found = self._minimum(search, lambda_)
                if not self._is_separated(search, lambda_, found):
                    break
            self._points[lambda_], self._glm_of[lambda_] = found, search.glm
        return self._points[lambda_]

    def _minimum(self, search: MeanSearch, lambda_: float) -> Point:
        """Return the minimum at a λ; canonical links balance the model without a bound."""
        if lambda_ == 0.0:
            free = search.glm.point(0.0)
            at = search.evaluated(search.null, free.theta, 2, None)
            if free.separated or search.means.is_balanced_at(at.beside):
                return replace(at, converged=free.converged, separated=free.separated)
        starts, known = [search.null], [x for x, glm in self._glm_of.items() if glm is search.glm]
        if known:
            near = min(known, key=lambda x: _distance(x, lambda_, search.typical))
            starts.insert(len(starts) * np.isinf(lambda_), self._points[near])  # ∞ is near null
        for start in starts:
            found = search.at_penalty(lambda_, start)
            if found.converged or found.separated:
                break
        return found

    def _is_separated(self, search: MeanSearch, lambda_: Any, point: Point) -> bool:
        """Whether there is no minimum without a ridge."""
        plain = search.glm is self.glm
        return plain and (point.separated or search.has_lost_curvature(lambda_, point))

    def _as_fit(self, lambda_: float, glm: PenalizedGLM, point: Point) -> Fit:
        fit = self._plain_fit(lambda_, glm, point)
        form_of(fit, self._means, lambda: self._bounded.forms[0])
        # The same pass tells the definition's value.
        return replace(fit, deviance=fit.mean_sums(self._means).deviance)

    def _plain_fit(self, lambda_: float, glm: PenalizedGLM, point: Point) -> Fit:
        return replace(super()._as_fit(lambda_, glm, point), classes=self.settings.classes)

    @property
    def _is_penalized(self) -> bool:
        """Whether S can explain means: it can also where only controls have coefficients."""
        return len(self._bounded.forms[0].map) > 0

    def _floor(self) -> float:
        """Return the unfairness that no finite λ goes below; zero where it is not known."""
        # Means bend, so that controls can make up for what S explains through the predictors, and
        # predictors for what it explains through offsets. Among the rows of a class S explains
        # another share of the predictors than among all rows.
        counted = self._share.counted_classes(self.family, self.settings.classes)
        unknown = self.space.controls or (self.settings.blind and counted)
        floor = 0.0 if unknown else super()._floor()
        is_constant_fair = floor == 0.0 or self._searches[0].null.beside.variance == 0.0
        return floor if is_constant_fair else 0.0

    def _choose_above(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for bounds that some λ meets, from the strictest on."""
        chosen = {1.0: Choice.UNCONSTRAINED}
        with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
            for r in sorted(set(bounds.tolist()) - {1.0}):
                stricter = chosen.get(max((x for x in chosen if x < r), default=2.0))
                # A model without a bound that is known may meet this one.
                known = 0.0 in self._points and self._is_met_freely(r)
                inactive = stricter is Choice.UNCONSTRAINED or known
                chosen[r] = Choice.UNCONSTRAINED if inactive else self._chosen(r, stricter)
        return [chosen[r] for r in bounds.tolist()]

    def _is_met_freely(self, r: float) -> bool:
        """Whether the model without a bound meets this one but for rounding."""
        return self._share.value(self.fit(0.0)) <= r * (1.0 + ROUNDING_OF_SHARES)

    def _chosen(self, r: float, stricter: Choice | None) -> Choice:
        """Choose λ for one bound; no model of a stricter one is better."""
        # Where S is all there is, it explains all of the means of any model but a constant.
        alone = not (self._has_others or self.space.controls or self.settings.blind)
        varies = self._searches[0].null.beside.variance > 0.0
        if alone and not varies and self._share.value(self.fit(0.0)) > r:
            return Choice(np.inf, "converged" if self.converged(np.inf) else "not-converged")
        for search in self._searches:
            found = self._reached(search, r)
            lost = self._is_separated(search, found.lambda_, found.point)
            if found.point.converged and not lost:
                break
        self._glm_of[found.lambda_] = self._glm_at(search, found)
        choice = self._kept(r, found)
        # A bound that hardly binds here may not bind at another minimum of the deviance.
        if 0.0 < found.lambda_ < search.typical and self._is_met_freely(r):
            return Choice.UNCONSTRAINED
        if stricter is not None and stricter.met:
            ours, theirs = self.fit(choice.lambda_).deviance, self.fit(stricter.lambda_).deviance
            if ours > theirs + SAME * abs(theirs):
                return replace(stricter, status="jumped")
        return choice

    def _reached(self, search: MeanSearch, r: float) -> Found:
        """Search for a bound from one start after another, until one leads to it."""
        for found in self._attempts(search, r):
            if found is not None and (found.point.separated or self._holds(search, found, r)):
                return found
        # What meets a bound of zero is left, or nothing but the constant model.
        fair = self._known(search, np.inf) if r > 0.0 else None
        if fair is not None and (fair.point.converged or fair.point.separated):
            return fair
        return Found(np.inf, replace(search.null, converged=False))

    def _known(self, search: MeanSearch, lambda_: float) -> Found:
        """Return the minimum at a λ; separated to a search without the ridge that it needs."""
        point = self.point(lambda_)
        needs_ridge = search.glm is self.glm is not self._glm_of[lambda_]
        return Found(lambda_, replace(point, separated=True) if needs_ridge else point)

    def _glm_at(self, search: MeanSearch, found: Found) -> PenalizedGLM:
        """Return the model that a minimum is of: a known one need not be that of the search."""
        is_known = self._points.get(found.lambda_) is found.point
        return self._glm_of[found.lambda_] if is_known else search.glm

    def _attempts(self, search: MeanSearch, r: float) -> Iterator[Found | None]:
        """Start at the null model, then at the minimum under a given λ, and then follow minima."""
        yield search.find(r, self.settings.max_iter)
        if self._is_met_freely(r):
            yield self._known(search, 0.0)
        # A bound of zero may have no search that ends: half of what it may be missed by has one.
        fair_side = FairSide(search, max(r, 0.5 * self._slack))
        if r > 0.0:
            yield fair_side.restarted()
        yield fair_side.found()

    def _holds(self, search: MeanSearch, found: Found, r: float) -> bool:
        """Whether a minimum was found, and meets the bound on the rows themselves."""
        if not found.point.converged or LARGEST * search.typical < found.lambda_ < np.inf:
            return False  # means of constants, but for rounding, have no share
        # Far away no step promises anything, and totals may be missed.
        if not search.means.is_balanced_at(found.point.beside, ROUGH_TOLERANCE):
            return False
        fit = self._as_fit(found.lambda_, self._glm_at(search, found), found.point)
        if not self._share.value(fit) <= r + self._slack:
            return False
        # Constant means are fair, so that no minimum is worse than the null model.
        null = search.null
        if null.beside.variance == 0.0 and fit.deviance > (1.0 + SAME) * null.deviance:
            return False
        self._fits[found.lambda_] = fit
        return True

    def _kept(self, r: float, found: Found) -> Choice:
        """Keep a model that was found together with its λ."""
        lambda_ = found.lambda_
        self._points[lambda_] = found.point
        if lambda_ == 0.0:
            return Choice.UNCONSTRAINED
        if not found.point.converged:
            return Choice(lambda_, "not-converged")
        if self.settings.blind and np.isinf(lambda_):
            constant = self._share.components(self.fit(lambda_))["mean_variance"] == 0.0
            if constant and self.fit(0.0).deviance < self._searches[0].null.deviance:
                return Choice(lambda_, "infeasible")  # the means do not vary, though they could
        short = r > 0.0 and self._share.value(self.fit(lambda_)) < r - self._slack
        return Choice(lambda_, "jumped" if short else "converged", found.crossings)

    @property
    def _slack(self) -> float:
        return BOUND_TOLERANCES * self.settings.tol

    def solve_each(self, bounds: Mapping[str, float]) -> Solution:
        """Bound what each of several attributes alone explains of the means."""
        # The penalty is Σ_j λ_j W a_jᵀΣ_jj⁻¹a_j, with λ_j = 0 for attributes that meet their bounds
        # without it. Attributes that are not named are not bounded.
        limits = np.array(list(bounds.values()), dtype=np.float64)
        columns = self.settings.each
        groups: list[Integers] = [np.asarray(columns[name], dtype=np.intp) for name in bounds]
        means = self._bounded.of(groups, self._null_fit.mean_sums(self._means))
        with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
            lambdas, fit, optimal = self._found_each(means, limits)
        shares = _shares(means, fit)
        missed = (shares > limits + self._slack) | (not optimal)
        statuses = np.where(missed, EACH[0], np.where(lambdas > 0.0, EACH[1], EACH[2])).tolist()
        found = zip(bounds.values(), lambdas.tolist(), shares.tolist(), statuses, strict=True)
        each = {name: AttributeShare(*one) for name, one in zip(bounds, found, strict=True)}
        worst = worst_status(one.status for one in each.values())
        (reported,) = self.in_columns([fit])
        value, parts = self.definition.value(reported), self.definition.components(reported)
        choice = Choice(fit.lambda_, worst)
        r = largest_bound(bounds)
        return self.finished(Solution(r, reported, value, parts, choice, each=each), fit)

    def _found_each(self, means: BoundedMeans, limits: Floats) -> tuple[Floats, Fit, bool]:
        """Return λ of each attribute, the model, and whether it is the best one."""
        search, tol = MeanSearch(means.glm, means), self.settings.tol
        descent = BoundsOfAttributes(search, limits)
        point, step = minimize(descent, search.null, self.settings.max_iter)
        lambdas = np.asarray(np.inf if step is None else step.lambda_)
        if self._is_separated(search, lambdas, point):
            return self._found_each(replace(means, glm=self.glm.ridged), limits)
        if point.converged:
            fit = self._as_fit(float(lambdas.max()), search.glm, point)
            room = limits - _shares(means, fit)
            # At an optimum bounds with a penalty have no room.
            if (room >= -self._slack).all() and (room[lambdas > 0.0] <= self._slack).all():
                return lambdas, fit, True
        # What all attributes explain together is no less than what any of them does.
        for strictest in (limits.min(keepdims=True), np.zeros(1)):
            (choice,) = self.choose(self._share, strictest)
            fit = self.fit(choice.lambda_)
            if (_shares(means, fit) <= limits + tol).all():
                break
        else:
            fit = self._as_fit(np.inf, self.glm, self.glm.start)
        alone = choice.met and len(means.forms[0].map) == len(self._bounded.forms[0].map)
        return np.full(len(limits), fit.lambda_), fit, alone


class Side(NamedTuple):
    """A minimum on the way."""

    lambda_: float
    point: Point

    @property
    def share(self) -> float:
        """What S explains of its means."""
        at = self.point.beside
        return float(at.explained @ at.explained) / at.variance if at.variance > 0.0 else 0.0


@dataclass(frozen=True)
class FairSide:
    """The search for one bound."""

    search: MeanSearch
    r: float

    def restarted(self) -> Found | None:
        """Return what another start than the null model leads to: the minimum at a typical λ."""
        side = self._at(self.search.typical, self.search.null)
        if side.point.separated:
            return Found(side.lambda_, side.point)
        max_iter = self.search.glm.max_iter
        return self.search.to_bound(self.r, side.point, max_iter) if side.point.converged else None

    def found(self) -> Found | None:
        """Return the model at the bound, or the last one before minima jump over it."""
        # None if no λ meets the bound. A model that has lost its curvature is returned as it is.
        largest = LARGEST * self.search.typical
        fair = free = self._at(FIRST * self.search.typical, self.search.null)
        while fair.share > self.r and fair.lambda_ < largest:
            free, fair = fair, self._at(FACTOR * fair.lambda_, fair.point)
        if fair.share > self.r:  # means that shrink to constants may have a share with a limit
            return None
        while free.share <= self.r and free.lambda_ > self.search.typical / LARGEST:
            fair, free = free, self._at(free.lambda_ / FACTOR, free.point)
        for side in (fair, free):
            if side.point.separated:
                return Found(side.lambda_, side.point)
        if free.share <= self.r:  # a minimum of its own, which no λ leads away from
            return Found(free.lambda_, self.search.at_penalty(free.lambda_, free.point))
        return self._between(fair, free)

    def _between(self, fair: Side, free: Side) -> Found:
        """Search between a model that meets the bound and one that does not."""
        for attempt in range(BISECTIONS):
            for side in (fair, free) if attempt == 0 else (fair,):
                found = self.search.to_bound(self.r, side.point, ROUGH_PASSES)
                # The same branch of minima, and not one far away.
                if found is not None and fair.lambda_ >= found.lambda_ >= free.lambda_:
                    return found
            middle = self._at(float(np.sqrt(fair.lambda_ * free.lambda_)), fair.point)
            fair, free = (middle, free) if middle.share <= self.r else (fair, middle)
        return Found(fair.lambda_, self.search.at_penalty(fair.lambda_, fair.point))

    def _at(self, lambda_: float, start: Point) -> Side:
        point = self.search.at_penalty(lambda_, start, ROUGH_TOLERANCE, ROUGH_PASSES)
        # Shares of small means are no guess: a short pass measures those after the last step.
        return Side(lambda_, self.search.evaluated(point, point.theta, 1, None))


# What may become of the bound of one attribute, from bad to good.
EACH: tuple[Status, ...] = ("not-converged", "converged", "inactive")


def worst_status(statuses: Iterable[Status]) -> Status:
    """Return what became of the bounds of attributes together."""
    return min(statuses, key=EACH.index)


def _shares(means: BoundedMeans, fit: Fit) -> Floats:
    """Return R² of the means on each attribute."""
    sums = fit.mean_sums(means.means)
    return np.array([form.share(sums) for form in means.forms])


def _distance(x: float, y: float, typical: float) -> float:
    """Return how far two λ are apart, on a log scale that ends at 0 and ∞."""
    places = np.minimum([x, y], 1e4 * typical) + 1e-4 * typical
    return float(abs(np.log(places[0] / places[1])))
