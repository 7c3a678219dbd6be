"""A deviance under bounds on covariances, for Newton's method.

The quadratic model of the deviance is minimized under the bounds in every
step. In coordinates in which its Hessian is the identity that is a projection
on slabs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fairridge._typing import Floats
from fairridge.peers.zafar.slabs import project_on_slabs
from fairridge.solvers.newton import Objective, Point
from fairridge.solvers.spectrum import small_qr, solve_lower, solve_upper

# Excess over a bound, relative to the largest possible, that is rounding.
FEASIBLE = 1e-12


@dataclass(frozen=True)
class ModelMinimum:
    """Where the quadratic model of the deviance is least under the bounds."""

    theta: Floats  # the place, of shape (N,)
    distance: float  # square of the distance to it in the metric of the Hessian
    multipliers: Floats  # of the bounds, of shape (q,)
    direction: Floats  # how the place moves as the limit grows, of shape (N,)


@dataclass(frozen=True)
class BoundedObjective(Objective):
    """A deviance subject to |normalsᵀθ| ≤ limit."""

    # What is bounded, of shape (N, q).
    normals: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    limit: float = np.inf  # by how much; positive, ∞ for no bound

    def step(self, point: Point) -> tuple[Floats, float]:
        """Return the step to the minimum of the model, and its length as a decrease.

        The decrease it promises is at least that, and is not known to as
        many digits: it does not vanish in second order.
        """
        model = self.model(point)
        return model.theta - point.theta, model.distance

    def model(self, point: Point) -> ModelMinimum:
        """Minimize the quadratic model at a point under the bounds."""
        root, scale = _root_of(point.hessian)
        here = root.T @ (scale * point.theta)
        free = here - solve_lower(root, point.gradient / scale)
        Y = solve_lower(root, self.normals / scale[:, None])
        v, multipliers = project_on_slabs(Y, free, self.limit)
        theta = solve_lower(root, v, transposed=True) / scale
        active = np.flatnonzero(multipliers)
        Q, R = small_qr(Y[:, active])
        along = Q @ solve_upper(R, np.sign(multipliers[active]), transposed=True)
        return ModelMinimum(
            self.feasible(theta),
            float((v - here) @ (v - here)),
            multipliers,
            solve_lower(root, along, transposed=True) / scale,
        )

    def is_feasible(self, theta: Floats) -> bool:
        """Whether the bounds hold, but for rounding."""
        rounding = FEASIBLE * float(np.linalg.norm(theta)) * self._length
        return bool((np.abs(self.normals.T @ theta) <= self.limit + rounding).all())

    def feasible(self, theta: Floats) -> Floats:
        """Return θ if the bounds hold there, else the nearest point at which they do."""
        if (np.abs(self.normals.T @ theta) <= self.limit).all():
            return theta
        # Coordinates that no bound sees stay, whatever their units.
        out, seen = theta.copy(), self.normals.any(axis=1)
        out[seen] = project_on_slabs(self.normals[seen], theta[seen], self.limit).point
        return out

    @cached_property
    def _length(self) -> float:
        return float(np.linalg.norm(self.normals, axis=0).max(initial=0.0))


def bounded_objective(
    evaluate: Callable[[Floats, int], tuple[float, Floats, Floats | None]],
    normals: Floats,
    limit: float,
    unit: float = 1.0,
) -> BoundedObjective:
    """Return a deviance under bounds, infinite at a trial point that exceeds them.

    `evaluate` maps θ and an order to (deviance, gradient, Hessian or None); the
    others are as in `BoundedObjective`.
    """
    N = normals.shape[0]
    everything = np.arange(N, dtype=np.intp)

    def inside(theta: Floats, order: int) -> tuple[float, Floats, Floats | None]:
        if not objective.is_feasible(theta):
            return np.inf, np.zeros(N), None
        return evaluate(theta, order)

    objective = BoundedObjective(
        inside, np.zeros((N, N)), np.zeros(N), everything, everything[:0], normals, limit, unit=unit
    )
    return objective


def _root_of(H: Floats) -> tuple[Floats, Floats]:
    """Lower triangular root of a Hessian in units of its diagonal, and those units."""
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    scaled = H / np.outer(scale, scale)
    for added in (0.0, *np.logspace(-15.0, 0.0, 16)):
        try:
            root: Floats = np.linalg.cholesky(scaled + added * np.eye(len(scale)))
        except np.linalg.LinAlgError:
            continue
        return root, scale
    raise np.linalg.LinAlgError("the Hessian is not positive semidefinite.")
