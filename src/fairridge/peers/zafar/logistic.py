"""Logistic regression on X alone, with bounded covariances of S and η (Zafar et al. 2019).

Newton's method with the bounds in every step gives the model for any limit c on
covariances. For a bound on correlations every step has a limit of its own: the one at
which the quadratic model has the correlation. The correlation c/sd(η) need not be
monotone in λ = 1/c, so the last crossing counts, as for the fair ridge. Bounds are
linear, so that only the deviance is an approximation in such a step: where Newton's
method ends, the bound is met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairridge._typing import Floats
from fairridge.families import Family
from fairridge.models import Fit
from fairridge.models.spaces import BlindSpace
from fairridge.peers.zafar.bounded import BoundedDescent, Chosen, QuadraticModel
from fairridge.peers.zafar.least_squares import CovarianceBound, Limit, just_below
from fairridge.peers.zafar.predictor_space import PredictorSpace, PredictorSpaces
from fairridge.search.penalized_glm import ROUGH_PASSES, ROUGH_TOLERANCE, PenalizedGLM
from fairridge.search.problem import ModelSettings, Status
from fairridge.search.scan import scan
from fairridge.search.setup import penalized_glm
from fairridge.solvers import Point, minimize

# Part of a bound on correlations that the tolerance may take at most.
LARGEST_MARGIN = 1e-3


@dataclass(frozen=True)
class _Found:
    """The model at one limit on covariances."""

    glm: PenalizedGLM  # whose minimum it is: with the ridge of separated models, or without
    point: Point
    multipliers: Floats  # of the bounds, of shape (q,)


class ZafarGLMProblem(CovarianceBound):
    """A generalized linear model of X under the bound, met to a tolerance if on correlations."""

    def __init__(
        self, space: BlindSpace, spaces: PredictorSpaces, family: Family, settings: ModelSettings
    ) -> None:
        self.space = space
        self.family = family
        self.spaces = spaces
        self.settings = settings
        # What was found, by limits, and by bounds.
        self._found: dict[float, _Found] = {}
        self._near: dict[float, Point] = {}
        # The least bound under which classes were separated: under larger ones they are, too.
        self._separated_from = np.inf

    def _glm(self, space: PredictorSpace) -> PenalizedGLM:
        """Return the model without bounds, in orthonormal coordinates of fitted values."""
        directions = replace(
            self.space,
            explained=np.zeros(0),
            directions=space.to_coefficients,
            projection=space.projection[:, None],
        )
        return penalized_glm(directions, self.family, self.settings)

    @cached_property
    def _whole(self) -> PenalizedGLM:
        """The model in all predictors."""
        return self._glm(self.reach)

    @cached_property
    def _uncorrelated(self) -> PenalizedGLM:
        """The model in what r = 0 leaves."""
        return self._glm(self.spaces.fair)

    @cached_property
    def _normals(self) -> Floats:
        """What is bounded, as products with θ."""
        none = np.zeros(self.reach.normals.shape[1])
        unit = self._unit if self.spaces.bound == "covariance" else 1.0
        return np.vstack([none, unit * self.reach.normals])

    @property
    def _unit(self) -> float:
        """Length of fitted values per unit of θ, which is their standard deviation."""
        return float(np.sqrt(self.basis.weight))

    # ----------------------------------------------------------------- limits

    def _limits(self, bounds: Floats) -> list[Limit]:
        """Return limits at which the largest correlations are just below the bounds."""
        if self.spaces.bound == "covariance":
            return just_below(bounds)
        return [Limit(np.inf) if r >= 1.0 else self._searched(r) for r in bounds.tolist()]

    def _searched(self, r: float) -> Limit:
        """Find the largest limit up to which correlations stay below a bound, and its model."""
        margin = min(self.settings.tol, LARGEST_MARGIN * r)

        def chosen(model: QuadraticModel) -> Limit:
            return largest_limit(model, r - 0.5 * margin, margin)

        # Under small limits models are near the null model. If they exceed the bound there, only
        # the intercept meets it.
        first = chosen(self._descent(self._whole, chosen).model(self._whole.null))
        return first if first.value == 0.0 else self._minimized(chosen, r)

    def _descent(self, glm: PenalizedGLM, chosen: Chosen) -> BoundedDescent:
        """Return the deviance of some rows under a bound."""
        return BoundedDescent.of(glm.objective(0.0), normals=self._normals, chosen=chosen)

    def _minimized(self, chosen: Chosen, r: float) -> Limit:
        """Find the model at the limit that is chosen for a bound, and return the limit."""
        glm, step = self._whole.ridged if r >= self._separated_from else self._whole, None
        descent = self._descent(glm, chosen)
        for start in self._starts(chosen, r):
            point, step = minimize(descent, start, self.settings.max_iter)
            if point.converged or point.separated:
                break
            descent = replace(descent, nearby=None)
        assert step is not None
        if point.separated or glm.is_flat(point):
            self._separated_from = r
            return self._minimized(chosen, r)
        limit: Limit = step.lambda_
        self._found[limit.value] = _Found(glm, point, step.multipliers)
        if point.converged:
            self._near[r] = point
            if not step.multipliers.any():
                self._whole.remember(0.0, point, glm)
        return limit._replace(converged=point.converged)

    def _starts(self, chosen: Chosen, r: float) -> Iterator[Point]:
        """Yield points to start from: the nearest that is known, and the null model if it fails."""
        glm = self._whole
        if self._near:
            yield self._near[min(self._near, key=lambda x: abs(x - r) / (x + r))]
        else:
            start = glm.warm or (self._from_sample(chosen) if r < self._separated_from else None)
            if start is not None:
                yield start
        yield glm.null

    def _from_sample(self, chosen: Chosen) -> Point | None:
        """Start from the model of a sample; None without one."""

        def found(sample: PenalizedGLM) -> Point | None:
            descent = self._descent(sample, chosen)
            few, _ = minimize(descent, sample.start, ROUGH_PASSES, ROUGH_TOLERANCE)
            return self._whole.point_at(few.theta) if few.converged else None

        return self._whole.in_samples(found)

    # ------------------------------------------------------------------- fits

    def _fit_at(self, glm: PenalizedGLM, point: Point, lambda_: float) -> Fit:
        """Return the model at a point."""
        (intercept,), _, (beta,) = glm.coordinates.split(point.theta[None])
        fit = self._fit(float(intercept), beta, max(point.deviance, 0.0), lambda_)
        return replace(fit, separation=glm.separation_at(point))

    def unconstrained(self) -> Fit:
        """Return the model without a bound."""
        return self._fit_at(*self._whole.solved(0.0), 0.0)

    def _within(self, limit: float) -> tuple[Fit, Status]:
        glm = self._whole
        if limit == 0.0:
            price, status = self._price_at_zero(glm.null.gradient[1:] / self._unit)
            return self._fit_at(glm, glm.null, price), status
        if np.isinf(limit):
            return self.unconstrained(), self._status(glm.solved(0.0)[1], "inactive")
        if limit not in self._found:
            self._minimized(lambda _: Limit(limit), limit)
        found = self._found[limit]
        price, active = float(np.abs(found.multipliers).sum()), found.multipliers.any()
        fit = self._fit_at(found.glm, found.point, price)
        return fit, self._status(found.point, "converged" if active else "inactive")

    def _fair(self) -> tuple[Fit, Status]:
        whole, (glm, point) = self._whole, self._uncorrelated.solved(0.0)
        theta = whole.coordinates.theta(glm.coordinates.raw(point.theta))
        _, gradient, _ = whole.evaluated(theta, 1)[0]
        price, status = self._price_at_zero(gradient[1:] / self._unit)
        return self._fit_at(glm, point, price), self._status(point, status)

    def _status(self, point: Point, status: Status) -> Status:
        return status if point.converged else "not-converged"

    # ----------------------------------------------------------------- starts

    def warm_start(self) -> Floats:
        """Return intercept and raw coefficients without a bound, for problems on other rows."""
        center, intercepts, raw = self.unconstrained().place
        return np.column_stack([intercepts - raw @ center, raw])

    def start_from(self, warm_start: Floats | None) -> None:
        """Start from the `warm_start` of a problem on other rows."""
        if warm_start is not None:
            self._whole.start_from(warm_start)

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        return self._whole.null.deviance

    def dispersion(self, fit: Fit) -> float:
        """Return 1: the family fixes the dispersion."""
        return 1.0

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""
        return self.engine.loglik(self.family, fit.deviance, 1.0)


def largest_limit(model: QuadraticModel, ratio: float, tol: float) -> Limit:
    """Return the largest limit up to which the minima of a model stay below a ratio."""
    # A search over 1/c, which grows with fairness as λ does. It begins where c is a part of ‖θ‖
    # that is the ratio, if bounds did not change ‖θ‖.
    start = ratio * float(np.linalg.norm(model.minimum(np.inf)[0][1:]))
    if start == 0.0:
        return Limit(np.inf)

    def value(inverse: float) -> float:
        if np.isinf(inverse):
            return 0.0
        return model.ratio(1.0 / inverse if inverse > 0.0 else np.inf)

    profile = scan(value, 1.0 / start, np.inf, np.array([ratio]), fine=True)
    choice = profile.choose(ratio, tol)
    limit = 1.0 / choice.lambda_ if choice.lambda_ > 0.0 else np.inf
    return Limit(limit, choice.crossings)
