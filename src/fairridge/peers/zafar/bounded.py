"""A deviance under bounds on covariances, for Newton's method.

Every step minimizes the quadratic model of the deviance at a point under the bounds. In
coordinates in which its Hessian is the identity that is a projection on slabs. The bounds
are linear, so that they hold after every step, wherever it started.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.peers.zafar.least_squares import Limit
from fairridge.peers.zafar.slabs import project_on_slabs
from fairridge.solvers.newton import Objective, Point, Step
from fairridge.solvers.spectrum import CURVATURE_TOLERANCE, curvature_scale


@dataclass(frozen=True)
class QuadraticModel:
    """The quadratic model of a deviance at a point, under |normalsᵀθ| ≤ limit for any limit."""

    theta: Floats  # the point, of shape (N,)
    gradient: Floats  # of the deviance there, of shape (N,)
    hessian: Floats  # of shape (N, N)
    normals: Floats  # what is bounded, of shape (N, q)

    @cached_property
    def _whitening(self) -> tuple[Floats, Floats, Floats]:
        """W with WᵀHW = I, and the normals and the minimum without bounds in its coordinates."""
        scale = curvature_scale(self.hessian)
        values, vectors = np.linalg.eigh(self.hessian / np.outer(scale, scale))
        values = np.maximum(values, CURVATURE_TOLERANCE * values[-1])
        W = vectors / np.sqrt(values) / scale[:, None]
        here = (vectors * np.sqrt(values)).T @ (scale * self.theta)
        return W, W.T @ self.normals, here - W.T @ self.gradient

    def minimum(self, limit: float) -> tuple[Floats, Floats]:
        """Return the minimum under a limit, and the multipliers of the bounds."""
        W, normals, free = self._whitening
        nearest, multipliers = project_on_slabs(normals, free, limit)
        return W @ nearest, multipliers

    def ratio(self, limit: float) -> float:
        """Return max_j |normalsⱼᵀθ|/‖θ‖, without the intercept, at the minimum under a limit."""
        theta, _ = self.minimum(limit)
        size = float(np.linalg.norm(theta[1:]))
        return float(np.abs(self.normals.T @ theta).max(initial=0.0)) / size if size > 0.0 else 0.0


# Chooses the limit among the minima of a quadratic model.
Chosen = Callable[[QuadraticModel], Limit]


@dataclass(frozen=True)
class BoundedDescent(Objective):
    """A penalized deviance under |normalsᵀθ| ≤ limit; every step goes to a limit of its own."""

    # What is bounded, of shape (N, q).
    normals: Floats = field(kw_only=True)
    chosen: Chosen = field(kw_only=True)

    @classmethod
    def of(cls, objective: Objective, **bounds: Any) -> BoundedDescent:
        """Bound an objective."""
        return cls(**vars(objective), **bounds)

    def model(self, point: Point, damping: float = 0.0) -> QuadraticModel:
        """Return the quadratic model at a point."""
        slope, bent = self.slope(point), self.bent(point, damping)
        return QuadraticModel(point.theta, slope, bent, self.normals)

    def propose(self, point: Point, damping: float = 0.0, before: float = np.inf) -> Step:
        """Return the step to the minimum at the chosen limit, and the decrease it promises."""
        limit = self.chosen(self.model(point))
        model = self.model(point, damping)
        theta, multipliers = model.minimum(limit.value)
        change = theta - point.theta
        decrease = float(change @ model.hessian @ change)
        return Step(change, decrease, limit, multipliers=multipliers)

    def value(self, point: Point, step: Step | None = None) -> float:
        """Return the Lagrange function, which the step minimizes: the point may exceed a limit."""
        assert step is not None
        bounded = float(step.multipliers @ (self.normals.T @ point.theta))
        return super().value(point) + bounded
