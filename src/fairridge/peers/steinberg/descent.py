"""Newton's method for a smooth function that need not be convex."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairridge._typing import Floats

Evaluate = Callable[[Floats], tuple[float, Floats, Floats]]

# Decrease, relative to the value, at which the next step is the last.
CLOSE = 1e-22
# Decrease that may be left where the function itself no longer shows any.
INVISIBLE = 1e-9


class Minimum(NamedTuple):
    """Where a descent ended, the value there, and whether it is a minimum."""

    x: Floats
    value: float
    converged: bool


def descend(evaluate: Evaluate, start: Floats, max_iter: int) -> Minimum:
    """Go down from a start to a local minimum.

    Each step is −|H|⁻¹g, where |H| has the absolute eigenvalues of the
    Hessian: Newton's step near a minimum, and a descent everywhere else. The
    test for convergence, gᵀ|H|⁻¹g, does not depend on the units of x. `evaluate`
    maps x to value, gradient and Hessian.
    """
    x = start
    value, gradient, hessian = evaluate(x)
    for _ in range(max_iter):
        step, decrease = _step(gradient, hessian)
        scale = 1.0 + abs(value)
        if decrease <= CLOSE * scale:
            return Minimum(x + step, value, True)
        length = 1.0
        while length > 1e-10:
            trial = evaluate(x + length * step)
            # Rounding of the value must not stop a step that is good to the last digits.
            if trial[0] <= value - 1e-4 * length * decrease + 1e-14 * scale:
                break
            length *= 0.5
        else:
            return Minimum(x, value, decrease <= INVISIBLE * scale)
        converged = decrease <= 1e-15 * scale and _step(*trial[1:])[1] > 0.5 * decrease
        x = x + length * step
        value, gradient, hessian = trial
        if converged:  # the rest is rounding
            return Minimum(x, value, True)
    return Minimum(x, value, False)


def _step(gradient: Floats, hessian: Floats) -> tuple[Floats, float]:
    """Return −|H|⁻¹g and the decrease it promises."""
    values, vectors = np.linalg.eigh(hessian)
    size = np.abs(values)
    size = np.maximum(size, 1e-14 * size.max(initial=1e-300))
    along = vectors.T @ gradient
    return -vectors @ (along / size), float(along @ (along / size))
