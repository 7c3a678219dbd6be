"""The deviance of balanced models, and what S explains of their means, at any θ.

Means have the totals of the response: of a model without a bound too, and at
every step of a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import MeanSums
from fairridge.fairness.means import MeanForm, mean_form
from fairridge.models import Fit
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.solvers import Point
from fairridge.solvers.mean_ridge import (
    SMALLEST,
    STUCK,
    Goal,
    Means,
    MeanState,
    is_minimum,
    reach,
    stiffness,
)
from fairridge.solvers.trust_region import descend

# Promised decrease, relative to the deviance, at which a minimum is near, or a limit.
NEAR, LIMIT = 1e-6, 1e-11
# Excess of a total over that of the response, relative to it, which is nothing.
BALANCED = 1e-11
# Shares that may be all, with the rounding of means that hardly vary, and that are.
NEARLY_ALL, ALL = 1.0 - 1e-6, 1.0 - 1e-10
# Penalty on totals in a descent, relative to how much the deviance itself resists,
FIRM = 100.0
# and Newton steps from a point near a minimum.
MOST_STEPS = 20
TOO_LARGE = (
    "predicted means are larger than the largest number, or exposures differ so much that one row "
    "has all the weight: what S explains of means is not known. Offsets add to the linear "
    "predictor; give them in its units (the logarithm of exposures, for instance)."
)


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
    # Ridge on all coordinates but the intercepts, relative to the curvature of the null model:
    # where classes are separated it gives minima to follow, and is taken away in the end.
    ease: float = 0.0
    # Whether S explains all of the means of any model: the only bound is then that it explains
    # nothing, and what it explains is compared with the variance of the model without a bound.
    # That of the model itself vanishes with it, and has no share to follow.
    is_saturated: bool = False

    def of(self, groups: Sequence[Integers]) -> MeanObjective:
        """Return the same with one form for each of some groups of columns of S."""
        basis, count = self.minima.basis, self.means.n_bounded
        forms = [mean_form(self.free, basis, count, group) for group in groups]
        return replace(self, forms=forms, is_saturated=False)

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
        Q = self.minima.objective(0.0).quadratic
        if self.ease == 0.0:
            return Q
        curvature = np.diag(self.minima.start.hessian).copy()
        curvature[self.minima.coordinates.intercept_index] = 0.0
        return Q + self.ease * np.diag(curvature)

    def penalty(self, theta: Floats) -> float:
        """Return what λ₂ adds to the deviance."""
        return float(theta @ self._quadratic @ theta)

    def sums(self, theta: Floats, multipliers: Floats | None = None, order: int = 2) -> MeanSums:
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
                order,
            )

    def explained(self, sums: MeanSums) -> list[Floats]:
        """Return a of each form and, last, the excess of the totals per row."""
        *of_S, _ = (L @ sums.products.ravel() for L in self._maps)
        per_row = self.balance.excess(sums) / self.minima.basis.weight
        return [*of_S, per_row / np.sqrt(self.unit)]

    def evaluate(
        self, theta: Floats, multipliers: Sequence[Floats], like: Means | None = None
    ) -> Means:
        """Return deviance and means at θ, with the second derivatives of given multipliers.

        With `like`, a point next to θ, derivatives of the means and the Hessian are those of
        that one, and the gradient is such that g + Jᵀπ is right: a pass for half the time.
        """
        twice = 2.0 * self.minima.basis.weight
        K, head = self.free.products.shape
        combined = sum(pi @ L for pi, L in zip(multipliers, self._maps, strict=True))
        order = 2 if like is None else 1
        sums = self.sums(theta, twice * np.asarray(combined).reshape(K, head), order)
        with np.errstate(over="ignore", invalid="ignore"):
            if like is None:
                return self._without_gone(self._means(theta, sums, twice))
            return self._means_like(like, theta, multipliers, sums)

    def _means_like(
        self, like: Means, theta: Floats, multipliers: Sequence[Floats], sums: MeanSums
    ) -> Means:
        assert sums.slopes is not None
        gradient, _ = self.minima.coordinates.derivatives(sums.slopes.glm)
        total = (gradient + 2.0 * self._quadratic @ theta) / (2.0 * self.minima.basis.weight)
        if self.gone is not None:
            total = self._kept @ total
        own = sum(pi @ J for pi, J in zip(multipliers, like.jacobians, strict=True))
        return replace(
            like,
            theta=theta,
            deviance=sums.deviance,
            gradient=np.asarray(total - own),
            explained=self.explained(sums),
            variance=self._variance(sums),
        )

    def _variance(self, sums: MeanSums) -> float:
        """Return V, which shares are relative to."""
        return 1.0 if self.is_saturated else self.forms[0].variance(sums) / self.unit

    def _means(self, theta: Floats, sums: MeanSums, twice: float) -> Means:
        slopes, Q, form = sums.slopes, self._quadratic, self.forms[0]
        assert slopes is not None
        assert slopes.jacobian is not None
        assert slopes.squares is not None
        gradient, hessian = self.minima.coordinates.derivatives(slopes.glm)
        assert hessian is not None
        M = self.minima.coordinates.to_raw
        jacobian = (slopes.jacobian @ M).reshape(sums.products.size, -1)
        squares = (slopes.squares @ M).reshape(len(sums.weights), -1)
        slope = form.variance_slope(sums, squares, jacobian) / self.unit
        return Means(
            theta,
            sums.deviance,
            (gradient + 2.0 * Q @ theta) / twice,
            (hessian + 2.0 * Q) / twice,
            self.explained(sums),
            [L @ jacobian for L in self._maps],
            self._variance(sums),
            np.zeros_like(slope) if self.is_saturated else slope,
        )

    def _without_gone(self, at: Means) -> Means:
        """Leave directions alone."""
        if self.gone is None:
            return at
        gone, kept = self.gone, self._kept
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

    @cached_property
    def _kept(self) -> Floats:
        """Project on the directions that are not left alone."""
        assert self.gone is not None
        return np.eye(self.gone.shape[1]) - self.gone.T @ self.gone

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
        # Directions that are left alone at the model without a bound count at the null model.
        whole = replace(self, gone=None)
        at = whole.evaluate(self.minima.start.theta, self.none())
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
        priced, theta = self._priced(start.theta, lambda_), start.theta
        for close in (NEAR, LIMIT):
            theta = self._descended(priced, theta, close * (self.minima.unit + abs(start.deviance)))
            near = priced.point(theta)
            if not np.isfinite(near.hessian).all():
                break
            if close == LIMIT:
                near = replace(near, separated=self._flat(priced, near))
            found = replace(self, gone=near.separated)._polished(near, lambda_)
            if found is not None:
                return found
        return self.leveled(near)  # not the minimum, but balanced

    def without_flat(self, theta: Floats, lambda_: float) -> MeanObjective:
        """Return the same without the directions that are flat at a point under λ."""
        priced = self._priced(theta, lambda_)
        return replace(self, gone=self._flat(priced, priced.point(theta)))

    def _priced(self, theta: Floats, lambda_: float) -> _Priced:
        """Return the objective of a descent at one λ, with what balances a point as prices."""
        at, ell = self.evaluate(theta, self.none()), lambda_ * self.unit
        firm = FIRM / max(stiffness(at.hessian, at.jacobians[-1]), 1e-300)
        return _Priced(self, ell, firm, _prices(at, [ell * at.explained[0]]))

    def _flat(self, priced: _Priced, near: Point) -> Floats | None:
        """Return directions without curvature."""
        return replace(self.minima.objective(0.0), evaluate=priced.evaluate).flat(near)

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
        return self._leveled(point)[0]

    def _leveled(self, point: Point) -> tuple[Point, MeanSums]:
        """Return the same with its sums."""
        levels, theta = self.minima.coordinates.intercept_index, point.theta
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
        return (point if theta is point.theta else replace(point, theta=theta)), sums

    def _to_level(self, theta: Floats, sums: MeanSums) -> Floats:
        """Return by how much intercepts are too high: exactly under a log link, or by Newton."""
        if self.minima.family.link == "log":
            return np.log1p(self.balance.excess(sums) / self.balance.observed)
        at = self.evaluate(theta, self.none())
        J = at.jacobians[-1][:, self.minima.coordinates.intercept_index]
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
        # A limit is near enough, and no step leads on from it.
        best, sums = self._leveled(self.best) if self.gone is not None else (self.best, self.free)
        prices = self.prices
        if not self.is_balanced(sums):
            end = reach(self.evaluate, self.start, [self.totals], self.minima.max_iter, np.inf)
            best = self.minimum(0.0, self.leveled(self.best)) if end is None else self.point(end)
            prices = prices if end is None else end.multipliers[-1]
            best, sums = self._leveled(best)  # the last step was not seen
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
        return sums.deviance + self.space.penalty(theta) + self._added(self.space.explained(sums))

    def evaluate(self, theta: Floats, order: int = 2) -> tuple[float, Floats, Floats]:
        """Return the objective without λ₂, its gradient and Hessian."""
        _, gradient, hessian, value = self._slopes(theta)
        return value, gradient - self._bent @ theta, hessian - self._bent

    def point(self, theta: Floats) -> Point:
        """Evaluate at θ; it need not be the minimum."""
        return Point(theta, *self.evaluate(theta), converged=False)

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


def mean_objective(
    minima: PenalizedGLM, means: Any, elsewhere: Floats, near: Point | None = None
) -> MeanObjective:
    """Look at the means of the model without a bound, or of one near it.

    Parameters
    ----------
    minima : PenalizedGLM
        The model without a bound.
    means : MeansOfRows
        Which means are looked at.
    elsewhere : ndarray of shape (K,)
        What totals of other rows exceed those observed by, for which these make up.
    near : Point, optional
        A point near that model; then it is not balanced.
    """
    point = near or minima.point(0.0)
    blank = MeanObjective(minima, means, (), None, point, None, None)  # type: ignore[arg-type]
    free = blank.sums(point.theta)
    forms = [mean_form(free, minima.basis, means.n_bounded)]
    balance = _balance(minima, means, free, elsewhere)
    prices = np.zeros(len(balance.target))
    objective = MeanObjective(
        minima,
        means,
        forms,
        balance,
        point,
        free,
        prices,
        point.separated,
        is_saturated=_is_saturated(blank, forms[0], free),
    )
    return objective.balanced() if near is None else objective


def _is_saturated(objective: MeanObjective, form: MeanForm, free: MeanSums) -> bool:
    """Whether S explains all of the means of any model, or nothing if they do not vary.

    As those of two rows that differ in S, however often they are repeated. What S explains in
    full of the model without a bound, and of others in which every column has an effect, it
    explains in full of all. Small effects are among them: under large ones a single row may have
    nearly all of the variance.
    """
    if form.share(free) < NEARLY_ALL:
        return False
    minima = objective.minima
    theta = minima.start.theta
    effects = np.cos(np.arange(len(theta))) / np.sqrt(len(theta))
    effects[minima.coordinates.intercept_index] = 0.0
    effects /= np.tile(minima.spread, len(theta) // len(minima.spread))
    models = (theta + size * effects for size in (1.0, 0.01))
    return all(form.share(objective.sums(model)) >= ALL for model in models)


def _balance(minima: PenalizedGLM, means: Any, free: MeanSums, elsewhere: Floats) -> Balance:
    """Hold means at the totals of the response."""
    (K, head), n, basis = free.products.shape, means.n_means, minima.basis
    assert free.gram is not None
    family: Any = minima.family
    contrasts = np.eye(1) if n == 1 else family.contrasts.T
    # Indicators of all classes, of two only that of the second: its weight is that of its rows.
    weights = np.ones(n) if means.class_weights is None else np.array(means.class_weights)[-n:]
    observed = basis.weight * weights * basis.center_targets - elsewhere
    total = observed - means.references * free.gram[K - n :, 0, 0]
    map_ = np.zeros((len(contrasts), K, head))
    map_[:, K - n :, 0] = contrasts
    size = float(np.abs(total).max() + np.abs(means.references).max() * free.gram[-1, 0, 0])
    return Balance(map_.reshape(len(contrasts), -1), contrasts @ total, contrasts @ observed, size)
