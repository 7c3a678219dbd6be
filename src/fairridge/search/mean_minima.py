"""Minima under a ridge on what S explains of the means, followed from λ = 0 to each bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Floats
from fairridge.fairness import Definition
from fairridge.models import Fit
from fairridge.search.glm import GLMProblem
from fairridge.search.mean_space import MeanSpace, mean_space
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.solution import Choice
from fairridge.solvers import Point
from fairridge.solvers.mean_ridge import Goal, MeanState, ahead, is_minimum, reach

# Penalties at which to start if the way from the free model is lost, in typical ones.
MIDDLE = (1.0, 20.0, 400.0)
# The same next to the model at r = 0.
FAR = 1e4
# Step of log λ between penalties that are tried in turn, if the direct way is lost,
SCAN = 1.5
# and how far they go.
LARGEST = 30.0
# Relative rounding error of a share: sums in another order give another last digit.
ROUNDING_OF_SHARES = 1e-13
# By which a model that is found again may exceed r = 0.
RESUMED = 1e-10


class MeanMinima(GLMProblem):
    """min D + λW‖a‖² + λ₂‖β‖² for every λ, with ‖a‖² what S explains of the means.

    Means bend, so this is not convex: minima are followed from λ = 0 on.

    Parameters
    ----------
    minima : PenalizedGLM
        The model without a bound.
    definition : MeanShare
        Says which means are looked at.
    classes : ndarray or None
        Labels, for classifiers.
    """

    def __init__(self, minima: PenalizedGLM, definition: Any, classes: Any = None) -> None:
        super().__init__(minima)
        self.definition = definition
        self.classes = classes
        self._points: dict[float, Point] = {}

    def warm_start(self) -> Floats:
        """Return level and raw coefficients of the model without a bound, to start others from."""
        raw = self.minima.coordinates.raw(self.minima.point(0.0).theta)
        raw[:, 0] -= raw[:, 1:] @ self.basis.center
        return raw

    @property
    def _has_others(self) -> bool:
        """Whether there are coordinates that λ does not penalize, be they of controls."""
        return super()._has_others or bool(len(self.basis.given_columns))

    def resume(self, lambda_: float, raw: Floats) -> None:
        """Find the model of an earlier fit to these rows again, from its level and coefficients.

        Models with λ = ∞ are searched for again: their multipliers are not known.
        """
        if np.isinf(lambda_):
            self.choose(self.definition, np.zeros(1), RESUMED, self.minima.max_iter)
            return
        moved = raw.copy()
        moved[:, 0] += raw[:, 1:] @ self.basis.center
        start = replace(self.minima.start, theta=self.minima.coordinates.theta(moved))
        self._points[lambda_] = self._loose.minimum(lambda_, start)

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
        fit = replace(super()._as_fit(lambda_, point), classes=self.classes)
        # The same pass tells the definition's value.
        return replace(fit, deviance=fit.mean_sums(self.definition.means(fit)).deviance)

    def _point(self, lambda_: float) -> Point:
        if lambda_ == 0.0:
            return self.minima.point(0.0)
        if lambda_ not in self._points:
            # From the same place always, so that it does not matter what was asked before.
            self._points[lambda_] = self._loose.minimum(lambda_, self._fair or self.minima.start)
        return self._points[lambda_]

    def _objective(self, at: Point) -> float:
        """Return the deviance of a point with what λ₂ adds."""
        return at.deviance + self.minima.objective(0.0).penalty(at.theta)

    @cached_property
    def _space(self) -> MeanSpace:
        return mean_space(self.minima, self.definition.means(self.fit(0.0)))

    # ----------------------------------------------------------------- search

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose the smallest λ that meets each bound, from the loosest bound on."""
        chosen = {1.0: Choice(0.0, "inactive", 0)}
        way: list[MeanState] = []
        for r in sorted(set(bounds.tolist()) - {1.0}, reverse=True):
            if self._space.shares[0] <= r * (1.0 + ROUNDING_OF_SHARES):
                chosen[r] = chosen[1.0]
                continue
            found = self._followed(way, r, tol)
            if found is None:
                chosen[r] = self._bracketed(r)
                continue
            way.append(found.state)
            self._points[found.lambda_], self._fits[found.lambda_] = found.point, found.fit
            chosen[r] = Choice(found.lambda_, "converged")
        return [chosen[r] for r in bounds.tolist()]

    def _followed(self, way: Sequence[MeanState], r: float, tol: float) -> _Reached | None:
        """Follow the minima to a bound, from those behind or others; None if the way is lost."""
        goals = [Goal(0, r)]
        starts = self._starts(ahead(self._space.evaluate, way, goals))
        found = self._end_of(*next(starts), goals, tol)
        if found is not None and self._objective(found.point) <= self.minima.null.deviance:
            return found
        # If the way is lost it matters where one starts from: the best of all is taken.
        if r > 0.0 and self._fair is not None:
            starts = chain(starts, [self._penalized(FAR * self._loose.typical, self._fair)])
        known = [found, *(self._end_of(*pair, goals, tol) for pair in starts)]
        reached = [one for one in known if one is not None]
        return min(reached, key=lambda one: self._objective(one.point), default=None)

    def _end_of(
        self, space: MeanSpace, start: MeanState, goals: Sequence[Goal], tol: float
    ) -> _Reached | None:
        """Follow the minima from one start, and look at what is reached."""
        r, state = goals[0].share, start
        reached: _Reached | None = None
        for _ in range(2):
            found = reach(space.evaluate, state, goals, self.minima.max_iter, self._limit)
            if found is None or not is_minimum(found, goals):
                return None
            lambda_ = np.inf if r == 0.0 else space.lambda_of(found, 0)
            if not lambda_ > 0.0:
                return None
            point = space.point(found)
            fit = self._as_fit(lambda_, point)
            value = self.definition.value(fit)
            reached = _Reached(found, lambda_, point, fit) if value <= r + tol else None
            if value == 0.0 if r == 0.0 else abs(value - r) <= tol:
                break
            # The last step ended where nobody had looked; there it goes on.
            state = MeanState(space.evaluate(point.theta, found.multipliers), found.multipliers)
        return reached

    def _starts(self, state: MeanState | None) -> Iterator[tuple[MeanSpace, MeanState]]:
        """Yield minima to start from: the free model, or models under penalties."""
        yield self._space, state or self._space.start
        for size in MIDDLE if self._has_others else ():
            yield self._penalized(size * self._loose.typical, self.minima.start)

    def _penalized(self, lambda_: float, origin: Point) -> tuple[MeanSpace, MeanState]:
        """Return a minimum under a penalty to start from."""
        point = self._loose.minimum(lambda_, origin)
        space = replace(self._space, gone=point.separated)
        return space, space.state(point.theta, lambda_)

    @cached_property
    def _fair(self) -> Point | None:
        """The model at r = 0."""
        found = self._followed([], 0.0, 1e-10)
        return None if found is None else found.point

    @cached_property
    def _loose(self) -> MeanSpace:
        """The same, with no direction left alone."""
        return replace(self._space, gone=None)

    @property
    def _limit(self) -> float:
        """A deviance beyond that of the model with an intercept only."""
        return 2.0 * self.minima.null.deviance

    def _bracketed(self, r: float) -> Choice:
        """Find λ(r) by minimizing at one λ after another: slow, but never lost."""
        if r == 0.0 or not self._has_others:
            return self._constant()
        form, shares = self._space.forms[0], dict[float, float]()

        def gap(log_lambda: float) -> float:
            lambda_ = float(np.exp(log_lambda))
            shares[lambda_] = form.share(self._space.sums(self._point(lambda_).theta))
            return shares[lambda_] - r

        low = high = float(np.log(self._loose.typical))
        while gap(high) > 0.0:
            low, high = high, high + SCAN
            if high > np.log(self._loose.typical) + LARGEST:
                return self._constant()
        while gap(low) <= 0.0:
            low, high = low - SCAN, low
        brentq(gap, low, high, xtol=1e-14)
        return Choice(min(x for x, share in shares.items() if share <= r), "converged")

    def _constant(self) -> Choice:
        """Return the model at r = 0, or that with an intercept only.

        S explains the means of neither. If there are predictors the second
        is not the best model.
        """
        if self._fair is not None:
            self._points[np.inf] = self._fair
            return Choice(np.inf, "converged")
        self._points[np.inf] = self.minima.null
        return Choice(np.inf, "not-converged" if self._has_others else "converged")


@dataclass(frozen=True)
class _Reached:
    """A minimum at a bound."""

    state: MeanState
    lambda_: float
    point: Point
    fit: Fit
