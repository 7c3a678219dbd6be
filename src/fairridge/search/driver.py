"""λ(r) and the coefficients found together, in few passes over the rows.

A search that tries one λ after another needs the minimum at each of them. But one
pass at any θ shows, for every λ at once, where Newton's method goes from there
(`LocalModel`), and to second order which value the definition has there. So the bound is
searched for among these predicted models, which costs small matrices only; the next pass
is made at the one that meets it. λ and θ converge together, quadratically while
Hessians are new.

The driver is the same for every family, definition and size; a kind of penalty states
what is predicted (`BoundSearch`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.optimize import brentq

from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.search.penalized_glm import ROUGH_PASSES, ROUGH_TOLERANCE, PenalizedGLM
from fairridge.search.problem import DECADES_ABOVE, Choice, lambda_grid
from fairridge.solvers import Point, minimize
from fairridge.solvers.newton import HESSIAN_COST, LocalModel, Step
from fairridge.solvers.spectrum import CURVATURE_TOLERANCE

# Chebyshev's nodes between neighbors on the grid, and the map from values there to the
# coefficients of a polynomial.
NODES = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 13))
TO_COEFFICIENTS = np.linalg.inv(chebvander(2.0 * NODES - 1.0, 12))
# Last coefficients of a polynomial that has all digits of a share.
POLYNOMIAL_TOLERANCE = 1e-12
# Rows for each coordinate that make a sample large: its Hessian is so near that of all rows that a
# step leaves a thousandth of the decrease. And what a Hessian costs at least to be spared.
LARGE_SAMPLE, COSTLY_HESSIAN = 2e3, 2.0
# Bounds from which the next one is extrapolated, and by how much their errors may grow.
MILESTONES, MAGNIFIED = 4, 100.0
# Penalty, in typical ones, beyond which what it penalizes counts as held: the objective would
# see nothing else.
STIFF = 100.0
# Relative difference of two λ by which models are differentiated.
DIFFERENCE = 1e-3

# Maps several λ to the value of a definition at each.
Predicted = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Found:
    """The model at a bound."""

    lambda_: Any
    point: Point
    crossings: int = 1


@dataclass(frozen=True)
class _Milestone:
    """A model at one bound of a path, and how it moves with √r."""

    place: float  # √r
    point: Point
    slope: Floats  # derivative of θ in √r
    # Multipliers, if there are any, and their derivative.
    multipliers: Floats
    of_multipliers: Floats


class BoundSearch(ABC):
    """Finds λ(r) for one bound after another; what differs between penalties is abstract."""

    def __init__(self, glm: PenalizedGLM) -> None:
        self.glm = glm
        self._found: dict[float, Found] = {}  # models by bound
        self._milestones: dict[float, _Milestone | None] = {}  # of those that were continued

    @property
    def has_sample(self) -> bool:
        """Whether a sample keeps Hessians near for little."""
        return self.glm.sample is not None and self.glm.engine.hessian_cost >= COSTLY_HESSIAN

    def has_lost_curvature(self, lambda_: Any, point: Point) -> bool:
        """Whether there is a limit at infinity, for all we see."""
        return self.glm.is_flat(point)

    typical = delegated("glm.typical")

    @property
    @abstractmethod
    def null(self) -> Point:
        """The null model."""

    @abstractmethod
    def local(
        self, point: Point, damping: float = 0.0, origin: float | None = None
    ) -> LocalModel | None:
        """Return the minima at all λ, as a pass shows them; None if there is none at λ = 0."""
        # With an origin there is one at that λ: negative curvature is reversed if need be.

    @abstractmethod
    def predicted(self, point: Point, local: LocalModel) -> Predicted:
        """Return the definition as a function of λ, as a pass predicts it."""

    @abstractmethod
    def evaluated(self, before: Point, theta: Floats, order: int, step: Step | None) -> Point:
        """Make a pass at θ."""

    @abstractmethod
    def objective(self, point: Point, step: Step) -> float:
        """Return the penalized deviance at a point, for the λ of a step."""

    @abstractmethod
    def step(self, point: Point, local: LocalModel, lambda_: Any) -> Step:
        """Return the step to a λ, and what it promises."""

    @abstractmethod
    def finished(self, point: Point, step: Step) -> Point:
        """Return the point after a last step, which is not evaluated."""

    @abstractmethod
    def on(self, sample: PenalizedGLM) -> BoundSearch:
        """Return the same search on other rows."""

    def find(self, r: float, max_iter: int) -> Found | None:
        """Return the model at a bound; None if there is doubt."""
        failed: Found | None = None
        for start in self._starts(r):
            descent = BoundDescent(self, r)
            try:
                point, step = minimize(descent, start, max_iter)
            except np.linalg.LinAlgError:
                continue
            if step is None:
                continue
            found = Found(step.lambda_, point, descent.crossings)
            if point.converged:
                self._found[r] = found
                return found
            if point.separated or self.has_lost_curvature(step.lambda_, point):
                failed = replace(found, point=replace(point, separated=True))
                break
        return failed

    def _starts(self, r: float) -> Iterator[Point]:
        """Yield points to start from: the nearest that is known, and the null model if it fails."""
        first = self._first(r)
        if first is not None:
            yield first
        yield self.null

    def _first(self, r: float) -> Point | None:
        """Return a point near the model at a bound, if there is one."""
        glm = self.glm
        # In √r: the size of α, and smooth up to r = 0.
        nearest = sorted(self._found, key=lambda x: abs(np.sqrt(x) - np.sqrt(r)))
        milestones = filter(None, map(self._milestone, nearest))
        behind = list(islice(milestones, MILESTONES))[::-1]
        if behind:
            return self._continued(behind, r)
        if glm.warm is not None:
            return self.evaluated(self.null, glm.warm.theta, 2, None)
        return self._from_sample(r)

    def _from_sample(self, r: float) -> Point | None:
        """Return the model of a sample; None without one, or if it is worse than none."""

        def found(sample: PenalizedGLM) -> Point | None:
            search = self.on(sample)
            few, step = minimize(
                BoundDescent(search, r), search.null, ROUGH_PASSES, ROUGH_TOLERANCE
            )
            if not few.converged or step is None:
                return None
            # A large sample knows the Hessian of all rows well enough.
            large = sample.engine.n_rows > LARGE_SAMPLE * len(few.theta)
            order = 1 if large and self.glm.engine.hessian_cost > COSTLY_HESSIAN else 2
            point = self.evaluated(self.null, few.theta, order, step)
            better = self.objective(point, step) < self.objective(self.null, step)
            return point if better else None

        return self.glm.in_samples(found)

    def _continued(self, behind: list[_Milestone], r: float) -> Point:
        """Go on from models at other bounds, the nearest last."""
        weights, slopes = extrapolation_along(
            np.array([one.place for one in behind]), float(np.sqrt(r))
        )
        behind = behind[-len(weights) :]
        theta = weights @ [one.point.theta for one in behind]
        theta = theta + slopes @ [one.slope for one in behind]
        multipliers = weights @ [one.multipliers for one in behind]
        multipliers = multipliers + slopes @ [one.of_multipliers for one in behind]
        last = behind[-1]
        affordable = self.glm.engine.hessian_cost < HESSIAN_COST
        order = 2 if affordable else 1
        step = Step(np.zeros_like(theta), 0.0, multipliers=self.unpacked(multipliers))
        point = self.evaluated(last.point, np.asarray(theta), order, step)
        # A polynomial may lead astray.
        near = point if point.deviance < self.null.deviance else last.point
        return replace(near, passes=0)

    def _milestone(self, r: float) -> _Milestone | None:
        """Return the model at a bound, and how it moves with that; None if it does not."""
        if r not in self._milestones:
            self._milestones[r] = self._moving(r, self._found[r])
        return self._milestones[r]

    def _moving(self, r: float, found: Found) -> _Milestone | None:
        lambda_, point = found.lambda_, found.point
        if not (np.ndim(lambda_) == 0 and 0.0 < lambda_ < np.inf):
            return None
        local = self.local(point) or self.local(point, origin=0.5 * lambda_)
        if local is None:
            return None
        beside = lambda_ * np.array([1.0 - DIFFERENCE, 1.0 + DIFFERENCE])
        roots = np.sqrt(np.maximum(self.predicted(point, local)(beside), 0.0))
        low, high = local.changes(beside)
        if roots[0] == roots[1]:
            return None
        change = roots[1] - roots[0]
        low_multipliers, here, high_multipliers = (
            self.packed(local, x) for x in (beside[0], lambda_, beside[1])
        )
        return _Milestone(
            float(np.sqrt(r)),
            point,
            (high - low) / change,
            here,
            (high_multipliers - low_multipliers) / change,
        )

    # What is penalized may bend, and then the multipliers of a bound are extrapolated, too.

    def packed(self, local: LocalModel, lambda_: float) -> Floats:
        """Return multipliers at a λ as one vector; empty if there are none."""
        return np.zeros(0)

    def unpacked(self, multipliers: Floats) -> Any:
        """Return them as a step has them."""
        return None


class BoundDescent:
    """Newton's method whose every step goes to the λ at which a bound is predicted to be met."""

    def __init__(self, search: BoundSearch, r: float) -> None:
        self._search, self._r = search, r
        self.has_sample = search.has_sample
        self._at: Floats | None = None
        self._lambda: Any = np.inf
        self.crossings = 1

    finish = delegated("_search.finished")
    typical = delegated("_search.glm.typical_curvature")
    unit = delegated("_search.glm.unit")
    value = delegated("_search.objective")

    @property
    def hessian_cost(self) -> float:
        """What a pass with the Hessian costs, in passes without it."""
        cost = self._search.glm.engine.hessian_cost
        return cost if self.has_sample else max(cost, COSTLY_HESSIAN)

    def propose(self, point: Point, damping: float, before: float) -> Step | None:
        """Return the step to the λ that meets the bound."""
        is_new = point.theta is not self._at
        local = self._local(point, 0.0 if is_new else damping)
        if is_new and local is not None:
            lambda_ = self._choose(point, local, before)
            if lambda_ is None:
                return None
            self._at, self._lambda = point.theta, lambda_
        if is_new and damping > 0.0:
            local = self._local(point, damping)
        return None if local is None else self._search.step(point, local, self._lambda)

    def _local(self, point: Point, damping: float) -> LocalModel | None:
        """Return a local model with a minimum, under the penalty of the last step if need be."""
        local = self._search.local(point, damping)
        if local is not None:
            return local
        origin = min(float(np.max(self._lambda)), STIFF * self._search.typical)
        return self._search.local(point, damping, origin)

    def _choose(self, point: Point, local: LocalModel, before: float) -> Any:
        """Choose λ among the models that a pass predicts; None if there is doubt."""
        if self._r == 0.0:
            return np.inf
        with np.errstate(over="ignore", invalid="ignore"):
            predicted = self._search.predicted(point, local)
        choice = predicted_choice(predicted, local, self._r)
        if choice is None:
            return None
        self.crossings = choice.crossings
        return choice.lambda_

    def evaluate(self, before: Point, step: Step, order: int) -> Point:
        """Make a pass after a step."""
        return self._search.evaluated(before, before.theta + step.change, order, step)

    def has_lost_curvature(self, point: Point) -> bool:
        """Whether there is a limit at infinity, for all we see."""
        return self._search.has_lost_curvature(self._lambda, point)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def predicted_choice(predicted: Predicted, local: LocalModel, r: float) -> Choice | None:
    """Choose λ(r) among the models that one pass predicts; None if none meets the bound."""
    rates = local.rates[local.rates > CURVATURE_TOLERANCE * local.rates.max(initial=0.0)]
    if not rates.size:
        return Choice.UNCONSTRAINED
    halves = 0.5 / np.array([rates.max(), rates.min()])  # 1/(2t) halves a direction
    if np.isinf(10.0**DECADES_ABOVE * halves).any():  # far away nothing moves
        return None
    grid = lambda_grid(*halves.tolist())
    least = local.least
    grid = grid[grid > least] if least > 0.0 else grid

    def excess(lambdas: Floats) -> Floats:
        # Whatever is not a number is too much, as next to the least λ, where none may be left.
        return np.asarray(np.fmin(predicted(lambdas) - r, 1.0))

    above = excess(grid) > 0.0
    if above[-1]:
        return None
    crossings = np.flatnonzero(above[1:] != above[:-1]).tolist()
    if not crossings:
        return Choice(float(grid[0]), "converged") if grid[0] > 0.0 else Choice.UNCONSTRAINED
    low, high = grid[crossings[-1] : crossings[-1] + 2].tolist()
    return Choice(_crossing(excess, low, high), "converged", len(crossings))


def _crossing(excess: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Return where an excess vanishes between neighbors on the grid."""
    # It is smooth in log λ, and in λ next to zero: a polynomial has all of its digits, unless the
    # least λ that has a minimum is near.

    def lambda_at(part: Any) -> Any:
        return low + (high - low) * part if low == 0.0 else low * (high / low) ** part

    found = excess(lambda_at(NODES))
    values, coefficients = found.tolist(), (TO_COEFFICIENTS @ found).tolist()
    above = [k for k, value in enumerate(values) if value > 0.0]
    if not above or above[-1] == len(values) - 1:  # it vanishes at one of them
        return high
    last = above[-1]
    ends = NODES[last : last + 2].tolist()
    at_ends = dict(zip(ends, values[last : last + 2], strict=True))
    is_smooth = max(map(abs, coefficients[-2:])) <= POLYNOMIAL_TOLERANCE

    def smooth(part: float) -> float:
        if part in at_ends:
            return at_ends[part]
        if not is_smooth:
            return float(excess(np.array([lambda_at(part)]))[0])
        place, sum_, further = 2.0 * part - 1.0, 0.0, 0.0
        for coefficient in reversed(coefficients):  # Clenshaw's recurrence
            sum_, further = coefficient + 2.0 * place * sum_ - further, sum_
        return sum_ - place * further

    return float(lambda_at(brentq(smooth, *ends, xtol=1e-300, rtol=4e-15, disp=False)))


def extrapolation_along(places: Floats, to: float) -> tuple[Floats, Floats]:
    """Return weights of the last values and of their slopes, for the polynomial with both."""
    # That is Hermite's, made of Lagrange's polynomials, which are 1 at one place and 0 at the
    # others. As many values are used as magnify errors little, and one at least.
    for first in range(len(places)):
        x = places[first:]
        same = np.eye(len(x), dtype=bool)
        gaps, above = np.where(same, 1.0, x[:, None] - x), np.where(same, 1.0, to - x)
        each, slopes = (above / gaps).prod(axis=1), np.where(same, 0.0, 1.0 / gaps).sum(axis=1)
        weights: Floats = (1.0 - 2.0 * (to - x) * slopes) * each**2
        if np.abs(weights).sum() <= MAGNIFIED:
            break
    return weights, (to - x) * each**2
