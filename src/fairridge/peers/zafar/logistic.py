"""Logistic regression on X alone, with bounded covariances of S and η (Zafar et al. 2019).

Newton's method with the bounds in every step gives the model for any limit c
on covariances. A bound on correlations is one more search over one number,
λ = 1/c: the correlation c/sd(η) need not be monotone in it, so the last
crossing counts, as for the fair ridge. Each c starts from the nearest one
solved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.models import Fit, factorize
from fairridge.models.spaces import BlindSpace, blind_space_of
from fairridge.peers.zafar.least_squares import CovarianceBound, Limit, just_below
from fairridge.peers.zafar.limited import LimitedModels
from fairridge.peers.zafar.predictor_space import AtZero, Bound, PredictorSpace, PredictorSpaces
from fairridge.peers.zafar.slabs import limit_at_ratio
from fairridge.search.fold_starts import FoldStart
from fairridge.search.problem import Solution, Status
from fairridge.search.scan import PenaltyProfile, sparse_profile
from fairridge.solvers import Point

# Rough minima: enough to see on which side of a bound they are,
ROUGH = 1e-12
# unless their correlation is this near to it.
NEAR_BOUND = 1e-3
# Ratio of neighboring limits in a scan.
STEP = 3.0
# The first limit tried, as a multiple of that of a model near the null one, whose η is shorter.
LONGER = 2.0
# Change of the deviance by a last step, relative to it, up to which derivatives tell it.
FORETOLD = 1e-9


class _NoMinimumError(Exception):
    """Newton's method found no minimum at a limit, its argument."""


class ZafarGLMProblem(CovarianceBound):
    """A generalized linear model of X under the bound, met to a tolerance if on correlations."""

    def __init__(
        self, space: BlindSpace, models: LimitedModels, spaces: PredictorSpaces, tol: float
    ) -> None:
        self.space = space
        self.family = models.family
        self.spaces = spaces
        self.starts_folds = True
        self.tol = tol
        self._models = models
        self._separated: list[Floats] = []

    # ----------------------------------------------------------------- limits

    def _limits(self, bounds: Floats) -> list[Limit]:
        """Return limits at which the largest correlations are just below the bounds."""
        if self.bound == "covariance":
            return just_below(bounds)
        margins = np.minimum(self.tol, 1e-3 * bounds)
        aims = bounds - 0.5 * margins
        guesses = np.array(
            [
                self._guess(aim) if r < 1.0 else np.inf
                for r, aim in zip(bounds.tolist(), aims.tolist(), strict=True)
            ]
        )
        clear = np.array([self._is_clear(*pair) for pair in zip(bounds, guesses, strict=True)])
        limits = [Limit(np.inf if guess > 0.0 else 0.0) for guess in guesses]
        if clear.all():
            return limits
        start = min(LONGER * float(guesses[~clear].min()), self._typical)
        searched = iter(self._searched(aims[~clear], margins[~clear], start))
        return [
            limit if done else next(searched) for limit, done in zip(limits, clear, strict=True)
        ]

    def _is_clear(self, r: float, guess: float) -> bool:
        """Whether a bound needs no search: nothing but the intercept meets it, or everything."""
        if r >= 1.0 or guess == 0.0 or self._typical == 0.0:
            return True
        free = self._models.at(np.inf) if np.isinf(guess) else None
        return free is not None and free.point.converged and free.ratio <= r

    def _searched(self, aims: Floats, margins: Floats, start: float) -> list[Limit]:
        """Search over 1/c, which grows with fairness as λ does."""
        try:
            profile = sparse_profile(
                lambda x: self._ratio(1.0 / x if x > 0.0 else np.inf, aims),
                1.0 / start,
                1.0 / self._typical,
                np.inf,
                aims,
                step=STEP,
                slope=lambda x: self._models.at(1.0 / x, ROUGH).slope,
            )
            return [
                self._limit_on(profile, float(aim), float(margin))
                for aim, margin in zip(aims, margins, strict=True)
            ]
        except _NoMinimumError as failure:
            return [Limit(failure.args[0], 1, False) for _ in aims]

    def _limit_on(self, profile: PenaltyProfile, aim: float, margin: float) -> Limit:
        """Return the largest limit up to which the ratio stays below the aim."""
        above = profile.values > aim
        if not above.any():
            return Limit(np.inf)
        last = int(np.flatnonzero(above)[-1])
        smaller, larger = profile.grid[last : last + 2]
        if np.isinf(larger):
            return Limit(0.0)
        high = 1.0 / smaller if smaller > 0.0 else np.inf
        limit, converged = self._root(1.0 / larger, high, aim, margin)
        return Limit(limit, int(np.count_nonzero(np.diff(above))), converged)

    def _root(self, low: float, high: float, aim: float, margin: float) -> tuple[float, bool]:
        """Find the limit at which the ratio is the aim, by Newton's method inside a bracket."""
        ends = [self._models.at(low, ROUGH), self._models.at(high, ROUGH)]
        slow = 0
        for _ in range(self._models.max_iter):
            below, above = (end.top for end in ends)
            if above <= (1.0 + 1e-12) * below:
                return ends[0].limit, True
            nearest = min(ends, key=lambda s: abs(s.gap(aim)))
            limit = nearest.limit_for(aim)
            if slow > 1 or not below < limit < above:
                limit, slow = math.sqrt(below * above), 0
            self._ratio(limit, np.array([aim]))
            now = self._models.at(limit, ROUGH)
            if abs(now.ratio - aim) <= 0.4 * margin:
                return limit, True
            slow = slow + 1 if abs(now.gap(aim)) > 0.5 * abs(nearest.gap(aim)) else 0
            ends[now.ratio > aim] = now
        return ends[0].limit, False

    def _ratio(self, limit: float, aims: Floats) -> float:
        """Return the largest correlation at a limit, to all digits only if a bound is near."""
        if limit == 0.0:
            return 0.0
        solved = self._models.at(limit, ROUGH)
        if np.abs(solved.ratio / aims - 1.0).min() < NEAR_BOUND or not solved.point.converged:
            solved = self._models.at(limit)
        if not solved.point.converged:
            raise _NoMinimumError(limit)
        return solved.ratio

    def _guess(self, ratio: float) -> float:
        """Return the limit for a model near the null one; 0 if no limit is small enough.

        There the Hessian is a multiple of the identity, so that a Newton step
        is least squares.
        """
        return limit_at_ratio(self.reach.normals, self._first_step, ratio)

    @cached_property
    def _first_step(self) -> Floats:
        return -self._models.null.gradient[1:] / self._models.curvature

    @cached_property
    def _typical(self) -> float:
        """The size of covariances without a bound."""
        return float(np.abs(self.reach.normals.T @ self._first_step).max(initial=0.0))

    # ------------------------------------------------------------------- fits

    def _fit_at(
        self, space: PredictorSpace, point: Point, lambda_: float, theta: Floats | None = None
    ) -> Fit:
        self._separated.extend(self._models.flat(space, point))
        theta = point.theta if theta is None else theta
        before = self._models.plain(point)
        deviance = max(before.after(theta - point.theta).deviance, 0.0)
        if abs(deviance - before.deviance) > FORETOLD * deviance:
            b = space.to_coefficients @ theta[1:]
            deviance = self._models.derivatives(space.to_coefficients, float(theta[0]), b, 1)[0]
        return self._fit(space, float(theta[0]), theta[1:], deviance, lambda_)

    def unconstrained(self) -> Fit:
        """Return the model without a bound."""
        solved = self._models.at(np.inf)
        return self._fit_at(self.reach, solved.point, 0.0, solved.theta)

    def _within(self, limit: float) -> tuple[Fit, Status]:
        if limit == 0.0:
            price, status = self._price_at_zero(self._models.null.gradient[1:])
            return self._fit_at(self.reach, self._models.null, price), status
        solved = self._models.at(limit)
        price = self._price(solved.model.multipliers) if solved.is_active else 0.0
        fit = self._fit_at(self.reach, solved.point, price, solved.theta)
        if not solved.point.converged:
            return fit, "not-converged"
        return fit, "converged" if solved.is_active else "inactive"

    def _fair(self) -> tuple[Fit, Status]:
        space = self.spaces.fair
        point, theta = self._models.unlimited(space)
        intercept, b = float(theta[0]), space.to_coefficients @ theta[1:]
        _, gradient, _ = self._models.derivatives(self.reach.to_coefficients, intercept, b, 1)
        price, status = self._price_at_zero(gradient[1:])
        fit = self._fit_at(space, point, price, theta)
        return fit, status if point.converged else "not-converged"

    def separated_columns(self) -> list[str]:
        """Name the columns whose coefficients grow without bound in some model found so far."""
        names = self.engine.names[self.engine.n_sensitive :]
        sizes = [np.abs(direction) for direction in self._separated]
        separating = [k for k in range(len(names)) if any(b[k] > 0.5 * b.max() for b in sizes)]
        return [names[k] for k in separating]

    def warm_start(self) -> Floats:
        """Return what helps a problem on some of the rows to start."""
        return self._models.warm_start()

    def start_from(self, warm_start: Floats | None) -> None:
        """Start from the `warm_start` of a problem on other rows."""
        if warm_start is not None:
            self._models.start_from(warm_start)

    def fold_starts(self, solutions: Iterable[Solution]) -> tuple[FoldStart, ...]:
        """Return models that were found, to start others on most of the rows from."""
        return self._models.fold_starts({solution.achieved: solution.fit for solution in solutions})

    def start_near(self, starts: Iterable[FoldStart]) -> None:
        """Start from models of more rows, with the derivatives on these rows."""
        self._models.start_near(starts)

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        return self._models.null.deviance

    def dispersion(self, fit: Fit) -> float:
        """Return 1: the family fixes the dispersion."""
        return 1.0

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""
        return self.engine.loglik(self.family, fit.deviance, 1.0)


def zafar_glm_problem(
    engine: Engine, family: Family, *, bound: Bound, at_zero: AtZero, tol: float, max_iter: int
) -> ZafarGLMProblem:
    """Decompose S and X as for least squares; the response is read in the passes."""
    factor = factorize(engine, engine.moments())
    space = blind_space_of(engine, factor, standardize=True)
    spaces = PredictorSpaces(factor, engine.n_sensitive, bound, at_zero)
    models = LimitedModels(engine, space.basis, family, spaces.whole, max_iter)
    return ZafarGLMProblem(space, models, spaces, tol)
