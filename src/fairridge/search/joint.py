"""λ(r) and the coefficients found together, in few passes over the rows.

A search that tries one λ after another needs the minimum at each of them. But one
pass at any θ shows, for every λ at once, where Newton's method goes from there, and
to second order which deviances it meets. So the bound is searched for
among these predicted models, which costs small matrices only; the next pass is
made at the one that meets it. λ and θ converge together, quadratically while
Hessians are new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from fairridge._typing import Booleans, Floats
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import Choice
from fairridge.search.scan import HIGHEST, HILL, sparse_profile
from fairridge.solvers import Point
from fairridge.solvers.extrapolation import extrapolation
from fairridge.solvers.newton import BLIND, CONTRACTION, hessian_at
from fairridge.solvers.spectrum import curvature_scale, is_definite

# Predicted models to try, for one pass.
MOST_TRIALS = 100
# Passes for one bound, after which other means are tried.
MOST_PASSES = 16
# Promised decrease, relative to the deviance, above which a step ends at another Hessian.
FRESH = 1e-6
# The same from which a search is far from its end, and the model without S not evaluated.
FAR = 1e-2
# Decrease left by a pass, relative to the one before, that shows no convergence.
SLOW = 0.5
# The decrease before the first step: more than any.
FIRST = 100.0
# Decrease at which a search is over, for sure.
SETTLED = 1e-18
# What a Hessian costs at most, in passes without it, to have one at every new bound; and at
# every step.
AFFORDABLE, CHEAP = 4.0, 2.0
# Rows for each coordinate that make a sample large: its Hessian is so near that of all rows that a
# step leaves a thousandth of the decrease.
LARGE = 2e3
# Bounds from which the next one is extrapolated.
NODES = 4
# Digits of a predicted value: relative to the decrease before, and to the bound at most.
DIGITS = 1e-2
# Decrease of a last step at most: what it changes is known to second order.
LAST = 1e-14
# Promised decrease, relative to the deviance, that may be left,
CLOSE = 1e-23
# and on a sample, where chance leaves more.
ROUGHLY = 1e-3

# The definition of a model: λ, a point, and deviances with coefficients at zero.
Value = Callable[[float, Point, tuple[float, ...]], float]


@dataclass(frozen=True)
class _Penalties:
    """The quadratic penalty Q₀ + λK, and which coordinates are those of S."""

    fixed: Floats
    sensitive: Floats
    is_sensitive: Booleans

    @classmethod
    def of(cls, minima: PenalizedGLM) -> _Penalties:
        fixed, both = (minima.objective(x).quadratic for x in (0.0, 1.0))
        is_sensitive = np.zeros(len(fixed), dtype=bool)
        is_sensitive[minima.coordinates.of_sensitive] = True
        return cls(fixed, both - fixed, is_sensitive)

    def at(self, lambda_: float) -> Floats:
        """Return the penalty at a λ."""
        return self.fixed + lambda_ * self.sensitive


@dataclass(frozen=True)
class _Tangent:
    """What one pass shows of the minima at all λ."""

    point: Point  # where the pass was made
    others: tuple[tuple[float, Floats], ...]  # deviance and gradient with some coefficients at zero
    kept: tuple[Booleans, ...]  # the coefficients that are not
    penalties: _Penalties
    fresh: bool = True  # whether the Hessian is that of the point

    @cached_property
    def _reduced(self) -> tuple[Floats, ...]:
        """Eliminate what λ does not penalize: its step is −w − W·(the step of α).

        The rest, for α, is made diagonal for all λ: VᵀCV = diag(curvature) of the
        Hessian C that remains, VᵀKV = 1 of the penalty. Then V, and with it the slope
        and α.
        """
        S, point, Q = self.penalties.is_sensitive, self.point, self.penalties.fixed
        order, k = np.argsort(S, kind="stable"), len(S) - int(S.sum())  # those of S come last
        H = (point.hessian + 2.0 * Q)[order][:, order]
        slope = (point.gradient + 2.0 * Q @ point.theta)[order]
        A, B = H[:k, :k], H[:k, k:]
        scale = curvature_scale(A)
        right = np.column_stack([slope[:k], B]) / scale[:, None]
        # SciPy's functions of their own take as long as these routines do.
        _, solved, singular = lapack.dposv(A / np.outer(scale, scale), right)
        if singular:
            raise np.linalg.LinAlgError("a Hessian is not definite.")
        solved /= scale[:, None]
        w, W = solved[:, 0], solved[:, 1:]
        K = 2.0 * self.penalties.sensitive[S][:, S]
        curvature, V, failed = lapack.dsygvd(H[k:, k:] - B.T @ W, K)
        if failed:
            raise np.linalg.LinAlgError("a penalty is not definite.")
        return w, W, V, curvature, V.T @ (slope[k:] - B.T @ w), V.T @ K @ point.theta[S]

    def step(self, lambda_: float) -> Floats:
        """Return Newton's step at a λ."""
        w, W, V, curvature, slope, alpha = self._reduced
        S = self.penalties.is_sensitive
        if np.isinf(lambda_):
            of_alpha = -self.point.theta[S]
        else:
            bent = curvature + lambda_
            if not bent.min() > 0.0:
                raise np.linalg.LinAlgError("a Hessian is not definite.")
            of_alpha = -V @ ((slope + lambda_ * alpha) / bent)
        step = np.empty(len(S))
        step[S], step[~S] = of_alpha, -w - W @ of_alpha
        return step

    def after(self, step: Floats) -> tuple[Point, tuple[float, ...]]:
        """Return the point after a step and the other deviances there, to second order."""
        H, moved = self.point.hessian, []
        for (deviance, gradient), kept in zip(self.others, self.kept, strict=True):
            part = np.where(kept, step, 0.0)
            moved.append(deviance + float((gradient + 0.5 * (H @ part)) @ part))
        return self.point.after(step), tuple(moved)

    def decrease(self, lambda_: float, step: Floats) -> float:
        """Return what a step promises at a λ."""
        Q = self.penalties.at(lambda_)
        return -float((self.point.gradient + 2.0 * Q @ self.point.theta) @ step)

    def objective(self, lambda_: float) -> float:
        """Return the penalized deviance at a λ."""
        theta = self.point.theta
        return self.point.deviance + float(theta @ self.penalties.at(lambda_) @ theta)


class JointSearch:
    """Finds λ(r) for definitions that follow from a model's deviances.

    Parameters
    ----------
    minima : PenalizedGLM
        The minima; found ones are remembered there.
    value : callable
        The definition of (λ, point, other deviances).
    with_deviances : bool
        Whether it needs deviances with coefficients at zero.
    """

    def __init__(self, minima: PenalizedGLM, value: Value, *, with_deviances: bool) -> None:
        self.minima = minima
        self.value = value
        self._penalties = _Penalties.of(minima)
        self._kept: tuple[Booleans, ...] = ()
        if with_deviances:
            S = self._penalties.is_sensitive
            intercepts = np.isin(np.arange(len(S)), minima.coordinates.intercept_index)
            self._kept = (~S, intercepts)
        self._known: dict[float, tuple[float, _Tangent]] = {}

    def choices(
        self, bounds: Floats, tol: float, keep: Callable[[float, Point, tuple[float, ...]], bool]
    ) -> dict[float, Choice]:
        """Choose λ(r) for bounds between 0 and 1, except those that need another search.

        Parameters
        ----------
        bounds : ndarray
            The bounds.
        tol : float
            How close to come to each.
        keep : callable
            Maps λ, the minimum and the other deviances there to whether they can be trusted.
        """
        chosen: dict[float, Choice] = {}
        for r in np.unique(bounds[(bounds > 0.0) & (bounds < 1.0)]).tolist():
            if Choice.UNCONSTRAINED in chosen.values():  # a looser bound holds at λ = 0, too
                chosen[r] = Choice.UNCONSTRAINED
                continue
            try:
                model = self._found(r, tol, self._nearest(r))
            except np.linalg.LinAlgError:
                continue
            if model is not None and keep(*model):
                chosen[r] = (
                    Choice(model[0], "converged") if model[0] > 0.0 else Choice.UNCONSTRAINED
                )
        return chosen

    def _found(
        self, r: float, tol: float, begin: tuple[float, _Tangent], roughly: float = 0.0
    ) -> tuple[float, Point, tuple[float, ...]] | None:
        """Return λ(r), its minimum and the other deviances; None if there is doubt.

        Parameters
        ----------
        r, tol : float
            The bound, and how close to come to it.
        begin : (float, _Tangent)
            A λ and a pass to start from.
        roughly : float
            Decrease that may be left, relative to the deviance; none if it is 0.
        """
        start, tangent = begin
        before, unit = FIRST, self.minima.unit
        for _ in range(min(MOST_PASSES, self.minima.max_iter)):
            # The better the pass, the more digits of its λ mean something.
            lambda_ = self._predicted(
                tangent,
                start or self.minima.typical,
                r,
                max(0.01 * tol, DIGITS * r * min(before, 1.0)),
            )
            if lambda_ is None:
                return None
            step = tangent.step(lambda_)
            scale = unit + abs(tangent.point.deviance)
            decrease = abs(tangent.decrease(lambda_, step)) / scale
            # Far out, the deviance itself falls as fast as what a step promises of it.
            slow = FAR > decrease > SLOW * before
            if decrease <= roughly:
                return lambda_, *tangent.after(step)
            # The last step is taken unseen if it leaves as little as the one before did.
            if decrease <= LAST and (slow or decrease**2 <= CLOSE * before):
                if lambda_ == 0.0 and self._may_rise(tangent, r):
                    return None
                self._known[r] = lambda_, replace(tangent, point=tangent.after(step)[0])
                return lambda_, *tangent.after(step)
            if slow and tangent.fresh:
                return None
            if slow:
                tangent, before = self._evaluated(tangent, tangent.point.theta, 2), FIRST
                continue
            theta = tangent.point.theta + step
            order = 2 if self._renews(decrease, before) else 1
            far = decrease > FAR and not (roughly or self.minima.sample)
            moved = self._evaluated(tangent, theta, order, far=far)
            rise = moved.objective(lambda_) - tangent.objective(lambda_)
            if not rise <= BLIND * scale:
                return None
            start, tangent, before = lambda_, moved, decrease
        return None

    def _renews(self, decrease: float, before: float) -> bool:
        """Whether the next pass takes a Hessian of all rows."""
        most = self.minima.engine.hessian_cost
        if self.minima.sample is None or most < CHEAP:
            return decrease > min(FRESH, CONTRACTION * before)
        # The sample keeps the Hessian near: a new one pays if many passes are left without it.
        if before >= FIRST or decrease > SLOW * before:
            return before < FIRST
        return bool(np.log(decrease / SETTLED) / np.log(before / decrease) > most)

    def _nearest(self, r: float) -> tuple[float, _Tangent]:
        """Return a pass to start from, and a λ near it."""
        minima = self.minima
        if minima.near:
            return self._from_start(r)
        if self._known:
            return self._continued(r)
        warm = minima.warm
        if warm is not None:
            return minima.typical, self._evaluated(self._at_start, warm.theta, 1)
        return self._sampled(r) or (minima.typical, self._at_start)

    def _sampled(self, r: float) -> tuple[float, _Tangent] | None:
        """Start from the model of a sample; None without one, or if it is worse than none."""

        def found(sample: PenalizedGLM) -> tuple[float, _Tangent] | None:
            search = JointSearch(sample, self.value, with_deviances=bool(self._kept))
            model = search._found(r, 0.0, (sample.typical, search._at_start), ROUGHLY)
            if model is None:
                return None
            lambda_, point, _ = model
            # A large sample knows the Hessian of all rows well enough.
            large = sample.engine.n_rows > LARGE * len(point.theta)
            order = 1 if large and self.minima.engine.hessian_cost > CHEAP else 2
            tangent = self._evaluated(self._at_start, point.theta, order)
            better = tangent.objective(lambda_) < self._at_start.objective(lambda_)
            return (lambda_, tangent) if better else None

        return self.minima.in_samples(found)

    def _from_start(self, r: float) -> tuple[float, _Tangent]:
        """Take the first step unseen from a model of more rows, whose value was nearest to r."""
        near = self.minima.near
        lambda_, point = near[min(near, key=lambda x: abs(np.sqrt(max(x, 0.0)) - np.sqrt(r)))]
        start = _Tangent(point, (), (), self._penalties)
        return lambda_, self._evaluated(start, point.theta + start.step(lambda_), 2)

    def _continued(self, r: float) -> tuple[float, _Tangent]:
        """Go on from the bounds that are nearest, in √r: the size of α, and smooth up to r = 0."""
        nearest = sorted(self._known, key=lambda x: abs(np.log(x / r)))[:NODES]
        lambda_, last = self._known[nearest[0]]
        if len(nearest) == 1 or not self._predicted(last, lambda_, r, DIGITS):
            return lambda_, last  # there is no model beyond λ = 0
        weights = extrapolation(np.sqrt(nearest[::-1]), float(np.sqrt(r)))
        points = [self._known[x][1].point for x in nearest[: len(weights)][::-1]]
        theta, H = (
            np.tensordot(weights, [getattr(point, name) for point in points], 1)
            for name in ("theta", "hessian")
        )
        H = H if is_definite(H + 2.0 * self._penalties.fixed) else last.point.hessian
        before = replace(last, point=replace(last.point, theta=theta, hessian=H))
        # Without many columns a Hessian costs less than the passes that it saves.
        new = self.minima.sample is not None and self.minima.engine.hessian_cost < AFFORDABLE
        return lambda_, self._evaluated(before, theta, 2 if new else 1)

    @cached_property
    def _at_start(self) -> _Tangent:
        """The null model, whose other coefficients are zero already."""
        start = self.minima.start
        same = tuple((start.deviance, start.gradient) for _ in self._kept)
        return _Tangent(start, same, self._kept, self._penalties)

    def _predicted(self, tangent: _Tangent, start: float, r: float, tol: float) -> float | None:
        """Choose λ among the models that a pass predicts; None if there is doubt."""
        profile = sparse_profile(
            self._values(tangent), start, self.minima.typical, np.inf, np.array([r])
        )
        choice = profile.choose(r, tol, MOST_TRIALS)
        met = choice.met and choice.lambda_ < np.inf
        return choice.lambda_ if met else None

    def _values(self, tangent: _Tangent) -> Callable[[float], float]:
        """Return the definition at any λ, as a pass predicts it."""
        return lambda lambda_: self.value(lambda_, *tangent.after(tangent.step(lambda_)))

    def _may_rise(self, tangent: _Tangent, r: float) -> bool:
        """Whether the value rises from λ = 0, where it is near to a bound that holds there."""
        value = self._values(tangent)
        ground = value(0.0)
        return r < HIGHEST * ground and value(HILL * self.minima.typical) > ground

    def _evaluated(
        self, before: _Tangent, theta: Floats, order: int, *, far: bool = False
    ) -> _Tangent:
        """Make a pass; without a new Hessian the one before is updated from the gradient.

        Far from the minimum λ needs few digits, and what S adds to the deviance is told by
        the derivatives at θ, if a wrong guess costs little: passes over few rows.
        """
        minima, old = self.minima, before.point
        passed = self._kept[1:] if far else self._kept
        (deviance, gradient, hessian), *others = minima.evaluated(
            theta, order, [theta * kept for kept in passed]
        )
        fresh = hessian is not None
        if hessian is None:
            nearby = None if minima.sample is None else minima.nearby_hessian
            hessian = hessian_at(theta, old, gradient, nearby, minima.unit)
        point = Point(theta, deviance, gradient, hessian, passes=old.passes + 1)
        known = [(other, slope) for other, slope, _ in others]
        for kept in self._kept[: len(self._kept) - len(known)]:
            without = point.after(theta * kept - theta)
            known.insert(0, (without.deviance, without.gradient))
        return _Tangent(point, tuple(known), self._kept, self._penalties, fresh)
