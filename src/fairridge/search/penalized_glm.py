"""The minima of a penalized deviance, for every λ: by Newton's method, warm-started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import Engine, binary_columns, in_memory
from fairridge.families import Family
from fairridge.families.sums import GLMSums, RowFunction
from fairridge.models import Coordinates, Separation, separated_levels
from fairridge.models.spaces import Space
from fairridge.search.problem import ModelSettings
from fairridge.solvers import Objective, Point, minimize
from fairridge.solvers.newton import CLOSE, FLAT, SHARE_OF_ROWS
from fairridge.solvers.spectrum import is_definite, relative_eigenvectors

# A rough minimum: coefficients to about six digits, enough to see which side of a bound it is on.
ROUGH = 1e-12
# The same of a point near a minimum: one step from there leaves hardly any of the deviance.
NEARLY = 1e-2
# Share of S in the variance of a direction, above which α moves along it.
MOVES = 1e-10
# Curvature, relative to the largest, that is nothing but rounding.
ROUNDING_OF_CURVATURE = 1e-13
# The same along which a minimum may still depend on where a search started.
LOOSE = 1e-4
# Numbers in [S, X] below which a model is not worth a sample of the rows.
FEW_NUMBERS = 400_000
# Rows of a sample, and events among them, for each column at least; or one of so many rows, until
# chance is so small that more of them tell little: then one of many more.
ROWS_EACH, EVENTS_EACH, MOST_ROWS_EACH, ENOUGH_EACH, FEW_ROWS_EACH = 50.0, 10.0, 20.0, 1e3, 200.0
TINY = 1e-9
# Decrease that may be left on a sample, relative to the deviance: chance leaves more.
NEAR_ENOUGH = 1e-5
# Passes after which a search that started from a sample starts anew, without it.
MOST_PASSES = 20
# Columns from which a pass with its Hessian costs more than counting levels.
MANY_COLUMNS = 200
# Hessians of all rows to remember.
MOST_SEEN = 8
# Decrease promised by a Newton step, relative to the deviance, that may be left at a minimum.
LITTLE = 1e-17


Start = TypeVar("Start")
# A deviance, its gradient and its Hessian if it was asked for.
Values = tuple[float, Floats, Floats | None]


class PenalizedGLM:
    """min D(α, β) + λ·penalty(α) + λ₂‖β‖² for any λ, intercept free.

    It remembers the points it has solved: each new λ starts from the nearest.

    Parameters
    ----------
    space : Space
        The columns that it is solved in.
    family : Family
        The family.
    settings : ModelSettings
        Its penalties and limits.
    """

    def __init__(self, space: Space, family: Family, settings: ModelSettings) -> None:
        self.space = space
        self.engine = space.engine
        self.basis = space.basis
        self.family = family
        self.settings = settings
        self.penalty = settings.penalty
        self.predictor_penalty = settings.predictor_penalty
        self.max_iter = settings.max_iter
        self._points: dict[float, Point] = {}
        self._rough: dict[float, Point] = {}
        self._seen: list[_Seen] = []
        self.near: dict[float, tuple[float, Point]] = {}

    @cached_property
    def coordinates(self) -> Coordinates:
        """The coordinates θ of the model."""
        return self.space.coordinates(self.family, self.penalty, self.predictor_penalty)

    # --------------------------------------------------------------- objectives

    def objective(self, lambda_: float) -> Objective:
        """Return the penalized deviance at a λ; at λ = ∞ α is held at zero instead."""
        coordinates, held = self.coordinates, np.isinf(lambda_)
        weight = 0.0 if held else lambda_
        everything = np.arange(coordinates.size, dtype=np.intp)
        zero = coordinates.of_sensitive if held else everything[:0]
        fixed = zero if self.family.has_intercept else np.append(zero, coordinates.intercept_index)
        free = np.setdiff1d(everything, fixed)
        l1 = np.zeros(len(everything))
        l1[coordinates.of_sensitive] = 2.0 * weight * self.penalty.l1
        K = weight * self._penalized
        quadratic = coordinates.penalty(K, self.predictor_penalty)
        quadratic += self._ridge_on_idle(quadratic + np.diag(l1), free)
        if weight == 0.0 and coordinates.contrasts is not None:
            quadratic += coordinates.common(np.diag(self.start.hessian))
        return Objective(
            self._evaluate,
            quadratic,
            l1,
            free,
            zero,
            null=self.start.deviance,
            curvature=np.diag(self.start.hessian),
            unit=self.unit,
            nearby=None if self.sample is None else self.nearby_hessian,
        )

    @property
    def _penalized(self) -> Floats:
        """The quadratic form that λ multiplies."""
        return self.space.penalized(self.penalty)

    def _ridge_on_idle(self, penalty: Floats, free: Integers) -> Floats:
        """Return a ridge on idle directions that no penalty sees: their coefficients are zero.

        A partial likelihood does not depend on them: rows that leave before the
        first event are in no risk set, and nothing is known of what only they
        tell apart. Without the ridge such coefficients would be made of rounding
        errors. Curvatures are compared in units of the columns' own spread,
        whatever units the penalty sees.
        """
        ridge = np.zeros_like(penalty)
        if self.family.separable:
            return ridge
        unit = np.outer(self.spread[free], self.spread[free])
        at, idle = np.ix_(free, free), self._idle(free)
        seen = penalty[at] / unit
        values, vectors = np.linalg.eigh(idle.T @ seen @ idle)
        unseen = idle @ vectors[:, values <= ROUNDING_OF_CURVATURE * np.abs(seen).max(initial=1.0)]
        ridge[at] = self.basis.weight * (unseen @ unseen.T) * unit
        return ridge

    def _idle(self, free: Integers) -> Floats:
        """Return directions of free coordinates without curvature, in units of their spread."""
        spread = self.spread[free]
        H = self.start.hessian[np.ix_(free, free)] / np.outer(spread, spread)
        values, vectors = np.linalg.eigh(H)
        return vectors[:, values <= ROUNDING_OF_CURVATURE * self.basis.weight]

    @cached_property
    def spread(self) -> Floats:
        """Standard deviations of what coordinates of one linear predictor multiply."""
        return self.space.spread(self.coordinates)

    @cached_property
    def unit(self) -> float:
        """What deviances are measured in."""
        mean = float(self.basis.center_targets[0])
        return SHARE_OF_ROWS * self.basis.weight * self.family.unit(mean)

    def _evaluate(self, theta: Floats, order: int) -> tuple[float, Floats, Floats | None]:
        """Return the deviance and its derivatives in θ: one pass over the rows."""
        return self.evaluated(theta, order)[0]

    def evaluated(self, theta: Floats, order: int, others: Sequence[Floats] = ()) -> list[Values]:
        """Return the same at θ, and without the Hessian at others, in one pass."""
        here, *places = (self.coordinates.raw(each) for each in (theta, *others))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.engine.derivatives(
                self.family,
                self.basis.center,
                here[:, 0],
                here[:, 1:],
                order,
                [(raw[:, 0], raw[:, 1:]) for raw in places],
            )
        found = [(s.deviance, *self.coordinates.derivatives(s)) for s in (sums, *sums.others)]
        self._saw(theta, found[0][2])
        return found

    @property
    def has_ceiling(self) -> bool:
        """Whether α = 0 at a finite λ: under absolute values."""
        return self.penalty.l1 > 0.0

    @cached_property
    def ceiling(self) -> float:
        """The smallest λ with α = 0."""
        if not self.has_ceiling:
            return np.inf
        gradient = self.restricted.gradient[self.coordinates.of_sensitive]
        return float(np.abs(gradient).max(initial=0.0)) / (2.0 * self.penalty.l1)

    @cached_property
    def typical(self) -> float:
        """The λ at which penalty and curvature of α balance."""
        return self._balance(np.mean, np.mean)

    @cached_property
    def smallest_typical(self) -> float:
        """The same for the column of S that has the least curvature, in its units."""
        return self._balance(np.min, np.max)

    def _balance(
        self, of_curvatures: Callable[[Floats], float], of_penalties: Callable[[Floats], float]
    ) -> float:
        if not self.coordinates.of_sensitive.size:
            return 1.0
        curvature = of_curvatures(np.diag(self.start.hessian)[self.coordinates.of_sensitive])
        # A partial likelihood may not depend on S; then only rounding is left, of any sign.
        curvature = max(curvature, ROUNDING_OF_CURVATURE * self.unit)
        quadratic = np.diag(self._penalized)
        return float(0.5 * curvature / (of_penalties(quadratic) if quadratic.any() else 1.0))

    # ------------------------------------------------------------------- sample

    @cached_property
    def sample(self) -> PenalizedGLM | None:
        """The same model on a sample of the rows, in the same coordinates; None for small data."""
        engine = self.engine
        if engine.n_rows * len(engine.names) < FEW_NUMBERS:
            return None
        few = engine.sample(self._rows_for_a_start)
        if few is None:
            return None
        sample = _SampledGLM(self, few)
        self._seen = [_Seen(self.start.theta, self.start.hessian, sample)]
        return sample

    def in_samples(self, search: Callable[[PenalizedGLM], Start | None]) -> Start | None:
        """Search in the sample; if it tells nothing, once more by itself, and then never again.

        Parameters
        ----------
        search : callable
            Maps the model of the sample to what it leads to; None if that is nothing.
        """
        if self.sample is None:
            return None
        for sample in (self.sample, _SampledGLM(self, self.sample.engine, alone=True)):
            try:
                with np.errstate(over="ignore", invalid="ignore"):  # it may lead anywhere
                    found = search(sample)
            except np.linalg.LinAlgError:
                continue
            if found is not None:
                return found
        self.sample, self._seen = None, []
        return None

    @property
    def _rows_for_a_start(self) -> int:
        """Rows of which a model is near that of all: enough of them, and of their events."""
        events, targets = 1.0, self.basis.center_targets
        if self.family.reads == "classes":
            events = float(min(targets.min(), 1.0 - targets.max()))
        elif self.family.link == "log" and self.family.reads == "numbers":
            events = float(targets.min())
        each = max(ROWS_EACH, EVENTS_EACH / min(max(events, TINY), 1.0))
        columns, n_rows = 1 + len(self.engine.names), self.engine.n_rows
        enough = max(ENOUGH_EACH * columns, n_rows / FEW_ROWS_EACH)
        return int(max(each * columns, min(n_rows / MOST_ROWS_EACH, enough)))

    def _saw(self, theta: Floats, hessian: Floats | None) -> None:
        """Remember the Hessian of all rows at a point, if it was computed."""
        if hessian is not None and "sample" in self.__dict__ and self.sample is not None:
            self._seen = [*self._seen[1 - MOST_SEEN :], _Seen(theta, hessian, self.sample)]

    def nearby_hessian(self, theta: Floats) -> Floats | None:
        """Return about the Hessian of all rows at θ, from a sample; None if it is not definite.

        That is the Hessian at the nearest θ₀ where all rows were read for it, and what the
        sample says of the difference: H(θ₀) + Hs(θ) − Hs(θ₀). The sample errs by a part of
        the difference only, which vanishes as θ gets near.
        """
        if not self._seen:
            return None
        seen = min(self._seen, key=lambda seen: seen.distance(theta))
        _, _, there = seen.sample._evaluate(theta, 2)
        if there is None:
            return None
        hessian = seen.hessian + there - seen.sampled
        return hessian if is_definite(hessian) else None

    # ------------------------------------------------------------------- points

    @cached_property
    def start(self) -> Point:
        """The null model, or near it."""
        theta = np.zeros(self.coordinates.size)
        theta[self.coordinates.intercept_index] = self.engine.initial_intercepts(self.family)
        return self._point_at(theta)

    def _point_at(self, theta: Floats) -> Point:
        deviance, gradient, hessian = self._evaluate(theta, 2)
        assert hessian is not None
        return Point(theta, deviance, gradient, hessian)

    def warm_start(self) -> Floats:
        """Return level and raw coefficients of the model at a typical λ, to start others from."""
        raw = self.coordinates.raw(self.point(self.typical).theta)
        raw[:, 0] -= raw[:, 1:] @ self.basis.center
        return raw

    def start_from(self, warm_start: Floats) -> None:
        """Start from the `warm_start` of a problem on other rows instead of from the null model."""
        raw = warm_start.copy()
        raw[:, 0] += raw[:, 1:] @ self.basis.center
        warm = self._point_at(self.coordinates.theta(raw))
        if warm.deviance < self.start.deviance:
            self._rough[self.typical] = warm

    def start_near(self, value: float, lambda_: float, point: Point) -> None:
        """Start from a point near the minimum at a λ, at which a definition has a value."""
        self._rough[lambda_] = point
        self.near[value] = lambda_, point

    @property
    def warm(self) -> Point | None:
        """The point that another problem was asked to start from, if any."""
        return self._rough.get(self.typical)

    def remember(self, lambda_: float, point: Point) -> bool:
        """Keep the minimum at a λ that was found elsewhere, if it is surely the one."""
        objective = self.objective(lambda_)
        if lambda_ == 0.0:
            if self._is_loose(objective, point):
                return False
            point = replace(point, separated=self._undetermined(objective, point))
        self._points[lambda_] = point
        return True

    def floor(self) -> float:
        """Return the unfairness that no finite λ goes below."""
        if self.space.uses_sensitive or self.coordinates.predictors.shape[1]:
            return 0.0  # at which α = 0, whatever the gradient
        # Of the model with an intercept, and with controls, only.
        return self.space.floor(self.restricted.gradient[self.coordinates.of_sensitive])

    @cached_property
    def restricted(self) -> Point:
        """The model without S (α = 0)."""
        return self._minimized(np.inf, CLOSE)

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        return self.null.deviance

    @cached_property
    def null(self) -> Point:
        """The model with an intercept only."""
        if not self.family.has_intercept:
            return self.start
        levels = self.coordinates.intercept_index
        others = np.setdiff1d(np.arange(len(self.start.theta)), levels)
        objective = replace(self.objective(np.inf), free=levels, zero=others)
        return minimize(objective, self.start, self.max_iter)

    def point(self, lambda_: float) -> Point:
        """Return the minimum at a λ."""
        if lambda_ >= self.ceiling:
            return self.restricted
        if lambda_ not in self._points:
            self._points[lambda_] = self._minimized(lambda_, CLOSE)
        return self._points[lambda_]

    def rough_point(self, lambda_: float) -> Point | None:
        """Return the minimum at a λ to some digits; None if all digits cost little more."""
        near = any(abs(x - lambda_) < 0.1 * lambda_ for x in self._points)
        if near or lambda_ in self._points or lambda_ >= self.ceiling:
            return None
        self._rough[lambda_] = self._minimized(lambda_, ROUGH)
        return self._rough[lambda_]

    def near_point(self, lambda_: float) -> Point | None:
        """Return a point near the minimum at a λ, for few passes; None if there may be none."""
        point = self._minimized(lambda_, NEARLY)
        if not point.converged or point.separated is not None:
            return None
        self._rough[lambda_] = point
        step, _ = self.objective(lambda_).step(point)
        return point.after(step)

    def visited(self, lambda_: float) -> Point | None:
        """Return the minimum at a λ to the digits that were asked for; None if it was not."""
        return self._points.get(lambda_) or self._rough.get(lambda_)

    def possible_error(self, lambda_: float, point: Point) -> float:
        """Share of the explained deviance that a minimum may still be off by."""
        step, _ = self.objective(lambda_).step(point)
        explained = abs(self.start.deviance - point.deviance)
        return 2.0 * float(abs(point.gradient @ step)) / explained if explained > 0.0 else np.inf

    @cached_property
    def _compares_nothing(self) -> bool:
        """Whether no risk set holds rows to compare: the partial likelihood is a constant."""
        if self.family.separable:
            return False
        curvature = float((np.diag(self.start.hessian) / self.spread**2).max(initial=0.0))
        return curvature <= ROUNDING_OF_CURVATURE * self.basis.weight

    def _minimized(self, lambda_: float, close: float) -> Point:
        """Minimize from the best point known."""
        if self._compares_nothing:
            return self.start
        objective = self.objective(lambda_)
        if not (self._rough or self._points):
            self._start_from_sample(lambda_)
        nearest = self._rough.get(lambda_) or self._nearest(lambda_, objective)
        # Coefficients that grew large at another λ can be worse than none at this one.
        start = nearest if np.isinf(lambda_) else min(nearest, self.start, key=objective.value)
        # If there is a limit instead of a minimum, where λ = 0 ends must not depend on what
        # was asked before.
        if lambda_ == 0.0 and start.separated is not None:
            start = self.start
        # Without a minimum a sample is of no use, and passes from it need not go on for long.
        most = self.max_iter if objective.nearby is None else min(self.max_iter, MOST_PASSES)
        minimum = minimize(objective, start, most, close)
        started = start is not self.start or objective.nearby is not None
        loose = lambda_ == 0.0 and started and self._is_loose(objective, minimum)
        if loose or (started and not minimum.converged):
            objective = replace(objective, nearby=None)
            minimum = minimize(objective, self.start, self.max_iter, close)
        if not minimum.converged:  # chance may decide where a minimum is hardly one
            plain = replace(objective, nearby=None, damps=False)
            other = minimize(plain, self.start, self.max_iter, close)
            minimum = other if other.converged else minimum
        if lambda_ > 0.0 or not minimum.converged:
            return minimum
        return replace(minimum, separated=self._undetermined(objective, minimum))

    def _start_from_sample(self, lambda_: float) -> None:
        """Start from the minimum of a sample, if that is any better than the null model."""

        def found(sample: PenalizedGLM) -> Point | None:
            objective = replace(sample.objective(lambda_), nearby=None)
            few = minimize(objective, self.start, MOST_PASSES, NEAR_ENOUGH)
            if not few.converged or few.separated is not None:
                return None
            point, value = self._point_at(few.theta), self.objective(lambda_).value
            return point if value(point) < value(self.start) else None

        point = self.in_samples(found)
        if point is not None:
            self._rough[lambda_] = point

    @cached_property
    def has_separated_levels(self) -> bool:
        """Whether levels are known to have no finite coefficients: of many columns, by counting.

        With fewer columns a search finds out as quickly.
        """
        engine, settings = self.engine, self.settings
        many = len(engine.names) >= MANY_COLUMNS and in_memory(engine)
        bent = settings.predictor_penalty > 0.0 or self.space.compressed
        return many and not bent and bool(separated_levels(engine, self.family))

    def _is_loose(self, objective: Objective, point: Point) -> bool:
        """Whether a minimum may depend on where its search started."""
        return len(self._flattened(objective, point, LOOSE)[1]) > 0

    def _undetermined(self, objective: Objective, point: Point) -> Floats | None:
        """Return directions in which a point is not determined; orthonormal, None without any.

        They have lost their curvature, and still there is something to gain.
        Newton's method itself may end far out in such a direction without
        having met it.
        """
        lost, kept = self._flattened(objective, point)
        slope = (point.gradient + 2.0 * objective.quadratic @ point.theta) @ lost
        promised = slope**2 > LITTLE * (1.0 + abs(point.deviance)) * kept
        lost = lost[:, promised | (kept < ROUNDING_OF_CURVATURE)]
        return np.linalg.qr(lost / np.linalg.norm(lost, axis=0))[0].T if lost.size else None

    def _flattened(
        self, objective: Objective, point: Point, below: float = FLAT
    ) -> tuple[Floats, Floats]:
        """Return directions that lost their curvature since the null model, and what is left of it.

        The directions are columns, with a curvature of one at the null model and less than
        `below` at the point: generalized eigenvectors of the two Hessians. A level without
        events, for instance, has a curvature that vanishes as its coefficient grows.
        """
        # A penalty bends the objective everywhere alike, and what it bends is not lost.
        free, bent = objective.free, 2.0 * objective.quadratic
        before, after = (
            (H + bent)[np.ix_(free, free)] for H in (self.start.hessian, point.hessian)
        )
        # Coordinates of columns in other units differ by orders of magnitude, and so would
        # the rounding of their eigenvectors.
        scale = np.sqrt(np.where(np.diag(before) > 0.0, np.diag(before), 1.0))
        before, after = (H / np.outer(scale, scale) for H in (before, after))
        # In the usual case every direction keeps its curvature, and a Cholesky factor shows it.
        if is_definite(after - below * before):
            return np.zeros((len(point.theta), 0)), np.zeros(0)
        # Collinear columns had no curvature to lose.
        kept, vectors = relative_eigenvectors(after, before, ROUNDING_OF_CURVATURE)
        lost = np.zeros((len(point.theta), int(np.count_nonzero(kept < below))))
        lost[free] = vectors[:, kept < below] / scale[:, None]
        return lost, kept[kept < below]

    def _nearest(self, lambda_: float, objective: Objective) -> Point:
        """Return the solved point whose λ is nearest, on a log scale that ends at 0 and ∞."""
        known = self._rough | self._points
        if "restricted" in self.__dict__:
            known[np.inf] = self.restricted
        # Diverged points are bad starts.
        places = np.array([lambda_, *known])
        places = np.log(np.minimum(places, 1e3 * self.typical) + 1e-2 * self.typical)
        points = list(known.values())
        for k in np.argsort(np.abs(places[1:] - places[0]), kind="stable"):
            if objective.allows_separation(points[k]):
                return points[k]
        return self.start

    # --------------------------------------------------------------- separation

    @cached_property
    def exchangeable(self) -> Separation | None:
        """Name attributes that predictors can replace in a partial likelihood, if there are any.

        Along an idle direction of S and U together the deviance is the same, and without a
        penalty α is whatever one likes.
        """
        if self.family.separable or self.predictor_penalty > 0.0 or not self.space.uses_sensitive:
            return None
        of_sensitive = self.coordinates.of_sensitive
        levels = self.coordinates.intercept_index
        free = np.setdiff1d(np.arange(self.coordinates.size, dtype=np.intp), levels)
        moves = self._idle(free)[np.isin(free, of_sensitive)]
        shares, vectors = np.linalg.eigh(moves.T @ moves)  # of S in each direction
        mixed = moves @ vectors[:, (shares > MOVES) & (shares < 1.0 - MOVES)]
        if not mixed.size:
            return None
        alpha = self.coordinates.sensitive @ (mixed / self.spread[of_sensitive][:, None])
        largest = largest_of(np.abs(alpha).max(axis=1) * self.basis.deviations[: len(alpha)])
        return Separation((), tuple(self.engine.names[k] for k in largest))


class _SampledGLM(PenalizedGLM):
    """A model on a sample of the rows, with which a search on all of them starts.

    Its coordinates are those of all rows, and its weights sum up to theirs: so do deviances
    and their derivatives, but for chance. At the null model they are known of all rows, so that
    the sample need not tell them: what it tells is how the deviance goes on from there,

        D(θ₀) + gᵀ(θ − θ₀) + ½(θ − θ₀)ᵀH(θ − θ₀) + what Dₛ(θ) has beyond its own such terms.

    A level that is absent from the sample is then as in one Newton step of all rows. Far from
    the null model that may mislead, and the sample had better speak for itself, `alone`.
    """

    def __init__(self, whole: PenalizedGLM, engine: Engine, *, alone: bool = False) -> None:
        super().__init__(replace(whole.space, engine=engine), whole.family, whole.settings)
        self._whole = whole
        self._alone = alone
        self.sample = None

    @property
    def start(self) -> Point:
        """The null model of all rows."""
        return self._whole.start

    def evaluated(self, theta: Floats, order: int, others: Sequence[Floats] = ()) -> list[Values]:
        """Return deviances and derivatives, with what all rows have beyond the sample at θ₀."""
        found = super().evaluated(theta, order, others)
        if self._alone:
            return found
        level, slope, bend = self._beyond
        corrected: list[Values] = []
        for at, (deviance, gradient, hessian) in zip((theta, *others), found, strict=True):
            move = at - self.start.theta
            along = bend @ move
            more = level + float((slope + 0.5 * along) @ move)
            hessian = None if hessian is None else hessian + bend
            corrected.append((deviance + more, gradient + slope + along, hessian))
        return corrected

    @cached_property
    def _beyond(self) -> tuple[float, Floats, Floats]:
        """What deviance, gradient and Hessian of all rows have beyond the sample's at θ₀."""
        start = self.start
        ((deviance, gradient, hessian),) = super().evaluated(start.theta, 2)
        assert hessian is not None  # at order 2
        return start.deviance - deviance, start.gradient - gradient, start.hessian - hessian

    def objective(self, lambda_: float) -> Objective:
        """Return the penalized deviance at a λ, with a small ridge on all coefficients."""
        objective = super().objective(lambda_)
        return replace(objective, quadratic=objective.quadratic + self._ridge)

    @cached_property
    def _ridge(self) -> Floats:
        """A ridge that a few rows outweigh: on 0/1 columns as they are, on others standardized."""
        basis, m = self.basis, self.family.n_predictors
        squares = basis.deviations**2
        squares[binary_columns(basis.center, squares)] = 1.0
        squares = np.append(0.0, 2.0 * self.unit / self.engine.n_rows * squares)
        raw = np.einsum("ab,ij->aibj", np.eye(m), np.diag(squares))
        ridge = self.coordinates.derivatives(GLMSums(0.0, np.zeros((m, len(squares))), raw))[1]
        assert ridge is not None
        return ridge


@dataclass
class _Seen:
    """A Hessian of all rows."""

    theta: Floats  # where
    hessian: Floats
    sample: PenalizedGLM

    @cached_property
    def sampled(self) -> Floats:
        """The Hessian of the sample there."""
        hessian = self.sample._evaluate(self.theta, 2)[2]
        assert hessian is not None  # at order 2
        return hessian

    def distance(self, theta: Floats) -> float:
        """How far a point is from there, in units of the deviance."""
        move = theta - self.theta
        return float(move @ self.hessian @ move)


def largest_of(effect: Floats) -> list[int]:
    """Return the places of what is not small beside the largest."""
    return np.flatnonzero(effect > 0.25 * effect.max(initial=0.0)).tolist()


def separation_of(minima: PenalizedGLM, point: Point) -> Separation | None:
    """Name the columns whose coefficients grow without bound at a point, if there are any."""
    if point.separated is None:
        return None
    space, q = minima.space, minima.engine.n_sensitive
    names, deviations = space.all_columns.names, space.reported.deviations
    # The part of θ that has gone far is the part along those directions.
    gone = minima.coordinates.raw(point.separated.T @ (point.separated @ point.theta))[:, 1:]
    gone = space.raw_in_columns(gone)
    count, basis = len(point.separated), minima.basis
    every = np.concatenate([minima.coordinates.by_predictor(each) for each in point.separated])
    _, alpha, beta = minima.coordinates.split(every)
    moved, rest = (
        np.asarray(variance).reshape(count, -1).sum(axis=1)
        for variance in (basis.sensitive_variance(alpha), basis.predictor_variance(beta))
    )
    moves = moved > MOVES * (moved + rest)
    sensitive = np.abs(alpha).reshape(count, -1, q)[moves].max(axis=(0, 1), initial=0.0)
    columns = largest_of(np.abs(gone).max(axis=0) * deviations)
    return Separation(
        tuple(names[k] for k in columns),
        tuple(names[k] for k in largest_of(sensitive * deviations[:q])),
    )


def penalized_glm(space: Space, family: Family, settings: ModelSettings) -> PenalizedGLM:
    """Set a model up; what its family leaves open is estimated at the model without a bound.

    Parameters
    ----------
    space : Space
        The columns.
    family : Family
        The family as it was asked for; a dispersion, for instance, may be open.
    settings : ModelSettings
        Its penalties and limits.
    """
    warm_start: Floats | None = None

    def free(family: Family) -> Callable[[RowFunction], Floats]:
        nonlocal warm_start
        minima = PenalizedGLM(space, family, settings)
        if warm_start is not None:
            minima.start_from(warm_start)
        raw, center = minima.coordinates.raw(minima.point(0.0).theta), minima.basis.center
        warm_start = np.column_stack([raw[:, 0] - raw[:, 1:] @ center, raw[:, 1:]])
        return lambda function: space.engine.sum_over_rows(function, center, raw[:, 0], raw[:, 1:])

    return PenalizedGLM(space, family.completed(free), settings)
