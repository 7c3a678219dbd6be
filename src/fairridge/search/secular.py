"""λ(r) from a secular equation, for every bound at once.

If unfairness is VAR(Sα)/(VAR(Sα) + rest) and `rest` is constant, meeting
the bound r means ‖Sα(λ)‖ = √(r/(1−r)·rest) =: t. For ridge-like penalties
φ(λ) = 1/‖Sα(λ)‖ is increasing, concave and nearly linear, so Newton's method
on φ(λ) = 1/t climbs from λ = 0 to the root without ever passing it. Ratios of
lengths are all that it needs, which are numbers for any r > 0.

In models of X alone the denominator shrinks with the numerator. Their ratio
still decreases, but its inverse need not be concave: Newton's method may pass
the root, and is kept within a bracket.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairridge._typing import Booleans, Floats

# Ratio of lengths, less one, that is nothing but rounding.
ROUNDING = 1e-15

Length = Callable[[Floats], tuple[Floats, Floats]]


def secular_roots(
    length: Length, targets: Floats, max_iter: int = 100, *, concave: bool = True
) -> tuple[Floats, Booleans]:
    """Solve ‖Sα(λ)‖ = t for every target t.

    Parameters
    ----------
    length : callable
        Maps several λ to ‖Sα(λ)‖ and the derivative of its logarithm.
    targets : ndarray
        Targets, each at least 0. Zero gives λ = ∞; a target that λ = 0 meets gives 0.
    max_iter : int
        Maximum number of Newton steps; 3 to 6 are usual.
    concave : bool
        Whether 1/‖Sα(λ)‖ is known to be concave, so that steps never pass the root.

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
    low, high = np.zeros_like(targets), np.full_like(targets, np.inf)
    active = np.flatnonzero(~converged)
    for _ in range(max_iter):
        if not active.size:
            break
        here = roots[active]
        size, slope = length(here)
        excess = size / targets[active] - 1.0
        # φ′ = −slope·φ.
        step = excess / -slope
        if concave:
            stuck = step <= 0.0  # the climb is monotone: a step back is rounding
            roots[active] = np.maximum(here + step, 0.0)
        else:
            stuck = np.abs(excess) <= ROUNDING
            low[active] = np.where(excess > 0.0, here, low[active])
            high[active] = np.where(excess > 0.0, high[active], here)
            roots[active] = _inside(here + step, low[active], high[active])
        done = stuck | (np.abs(step) <= 4e-16 * roots[active])
        converged[active[done]] = True
        active = active[~done]
    return roots, converged


def _inside(proposed: Floats, low: Floats, high: Floats) -> Floats:
    """Return proposed roots if they lie in their brackets, else one from inside these."""
    outside = ~((proposed >= low) & (proposed <= high))
    return np.where(outside, np.where(np.isinf(high), 10.0 * low, 0.5 * (low + high)), proposed)
