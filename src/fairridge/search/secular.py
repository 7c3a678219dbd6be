"""λ(r) from a secular equation, for every bound at once.

Where unfairness is VAR(Sα)/(VAR(Sα) + rest) and `rest` is constant, meeting
the bound r means ‖Sα(λ)‖² = r/(1−r)·rest =: t. For ridge-like penalties
φ(λ) = 1/‖Sα(λ)‖ is increasing, concave and nearly linear, so Newton's method
on φ(λ) = 1/√t climbs from λ = 0 to the root without ever passing it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["secular_roots"]

Floats = NDArray[np.float64]
Explained = Callable[[Floats], tuple[Floats, Floats]]


def secular_roots(
    explained: Explained, targets: Floats, max_iter: int = 100
) -> tuple[Floats, NDArray[np.bool_]]:
    """Solve ‖Sα(λ)‖² = t for every target t.

    Parameters
    ----------
    explained : callable
        Maps several λ to ‖Sα(λ)‖² and its derivative.
    targets : ndarray
        Targets, each at least 0. Zero gives λ = ∞; a target that λ = 0 meets gives 0.
    max_iter : int
        Newton steps at most; 3 to 6 are usual.

    Returns
    -------
    roots : ndarray
        λ for every target.
    converged : ndarray of bool
        Whether the steps had died out.
    """
    targets = np.asarray(targets, dtype=np.float64)
    at_zero = explained(np.zeros(1))[0][0]
    roots = np.where(targets > 0.0, 0.0, np.inf)
    if at_zero == 0.0:
        return np.zeros_like(targets), np.ones(len(targets), dtype=bool)
    converged = (targets >= at_zero) | (targets == 0.0)
    roots[targets >= at_zero] = 0.0
    active = np.flatnonzero(~converged)
    goal = 1.0 / np.sqrt(targets[active])
    for _ in range(max_iter):
        if not active.size:
            break
        value, slope = explained(roots[active])
        size = np.sqrt(value)
        # φ = value^(−1/2), φ′ = −½ value^(−3/2)·slope.
        step = (goal - 1.0 / size) * (2.0 * value * size) / -slope
        roots[active] = np.maximum(roots[active] + step, 0.0)
        small = np.abs(step) <= 4e-16 * roots[active]
        stuck = step <= 0.0  # the climb is monotone: a step back is rounding
        done = small | stuck
        converged[active[done]] = True
        active, goal = active[~done], goal[~done]
    return roots, converged
