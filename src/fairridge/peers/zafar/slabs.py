"""Projection on slabs: the small dual problem behind bounds on covariances.

A slab is the set {v : |yᵀv| ≤ c}. The point of the intersection of slabs that
is nearest to x,

    min ½‖x − v‖²  subject to  |yⱼᵀv| ≤ c for every j,

is v = x − Yν, with ν from a lasso in as many dimensions as there are slabs:
min ½‖x − Yν‖² + c‖ν‖₁. Least squares with bounded covariances has this form
once the fitted values have orthonormal coordinates.

LARS would give ν for every c at once, but it stops or exceeds bounds if a
column is a combination of active ones: with both levels of a binary attribute
in S, in most problems. The active set below exchanges such a column for one of
those that it depends on.
"""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.solvers.spectrum import small_qr, solve_upper

# A unit vector this near to the span of others is in it: what is left is rounding.
IN_SPAN = 1e-9
# Excess over a bound, relative to the length of x, that is rounding.
ROUNDING_OF_EXCESS = 1e-14


def project_on_slabs(Y: Floats, x: Floats, limit: float) -> tuple[Floats, Floats]:
    """Return the point v nearest to x with |yⱼᵀv| ≤ limit for every column of Y, and ν."""
    # Starts without any bound and adds the one that is exceeded most, until none is. Each round
    # solves for the multipliers of the active bounds; one whose sign would change leaves. The
    # objective ½‖x − Yν‖² + c‖ν‖₁ falls in every round, so no active set comes back and the search
    # is finite.
    # Normals may be linearly dependent, or zero.
    multipliers = np.zeros(Y.shape[1])
    if not np.isfinite(limit):
        return x, multipliers
    if len(x) > Y.shape[1] + 1:
        small_Y, small_x, Q, outside = _reduced(Y, x)
        point, multipliers = project_on_slabs(small_Y, small_x, limit)
        return outside + Q @ point[:-1], multipliers
    length = np.linalg.norm(Y, axis=0)
    used = np.flatnonzero(length > 0.0)
    limits = limit / length[used]
    multipliers[used] = _multipliers(Y[:, used] / length[used], x, limits) / length[used]
    active = np.flatnonzero(multipliers)
    # x − Yν would lose the digits of a point much shorter than x.
    Q, R = small_qr(Y[:, active])
    outside = x - Q @ (Q.T @ x)
    outside -= Q @ (Q.T @ outside)
    at_bound = solve_upper(R, limit * np.sign(multipliers[active]), transposed=True)
    return outside + Q @ at_bound, multipliers


def _reduced(Y: Floats, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the same problem in q + 1 dimensions, and Q and what is outside of it."""
    # Those are the span of Y, and the length of x outside it: without its last coordinate a
    # point v is Qv + outside.
    Q, R = small_qr(Y)
    outside = x - Q @ (Q.T @ x)
    outside -= Q @ (Q.T @ outside)
    small = np.vstack([np.triu(R), np.zeros(Y.shape[1])])
    return small, np.append(Q.T @ x, np.linalg.norm(outside)), Q, outside


def _multipliers(Y: Floats, x: Floats, limits: Floats) -> Floats:
    """Minimize ½‖x − Yν‖² + Σ limitsⱼ|νⱼ| for columns of length one."""
    q = Y.shape[1]
    nu, signs = np.zeros(q), np.zeros(q)
    active, closed = np.zeros(q, dtype=bool), np.zeros(q, dtype=bool)
    rounding = ROUNDING_OF_EXCESS * (float(np.linalg.norm(x)) + limits)
    for _ in range(50 + 20 * q):
        A = np.flatnonzero(active)
        target = _on_active(Y[:, A], x, limits[A] * signs[A])
        turned = np.flatnonzero(target * signs[A] <= 0.0)
        if turned.size:
            first, length = _first_zero(nu[A], target - nu[A], turned)
            nu[A] += length * (target - nu[A])
            nu[A[first]], active[A[first]] = 0.0, False
            closed[A[first]] = length == 0.0  # only rounding had brought it in
            continue
        nu[A] = target
        products = Y.T @ (x - Y[:, A] @ target)
        excess = np.where(active | closed, 0.0, np.abs(products) - limits)
        excess[excess <= rounding] = 0.0
        if not excess.any():
            break
        new = int(np.argmax(excess))
        signs[new], active[new] = np.sign(products[new]), True
        inside = _in_span(Y[:, A], Y[:, new])
        if inside is not None:
            # Along this ray the fit stays and ‖ν‖₁ falls, until an active multiplier is zero.
            ray = -signs[new] * inside
            shrinks = np.flatnonzero(ray * nu[A] < 0.0)
            if not shrinks.size:  # only by rounding
                active[new], closed[new] = False, True
                continue
            first, length = _first_zero(nu[A], ray, shrinks)
            nu[A] += length * ray
            nu[new] = length * signs[new]
            nu[A[first]], active[A[first]] = 0.0, False
    return nu


def _first_zero(nu: Floats, change: Floats, among: Integers) -> tuple[int, float]:
    """Which of some multipliers is the first to vanish along a change, and how far away."""
    lengths = np.abs(nu[among]) / np.abs(change[among])
    first = int(np.argmin(lengths))
    return int(among[first]), float(lengths[first])


def _on_active(Y: Floats, x: Floats, shift: Floats) -> Floats:
    """Solve YᵀYν = Yᵀx − shift by orthogonal steps."""
    Q, R = small_qr(Y)
    return solve_upper(R, Q.T @ x - solve_upper(R, shift, transposed=True))


def _in_span(Y: Floats, y: Floats) -> Floats | None:
    """Return the coefficients of y in the columns of Y; None if it is not a combination of them."""
    Q, R = small_qr(Y)
    inside = Q.T @ y
    if np.linalg.norm(y - Q @ inside) > IN_SPAN:
        return None
    return solve_upper(R, inside)


def span_of(Y: Floats) -> Floats:
    """Return orthonormal columns with the span of Y."""
    length = np.linalg.norm(Y, axis=0)
    left, values, _ = np.linalg.svd(Y / np.where(length > 0.0, length, 1.0), full_matrices=False)
    return left[:, values > IN_SPAN * values.max(initial=0.0)]


def limit_at_ratio(Y: Floats, x: Floats, ratio: float) -> float:
    """Return the limit c at which the projection v(c) has max|yⱼᵀv| = ratio·‖v‖."""
    # c/‖v(c)‖ never falls as c grows: with A the active bounds and s their signs, v moves along u =
    # Y_A(Y_AᵀY_A)⁻¹s, uᵀv = c‖u‖², and
    #
    #     d/dc log(c/‖v‖) = 1/c − uᵀv/‖v‖² = (‖v‖²‖u‖² − (uᵀv)²)/(c‖u‖²‖v‖²) ≥ 0.
    #
    # So the limit is unique, and on the piece with active bounds A it solves c² = ratio²(‖v⊥‖² +
    # c²‖u‖²), v⊥ the part of x outside the span of Y_A.
    # It is ∞ if the ratio of x itself is not larger, and 0 if only v = 0 meets it.
    if len(x) > Y.shape[1] + 1:
        Y, x, _, _ = _reduced(Y, x)
    size = float(np.linalg.norm(x))
    top = float(np.abs(Y.T @ x).max(initial=0.0))
    if top <= ratio * size:
        return np.inf
    span = span_of(Y)
    low, high = ratio * float(np.linalg.norm(x - span @ (span.T @ x))), ratio * size
    limit = high
    for _ in range(200):
        v, nu = project_on_slabs(Y, x, limit)
        above = limit > ratio * float(np.linalg.norm(v))
        root, end = _on_piece(Y[:, nu != 0.0], x, np.sign(nu[nu != 0.0]), ratio, limit)
        if abs(root - limit) <= 4e-16 * limit or high - low <= 4e-16 * high:
            break
        if above and root <= IN_SPAN * limit:
            # The ratio is the same on the whole piece, down to its end.
            root = (1.0 - 1e-9) * end
            if end == 0.0:
                return 0.0
        low, high = (low, limit) if above else (limit, high)
        limit = root if low < root < high else 0.5 * (low + high)
    return limit


def _on_piece(
    Y: Floats, x: Floats, signs: Floats, ratio: float, limit: float
) -> tuple[float, float]:
    """Return where the ratio is reached with these active bounds, and where the first leaves."""
    # The root of c² = ratio²(‖v⊥‖² + c²‖u‖²), ∞ if the ratio stays below; and the largest smaller
    # limit at which an active multiplier is zero.
    Q, R = small_qr(Y)
    slope = solve_upper(R, signs, transposed=True)
    divisor = 1.0 - ratio**2 * float(slope @ slope)
    outside = float(np.linalg.norm(x - Q @ (Q.T @ x)))
    root = ratio * outside / np.sqrt(divisor) if divisor > 0.0 else np.inf
    # ν = free − c·pull.
    free, pull = solve_upper(R, Q.T @ x), solve_upper(R, slope)
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = free / pull
    return root, float(zeros[(zeros > 0.0) & (zeros < limit)].max(initial=0.0))
