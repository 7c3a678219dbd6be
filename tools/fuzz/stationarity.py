"""Whether a fitted model is a minimum of the penalized deviance, and how well determined it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from tools.fuzz.columns import EPS, Coefficients, Columns, over, weighted_mean
from tools.fuzz.problems import Problem
from tools.fuzz.reference import Value

Floats = NDArray[np.float64]
# Coefficients this small, relative to the largest, are zero under absolute values.
ZERO = 1e-9
# Curvature, relative to that of the null model, of a direction without any.
LOST = 1e-6
# Part of the deviance that no search looks at.
UNSEEN = 1e-23


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
        Coefficients that absolute values do not hold at zero,
    loose : ndarray of bool, of shape (k, m)
        or hold there by no more than rounding.
    scale : ndarray of shape (k,)
        Standard deviations of the columns; 1 for the intercept.
    penalty : float
        λ·penalty(α) + λ₂‖β‖².
    """

    gradient: Floats
    size: Floats
    noise: Floats
    hessian: Floats
    moving: NDArray[np.bool_]
    loose: NDArray[np.bool_]
    scale: Floats
    penalty: float


def _slope(problem: Problem, columns: Columns, model: Coefficients, lambda_: float) -> _Slope:
    """Return the derivatives of D + λ·penalty(α) + λ₂‖β‖².

    Where α = 0 is forced (λ = ∞, or r = 0), only the intercept and β are free.
    """
    likelihood, w, eta = columns.likelihood, columns.weight, model.eta(columns)
    held = not np.isfinite(lambda_) or problem.unfairness == 0.0
    ones = np.ones((len(w), 1 if likelihood.has_intercept else 0))
    sd_S, sd_U = (np.sqrt(weighted_mean(Z**2, w)) for Z in (columns.S, columns.U))
    S, U = over(columns.S, sd_S), over(columns.U, sd_U)
    Z = np.hstack([ones, 0.0 * S if held else S, U])
    Q, absolute = _penalty(problem, S, w, sd_S)
    t = _with_common_part(model.alpha * sd_S[:, None], Q, absolute)
    small = np.abs(t) <= ZERO * np.abs(t).max(initial=0.0)
    t = np.where(small & (absolute[:, None] > 0.0), 0.0, t)
    T = np.vstack([0.0 * ones[:1].T * model.level, t, model.beta * sd_U[:, None]])
    weight, others = 0.0 if held else lambda_, (0.0 * ones[0], 0.0 * sd_U)
    pull = 2.0 * weight * np.concatenate([others[0], absolute, others[1]])[:, None]
    ridge = problem.predictor_penalty * np.diag(_unit_ratio(problem, sd_U) ** 2)
    bent = 2.0 * block_diag(np.zeros((ones.shape[1],) * 2), weight * Q, ridge)
    g = likelihood.gradient(eta).reshape(len(w), -1)
    smooth = Z.T @ g + bent @ T
    # In a partial likelihood every row's gradient is a difference of terms of its weight's size.
    terms = 2.0 * w[:, None] + np.abs(g) if likelihood.family == "cox" else np.abs(g)
    size = np.abs(Z).T @ terms + np.abs(bent @ T) + pull
    # η itself is a sum of terms with rounding errors, to which the gradient of a row answers.
    summed = np.abs(np.hstack([ones, S, U])) @ np.abs(T) + np.abs(model.level)
    moving = (T != 0.0) | (pull == 0.0)
    scale = np.concatenate([ones[0], sd_S, sd_U])
    return _Slope(
        gradient=_subgradient(smooth, pull, T),
        size=size,
        noise=np.abs(Z).T @ (likelihood.row_curvature(eta).reshape(g.shape) * summed),
        hessian=likelihood.hessian(eta, Z) + np.kron(np.eye(g.shape[1]), bent),
        moving=moving,
        loose=moving | (np.abs(smooth) >= pull - columns.digits * size),
        scale=np.where(scale > 0.0, scale, 1.0),
        penalty=float((pull * np.abs(T)).sum() + 0.5 * (T * (bent @ T)).sum()),
    )


def remaining_gain(
    problem: Problem, columns: Columns, model: Coefficients, lambda_: float
) -> float:
    """Return what one Newton step would still take off the penalized deviance.

    ½gᵀH⁻¹g, relative to D(α, β) + D(0, 0): a number without units, whatever the
    units of the columns are. What rounding can do to g is taken off first, along
    each eigenvector of H: what classes have in common cancels in g, and would not
    once its coordinates had been changed one by one.
    """
    found = _slope(problem, columns, model, lambda_)
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


def undetermined(
    problem: Problem,
    columns: Columns,
    model: Coefficients,
    lambda_: float,
    value: Callable[[Coefficients], Value | None],
) -> float:
    """Return how much a value changes where the minimum moves by what no search can see.

    Rounding errors e of the gradient move coefficients by |v|ᵀ|e|/h along an
    eigenvector v of the Hessian with the eigenvalue h, and what changes the
    deviance by less than `UNSEEN` is no matter for a search at all. Where h is
    small, or where a value depends on tiny coefficients, λ(r) cannot be found
    any closer.
    """
    found = _slope(problem, columns, model, lambda_)
    e = (columns.digits * (found.size + found.noise)).T.ravel()
    moving = np.flatnonzero(found.loose.T)
    H = found.hessian[np.ix_(moving, moving)]
    values, vectors = np.linalg.eigh((H + H.T) / 2.0)
    floor = EPS * max(float(values[-1]), np.finfo(float).tiny)
    shape = found.gradient.T.shape
    first = len(found.scale) - len(model.alpha) - len(model.beta)
    here, most = value(model), 0.0
    unseen = UNSEEN * _deviance_scale(columns, model)
    for h, v in zip(values, vectors.T, strict=True):
        move = np.zeros(found.hessian.shape[0])
        h = max(h, floor)
        move[moving] = v * max(float(np.abs(v) @ e[moving]) / h, np.sqrt(2.0 * unseen / h))
        step = move.reshape(shape).T / found.scale[:, None]
        level, alpha, beta = np.split(step, [first, first + len(model.alpha)])
        for sign in (-1.0, 1.0):
            moved = value(
                Coefficients(
                    model.alpha + sign * alpha,
                    model.beta + sign * beta,
                    model.level + sign * level.sum(axis=0),
                )
            )
            if here is None or moved is None:
                return np.inf
            most = max(most, abs(moved.value - here.value))
    return most


def is_flat(columns: Columns, model: Coefficients) -> bool:
    """Whether the deviance has lost its curvature in some direction, as on separated data.

    Then it has a limit there instead of a minimum: coefficients are whatever a
    search stopped at, and values of definitions can jump.
    """
    w, likelihood = columns.weight, columns.likelihood
    Z = np.hstack([columns.S, columns.U])
    ones = np.ones((len(w), 1 if likelihood.has_intercept else 0))
    Z = np.hstack([ones, over(Z, np.sqrt(weighted_mean(Z**2, w)))])
    before, now = (likelihood.hessian(eta, Z) for eta in (columns.null, model.eta(columns)))
    values, vectors = np.linalg.eigh(before)
    there = values > 1e-9 * values[-1]
    root = vectors[:, there] / np.sqrt(values[there])
    left = np.linalg.eigvalsh(root.T @ now @ root)
    # A column that varies among rows that no event compares has none to begin with.
    silent = np.zeros(0)
    if likelihood.family == "cox":
        silent = Z.any(axis=0) & (np.diag(before) <= 1e-9 * values[-1])
    return bool(silent.any() or (left.size and left[0] < LOST * max(1.0, float(left[-1]))))


def _penalty(problem: Problem, S: Floats, w: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Q and a of the penalty tᵀQt + 2Σ a|t| on coefficients t of standardized S."""
    ratio = _unit_ratio(problem, sd)
    if problem.penalty == "radial":
        return S.T @ (w[:, None] * S), 0.0 * ratio
    l1 = {"ridge": 0.0, "elastic-net": 0.5, "lasso": 1.0}[problem.penalty]
    return (1.0 - l1) * np.diag(ratio**2), l1 * ratio


def _unit_ratio(problem: Problem, sd: Floats) -> Floats:
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
