"""A small quadratic problem with absolute values, by an active-set method."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from fairridge._typing import Booleans, Floats, Integers
from fairridge.solvers.spectrum import CURVATURE_TOLERANCE, curvature_scale, small_qr, solve_upper

# Changes of signs after which rounding keeps the search going in a circle.
MAX_CHANGES = 1_000


def lasso_minimum(H: Floats, b: Floats, weights: Floats, start: Floats | None = None) -> Floats:
    """Minimize ½xᵀHx − bᵀx + Σ weightsⱼ|xⱼ|."""
    # For given signs of the coordinates the problem is linear. Solve it, stop at the first
    # coordinate that would change its sign and leave it at zero; if none does, let the zero
    # coordinate with the steepest slope join. Every step lowers the objective and there are
    # finitely many sets of signs, so that the end is exact (feature-sign search, Lee, Battle, Raina
    # and Ng 2007). Columns that are nearly or exactly collinear leave directions without curvature:
    # proximal steps decide these, which add τ‖x − xₖ‖²/2, with a τ that rounding can take away.
    movable = np.diag(H) > 0.0
    scale = np.sqrt(np.where(movable, np.diag(H), 1.0))
    H, b, weights = H / np.outer(scale, scale), b / scale, weights / scale
    x = np.zeros_like(b) if start is None else np.where(movable, start * scale, 0.0)
    definite = H + CURVATURE_TOLERANCE * np.eye(len(b))
    for _ in range(2):  # the second squares what the added curvature costs
        x = _with_signs(definite, b + CURVATURE_TOLERANCE * x, weights, x, movable)
    return x / scale


def _with_signs(H: Floats, b: Floats, weights: Floats, x: Floats, movable: Booleans) -> Floats:
    """Search for the signs of the minimum; H is positive definite."""
    signs, waiting = np.sign(x), movable.copy()
    for _ in range(MAX_CHANGES):
        before = x
        x, stopped = _step(H, b - weights * signs, x, signs)
        moved = bool((x != before).any())
        waiting |= movable & moved
        if stopped.size:
            signs[stopped] = 0.0
            # What joined and stopped without a move had its slope from rounding.
            waiting[stopped] &= moved
            continue
        slope = H @ x - b
        rounding = CURVATURE_TOLERANCE * (np.abs(H) @ np.abs(x) + np.abs(b) + weights)
        excess = np.abs(slope) - weights - rounding
        excess[(signs != 0.0) | ~waiting] = 0.0
        if excess.max(initial=0.0) <= 0.0:
            break
        joining = int(np.argmax(excess))
        signs[joining] = -np.sign(slope[joining])
    return x


def _step(H: Floats, b: Floats, x: Floats, signs: Floats) -> tuple[Floats, Integers]:
    """Move to the minimum for these signs, or until coordinates reach zero; return these."""
    active = np.flatnonzero(signs)
    if not active.size:
        return x, active
    here, square = x[active], H[np.ix_(active, active)]
    factor = scipy.linalg.cho_factor(square, check_finite=False)
    direction = scipy.linalg.cho_solve(factor, b[active] - square @ here, check_finite=False)
    falling = direction * signs[active] < 0.0
    reach = np.full(len(active), np.inf)
    reach[falling] = -here[falling] / direction[falling]
    length = min(float(reach.min()), 1.0)
    stopped = active[reach <= length]
    x = x.copy()
    x[active] = here + length * direction
    x[stopped] = 0.0
    return x, stopped


def proximal_step(H: Floats, gradient: Floats, theta: Floats, l1: Floats) -> Floats:
    """Step to the minimum of the quadratic model plus absolute values."""
    # With the smooth coordinates first, H = RᵀR for an upper triangular R, whose last block R₂₂
    # leaves a lasso with R₂₂ᵀR₂₂ in the penalized ones.
    rough = np.flatnonzero(l1)
    order = np.append(np.flatnonzero(l1 == 0.0), rough)
    k = len(order) - len(rough)
    scale = curvature_scale(H)[order]
    R = _root(H[np.ix_(order, order)] / np.outer(scale, scale))
    right = (H @ theta - gradient)[order] / scale  # the new point x: ½xᵀHx − rightᵀx + l1|x|
    first = solve_upper(R[:k, :k], right[:k], transposed=True)
    # R₂₂ᵀR₂₂ is definite by construction. The same matrix as a difference, H₂₂ − H₂₁H₁₁⁻¹H₁₂, is
    # not once separation has left hardly any curvature, and then the signs never settle.
    reduced, b = R[k:, k:].T @ R[k:, k:], right[k:] - R[:k, k:].T @ first
    x = np.empty_like(theta)
    tail = lasso_minimum(reduced, b, l1[rough] / scale[k:], theta[rough] * scale[k:])
    x[order[:k]] = solve_upper(R[:k, :k], first - R[:k, k:] @ tail) / scale[:k]
    x[rough] = tail / scale[k:]
    return x - theta


def _root(H: Floats) -> Floats:
    """Return an upper triangular R with RᵀR = H, for an H that rounding may leave indefinite."""
    try:
        return np.asarray(scipy.linalg.cholesky(H, check_finite=False), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(H)
        values = np.maximum(values, CURVATURE_TOLERANCE * max(float(values[-1]), 1.0))
        return np.triu(small_qr((vectors * np.sqrt(values)).T)[1])
