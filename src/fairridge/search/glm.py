"""Generalized linear models under a quadratic penalty on α, for every λ.

λθᵀKθ is ‖a‖² with a = Rθ, RᵀR = K: linear in θ, so that a pass at θ predicts the models
at all λ, their deviances and those with coefficients at zero. Bounds on what does not
follow from these are met by a scan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness import Definition, is_variance_share
from fairridge.families.sums import any_arrays
from fairridge.models import Fit, Isolation, PredictedModels
from fairridge.models.spaces import plain_space
from fairridge.search.driver import BoundSearch, Found, Predicted
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import (
    Choice,
    PenalizedProblem,
    choose_above_floor,
)
from fairridge.search.scan import scan
from fairridge.solvers import Point
from fairridge.solvers.newton import LocalModel, Step, local_model, moved

# Relative difference of two shares, or deviances, of different minima, which are the same.
SAME = 1e-9
# Maps several predicted models to their values.
Values = Callable[[PredictedModels], Floats]


@dataclass(frozen=True)
class WithoutColumns:
    """Deviances and gradients with the coefficients of S, and of U as well, at zero."""

    deviances: Floats  # of shape (2,), or empty if nobody asks
    gradients: Floats  # of shape (2, N)


class QuadraticSearch(BoundSearch):
    """Bounds on a share of variance, or of deviance."""

    def __init__(self, glm: PenalizedGLM, values: Values, *, with_deviances: bool) -> None:
        super().__init__(glm)
        self._values, self._with_deviances = values, with_deviances

    def on(self, sample: PenalizedGLM) -> QuadraticSearch:
        """Return the same search on other rows."""
        return QuadraticSearch(sample, self._values, with_deviances=self._with_deviances)

    @cached_property
    def _kept(self) -> Floats:
        """Coefficients that are not set to zero, 1 or 0, at every place of a pass."""
        # At the first all of them; at the others, if the definition needs their deviances, all but
        # those of S, and intercepts and controls.
        coordinates = self.glm.coordinates
        if not self._with_deviances:
            return np.ones((1, coordinates.size))
        kept = np.ones((3, coordinates.size))
        kept[1, coordinates.of_sensitive] = kept[2] = 0.0
        kept[2, coordinates.intercept_index] = kept[2, coordinates.of_controls] = 1.0
        return kept

    @cached_property
    def _root(self) -> Floats:
        """R with RᵀR = K, of shape (s, N)."""
        S = self.glm.coordinates.of_sensitive
        values, vectors = np.linalg.eigh(self.glm.penalized[np.ix_(S, S)])
        root = np.zeros((len(S), self.glm.coordinates.size))
        root[:, S] = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return root

    @cached_property
    def null(self) -> Point:
        """The null model, whose other coefficients are zero already."""
        start, count = self.glm.start, len(self._kept) - 1
        known = WithoutColumns(np.full(count, start.deviance), np.tile(start.gradient, (count, 1)))
        return replace(start, beside=known)

    def local(
        self, point: Point, damping: float = 0.0, origin: float | None = None
    ) -> LocalModel | None:
        """Return the minima at all λ, as a pass shows them."""
        glm, R = self.glm, self._root
        H = point.hessian + 2.0 * self.glm.fixed
        if damping > 0.0:
            H[np.diag_indices_from(H)] += damping * glm.typical_curvature
        gradient = point.gradient + 2.0 * self.glm.fixed @ point.theta
        penalized = R @ point.theta, R
        return local_model(H, gradient, penalized, None, origin, glm.typical_curvature)

    def predicted(self, point: Point, local: LocalModel) -> Predicted:
        """Return the definition as a function of λ, as a pass predicts it."""
        glm, (m, width) = self.glm, self.glm.coordinates.shape
        # Models at all λ are combinations of a few, and deviances are quadratic in their parts.
        rows = local.moves.copy()
        rows[0] += point.theta
        _, of_alpha, of_beta = glm.coordinates.split(rows.reshape(-1, width))
        of_alpha, of_beta = (each.reshape(len(rows), m, -1) for each in (of_alpha, of_beta))
        deviances = self._deviances(point, local.moves)

        def values(lambdas: Floats) -> Floats:
            parts = local.along(lambdas)
            deviance, *others = deviances(parts)
            without, null = others or (deviance, deviance)
            return self._values(
                PredictedModels(
                    parts, of_alpha, of_beta, deviance, without, null, glm.family, glm.basis
                )
            )

        return values

    def _deviances(self, point: Point, moves: Floats) -> Callable[[Floats], Floats]:
        """Return what parts (rows) of some moves make of all deviances, to second order."""
        kept = self._kept[:, None] * moves
        gradients = np.concatenate([point.gradient[None], point.beside.gradients])
        slopes = (kept @ gradients[:, :, None])[:, :, 0]
        bent = kept @ point.hessian @ kept.swapaxes(1, 2)
        deviances = np.concatenate([[point.deviance], point.beside.deviances])[:, None]

        def after(parts: Floats) -> Floats:
            return np.asarray(
                deviances + slopes @ parts.T + 0.5 * ((parts @ bent) * parts).sum(axis=2)
            )

        return after

    def step(self, point: Point, local: LocalModel, lambda_: float) -> Step:
        """Return the step to a λ, and what it promises."""
        change = local.changes(np.array([lambda_]))[0]
        slope = self._root @ change
        curvature = point.hessian @ change + 2.0 * lambda_ * self._root.T @ slope
        curvature += 2.0 * self.glm.fixed @ change
        return Step(change, float(change @ curvature), lambda_)

    def objective(self, point: Point, step: Step) -> float:
        """Return the penalized deviance at a point, for the λ of a step."""
        theta = point.theta
        value = point.deviance + float(theta @ self.glm.fixed @ theta)
        penalized = self._root @ theta
        return value + step.lambda_ * float(penalized @ penalized)

    def evaluated(self, before: Point, theta: Floats, order: int, step: Step | None) -> Point:
        """Make a pass at θ, and at what is left of it with coefficients at zero."""
        glm = self.glm
        found, *others = glm.evaluated(theta, order, list(theta * self._kept[1:]))
        nearby = None if glm.sample is None else glm.nearby_hessian
        deviances = np.array([deviance for deviance, _, _ in others])
        gradients = np.array([gradient for _, gradient, _ in others]).reshape(-1, len(theta))
        beside = WithoutColumns(deviances, gradients)
        return moved(before, theta, found, nearby, glm.unit, beside)

    def finished(self, point: Point, step: Step) -> Point:
        """Return the point after a last step, with the deviances there, to second order."""
        deviances = self._deviances(point, step.change[None])(np.ones((1, 1)))[1:, 0]
        after = replace(point.after(step.change), converged=True)
        return replace(after, beside=replace(point.beside, deviances=deviances))


class _NotConvergedError(Exception):
    """Newton's method found no minimum at a λ."""

    def __init__(self, lambda_: float) -> None:
        super().__init__(lambda_)
        self.lambda_ = lambda_


class GLMProblem(PenalizedProblem):
    """A generalized linear model on given rows, for every λ."""

    def __init__(
        self, glm: PenalizedGLM, definition: Definition, isolation: Isolation | None = None
    ) -> None:
        self.glm = glm
        self.space = glm.space
        self.family = glm.family
        self.settings = glm.settings
        self.definition = definition
        self.isolation = isolation
        self.explains = not glm.space.uses_sensitive
        self._fits: dict[float, Fit] = {}
        self._is_reference = False

    # Features of other rows are others, so that no coefficient of theirs means anything here.

    def warm_start(self) -> Floats | None:
        """Return intercept and raw coefficients of the model at a typical λ."""
        return None if self.space.compressed else self.glm.warm_start()

    def start_from(self, warm_start: Floats | None) -> None:
        """Start from the `warm_start` of a problem on other rows instead of from the null model."""
        if warm_start is not None and not self.space.compressed:
            self.glm.start_from(warm_start)

    def fit(self, lambda_: float) -> Fit:
        """Return the model at one λ, in the space."""
        if lambda_ not in self._fits:
            self._fits[lambda_] = self._as_fit(lambda_, *self._solved(lambda_))
        return self._fits[lambda_]

    def _solved(self, lambda_: float) -> tuple[PenalizedGLM, Point]:
        """Return the minimum at a λ, and whose it is."""
        return self.glm.solved(lambda_)

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
        return all(self.glm.solved(x)[1].converged for x in compared)

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only, on all rows."""
        known = None if self.isolation is None else self.isolation.null_deviance(self.family)
        return self._of_all_rows.null.deviance if known is None else known

    @cached_property
    def _of_all_rows(self) -> PenalizedGLM:
        """The model of all rows, including isolated ones."""
        if self.isolation is None:
            return self.glm
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

    def _as_fit(self, lambda_: float, glm: PenalizedGLM, point: Point) -> Fit:
        coordinates = self.glm.coordinates
        theta = self.family.to_class_coefficients(coordinates.by_predictor(point.theta))
        level, alpha, beta = coordinates.split(theta)
        intercept: Any = level - alpha @ self.glm.basis.center_sensitive
        if len(theta) == 1:
            alpha, beta, intercept = alpha[0], beta[0], float(intercept[0])
        return Fit(
            lambda_=lambda_,
            alpha=alpha,
            beta=beta,
            intercept=intercept,
            deviance=point.deviance,
            family=self.family,
            basis=self.glm.basis,
            engine=self.engine,
            unconstrained=self.unconstrained,
            separation=glm.separation_at(point),
        )

    def choose(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for every bound, from the side on which it holds."""
        if (bounds == 1.0).all() or not self._is_penalized or self.glm.ceiling == 0.0:
            return [Choice.UNCONSTRAINED for _ in bounds]
        floor = self._floor()
        free = self.value(definition, self.fit(0.0)) if floor > 0.0 else 1.0
        return choose_above_floor(
            bounds, floor, free, lambda above: self._choose_above(definition, above)
        )

    @property
    def _is_penalized(self) -> bool:
        """Whether there is anything that λ penalizes."""
        return bool(self.glm.basis.sensitive.rank and self.glm.coordinates.of_sensitive.size)

    def _floor(self) -> float:
        """Return the unfairness that no finite λ goes below."""
        if self.space.uses_sensitive or self._has_others:
            return 0.0  # at which α = 0, whatever the gradient
        # Of the model with an intercept, and with controls, only.
        gradient = self.glm.solved(np.inf)[1].gradient
        return self.space.floor(gradient[self.glm.coordinates.of_sensitive])

    def _choose_above(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for bounds that some finite λ, or α = 0, meets."""
        try:
            if not self._has_others and self._is_constant(definition):
                # S is all there is: its share is the same at every λ, and only α = 0 leaves none.
                share = self.value(definition, self.fit(self._small))
                last = Choice(self.glm.ceiling, "converged")
                return [Choice.UNCONSTRAINED if r == 1.0 or share <= r else last for r in bounds]
            chosen = self._found_jointly(definition, bounds)
            rest = np.array([r for r in bounds if r < 1.0 and r not in chosen])
            scanned = self._scanned(definition, rest) if rest.size else []
            chosen |= dict(zip(rest.tolist(), scanned, strict=True))
            return [chosen.get(r, Choice.UNCONSTRAINED) for r in bounds.tolist()]
        except _NotConvergedError as failure:
            # No search can go on from coefficients that are not a minimum.
            failed = Choice(failure.lambda_, "not-converged")
            return [Choice.UNCONSTRAINED if r == 1.0 else failed for r in bounds]

    def _found_jointly(self, definition: Definition, bounds: Floats) -> dict[float, Choice]:
        """Choose λ(r) and find the coefficients in the same passes, if that is possible."""
        glm, chosen = self.glm, dict[float, Choice]()
        predictable = definition.needs_only_deviances(self.family) and glm.penalty.l1 == 0.0
        if not (predictable and self._has_others):
            return chosen
        by_variance = is_variance_share(definition, self.family)
        plain = QuadraticSearch(glm, definition.predicted, with_deviances=not by_variance)
        searches: list[QuadraticSearch] = [plain]
        for r in np.unique(bounds[(bounds > 0.0) & (bounds < 1.0)]).tolist():
            # A bound that is looser than one that does not bind does not bind either.
            if Choice.UNCONSTRAINED in chosen.values():
                chosen[r] = Choice.UNCONSTRAINED
                continue
            found = self._found(searches, r)
            # A definition that is not monotone is looked at more closely.
            if found is not None and found.crossings <= 1:
                converged = Choice(found.lambda_, "converged")
                chosen[r] = converged if found.lambda_ > 0.0 else Choice.UNCONSTRAINED
        return chosen

    def _found(self, searches: list[QuadraticSearch], r: float) -> Found | None:
        """Search for a bound; with a ridge as well, if there is no minimum without."""
        for ridged in (False, True):
            if ridged and len(searches) == 1:
                searches.append(searches[0].on(self.glm.ridged))
            search = searches[ridged]
            found = search.find(r, self.settings.max_iter)
            if found is None:
                return None
            if not (found.point.separated or search.glm.is_flat(found.point)):
                if found.point.converged and found.crossings <= 1:
                    self._keep(found, search.glm)
                return found if found.point.converged else None
        return None

    def _keep(self, found: Found, glm: PenalizedGLM) -> None:
        """Keep a model that was found together with its λ, and deviances that came with it."""
        lambda_, point = found.lambda_, found.point
        self.glm.remember(lambda_, point, glm)
        fit = self._as_fit(lambda_, glm, point)
        if point.beside.deviances.size:
            fit = fit.with_deviances(*point.beside.deviances.tolist())
        self._fits[lambda_] = fit

    @property
    def _has_others(self) -> bool:
        """Whether there are coordinates that λ does not penalize."""
        return self.glm.coordinates.predictors.shape[1] > 0

    def _scanned(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for bounds below 1, by looking at one λ after another."""
        values = scan(
            lambda x: self._exact(definition, x),
            self.glm.typical,
            self.glm.ceiling,
            bounds,
            fine=definition.arbitrary or definition.needs_only_deviances(self.family),
        )
        tol, max_iter = self.settings.tol, self.settings.max_iter
        return [values.choose(float(r), tol, max_iter) for r in bounds]

    def _is_constant(self, definition: Definition) -> bool:
        """Whether a definition has the same value at λ that differ much."""
        two = [self.value(definition, self.fit(x * self._small)) for x in (1.0, 0.01)]
        return abs(two[0] - two[1]) <= SAME * abs(two[0])

    @property
    def _small(self) -> float:
        """A λ at which α is not zero."""
        return 0.1 * min(self.glm.typical, self.glm.ceiling)

    def _exact(self, definition: Definition, lambda_: float) -> float:
        """Return a definition's value to all digits."""
        if not self.converged(lambda_):
            raise _NotConvergedError(lambda_)
        return self.value(definition, self.fit(lambda_))
