"""Generalized linear models: the search for λ(r) among minima at every λ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness import Definition, is_variance_share
from fairridge.families.sums import any_arrays
from fairridge.models import FairBasis, Fit, Isolation
from fairridge.models.spaces import plain_space
from fairridge.search.fold_starts import FoldStart, fold_starts, start_near
from fairridge.search.joint import JointSearch
from fairridge.search.penalized_glm import PenalizedGLM, separation_of
from fairridge.search.problem import (
    Choice,
    PenalizedProblem,
    Solution,
    choose_above_floor,
    separating_columns,
)
from fairridge.search.scan import HIGHEST, PenaltyProfile, sparse_profile
from fairridge.solvers import Point

# A value this near to a bound is wanted to all digits.
NEAR_BOUND = 1e-3
# Part of what a bound takes of the explained deviance that is nothing beside it.
NO_LOSS = 1e-6
# Numbers in [S, X] up to which a finer scan costs milliseconds.
FEW_NUMBERS = 20_000


class _NotConvergedError(Exception):
    """Newton's method found no minimum at a λ."""

    def __init__(self, lambda_: float) -> None:
        super().__init__(lambda_)
        self.lambda_ = lambda_


class GLMProblem(PenalizedProblem):
    """A generalized linear model on given rows, for every λ.

    Parameters
    ----------
    minima : PenalizedGLM
        The minima of its penalized deviance.
    definition : Definition
        What is bounded.
    isolation : Isolation, optional
        Rows that it is fitted without.
    """

    def __init__(
        self, minima: PenalizedGLM, definition: Definition, isolation: Isolation | None = None
    ) -> None:
        self.minima = minima
        self.space = minima.space
        self.family = minima.family
        self.settings = minima.settings
        self.definition = definition
        self.isolation = isolation
        self.explains = not minima.space.uses_sensitive
        self._fits: dict[float, Fit] = {}
        self._is_reference = False

    @property
    def _basis(self) -> FairBasis:
        """S and U as the space has them."""
        return self.space.basis

    # Features of other rows are others, so that no coefficient of theirs means anything here.

    def warm_start(self) -> Floats | None:
        """Return intercept and raw coefficients of the model at a typical λ."""
        return None if self.space.compressed else self.minima.warm_start()

    def start_from(self, warm_start: Floats | None) -> None:
        """Start from the `warm_start` of a problem on other rows instead of from the null model."""
        if warm_start is not None and not self.space.compressed:
            self.minima.start_from(warm_start)

    @property
    def starts_folds(self) -> bool:  # type: ignore[override]
        """Whether models of all rows can start those of folds."""
        return self.isolation is None and not self.space.compressed

    def fold_starts(self, solutions: Iterable[Solution]) -> tuple[FoldStart, ...]:
        """Return models that were found, to start others on most of the rows from."""
        return fold_starts(self.minima, solutions) if self.starts_folds else ()

    def start_near(self, starts: Iterable[FoldStart]) -> None:
        """Start from models of more rows, with the derivatives on these rows."""
        start_near(self.minima, starts)

    # ------------------------------------------------------------------- fits

    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ, in the space."""
        if lambda_ not in self._fits:
            self._fits[lambda_] = self._as_fit(lambda_, self.minima.point(lambda_))
        return self._fits[lambda_]

    def solved_at(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ, in the space."""
        return [self.fit(float(x)) for x in lambda_]

    def unconstrained(self) -> Fit:
        """Return the model at λ = 0, to which a definition relates others."""
        self._is_reference = True
        return self.fit(0.0)

    @property
    def references(self) -> list[Fit]:
        """The model that a definition has related others to, if it has."""
        return [self.fit(0.0)] if self._is_reference else []

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ, and those they were compared with, are a minimum."""
        compared = {lambda_, 0.0} if self._is_reference else {lambda_}
        return all(self.minima.point(x).converged for x in compared)

    def separating_columns(self, fits: Iterable[Fit]) -> dict[str, float]:
        """Return columns that separate the responses, each with its largest coefficient."""
        return separating_columns(self.space, fits)

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only, on all rows."""
        known = None if self.isolation is None else self.isolation.null_deviance(self.family)
        return self._of_all_rows.null_deviance if known is None else known

    @cached_property
    def _of_all_rows(self) -> PenalizedGLM:
        """The model of all rows, including isolated ones."""
        if self.isolation is None:
            return self.minima
        all_rows, settings = self.isolation.all_rows, self.settings
        space = plain_space(all_rows, standardize=True, n_targets=settings.n_targets)
        return PenalizedGLM(space, self.family, replace(settings, predictor_penalty=0.0))

    def dispersion(self, fit: Fit) -> float:
        """Return Pearson's χ²/(n − rank − 1); 1 if the family fixes the dispersion."""
        family = self.family  # all that may travel to rows elsewhere

        @any_arrays
        def pearson(y: Floats, eta: Floats, weight: Floats) -> Floats:
            value = family.pearson(y, eta, weight)
            return np.array([np.nan if value is None else value])

        if family.pearson(np.full((1, 1), 0.5), np.zeros((1, 1)), np.ones(1)) is None:
            return 1.0
        total = fit.sum_over_rows(pearson, sensitive=True, predictors=True, center=True)[0]
        return float(total) / max(self.basis.weight - self.space.rank - 1, 1.0)

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood of all rows."""
        all_rows = self.engine if self.isolation is None else self.isolation.all_rows
        return all_rows.loglik(self.family, fit.deviance, self.dispersion(fit))

    def _as_fit(self, lambda_: float, point: Point) -> Fit:
        coordinates = self.minima.coordinates
        theta = self.family.to_class_coefficients(coordinates.by_predictor(point.theta))
        level, alpha, beta = coordinates.split(theta)
        intercept: Any = level - alpha @ self._basis.center_sensitive
        if len(theta) == 1:
            alpha, beta, intercept = alpha[0], beta[0], float(intercept[0])
        return Fit(
            lambda_=lambda_,
            alpha=alpha,
            beta=beta,
            intercept=intercept,
            deviance=point.deviance,
            family=self.family,
            basis=self._basis,
            engine=self.engine,
            unconstrained=self.unconstrained,
            separation=separation_of(self.minima, point)
            or (self.minima.exchangeable if lambda_ == 0.0 else None),
        )

    # ----------------------------------------------------------------- search

    def choose(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for every bound, from the side on which it holds."""
        penalized = self._basis.sensitive.rank and self.minima.coordinates.of_sensitive.size
        if (bounds == 1.0).all() or not penalized or self.minima.ceiling == 0.0:
            return [Choice.UNCONSTRAINED for _ in bounds]
        floor = self._floor()
        free = self.value(definition, self.fit(0.0)) if floor > 0.0 else 1.0
        return choose_above_floor(
            bounds, floor, free, lambda above: self._choose_above(definition, above)
        )

    def _floor(self) -> float:
        """Return the unfairness that no finite λ goes below."""
        return self.minima.floor()

    def _choose_above(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for bounds that some finite λ, or α = 0, meets."""
        try:
            if not self._has_others and self._is_constant(definition):
                # S is all there is: its share is the same at every λ, and only α = 0 leaves none.
                share = self.value(definition, self.fit(self._small))
                last = Choice(self.minima.ceiling, "converged")
                return [Choice.UNCONSTRAINED if r == 1.0 or share <= r else last for r in bounds]
            chosen = self._jointly(definition, bounds)
            rest = np.array([r for r in bounds if r < 1.0 and r not in chosen])
            searched = self._searched(definition, rest) if rest.size else []
            chosen |= dict(zip(rest.tolist(), searched, strict=True))
            return [chosen.get(r, Choice.UNCONSTRAINED) for r in bounds.tolist()]
        except _NotConvergedError as failure:
            # No search can go on from coefficients that are not a minimum.
            failed = Choice(failure.lambda_, "not-converged")
            return [Choice.UNCONSTRAINED if r == 1.0 else failed for r in bounds]

    def _searched(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for bounds below 1, by looking at one λ after another."""
        if self._is_predictable(definition) and self.converged(0.0):
            # A joint search has failed, as where a model is separated. Bounds that the free one
            # meets with room to spare then cost that model only.
            clear = bounds > HIGHEST * self._exact(definition, 0.0)
            if clear.any():
                rest = iter(self._searched(definition, bounds[~clear]) if not clear.all() else ())
                return [Choice.UNCONSTRAINED if free else next(rest) for free in clear]
        values = self._profile(
            definition, bounds, lambda x: self._value_near(definition, x, bounds)
        )
        tol, max_iter = self.settings.tol, self.settings.max_iter
        chosen = [values.choose(float(r), tol, max_iter) for r in bounds]
        return self._checked(definition, bounds, chosen)

    def _jointly(self, definition: Definition, bounds: Floats) -> dict[float, Choice]:
        """Choose λ(r) and find the coefficients in the same passes, if that is possible."""
        minima, family = self.minima, self.family
        if not self._is_predictable(definition) or minima.has_separated_levels:
            return {}
        by_variance = is_variance_share(definition, family)

        def fit_at(lambda_: float, point: Point, others: tuple[float, ...]) -> Fit:
            fit = self._as_fit(lambda_, point)
            return fit.with_deviances(*others) if others else fit

        def keep(lambda_: float, point: Point, others: tuple[float, ...]) -> bool:
            if minima.remember(lambda_, point):
                self._fits[lambda_] = fit_at(lambda_, minima.point(lambda_), others)
            return lambda_ in self._fits

        search = JointSearch(
            minima,
            lambda *model: self.value(definition, fit_at(*model)),
            with_deviances=not by_variance,
        )
        return search.choices(bounds, self.settings.tol, keep)

    def _is_predictable(self, definition: Definition) -> bool:
        """Whether one pass predicts a definition at every λ."""
        deviances = definition.needs_only_deviances(self.family) and self.family.separable
        # Absolute values have kinks, and controls stay in a model without S and U.
        plain = not self.minima.has_ceiling and not self.space.controls
        return deviances and plain and self._has_others and not self._scan(definition)

    @property
    def _has_others(self) -> bool:
        """Whether there are coordinates that λ does not penalize."""
        return self.minima.coordinates.predictors.shape[1] > 0

    def _profile(
        self, definition: Definition, bounds: Floats, value: Callable[[float], float]
    ) -> PenaltyProfile:
        return sparse_profile(
            value,
            self._guess(definition, bounds),
            self.minima.typical,
            self.minima.ceiling,
            bounds,
            peek=lambda x: self._predicted(definition, x),
            is_void=self._is_void,
            smallest=self.minima.smallest_typical,
            **self._scan(definition),
        )

    def _is_void(self, lambda_: float, r: float) -> bool:
        """Whether coefficients at infinity make up for a λ, so that a bound takes nothing.

        Levels without events bring S back into all other rows. Then the deviance is the same at
        every λ, and a search for the last of them that meets the bound would find rounding.
        """
        here, free = self.minima.visited(lambda_), self.minima.visited(0.0)
        if here is None or here.separated is None or free is None:
            return False
        explained = abs(self.minima.start.deviance - free.deviance)
        return here.deviance - free.deviance <= NO_LOSS * r * explained

    def _checked(
        self, definition: Definition, bounds: Floats, chosen: list[Choice]
    ) -> list[Choice]:
        """Search again with all digits for bounds that are not met with equality.

        A definition may jump there, but a value of a few digits may also have been on the wrong
        side of a bound.
        """

        def exact(x: float) -> float:
            return self._exact(definition, x)

        tol, max_iter = self.settings.tol, self.settings.max_iter
        missed = [
            choice.status == "converged" and 0.0 < r < 1.0 and abs(exact(choice.lambda_) - r) > tol
            for r, choice in zip(bounds, chosen, strict=True)
        ]
        if not any(missed):
            return chosen
        values = self._profile(definition, bounds, exact)
        return [
            values.choose(float(r), tol, max_iter) if again else choice
            for r, choice, again in zip(bounds, chosen, missed, strict=True)
        ]

    def _is_constant(self, definition: Definition) -> bool:
        """Whether a definition has the same value at λ that differ much."""
        two = [self.value(definition, self.fit(x * self._small)) for x in (1.0, 0.01)]
        return abs(two[0] - two[1]) <= 1e-9 * abs(two[0])

    @property
    def _small(self) -> float:
        """A λ at which α is not zero."""
        return 0.1 * min(self.minima.typical, self.minima.ceiling)

    def _value_near(self, definition: Definition, lambda_: float, bounds: Floats) -> float:
        """Return a definition's value, to all digits only if a bound is near."""
        rough = self.minima.rough_point(lambda_)
        if rough is not None:
            value = self.value(definition, self._as_fit(lambda_, rough))
            near = NEAR_BOUND * max(abs(value), NEAR_BOUND)
            margin = near + self.minima.possible_error(lambda_, rough)
            if rough.converged and np.abs(value - bounds).min() > margin:
                return value
        return self._exact(definition, lambda_)

    def _exact(self, definition: Definition, lambda_: float) -> float:
        """Return a definition's value to all digits."""
        if not self.converged(lambda_):
            raise _NotConvergedError(lambda_)
        return self.value(definition, self.fit(lambda_))

    def _scan(self, definition: Definition) -> dict[str, Any]:
        """Scan λ finely if passes cost little, or if nothing is known of a definition."""
        unknown = definition.arbitrary
        if unknown or self._is_small:
            return {"step": 2.0, "floor": 1e-3, "reach": 30.0 if unknown else 0.0}
        return {}

    @property
    def _is_small(self) -> bool:
        """Whether passes over the rows cost little."""
        return self.engine.n_rows * len(self.engine.names) <= FEW_NUMBERS

    def _predicted(self, definition: Definition, lambda_: float) -> float:
        """Return the value after one Newton step off λ = 0: no pass but those of the definition."""
        point, objective = self.minima.point(0.0), self.minima.objective(lambda_)
        if not objective.allows_separation(point):
            return 0.0  # coefficients at infinity are bad starts
        step, _ = objective.step(point)
        change = float(point.gradient @ step + 0.5 * step @ point.hessian @ step)
        moved = replace(point, theta=point.theta + step, deviance=point.deviance + change)
        return self.value(definition, self._as_fit(lambda_, moved))

    def _guess(self, definition: Definition, bounds: Floats) -> float:
        """Guess λ for a single bound from one Newton step off the null model.

        That step is cheap for any λ; only its value is an approximation.
        """
        positive, typical = bounds[(bounds > 0.0) & (bounds < 1.0)], self.minima.typical
        if len(positive) != 1 or self.minima.has_ceiling:
            return typical
        grid, r = typical * np.logspace(3.0, -2.0, 8), float(positive[0])
        values = [self._modeled(definition, float(x)) for x in grid]
        above = [k for k, value in enumerate(values) if value > r]
        if not above or above[0] == 0 or values[above[0] - 1] <= 0.0:
            return typical
        k = above[0]
        share = np.log(values[k] / r) / np.log(values[k] / values[k - 1])
        return float(grid[k] * (grid[k - 1] / grid[k]) ** share)

    def _modeled(self, definition: Definition, lambda_: float) -> float:
        """Return the value after one Newton step, the deviance taken as quadratic."""
        start = self.minima.start
        step, _ = self.minima.objective(lambda_).step(start)
        if is_variance_share(definition, self.family):
            moved = replace(start, theta=start.theta + step)
            return self.value(definition, self._as_fit(lambda_, moved))
        without = step.copy()
        without[self.minima.coordinates.of_sensitive] = 0.0
        full, reduced = (
            float(start.gradient @ d + 0.5 * d @ start.hessian @ d) for d in (step, without)
        )
        return (full - reduced) / full if full < 0.0 else 0.0
