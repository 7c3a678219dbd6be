"""Models of X alone with bounded covariances of S and η (Zafar et al. 2019).

    min D(b)  subject to  |COV(Sⱼ, Xb)| ≤ c for every j,

with D the deviance. For least squares this is the projection of y on slabs, a
lasso with as many coefficients as there are sensitive columns; `logistic` has
the logistic model. Each Sⱼ is bounded on its own.

The correlation form finds the c at which max_j |COR(Sⱼ, η)| = r, S
standardized. It need not be the model with the least deviance among all with
that correlation: that problem is not convex, and some of its solutions blow η
up in directions unrelated to y, only to make the correlation small.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness import MaximalCorrelation, MaximalCovariance
from fairridge.models import Fit
from fairridge.models.spaces import BlindSpace
from fairridge.peers.zafar.predictor_space import Bound, PredictorSpace, PredictorSpaces
from fairridge.peers.zafar.slabs import IN_SPAN, limit_at_ratio, project_on_slabs
from fairridge.search.problem import Choice, LeastSquares, Problem, Solution, Status

# Relative rounding error of an association: limits stay that far below their bounds, and less
# than it counts as zero.
ASSOCIATION_TOLERANCE = 1e-13


def definition_of(bound: Bound) -> MaximalCorrelation | MaximalCovariance:
    """Return what is bounded."""
    return MaximalCorrelation() if bound == "correlation" else MaximalCovariance()


class Limit(NamedTuple):
    """A limit on covariances; how often the bound is met as it grows; and whether it was found."""

    value: float
    crossings: int = 1
    converged: bool = True


def just_below(bounds: Floats) -> list[Limit]:
    """Return limits that keep covariances below bounds, though they are rounded."""
    return [Limit(r) for r in ((1.0 - ASSOCIATION_TOLERANCE) * bounds).tolist()]


class CovarianceBound(Problem):
    """A model of X alone whose association with S is bounded, for every bound."""

    # `spaces` has what X can reach, and what is bounded.

    space: BlindSpace
    spaces: PredictorSpaces

    @property
    def reach(self) -> PredictorSpace:
        """What X can reach."""
        return self.spaces.whole

    @abstractmethod
    def unconstrained(self) -> Fit:
        """Return the model without a bound."""

    @abstractmethod
    def _limits(self, bounds: Floats) -> list[Limit]:
        """Find limits on covariances that keep the model within each bound in (0, ∞)."""

    @abstractmethod
    def _within(self, limit: float) -> tuple[Fit, Status]:
        """Return the model at one limit, 0 and ∞ included."""

    @abstractmethod
    def _fair(self) -> tuple[Fit, Status]:
        """Return the model for r = 0."""

    def solve(self, bounds: Floats) -> list[Solution]:
        """Find the model for every bound; none is exceeded, not even by rounding."""
        # Smaller associations than this are rounding.
        nothing = ASSOCIATION_TOLERANCE * (
            1.0 if self.spaces.bound == "correlation" else self._largest
        )
        positive = bounds[bounds > nothing]
        limits = dict(zip(positive.tolist(), self._limits(positive), strict=True))
        return [
            self._solution(r, limits[r]) if r > nothing else self._fair_solution(r)
            for r in bounds.tolist()
        ]

    @property
    def _largest(self) -> float:
        """The largest covariance that fitted values as long as the response can have."""
        length = np.linalg.norm(self.reach.normals, axis=0).max(initial=0.0)
        return float(length * np.sqrt(self.basis.target_scatter[0, 0]))

    def _fair_solution(self, r: float) -> Solution:
        fit, status = self._fair()
        return Solution(r, fit, *self._measured(fit), Choice(fit.lambda_, status))

    def _measured(self, fit: Fit) -> tuple[float, dict[str, float]]:
        """Return the largest association with S, and that of every column."""
        definition = definition_of(self.spaces.bound)
        sizes = definition.associations(*self.spaces.sums(fit.beta), self.basis.weight)
        return float(sizes.max(initial=0.0)), definition.by_name(sizes, self.engine)

    def _solution(self, r: float, limit: Limit) -> Solution:
        aim = r
        while True:
            fit, status = self._within(limit.value)
            achieved, components = self._measured(fit)
            converged = limit.converged and status != "not-converged"
            if achieved <= r or limit.value == 0.0 or not converged:
                break
            aim -= 2.0 * (achieved - r)
            if aim <= 0.0:
                return self._fair_solution(r)
            limit = self._limits(np.array([aim]))[0]
        if not converged:
            status = "not-converged"
        choice = Choice(fit.lambda_, status, 0 if status == "inactive" else limit.crossings)
        return Solution(r, fit, achieved, components, choice)

    def _fit(self, mean_intercept: float, beta: Floats, deviance: float, lambda_: float) -> Fit:
        """Return the model η = intercept + Xb."""
        basis = self.basis
        alpha = beta @ basis.B.T  # so that the coefficients of S itself are zero
        return Fit(
            lambda_=lambda_,
            alpha=alpha,
            beta=beta,
            intercept=mean_intercept - float(alpha @ basis.center_sensitive),
            deviance=deviance,
            family=self.family,
            basis=basis,
            engine=self.engine,
            unconstrained=self.unconstrained,
        )

    def _price(self, multipliers: Floats) -> float:
        """How much the deviance falls per unit of the bound on covariances."""
        # For correlations, of covariances with S of variance one (divisor n).
        unit = np.sqrt(self.basis.weight) if self.spaces.bound == "correlation" else 1.0
        return float(unit * np.abs(multipliers).sum())

    def _price_at_zero(self, gradient: Floats) -> tuple[float, Status]:
        """Return the same at c = 0, where −∂D/∂w = normals·ν; ∞ if predictors were dropped."""
        if self.spaces.fair.dimension == self.reach.dimension:
            return 0.0, "inactive"
        if self.spaces.at_zero == "drop":
            return np.inf, "converged"
        multipliers, *_ = np.linalg.lstsq(self.reach.normals, -gradient, rcond=IN_SPAN)
        return self._price(multipliers.astype(np.float64)), "converged"


@dataclass(frozen=True)
class ZafarProblem(LeastSquares, CovarianceBound):
    """Least squares under the bound."""

    space: BlindSpace
    spaces: PredictorSpaces

    def unconstrained(self) -> Fit:
        """Return least squares on X."""
        return self._projected(self.reach, self.reach.projection, 0.0)

    def _limits(self, bounds: Floats) -> list[Limit]:
        if self.spaces.bound == "covariance":
            return just_below(bounds)
        normals, target = self.reach.normals, self.reach.projection
        return [
            Limit(np.inf if r >= 1.0 else limit_at_ratio(normals, target, r))
            for r in bounds.tolist()
        ]

    def _within(self, limit: float) -> tuple[Fit, Status]:
        space = self.reach
        if limit == 0.0:
            price, status = self._price_at_zero(-2.0 * space.projection)
            return self._projected(space, np.zeros(space.dimension), price), status
        w, multipliers = project_on_slabs(space.normals, space.projection, limit)
        if not multipliers.any():
            return self.unconstrained(), "inactive"
        return self._projected(space, w, self._price(2.0 * multipliers)), "converged"

    def _fair(self) -> tuple[Fit, Status]:
        price, status = self._price_at_zero(-2.0 * self.reach.projection)
        space = self.spaces.fair
        return self._projected(space, space.projection, price), status

    def _projected(self, space: PredictorSpace, w: Floats, lambda_: float) -> Fit:
        missed = space.projection - w
        deviance = float(missed @ missed) + space.residual
        beta = space.to_coefficients @ w
        return self._fit(float(self.basis.center_targets[0]), beta, deviance, lambda_)
