"""Newton's method for a smooth function that need not be convex."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairridge._typing import Floats
from fairridge.solvers import Objective, Point, minimize
from fairridge.solvers.newton import Step
from fairridge.solvers.spectrum import CURVATURE_TOLERANCE

Evaluate = Callable[[Floats], tuple[float, Floats, Floats]]


class Minimum(NamedTuple):
    """Where a descent ended, the value there, and whether it is a minimum."""

    x: Floats
    value: float
    converged: bool


class _NonconvexObjective(Objective):
    """A function in orthonormal coordinates, all of which have the same typical curvature."""

    def propose(self, point: Point, damping: float = 0.0, before: float = np.inf) -> Step:
        """Return −|H|⁻¹g, where |H| has the absolute eigenvalues of the Hessian."""
        # That is Newton's step near a minimum, and a descent everywhere else.
        values, vectors = np.linalg.eigh(point.hessian)
        size = np.abs(values)
        size = np.maximum(size, CURVATURE_TOLERANCE * size.max(initial=1e-300))
        along = vectors.T @ point.gradient
        shrunk = along / (size + damping * self.typical)
        return Step(-vectors @ shrunk, float(along @ shrunk))


def descend(evaluate: Evaluate, start: Floats, max_iter: int) -> Minimum:
    """Go down from a start to a local minimum; `evaluate` returns value, gradient and Hessian."""
    N, first = len(start), Point(start, *evaluate(start))
    objective = _NonconvexObjective(
        lambda x, _: evaluate(x),
        np.zeros((N, N)),
        np.zeros(N),
        np.arange(N, dtype=np.intp),
        np.full(N, np.abs(np.diag(first.hessian)).mean()),
    )
    point, _ = minimize(objective, first, max_iter)
    return Minimum(point.theta, point.deviance, point.converged)
