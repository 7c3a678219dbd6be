"""Bounds on definitions that follow from coefficients and deviances, under a quadratic penalty.

λθᵀKθ is ‖a‖² with a = Rθ, RᵀR = K: linear in θ, so that a pass at θ predicts the models
at all λ, their deviances and those with coefficients at zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.models import PredictedModels
from fairridge.search.driver import BoundSearch
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.solvers import Point
from fairridge.solvers.local_model import LocalModel, local_model
from fairridge.solvers.newton import Step, moved

# Maps several predicted models to their values.
Predicted = Callable[[PredictedModels], Floats]


@dataclass(frozen=True)
class WithoutColumns:
    """Deviances and gradients with the coefficients of S, and of U as well, at zero."""

    deviances: tuple[float, ...]
    gradients: tuple[Floats, ...]


class QuadraticSearch(BoundSearch):
    """Bounds on a share of variance, or of deviance."""

    def __init__(self, glm: PenalizedGLM, values: Predicted, *, with_deviances: bool) -> None:
        super().__init__(glm)
        self._values, self._with_deviances = values, with_deviances

    def on(self, sample: PenalizedGLM) -> QuadraticSearch:
        """Return the same search on other rows."""
        return QuadraticSearch(sample, self._values, with_deviances=self._with_deviances)

    @property
    def typical(self) -> float:
        """The λ at which penalty and curvature balance at the null model."""
        return self.glm.typical

    @cached_property
    def _kept(self) -> tuple[Booleans, ...]:
        """Coefficients that are not set to zero: all but those of S, and intercepts and controls.

        None if the definition needs no such deviances.
        """
        if not self._with_deviances:
            return ()
        coordinates = self.glm.coordinates
        places = np.arange(coordinates.size)
        others = np.append(coordinates.intercept_index, coordinates.of_controls)
        return ~np.isin(places, coordinates.of_sensitive), np.isin(places, others)

    @cached_property
    def _fixed(self) -> Floats:
        """The quadratic form beside λK; no bound that binds has λ = 0."""
        return self.glm.fixed_at(self.glm.typical)

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
        start = self.glm.start
        if not self._kept:
            return start
        known = WithoutColumns((start.deviance,) * 2, (start.gradient,) * 2)
        return replace(start, beside=known)

    def local(self, point: Point, damping: float = 0.0, origin: float = 0.0) -> LocalModel | None:
        """Return the minima at all λ, as a pass shows them."""
        glm, R = self.glm, self._root
        H = point.hessian + 2.0 * self._fixed
        if damping > 0.0:
            H[np.diag_indices_from(H)] += damping * glm.typical_curvature
        gradient = point.gradient + 2.0 * self._fixed @ point.theta
        typical, penalized = glm.typical_curvature, R @ point.theta
        if glm.family.has_intercept:
            return local_model(H, gradient, (penalized, R), None, origin, typical)
        free = glm.free_at(0.0)
        found = local_model(
            H[np.ix_(free, free)],
            gradient[free],
            (penalized, R[:, free]),
            None,
            origin,
            typical[free],
        )
        return None if found is None else found.among(free, len(gradient))

    def predicted(self, point: Point, local: LocalModel, lambdas: Floats) -> Floats:
        """Return the definition at several λ, as a pass predicts it."""
        glm, H = self.glm, point.hessian
        changes = local.changes(lambdas)
        theta = point.theta + changes
        m, width = glm.coordinates.shape
        _, alpha, beta = glm.coordinates.split(theta.reshape(-1, width))
        deviance = without = null = point.deviance + _second_order(changes, point.gradient, H)
        if point.beside is not None:
            known = zip(point.beside.deviances, point.beside.gradients, self._kept, strict=True)
            without, null = (
                other + _second_order(np.where(kept, changes, 0.0), gradient, H)
                for other, gradient, kept in known
            )
        alpha, beta = (part.reshape(len(lambdas), m, -1) for part in (alpha, beta))
        return self._values(
            PredictedModels(alpha, beta, deviance, without, null, glm.family, glm.basis)
        )

    def step(self, point: Point, local: LocalModel, lambda_: float) -> Step:
        """Return the step to a λ, and what it promises."""
        change = local.changes(np.array([lambda_]))[0]
        if np.isinf(lambda_):  # exactly
            S = self.glm.coordinates.of_sensitive
            change[S] = -point.theta[S]
            curvature = point.hessian @ change
        else:
            slope = self._root @ change
            curvature = point.hessian @ change + 2.0 * lambda_ * self._root.T @ slope
        curvature += 2.0 * self._fixed @ change
        return Step(change, float(change @ curvature), lambda_)

    def objective(self, point: Point, step: Step) -> float:
        """Return the penalized deviance at a point, for the λ of a step."""
        theta = point.theta
        value = point.deviance + float(theta @ self._fixed @ theta)
        if np.isinf(step.lambda_):
            return value
        penalized = self._root @ theta
        return value + step.lambda_ * float(penalized @ penalized)

    def evaluated(self, before: Point, theta: Floats, order: int, step: Step | None) -> Point:
        """Make a pass at θ, and at what is left of it with coefficients at zero."""
        glm = self.glm
        found, *others = glm.evaluated(theta, order, [theta * kept for kept in self._kept])
        nearby = None if glm.sample is None else glm.nearby_hessian
        beside = None
        if others:
            deviances, gradients, _ = zip(*others, strict=True)
            beside = WithoutColumns(deviances, gradients)
        return moved(before, theta, found, nearby, glm.unit, beside)

    def finished(self, point: Point, step: Step) -> Point:
        """Return the point after a last step, with the deviances there, to second order."""
        after = replace(point.after(step.change), converged=True)
        if point.beside is None:
            return after
        known = zip(point.beside.deviances, point.beside.gradients, self._kept, strict=True)
        moves = [np.where(kept, step.change, 0.0) for kept in self._kept]
        deviances = tuple(
            deviance + float(_second_order(move[None], gradient, point.hessian)[0])
            for (deviance, gradient, _), move in zip(known, moves, strict=True)
        )
        return replace(after, beside=replace(point.beside, deviances=deviances))


def _second_order(changes: Floats, gradient: Floats, hessian: Floats) -> Floats:
    """Return what changes (rows) make of a deviance, to second order."""
    return changes @ gradient + 0.5 * ((changes @ hessian) * changes).sum(axis=1)
