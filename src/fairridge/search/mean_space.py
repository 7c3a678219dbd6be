"""Deviance and predicted means of a model in its coordinates: one pass over the rows each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import MeanSums
from fairridge.models.mean_shares import MeanForm, mean_form
from fairridge.search.penalized_glm import PenalizedGLM, is_definite
from fairridge.solvers import Point, minimize
from fairridge.solvers.mean_ridge import Means, MeanState, stiffness


@dataclass(frozen=True)
class MeanSpace:
    """A model without a bound, and forms in the means that it predicts.

    Attributes
    ----------
    minima : PenalizedGLM
        The model without a bound.
    means : MeansOfRows
        Which means are looked at.
    forms : sequence of MeanForm
        What the columns of S, or some of them, explain of the means.
    free : MeanSums
        Sums at the model without a bound.
    gone : ndarray of shape (s, N) or None
        Directions to leave alone, because the model without a bound has no
        minimum in them but a limit.
    """

    minima: PenalizedGLM
    means: Any
    forms: Sequence[MeanForm]
    free: MeanSums
    gone: Floats | None = None

    @property
    def shares(self) -> Floats:
        """R² of each form in the model without a bound."""
        return np.array([form.share(self.free) for form in self.forms])

    @cached_property
    def unit(self) -> float:
        """Variance of the means of the model without a bound: a and V are in its units."""
        return self.forms[0].variance(self.free) or 1.0

    @cached_property
    def _maps(self) -> list[Floats]:
        return [form.map / np.sqrt(self.unit) for form in self.forms]

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

    def evaluate(self, theta: Floats, multipliers: Sequence[Floats]) -> Means:
        """Return deviance and means at θ, with the second derivatives of given multipliers."""
        twice = 2.0 * self.minima.basis.weight
        K, head = self.free.products.shape
        combined = sum(pi @ L for pi, L in zip(multipliers, self._maps, strict=True))
        sums = self.sums(theta, twice * np.asarray(combined).reshape(K, head))
        with np.errstate(over="ignore", invalid="ignore"):
            return self._held(self._means(theta, sums, twice))

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
            [L @ sums.products.ravel() for L in self._maps],
            [L @ jacobian for L in self._maps],
            form.variance(sums) / self.unit,
            form.variance_slope(sums, squares, jacobian) / self.unit,
        )

    def _held(self, at: Means) -> Means:
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
        return [np.zeros(len(form.map)) for form in self.forms]

    @cached_property
    def start(self) -> MeanState:
        """The model without a bound."""
        return MeanState(self.evaluate(self.minima.point(0.0).theta, self.none()), self.none())

    @cached_property
    def typical(self) -> float:
        """The λ at which the penalty and the deviance of the null model balance."""
        at = self.evaluate(self.minima.start.theta, self.none())
        size = stiffness(at.hessian, at.jacobians[0])
        return 1.0 / (size * self.unit) if size > 0.0 else 1.0

    def state(self, theta: Floats, lambda_: float) -> MeanState:
        """Return the minimum at a λ as a state."""
        at = self.evaluate(theta, self.none())
        multipliers = [lambda_ * self.unit * a for a in at.explained]
        return MeanState(self.evaluate(theta, multipliers), multipliers)

    def minimum(self, lambda_: float, start: Point) -> Point:
        """Minimize D + λW‖a‖² + λ₂‖β‖² at one λ; the point's deviance is with the first penalty."""
        plain = self.minima.objective(0.0)
        twice, ell = 2.0 * self.minima.basis.weight, lambda_ * self.unit
        multipliers = self.none()

        def evaluate(theta: Floats, order: int) -> tuple[float, Floats, Floats]:
            nonlocal multipliers
            at = self.evaluate(theta, multipliers)
            if not is_definite(at.hessian):
                at = self.evaluate(theta, self.none())
            a, J, bent = at.explained[0], at.jacobians[0], 2.0 * plain.quadratic
            multipliers = [ell * a]
            with np.errstate(over="ignore", invalid="ignore"):  # a trial point may lie anywhere
                gradient = twice * (at.gradient + ell * a @ J) - bent @ theta
                hessian = twice * (at.hessian + ell * J.T @ J) - bent
                return at.deviance + 0.5 * twice * ell * float(a @ a), gradient, hessian

        value, gradient, hessian = evaluate(start.theta, 2)
        point = replace(start, deviance=value, gradient=gradient, hessian=hessian, passes=0)
        return minimize(replace(plain, evaluate=evaluate), point, self.minima.max_iter)

    def lambda_of(self, state: MeanState, place: int) -> float:
        """Return λ of one form: its π is λ·unit·a."""
        return float(state.penalties()[place]) / self.unit

    def point(self, state: MeanState) -> Point:
        """Return a state as a minimum."""
        at = state.at
        return Point(at.theta, at.deviance, at.gradient, at.hessian, True, self.gone)


def mean_space(
    minima: PenalizedGLM, means: Any, groups: Sequence[Integers | None] = (None,)
) -> MeanSpace:
    """Look at the means of the model without a bound.

    Parameters
    ----------
    minima : PenalizedGLM
        The model without a bound.
    means : MeansOfRows
        Which means are looked at.
    groups : sequence of ndarray of int
        Columns of S, one entry per form; all S by default.
    """
    blank = MeanSpace(minima, means, (), None)  # type: ignore[arg-type]
    point = minima.point(0.0)
    free = blank.sums(point.theta)
    forms = [mean_form(free, minima.basis, group) for group in groups]
    return MeanSpace(minima, means, forms, free, point.separated)
