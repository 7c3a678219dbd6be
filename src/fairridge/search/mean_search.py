"""Bounds on what S explains of predicted means, for the driver.

With W the weight of all rows, a(θ) is √W times what S explains of the means (see
`MeanForm`), so that λ‖a‖² is the ridge on it, and c(θ) what totals of the means exceed
those of the response by. Both are linear in sums over the rows: one pass at any θ.

What λ penalizes, a(θ), bends, and so do the totals c(θ) that are held at zero: their second
derivatives, times the multipliers of the last step, are part of the Hessian, which makes
this Newton's method for all equations in θ, multipliers and λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Floats, Integers
from fairridge.engines import MeanSums
from fairridge.fairness.means import MeanForm, mean_form
from fairridge.search.driver import STIFF, BoundDescent, BoundSearch, Found, Predicted
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.solvers import Point, minimize
from fairridge.solvers.newton import CONVERGENCE_TOLERANCE, LocalModel, Step, local_model
from fairridge.solvers.spectrum import CURVATURE_TOLERANCE

# Excess of a total over that of the response, relative to it, that is rounding.
BALANCE_TOLERANCE = 1e-11
# Part of the deviation of the means below which no step is trusted to bring it.
LEAST_DEVIATION = 0.5


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of what S explains, and of totals."""

    of_explained: Floats  # π
    of_totals: Floats  # ν


@dataclass(frozen=True)
class MeansAt:
    """Means at one θ."""

    explained: Floats  # a, of all forms, of shape (s,)
    jacobian: Floats  # its derivative, of shape (s, N)
    excess: Floats  # c, of shape (t,)
    of_excess: Floats  # its derivative, of shape (t, N)
    variance: float  # W times the variance of the means
    slope: Floats  # its derivative, of shape (N,)
    multipliers: Multipliers  # whose second derivatives are in the Hessian

    def variance_after(self, change: Floats) -> Floats:
        """Return the variance after a change to first order, of a deviation that is linear."""
        deviation = np.maximum(1.0 + 0.5 * change / self.variance, LEAST_DEVIATION)
        return self.variance * deviation**2


@dataclass(frozen=True)
class BoundedMeans:
    """Which means are bounded, in which forms, and what their totals must be."""

    glm: PenalizedGLM
    means: Any  # which means are looked at (PredictedMeans)
    forms: Sequence[MeanForm]  # what the columns of S, or some of them, explain of the means
    totals: Floats  # maps Σ w μ[1, s] of all means to totals, of shape (t, K·(1+q))
    target: Floats  # what these are to be, of shape (t,)
    size: float  # weight of all rows times the size of the means, to compare an excess with
    shape: tuple[int, int]  # of Σ w μ[1, s], (K, 1+q)

    def of(self, groups: Sequence[Integers], gram: MeanSums) -> BoundedMeans:
        """Return the same with one form for each of some groups of columns of S."""
        basis, count = self.glm.basis, self.means.n_bounded
        return replace(self, forms=[mean_form(gram, basis, count, group) for group in groups])

    @cached_property
    def rows_of(self) -> list[slice]:
        """Which of a belong to each form."""
        ends = np.cumsum([0, *(len(form.map) for form in self.forms)])
        return [slice(a, b) for a, b in pairwise(ends.tolist())]

    @cached_property
    def maps(self) -> tuple[Floats, Floats]:
        """Maps from sums to a, and to c without its target."""
        root = np.sqrt(self.glm.basis.weight)
        return root * np.vstack([form.map for form in self.forms]), self.totals / root

    def is_balanced_at(self, means: MeansAt, tolerance: float = BALANCE_TOLERANCE) -> bool:
        """Whether means have the totals of the response."""
        excess = np.sqrt(self.glm.basis.weight) * np.abs(means.excess).max(initial=0.0)
        return bool(excess <= tolerance * self.size)

    def at(self, theta: Floats, multipliers: Multipliers, like: Point | None = None) -> Point:
        """Return deviance and means at θ, with the second derivatives of given multipliers."""
        # With `like`, a point next to θ, derivatives of the means and the Hessian are those of that
        # one, and the gradient is such that g + Jᵀπ + Gᵀν is right: a pass for half the time.
        glm, (explained, totals) = self.glm, self.maps
        combined = multipliers.of_explained @ explained + multipliers.of_totals @ totals
        raw = glm.coordinates.raw(theta)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sums = glm.engine.means(
                glm.family,
                self.means,
                glm.basis.center,
                raw[:, 0],
                raw[:, 1:],
                combined.reshape(self.shape),
                raw.shape[1] - 1 if len(glm.basis.given_columns) else None,
                2 if like is None else 1,
            )
            if like is None:
                return self._with_derivatives(theta, multipliers, sums)
            return self._like(like, theta, multipliers, sums)

    def _measured(self, sums: MeanSums) -> dict[str, Any]:
        """Return what needs no derivatives."""
        explained, totals = self.maps
        products, weight = sums.products.ravel(), self.glm.basis.weight
        return {
            "explained": explained @ products,
            "excess": totals @ products - self.target / np.sqrt(weight),
            "variance": weight * self.forms[0].variance(sums),
        }

    def _with_derivatives(self, theta: Floats, multipliers: Multipliers, sums: MeanSums) -> Point:
        slopes, (explained, totals) = sums.slopes, self.maps
        gradient, hessian = self.glm.coordinates.derivatives(slopes.glm)
        M = self.glm.coordinates.to_raw
        jacobian = (slopes.jacobian @ M).reshape(sums.products.size, -1)
        squares = (slopes.squares @ M).reshape(len(sums.weights), -1)
        slope = self.forms[0].variance_slope(sums, squares, jacobian)
        means = MeansAt(
            jacobian=explained @ jacobian,
            of_excess=totals @ jacobian,
            slope=self.glm.basis.weight * slope,
            multipliers=multipliers,
            **self._measured(sums),
        )
        return Point(theta, sums.deviance, gradient, hessian, beside=means)

    def _like(self, like: Point, theta: Floats, multipliers: Multipliers, sums: MeanSums) -> Point:
        known: MeansAt = like.beside
        total, _ = self.glm.coordinates.derivatives(sums.slopes.glm)
        own = multipliers.of_explained @ known.jacobian + multipliers.of_totals @ known.of_excess
        return replace(
            like,
            theta=theta,
            deviance=sums.deviance,
            gradient=total - own,
            fresh=False,
            beside=replace(known, **self._measured(sums)),
        )


def bounded_means(glm: PenalizedGLM, means: Any, elsewhere: Floats, sums: MeanSums) -> BoundedMeans:
    """Say which means are bounded, given sums at any model."""
    # `elsewhere` is what totals of other rows exceed those observed by, for which these make up.
    (K, head), n, basis = sums.products.shape, means.n_means, glm.basis
    family: Any = glm.family
    contrasts = np.eye(1) if n == 1 else family.contrasts.T
    # Indicators of all classes, of two only that of the second: its weight is that of its rows.
    weights = np.ones(n) if means.class_weights is None else np.array(means.class_weights)[-n:]
    observed = basis.weight * weights * basis.center_targets - elsewhere
    total = observed - means.references * sums.gram[K - n :, 0, 0]
    totals = np.zeros((len(contrasts), K, head))
    totals[:, K - n :, 0] = contrasts
    size = float(np.abs(total).max() + np.abs(means.references).max() * sums.gram[-1, 0, 0])
    form = mean_form(sums, basis, means.n_bounded)
    to_totals = totals.reshape(len(contrasts), -1)
    return BoundedMeans(glm, means, [form], to_totals, contrasts @ total, size, (K, head))


# How firmly totals are held, in units of the curvature of the deviance.
STIFF_TOTALS = 10.0
# Sweeps over attributes that have bounds of their own, and steps of the root of each.
SWEEPS = 200


class MeanSearch(BoundSearch):
    """One bound on what all of S explains of the means."""

    def __init__(self, glm: PenalizedGLM, means: BoundedMeans) -> None:
        super().__init__(glm)
        self.means = means

    def on(self, sample: PenalizedGLM) -> MeanSearch:
        """Return the same search on other rows."""
        return MeanSearch(sample, replace(self.means, glm=sample))

    @property
    def has_sample(self) -> bool:
        """Return False: a sample's Hessian has no second derivatives of the means."""
        return False

    @cached_property
    def null(self) -> Point:
        """The null model."""
        s, t = (len(part) for part in self.means.maps)
        return self.means.at(self.glm.start.theta, Multipliers(np.zeros(s), np.zeros(t)))

    @cached_property
    def typical(self) -> float:
        """The λ at which penalty and curvature balance at the null model."""
        at = self.null.beside
        rate, of_totals = self._rate(at.jacobian), self._rate(at.of_excess)
        # Of controls alone S explains means to second order only, and that is rounding.
        rate = rate if rate > CURVATURE_TOLERANCE * of_totals else of_totals
        return 0.5 / rate if rate > 0.0 else 1.0

    def _rate(self, jacobian: Floats) -> float:
        """Return how fast sums of the means respond, relative to the curvature of the deviance."""
        return float((jacobian**2 / self.glm.typical_curvature).sum(axis=1).max(initial=0.0))

    def at_penalty(
        self,
        lambda_: float,
        start: Point,
        tolerance: float = CONVERGENCE_TOLERANCE,
        max_iter: int | None = None,
    ) -> Point:
        """Return the minimum at a λ."""
        descent, start = FixedPenalty(self, lambda_), replace(start, passes=0)
        return minimize(descent, start, max_iter or self.glm.max_iter, tolerance)[0]

    def to_bound(self, r: float, start: Point, max_iter: int) -> Found | None:
        """Return the model at a bound from one start; None if that fails."""
        descent = BoundDescent(self, r)
        point, step = minimize(descent, replace(start, passes=0), max_iter)
        if step is None or not point.converged:
            return None
        return Found(step.lambda_, point, descent.crossings)

    def packed(self, local: LocalModel, lambda_: float) -> Floats:
        """Return multipliers at a λ as one vector."""
        return np.concatenate(local.multipliers(lambda_))

    def unpacked(self, multipliers: Floats) -> Multipliers:
        """Return them as a step has them."""
        return Multipliers(*np.split(multipliers, [len(self.null.beside.explained)]))

    def local(
        self, point: Point, damping: float = 0.0, origin: float | None = None
    ) -> LocalModel | None:
        """Return the minima at all λ, as a pass shows them."""
        at: MeansAt = point.beside
        H = point.hessian + 2.0 * self.glm.fixed
        if damping > 0.0:
            H[np.diag_indices_from(H)] += damping * self.glm.typical_curvature
        gradient = point.gradient + 2.0 * self.glm.fixed @ point.theta
        if origin is not None:  # what is held may bend downward, which no step sees
            firm = 2.0 * self._stiff_totals * at.of_excess.T
            H, gradient = H + firm @ at.of_excess, gradient + firm @ at.excess
            origin = min(origin, self._stiff)
        held = at.excess, at.of_excess
        penalized = at.explained, at.jacobian
        return local_model(H, gradient, penalized, held, origin, self.glm.typical_curvature)

    @property
    def _stiff(self) -> float:
        return STIFF * self.typical

    def predicted(self, point: Point, local: LocalModel) -> Predicted:
        """Return R² of the means as a function of λ; their deviation is taken as linear in θ."""
        at: MeansAt = point.beside
        if at.variance > 0.0:
            slopes = local.moves @ at.slope

            def variance(along: Floats) -> Floats:
                return at.variance_after(along @ slopes)
        else:
            # Next to the null model means are linear in the scores, and their variance is
            # proportional to what the deviance falls by: with the factor of scores that S explains.
            # Under a large λ all that is left may be nearly nothing, the share of which has digits
            # only if the moves are added up first.
            most = local.rates.max()

            def variance(along: Floats) -> Floats:
                changes = along @ local.moves
                falls = ((changes @ point.hessian) * changes).sum(axis=1)
                return np.maximum(most * falls, 1e-300)

        def share(lambdas: Floats) -> Floats:
            explained = (local.remaining(lambdas) ** 2).sum(axis=1)
            return np.asarray(explained / variance(local.along(lambdas)))

        return share

    def step(self, point: Point, local: LocalModel, lambda_: Any) -> Step:
        """Return the step to a λ, or to those of several forms, and what it promises."""
        if np.ndim(lambda_) == 0:
            change = local.changes(np.array([lambda_]))[0]
            pi, nu = local.multipliers(lambda_)
        else:
            pi = _multipliers(local, self.of_rows(lambda_))[0]
            change, nu = local.under(pi)
        at: MeansAt = point.beside
        stiffness = np.minimum(self.of_rows(lambda_), self._stiff)
        slope = at.jacobian @ change
        bent = (point.hessian + 2.0 * self.glm.fixed) @ change
        decrease = float(change @ bent) + 2.0 * float(stiffness @ slope**2)
        return Step(change, abs(decrease), lambda_, multipliers=Multipliers(pi, nu))

    def of_rows(self, lambda_: Any) -> Floats:
        """Return λ for every element of a."""
        if np.ndim(lambda_) == 0:
            return np.full(len(self.null.beside.explained), float(lambda_))
        sizes = [rows.stop - rows.start for rows in self.means.rows_of]
        return np.repeat(np.asarray(lambda_, dtype=np.float64), sizes)

    def objective(self, point: Point, step: Step) -> float:
        """Return the penalized deviance at a point, with totals held: an augmented Lagrangian."""
        # Under a stiff penalty a is held at π/(2λ) in the same way, so that its bends do not
        # shorten steps.
        at, multipliers = point.beside, step.multipliers
        lambdas = self.of_rows(step.lambda_)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            pi = multipliers.of_explained
            aim = np.where(lambdas > 0.0, pi / (2.0 * lambdas), 0.0)
            missed = at.explained - aim
            value = float(pi @ at.explained + np.minimum(lambdas, self._stiff) @ missed**2)
            value += float(multipliers.of_totals @ at.excess)
            value += self._stiff_totals * float(at.excess @ at.excess)
        return point.deviance + float(point.theta @ self.glm.fixed @ point.theta) + value

    @cached_property
    def _stiff_totals(self) -> float:
        rate = self._rate(self.null.beside.of_excess)
        return STIFF_TOTALS / rate if rate > 0.0 else 0.0

    def evaluated(self, before: Point, theta: Floats, order: int, step: Step | None) -> Point:
        """Make a pass at θ."""
        multipliers = before.beside.multipliers if step is None else step.multipliers
        found = self.means.at(theta, multipliers, before if order == 1 else None)
        return replace(found, passes=before.passes + 1)

    def finished(self, point: Point, step: Step) -> Point:
        """Return the point after a last step; a pass follows that measures it."""
        at: MeansAt = point.beside
        if step.decrease <= CONVERGENCE_TOLERANCE * self.glm.unit:
            return replace(point, converged=True)  # the null model stays what it is, exactly
        moved = replace(
            at,
            explained=at.explained + at.jacobian @ step.change,
            excess=at.excess + at.of_excess @ step.change,
            variance=at.variance + float(at.slope @ step.change),
            multipliers=step.multipliers,
        )
        return replace(point.after(step.change), converged=True, beside=moved)

    def has_lost_curvature(self, lambda_: Any, point: Point) -> bool:
        """Whether a direction has lost its curvature since the null model."""
        # Means bend upward and downward: the deviance itself is looked at if there is a doubt.
        if self.glm.ridge > 0.0:
            return False
        J = point.beside.jacobian
        stiffness = np.minimum(self.of_rows(lambda_), self._stiff)[:, None]
        bent = 2.0 * J.T @ (stiffness * J)
        if not self.glm.is_flat(replace(point, hessian=point.hessian + bent)):
            return False
        plain = self.glm.point_at(point.theta)
        return self.glm.is_flat(replace(plain, hessian=plain.hessian + bent))


class FixedPenalty(BoundDescent):
    """Newton's method at one λ."""

    def __init__(self, search: BoundSearch, lambda_: float) -> None:
        super().__init__(search, 1.0)
        self._lambda = lambda_

    def _choose(self, point: Point, local: LocalModel, before: float) -> float | None:
        return self._lambda


class BoundsOfAttributes(BoundDescent):
    """Newton's method to the λ of several attributes at which each meets a bound of its own."""

    def __init__(self, search: MeanSearch, limits: Floats) -> None:
        super().__init__(search, 1.0)
        self._limits, self._means = limits, search
        self._lambda: Any = np.where(limits > 0.0, 0.0, np.inf)

    def _choose(self, point: Point, local: LocalModel, before: float) -> Any:
        """Solve for one λ after the other; those whose bounds hold without it are zero."""
        lambdas, limits, search = np.array(self._lambda), self._limits, self._means
        at: MeansAt = point.beside
        if not at.variance > 0.0:
            return np.where(limits < 1.0, search.typical, 0.0) if not lambdas.any() else lambdas
        rows_of = search.means.rows_of

        def excess(j: int, x: float) -> float:
            trial = lambdas.copy()
            trial[j] = x
            pi, left = _multipliers(local, search.of_rows(trial))
            variance = at.variance_after(local.under(pi)[0] @ at.slope)
            return float(left[rows_of[j]] @ left[rows_of[j]]) / variance - limits[j]

        for _ in range(SWEEPS):
            old = lambdas.copy()
            for j in np.flatnonzero(limits > 0.0):
                lambdas[j] = _root(lambda x, j=j: excess(j, x), lambdas[j] or search.typical)
            finite = np.isfinite(lambdas)
            if np.abs(lambdas - old)[finite].max(initial=0.0) <= 1e-13 * lambdas[finite].max(
                initial=0.0
            ):
                break
        return lambdas


def _root(excess: Any, start: float) -> float:
    """Return the λ at which a share meets its bound; 0 if it does without."""
    if excess(0.0) <= 0.0:
        return 0.0
    low, high = start, start
    while excess(high) > 0.0 and high < 1e20 * start:
        low, high = high, 4.0 * high
    while excess(low) <= 0.0 and low > 1e-20 * start:
        low, high = 0.25 * low, low
    return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-14, disp=False))


def _multipliers(local: LocalModel, lambdas: Floats) -> tuple[Floats, Floats]:
    """Return π under a λ for each element of a, and what is left of a."""
    T = (local.turn * local.rates) @ local.turn.T
    free = local.turn @ local.penalized
    pi, used = np.zeros(len(lambdas)), lambdas > 0.0
    if used.any():
        soft = np.diag(0.5 / lambdas[used])
        pi[used] = np.linalg.lstsq(T[np.ix_(used, used)] + soft, free[used], rcond=1e-13)[0]
    return pi, free - T @ pi
