"""The gaussian model: every λ in closed form, every bound from one decomposition.

λ(r) comes from a secular equation, for every bound at once.

If unfairness is VAR(Sα)/(VAR(Sα) + rest) and `rest` is constant, meeting
the bound r means ‖Sα(λ)‖ = √(r/(1−r)·rest) =: t. For ridge-like penalties
φ(λ) = 1/‖Sα(λ)‖ is increasing, concave and nearly linear, so Newton's method
on φ(λ) = 1/t climbs from λ = 0 to the root. Ratios of lengths are all that it
needs, which are numbers for any r > 0.

In models of X alone the denominator shrinks with the numerator. Their ratio
still decreases, but its inverse need not be concave: Newton's method may pass
the root, so that it is kept within a bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import scipy.linalg

from fairridge._typing import Booleans, Floats
from fairridge.engines import triangular_factor
from fairridge.fairness import Definition, is_variance_share
from fairridge.families import Gaussian
from fairridge.models import Fit
from fairridge.models.spaces import BlindSpace, Space
from fairridge.penalties import Penalty
from fairridge.search.problem import (
    Choice,
    LeastSquares,
    ModelSettings,
    PenalizedProblem,
    choose_above_floor,
)
from fairridge.search.scan import dense_profile
from fairridge.solvers.spectrum import EPS

Length = Callable[[Floats], tuple[Floats, Floats]]
Unconstrained = Callable[[], Fit]


@dataclass(frozen=True)
class RidgeOnSensitive:
    """min ‖y − Sα − Uβ‖² + λ·penalty(α) + λ₂‖β‖²."""

    # S ⟂ U, so β = (UᵀU + λ₂I)⁻¹Uᵀy does not depend on λ, and α(λ) not on β.

    space: Space  # S and U
    penalty: Penalty  # the penalty on α
    predictor_penalty: float  # λ₂
    beta: Floats  # coefficients of U, original scale, of shape (p,)

    floor = 0.0

    @classmethod
    def of(cls, space: Space, settings: ModelSettings) -> RidgeOnSensitive:
        """Set the model up in a space."""
        spectrum, lambda_2 = space.basis.predictors, settings.predictor_penalty
        beta = spectrum.original(spectrum.ridge(space.basis.on_predictors[:, 0], lambda_2))
        ridge = cls(space, settings.penalty, lambda_2, space.least_squares_beta(beta))
        if space.basis.is_ill_conditioned and not space.controls:
            return replace(ridge, beta=beta + ridge._correction())
        return ridge

    def _correction(self) -> Floats:
        """One step of iterative refinement of β, with residuals from the rows."""
        # Uᵀ(y − Sα − Uβ) − λ₂β is zero at the solution; its value here is rounding, and solving
        # once more with it as right-hand side removes that.
        basis = self.space.basis
        alpha = self._alpha(np.zeros(1))[0]
        raw = basis.raw_coefficients(alpha, self.beta)
        mean = float(basis.center_targets[0])
        gradient = self.space.engine.residual_products(raw, basis.center, mean)
        q, spectrum = len(alpha), basis.predictors
        on_U = (gradient[q:] - basis.B.T @ gradient[:q]) / spectrum.scale
        on_U -= self.predictor_penalty * self.beta * spectrum.scale
        rotated = spectrum.vectors.T @ on_U / (spectrum.eigenvalues + self.predictor_penalty)
        return spectrum.original(spectrum.vectors @ rotated)

    @cached_property
    def _projection(self) -> Floats:
        return self.space.basis.on_sensitive[:, 0]

    def _alpha(self, lambda_: Floats) -> Floats:
        """Return α(λ) on the original scale, one row per λ."""
        spectrum = self.space.basis.sensitive
        standardized = np.zeros((len(lambda_), len(spectrum.scale)))
        finite = np.isfinite(lambda_)  # without a finite λ, α = 0 whatever the penalty is
        if finite.any():
            standardized[finite] = self.penalty.coefficients(
                spectrum, self._projection, lambda_[finite]
            )
        return spectrum.original(standardized)

    def fits(self, lambda_: Floats, unconstrained: Unconstrained) -> list[Fit]:
        """Return the models at several λ."""
        basis, alphas = self.space.basis, self._alpha(lambda_)
        # What α and β leave of y, each in the singular basis of its columns.
        left = ((self._projection - basis.sensitive.rotate(alphas)) ** 2).sum(axis=1)
        eigenvalues = basis.predictors.eigenvalues
        kept = eigenvalues / (eigenvalues + self.predictor_penalty)
        missed = (1.0 - kept) * basis.on_predictors[:, 0]
        deviances = left + float(missed @ missed + basis.residual[0, 0])
        intercepts = basis.center_targets[0] - alphas @ basis.center_sensitive
        fits = [
            Fit(
                lambda_=float(lambda_[k]),
                alpha=alphas[k],
                beta=self.beta,
                intercept=float(intercepts[k]),
                deviance=float(deviances[k]),
                family=GaussianProblem.family,
                basis=basis,
                engine=self.space.engine,
                unconstrained=unconstrained,
            )
            for k in range(len(lambda_))
        ]
        # Of all at once, in a fraction of the time.
        other = float(np.sum(basis.predictor_variance(self.beta)))
        for fit, own in zip(fits, basis.sensitive_variance(alphas).tolist(), strict=True):
            fit.remember(sensitive_variance=own, predictor_variance=other)
        return fits

    @property
    def ceiling(self) -> float:
        """The smallest λ with α = 0; 0 without S."""
        spectrum = self.space.basis.sensitive
        return self.penalty.ceiling(spectrum, self._projection) if spectrum.rank else 0.0

    @property
    def rates(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue of SᵀS."""
        eigenvalues = self.space.basis.sensitive.eigenvalues
        return float(eigenvalues[-1]), float(eigenvalues[0])

    def secular(
        self, definition: Definition, bounds: Floats, free: Fit, max_iter: int
    ) -> list[Choice] | None:
        """Solve ‖Sα(λ)‖² = r/(1 − r)·other, where other does not depend on λ."""
        basis, projection = self.space.basis, self._projection
        if not is_variance_share(definition, free.family):
            return None
        # Only a `SecularPenalty` has it; to ask for the protocol takes a fiftieth of a small fit.
        length = getattr(self.penalty, "length", None)
        if length is None:
            return None
        other = definition.other_variance(free) * basis.weight
        active = bounds < 1.0
        odds = bounds / np.where(active, 1.0 - bounds, 1.0)
        # A root of each factor: their product may be too small a number.
        limits = np.where(active, np.sqrt(odds) * np.sqrt(other), np.inf)
        return secular_choices(partial(length, basis.sensitive, projection), limits, max_iter)


@dataclass(frozen=True)
class RidgeOnExplained:
    """min ‖y − Xb‖² + λ‖P_S Xb‖² + λ₂‖b‖², where P_S projects on the centered columns of S."""

    # In the canonical directions, and without λ₂, cⱼ = zⱼ/(1 + λκⱼ) with z the projection of y:
    # directions that S does not explain do not move, and R² of η on S is Σκⱼcⱼ²/Σcⱼ², which
    # decreases in λ. With λ₂ the same holds in directions that are orthogonal for ‖Xb‖² + λ₂‖b‖².

    space: Space  # of X alone, or of what controls leave of X beside the controls
    predictor_penalty: float  # λ₂

    @property
    def directions(self) -> BlindSpace:
        """The directions of X, or of what controls leave of it."""
        directions: BlindSpace = self.space.within
        return directions

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return rest, moving, z and κ with c(λ) = rest + moving·(z/(1 + λκ))."""
        space, z = self.directions, self.directions.projection[:, 0]
        m = len(space.explained)
        if self.predictor_penalty == 0.0:
            rest = np.append(np.zeros(m), z[m:])
            return rest, np.eye(len(z))[:, :m], z[:m], space.explained
        axes = space.axes
        # Not of squares: those of a strong penalty would take the digits of all the rest.
        strong = np.sqrt(self.predictor_penalty) * space.scaled @ axes
        root = triangular_factor(np.vstack([axes, strong])).T
        z = scipy.linalg.solve_triangular(root, axes.T @ z, lower=True)
        explained = axes[:m].T * np.sqrt(space.explained)
        half = scipy.linalg.solve_triangular(root, explained, lower=True)
        W, sizes, _ = np.linalg.svd(half, full_matrices=False)
        moving = axes @ scipy.linalg.solve_triangular(root.T, W)
        rest = axes @ scipy.linalg.solve_triangular(root.T, z - W @ (W.T @ z))
        return rest * space.has_fair_directions, moving, W.T @ z, sizes**2

    def fits(self, lambda_: Floats, unconstrained: Unconstrained) -> list[Fit]:
        """Return the models at several λ."""
        rest, moving, z, kappa = self._parts
        fits = [
            self.directions.least_squares_at(
                rest + moving @ (z / (1.0 + x * kappa)), x, GaussianProblem.family, unconstrained
            )
            for x in lambda_.tolist()
        ]
        # Controls are orthogonal to the directions, and their coefficients do not move.
        complete, basis = self.space.least_squares_beta, self.space.basis
        return [replace(fit, beta=complete(fit.beta), basis=basis) for fit in fits]

    @property
    def floor(self) -> float:
        """The share of S that no finite λ goes below."""
        directions = self.directions
        gradient = directions.axes.T @ directions.projection
        return directions.floor(gradient[: len(directions.explained)].T)

    @property
    def ceiling(self) -> float:
        """∞, or 0 if S explains nothing of what X explains."""
        return np.inf if self._parts[2].any() else 0.0

    @property
    def rates(self) -> tuple[float, float]:
        """The smallest and the largest 1/κ."""
        rates = 1.0 / self._parts[3]
        return float(rates.min()), float(rates.max())

    def secular(
        self, definition: Definition, bounds: Floats, free: Fit, max_iter: int
    ) -> list[Choice] | None:
        """Solve √R² = √r, if R² of η on S decreases in λ: without λ₂."""
        if self.predictor_penalty > 0.0:
            return None
        targets = np.where(bounds < 1.0, np.sqrt(bounds), np.inf)
        return secular_choices(self._root_of_share, targets, max_iter)

    def _root_of_share(self, lambda_: Floats) -> tuple[Floats, Floats]:
        """Return √R² of η on S at several λ, and the derivative of its logarithm."""
        rest, _, z, kappa = self._parts
        kappa = np.append(kappa, 0.0)  # all that S does not explain is one term
        shrinkage = 1.0 / (1.0 + lambda_[:, None] * kappa)
        parts = shrinkage * np.append(z, np.linalg.norm(rest))
        largest = np.abs(parts).max(axis=1, keepdims=True)
        squares = (parts / np.where(largest > 0.0, largest, 1.0)) ** 2
        total = squares.sum(axis=1)
        share = squares @ kappa / np.where(total > 0.0, total, 1.0)
        covariance = (squares * (kappa - share[:, None]) * kappa * shrinkage).sum(axis=1)
        divisor = total * share
        return np.sqrt(share), -covariance / np.where(divisor > 0.0, divisor, 1.0)


GaussianRidge = RidgeOnSensitive | RidgeOnExplained


def secular_choices(length: Length, targets: Floats, max_iter: int) -> list[Choice]:
    """Choose λ(r) by secular equations; see `secular_roots`."""
    roots, converged = secular_roots(length, targets, max_iter)
    return [
        Choice(root, "converged" if done else "not-converged")
        if root > 0.0
        else Choice.UNCONSTRAINED
        for root, done in zip(roots.tolist(), converged.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class GaussianProblem(LeastSquares, PenalizedProblem):
    """Least squares under a ridge in some space, for every λ."""

    space: Space  # the columns
    definition: Definition  # what is bounded
    settings: ModelSettings  # penalties and limits
    ridge: GaussianRidge  # the models at every λ

    family = Gaussian()

    @property
    def explains(self) -> bool:  # type: ignore[override]
        """Whether λ penalizes what S explains of predictions, instead of α."""
        return not self.space.uses_sensitive

    def solved_at(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ, in the space."""
        return self.ridge.fits(np.asarray(lambda_, dtype=np.float64), lambda: self._free)

    @cached_property
    def _free(self) -> Fit:
        return self.solved_at(np.zeros(1))[0]

    @property
    def has_leave_one_out(self) -> bool:  # type: ignore[override]
        """Whether the errors of rows left out have a closed form."""
        space = self.space
        plain = space.uses_sensitive and not space.controls
        return plain and self.settings.penalty.l1 == 0.0

    def with_predictor_penalty(self, predictor_penalty: float) -> GaussianProblem:
        """Return the same model with another λ₂."""
        settings = replace(self.settings, predictor_penalty=predictor_penalty)
        ridge = RidgeOnSensitive.of(self.space, settings)
        return replace(self, settings=settings, ridge=ridge)

    def choose(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for every bound, from a secular equation if there is one."""
        if definition.maximum_of:
            parts = [self.choose(part, bounds) for part in definition.maximum_of]
            return [_strictest(options) for options in zip(*parts, strict=True)]

        def search(above: Floats) -> list[Choice]:
            most = self.settings.max_iter
            chosen = self.ridge.secular(definition, above, self._free, most)
            return self._scanned(definition, above) if chosen is None else chosen

        floor = self.ridge.floor
        free = self.value(definition, self._free) if floor > 0.0 else 1.0
        return choose_above_floor(bounds, floor, free, search)

    def _scanned(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) among the values of the definition at many λ."""
        ceiling, settings = self.ridge.ceiling, self.settings
        if ceiling == 0.0 or (bounds == 1.0).all():
            return [Choice.UNCONSTRAINED for _ in bounds]
        values = dense_profile(
            lambda x: self.value(definition, self.solved_at(np.array([x]))[0]),
            *self.ridge.rates,
            ceiling,
        )
        return [
            Choice.UNCONSTRAINED
            if r == 1.0
            else values.choose(float(r), settings.tol, settings.max_iter)
            for r in bounds
        ]


def _strictest(options: Sequence[Choice]) -> Choice:
    """λ that meets every bound: the largest, with the worst status."""
    order = ("inactive", "converged", "not-converged", "infeasible")
    worst = max(options, key=lambda choice: order.index(choice.status))
    return Choice(
        max(choice.lambda_ for choice in options),
        worst.status,
        max(choice.crossings for choice in options),
    )


def secular_roots(length: Length, targets: Floats, max_iter: int = 100) -> tuple[Floats, Booleans]:
    """Solve ‖Sα(λ)‖ = t for every target t."""
    # `length` maps several λ to ‖Sα(λ)‖ and the derivative of its logarithm. A target of 0 gives λ
    # = ∞, and one that λ = 0 meets gives 0.
    targets = np.asarray(targets, dtype=np.float64)
    at_zero = length(np.zeros(1))[0][0]
    roots = np.where(targets > 0.0, 0.0, np.inf)
    if at_zero == 0.0:
        return np.zeros_like(targets), np.ones(len(targets), dtype=bool)
    converged = (targets >= at_zero) | (targets == 0.0)
    roots[targets >= at_zero] = 0.0
    active = np.flatnonzero(~converged)
    goals, here, done = targets[active], np.zeros(len(active)), np.zeros(len(active), dtype=bool)
    low, high = here, np.full_like(here, np.inf)
    for _ in range(max_iter):
        if done.all():
            break
        size, slope = length(here)
        excess = size / goals - 1.0
        # φ′ = −slope·φ.
        step = excess / -slope
        low = np.where(excess > 0.0, here, low)
        high = np.where(excess > 0.0, high, here)
        is_last = (np.abs(excess) <= 4.0 * EPS) | (np.abs(step) <= 2.0 * EPS * here)
        here = np.where(done, here, _inside(here + step, low, high))
        done |= is_last
    roots[active], converged[active] = here, done
    return roots, converged


def _inside(proposed: Floats, low: Floats, high: Floats) -> Floats:
    """Return proposed roots if they lie in their brackets, else one from inside these."""
    inside = (proposed >= low) & (proposed <= high)
    if inside.all():
        return proposed
    return np.where(inside, proposed, np.where(np.isinf(high), 10.0 * low, 0.5 * (low + high)))
