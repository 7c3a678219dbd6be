"""λ(r) from a secular equation, for every bound at once.

Where unfairness is VAR(Sα)/(VAR(Sα) + rest) and `rest` is constant, meeting
the bound r means ‖Sα(λ)‖ = √(r/(1−r)·rest) =: t. For ridge-like penalties
φ(λ) = 1/‖Sα(λ)‖ is increasing, concave and nearly linear, so Newton's method
on φ(λ) = 1/t climbs from λ = 0 to the root without ever passing it. Ratios of
lengths are all that it needs, which are numbers for any r > 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairridge._typing import Booleans, Floats

__all__ = ["secular_roots"]

Length = Callable[[Floats], tuple[Floats, Floats]]


def secular_roots(length: Length, targets: Floats, max_iter: int = 100) -> tuple[Floats, Booleans]:
    """Solve ‖Sα(λ)‖ = t for every target t.

    Parameters
    ----------
    length : callable
        Maps several λ to ‖Sα(λ)‖ and the derivative of its logarithm.
    targets : ndarray
        Targets, each at least 0. Zero gives λ = ∞; a target that λ = 0 meets gives 0.
    max_iter : int
        Maximum number of Newton steps; 3 to 6 are usual.

    Returns
    -------
    roots : ndarray
        λ for every target.
    converged : ndarray of bool
        Whether the steps had died out.
    """
    targets = np.asarray(targets, dtype=np.float64)
    at_zero = length(np.zeros(1))[0][0]
    roots = np.where(targets > 0.0, 0.0, np.inf)
    if at_zero == 0.0:
        return np.zeros_like(targets), np.ones(len(targets), dtype=bool)
    converged = (targets >= at_zero) | (targets == 0.0)
    roots[targets >= at_zero] = 0.0
    active = np.flatnonzero(~converged)
    for _ in range(max_iter):
        if not active.size:
            break
        size, slope = length(roots[active])
        # φ′ = −slope·φ.
        step = (size / targets[active] - 1.0) / -slope
        roots[active] = np.maximum(roots[active] + step, 0.0)
        small = np.abs(step) <= 4e-16 * roots[active]
        stuck = step <= 0.0  # the climb is monotone: a step back is rounding
        done = small | stuck
        converged[active[done]] = True
        active = active[~done]
    return roots, converged
