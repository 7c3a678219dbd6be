"""Descent into a minimum of a function that is not convex, by steps of limited length.

A quadratic model is trusted within a radius that grows while its promises are kept
and shrinks when they are not (Conn, Gould and Toint, 2000, chapter 7). It may fall in
some directions: the step then leaves the saddle on its lower side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairridge._typing import Floats

# Share of the promised decrease, below which a step is not taken,
KEPT = 1e-4
# and below and above which the radius changes.
POOR, GOOD = 0.25, 0.75
# Radius at the start.
FIRST = 1.0
# Radius at which nothing is left to see.
LAST = 1e-10
# Factors of the multiplier, and how many of them to try.
MOST_TRIALS = 60


def descend(
    value: Callable[[Floats], float],
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    curvature: Floats,
    close: float,
    max_iter: int,
) -> Floats:
    """Return a point next to a minimum, or as far as it got.

    Parameters
    ----------
    value : callable
        The function: a cheap pass.
    derivatives : callable
        Its gradient and Hessian: a pass where a step was taken.
    start : ndarray of shape (N,)
        Where to start.
    curvature : ndarray of shape (N,)
        Typical second derivatives: a step of radius 1 has dᵀ diag(curvature) d = Σ curvature/N.
    close : float
        Promised decrease at which to stop.
    max_iter : int
        Steps at most.
    """
    scale = np.sqrt(curvature / curvature.mean())
    theta, here, radius = start, value(start), FIRST
    gradient, hessian = derivatives(theta)
    for _ in range(max_iter):
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            break
        values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
        slope = vectors.T @ (gradient / scale)
        moved = False
        while not moved and radius > LAST:
            part = _within(values, slope, radius)
            promised = -float(slope @ part + 0.5 * values @ part**2)
            if promised <= close:
                return theta
            trial = theta + (vectors @ part) / scale
            after = value(trial)
            kept = (here - after) / promised if np.isfinite(after) else -1.0
            moved, length = kept > KEPT, float(np.linalg.norm(part))
            if kept < POOR:
                radius = 0.25 * length
            elif kept > GOOD and length > 0.99 * radius:
                radius *= 3.0
        if not moved:
            break
        theta, here = trial, after
        gradient, hessian = derivatives(theta)
    return theta


def _within(values: Floats, slope: Floats, radius: float) -> Floats:
    """Minimize slope·x + ½Σ values·x² over |x| ≤ radius."""
    floor = max(0.0, -float(values[0]))
    tiny = 1e-14 * max(float(np.abs(values).max()), 1e-300)
    low = floor + tiny
    x = -slope / (values + low)
    if np.linalg.norm(x) <= radius:
        if values[0] < -tiny:  # the hard case: the rest of the way goes along the lowest direction
            x[0] = np.copysign(np.sqrt(max(radius**2 - float(x[1:] @ x[1:]), 0.0)), -slope[0])
        return x
    high = floor + float(np.linalg.norm(slope)) / radius + tiny
    for _ in range(MOST_TRIALS):  # the length falls from low to high
        middle = np.sqrt(low * high)
        x = -slope / (values + middle)
        length = float(np.linalg.norm(x))
        if abs(length - radius) <= 0.01 * radius:
            break
        low, high = (middle, high) if length > radius else (low, middle)
    return x
