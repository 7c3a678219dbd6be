"""Whether a fitted model is a minimum of the penalized deviance.

On separated data the deviance has no minimum, and `RIDGE`·n·(‖α‖² + ‖β‖²), of columns in
standard deviations, is added to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from tools.fuzz.columns import EPS, Coefficients, Columns, over, weighted_mean
from tools.fuzz.problems import Problem

Floats = NDArray[np.float64]
# Coefficients this small, relative to the largest, are zero under absolute values.
ZERO = 1e-9
# Size of the ridge on separated data, per unit of weight.
RIDGE = 1e-6
# Part of the deviance below which a minimum says nothing of coefficients.
DIGITS = 1e-12
# Source of a problem whose answer from there is judged.
ELSEWHERE = "elsewhere"
# Directions with less than this of the largest are collinear.
COLLINEAR = 1e-9


@dataclass(frozen=True)
class _Slope:
    """Gradient and Hessian of the penalized deviance, in standardized columns.

    Attributes
    ----------
    gradient, size, noise : ndarray of shape (k, m)
        The gradient, the terms it is made of, and what rounding of η adds to it.
    hessian : ndarray of shape (mk, mk)
        Linear predictors in the outer order.
    moving : ndarray of bool, of shape (k, m)
        Coefficients that absolute values do not hold at zero.
    penalty : float
        λ·penalty(α) + λ₂‖β‖².
    """

    gradient: Floats
    size: Floats
    noise: Floats
    hessian: Floats
    moving: NDArray[np.bool_]
    penalty: float


def _slope(
    problem: Problem, columns: Columns, model: Coefficients, lambda_: float, small: float
) -> _Slope:
    """Return the derivatives of D + λ·penalty(α) + λ₂‖β‖² + small·(‖α‖² + ‖β‖²).

    Where α = 0 is forced (λ = ∞, or r = 0), only the intercept and β are free.
    """
    likelihood, w, eta = columns.likelihood, columns.weight, model.eta(columns)
    m = model.alpha.shape[1]
    held = not np.isfinite(lambda_) or (problem.unfairness == 0.0 and lambda_ > 0.0)
    ones = np.ones((len(w), 1 if likelihood.has_intercept else 0))
    sd_S, sd_U = (np.sqrt(weighted_mean(Z**2, w)) for Z in (columns.S, columns.U))
    S, U = over(columns.S, sd_S), over(columns.U, sd_U)
    Z = np.hstack([ones, 0.0 * S if held else S, U])
    Q, absolute = _penalty(problem, S, w, sd_S)
    t = _with_common_part(model.alpha * sd_S[:, None], Q, absolute)
    tiny = np.abs(t) <= ZERO * np.abs(t).max(initial=0.0)
    t = np.where(tiny & (absolute[:, None] > 0.0), 0.0, t)
    T = np.vstack([0.0 * ones[:1].T * model.level, t, model.beta * sd_U[:, None]])
    weight, others = 0.0 if held else lambda_, (0.0 * ones[0], 0.0 * sd_U)
    pull = 2.0 * weight * np.concatenate([others[0], absolute, others[1]])[:, None]
    ridge = problem.predictor_penalty * np.diag(unit_ratio(problem, sd_U) ** 2)
    free = np.zeros((ones.shape[1],) * 2)
    bent = 2.0 * block_diag(free, weight * Q, ridge)
    sizes = (ridge_units(problem, sd, columns) ** 2 for sd in (sd_S, sd_U))
    everywhere = 2.0 * small * block_diag(free, *map(np.diag, sizes))
    # What classes have in common is a matter of the penalty, not of the ridge.
    apart = np.eye(m) - 1.0 / m if m > 1 else np.eye(1)
    g = likelihood.gradient(eta).reshape(len(w), -1)
    pulled = bent @ T + everywhere @ T @ apart
    smooth = Z.T @ g + pulled
    # In a partial likelihood every row's gradient is a difference of terms of its weight's size.
    terms = 2.0 * w[:, None] + np.abs(g) if likelihood.family == "cox" else np.abs(g)
    size = np.abs(Z).T @ terms + np.abs(pulled) + pull
    # η itself is a sum of terms with rounding errors, to which the gradient of a row answers.
    summed = np.abs(np.hstack([ones, S, U])) @ np.abs(T) + np.abs(model.level)
    return _Slope(
        gradient=_subgradient(smooth, pull, T),
        size=size,
        noise=np.abs(Z).T @ (likelihood.row_curvature(eta).reshape(g.shape) * summed),
        hessian=likelihood.hessian(eta, Z) + np.kron(np.eye(m), bent) + np.kron(apart, everywhere),
        moving=(T != 0.0) | (pull == 0.0),
        penalty=float((pull * np.abs(T)).sum() + 0.5 * (T * pulled).sum()),
    )


def undetermined(
    problem: Problem, columns: Columns, model: Coefficients, small: float
) -> list[Floats]:
    """Return changes of α that move the deviance of a model at λ = 0 by less than its digits."""
    H = _slope(problem, columns, model, 0.0, small).hessian
    m, q = model.alpha.shape[1], len(model.alpha)
    first = 1 if columns.likelihood.has_intercept else 0
    values, vectors = np.linalg.eigh((H + H.T) / 2.0)
    values = np.maximum(values, EPS * values[-1])
    reach = np.sqrt(2.0 * DIGITS * _deviance_scale(columns, model) / values)
    sd = np.sqrt(weighted_mean(columns.S**2, columns.weight))
    changes = (reach * vectors).T.reshape(len(values), m, -1)[:, :, first : first + q]
    if m > 1:  # what classes have in common changes nothing
        changes = changes - changes.mean(axis=1, keepdims=True)
    return [over(change, sd).T for change in changes]


def shortest(Z: Floats, ratio: Floats) -> Floats:
    """Return directions of coefficients that are the shortest with their predictions.

    Of columns that are combinations of others; `ratio` is their size as a penalty sees it. The
    ridge on separated data, which may see it otherwise, holds these alone.
    """
    _, sizes, V = np.linalg.svd(Z)
    nothing = V[np.count_nonzero(sizes > COLLINEAR * max(sizes.max(initial=0.0), 1e-300)) :]
    weighted = nothing.T * ratio[:, None] ** 2
    return np.linalg.qr(over(weighted, np.linalg.norm(weighted, axis=0)), "complete")[0][
        :, len(nothing) :
    ]


def ridge_units(problem: Problem, sd: Floats, columns: Columns) -> Floats:
    """Return sizes of coefficients of standardized columns in the ridge on separated data.

    They are ones; of more columns than rows, as a penalty sees them, unless the model is blind,
    has controls or reads files: then it is solved in its columns.
    """
    whole = problem.blind or problem.controls or problem.source == ELSEWHERE
    wide = columns.U.shape[1] > len(columns.U) and not whole
    return unit_ratio(problem, sd) if wide else np.ones_like(sd)


def _along_shortest(problem: Problem, columns: Columns, slope: _Slope) -> _Slope:
    """Return the same for the directions that the ridge on separated data holds."""
    sd_S, sd_U = (np.sqrt(weighted_mean(Z**2, columns.weight)) for Z in (columns.S, columns.U))
    S, U = over(columns.S, sd_S), over(columns.U, sd_U)
    absolute = problem.penalty in ("lasso", "elastic-net")  # which see every column of S
    chosen = np.eye(len(sd_S)) if absolute else shortest(S, unit_ratio(problem, sd_S))
    first = np.eye(1 if columns.likelihood.has_intercept else 0)
    W = block_diag(first, chosen, shortest(U, unit_ratio(problem, sd_U)))
    each = np.kron(np.eye(slope.gradient.shape[1]), W)
    return replace(
        slope,
        gradient=W.T @ slope.gradient,
        size=np.abs(W).T @ slope.size,
        noise=np.abs(W).T @ slope.noise,
        hessian=each.T @ slope.hessian @ each,
        moving=slope.moving[: W.shape[1]],  # what follows S moves in any case
    )


def remaining_gain(
    problem: Problem, columns: Columns, model: Coefficients, lambda_: float, small: float = 0.0
) -> float:
    """Return what one Newton step would still take off the penalized deviance.

    ½gᵀH⁻¹g, relative to D(α, β) + D(0, 0): a number without units, whatever the
    units of the columns are. What rounding can do to g is taken off first, along
    each eigenvector of H: what classes have in common cancels in g, and would not
    once its coordinates had been changed one by one. `small` is the ridge on separated data.
    """
    found = _slope(problem, columns, model, lambda_, small)
    if small > 0.0:
        found = _along_shortest(problem, columns, found)
    noise = columns.digits * (1e3 * found.size + found.noise)
    # What absolute values hold at zero does not move, whatever the curvature is.
    at = np.flatnonzero((found.moving | (found.gradient != 0.0)).T)
    H, g = found.hessian[np.ix_(at, at)], found.gradient.T.ravel()[at]
    gain = decrement(H, g, noise.T.ravel()[at])
    if columns.likelihood.family != "cox":
        # Deviances are not negative: no step takes off more than there is.
        left = columns.likelihood.deviance(model.eta(columns))[0] + found.penalty
        gain = min(gain, max(left, 0.0))
    return gain / _deviance_scale(columns, model)


def _deviance_scale(columns: Columns, model: Coefficients) -> float:
    """Return D(α, β) + D(0, 0)."""
    null = model.eta(columns, sensitive=False, predictors=False)
    return deviance_scale(columns, model.eta(columns), null)


def deviance_scale(columns: Columns, eta: Floats, null: Floats) -> float:
    """Return the deviances of two linear predictors, added up."""
    likelihood, w = columns.likelihood, columns.weight
    scale = likelihood.deviance(eta)[0] + likelihood.deviance(null)[0]
    # A deviance of classes, counts or ranks has the size of the weights, or is nothing.
    least = np.finfo(float).tiny if likelihood.family == "gaussian" else EPS * w.sum()
    return max(abs(scale), least)


def _penalty(problem: Problem, S: Floats, w: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Q and a of the penalty tᵀQt + 2Σ a|t| on coefficients t of standardized S."""
    ratio = unit_ratio(problem, sd)
    if problem.penalty == "radial":
        return S.T @ (w[:, None] * S), 0.0 * ratio
    l1 = {"ridge": 0.0, "elastic-net": 0.5, "lasso": 1.0}[problem.penalty]
    return (1.0 - l1) * np.diag(ratio**2), l1 * ratio


def unit_ratio(problem: Problem, sd: Floats) -> Floats:
    """Size of a coefficient as the penalty sees it, of one that is 1 on a standardized column."""
    return np.ones_like(sd) if problem.standardize else 1.0 / np.where(sd > 0.0, sd, 1.0)


def _with_common_part(t: Floats, Q: Floats, absolute: Floats) -> Floats:
    """Add to the coefficients of all classes the number that makes absolute values smallest.

    It changes no probability, and models report coefficients without it. In
    each row of t (with the sum zero) it is the root of a Σ sign(tₖ + c) + bc,
    which has a jump where a coefficient vanishes.
    """
    if t.shape[1] == 1 or not absolute.any():
        return t
    out = t.copy()
    for row, a, b in zip(out, absolute, np.diag(Q) * t.shape[1], strict=True):
        row[np.abs(row) <= ZERO * np.abs(row).max(initial=0.0)] = 0.0
        near = ZERO * np.abs(row).max(initial=0.0)
        for kink in np.sort(-row):
            signs = np.sign(np.where(np.abs(row + kink) <= near, 0.0, row + kink))
            free = int((signs == 0.0).sum())
            middle = a * signs.sum() + b * kink
            if middle + a * free >= 0.0:
                at_kink = middle - a * free <= 0.0
                # Otherwise the root is before the kink, where those at it have the sign −1.
                shift = kink if at_kink else -a * (signs.sum() - free) / b
                row += shift
                break
    return out


def _subgradient(gradient: Floats, pull: Floats, t: Floats) -> Floats:
    """Add the subgradient of Σ pull·|t| that comes nearest to zero."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - pull, 0.0)
    return np.where(t == 0.0, at_zero, gradient + pull * np.sign(t))


def decrement(H: Floats, g: Floats, noise: Floats) -> float:
    """½gᵀH⁻¹g, in directions of any curvature to speak of, less the noise of g."""
    values, vectors = np.linalg.eigh((H + H.T) / 2.0)
    if not values.size:  # everything is held
        return 0.0
    floor = 1e-11 * max(float(values[-1]), np.finfo(float).tiny)
    along = np.maximum(np.abs(vectors.T @ g) - np.abs(vectors.T) @ noise, 0.0)
    return float(0.5 * (along**2 / np.maximum(values, floor)).sum())
