"""What the mathematics says of a fitted model, recomputed from the rows with NumPy alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.fuzz.columns import (
    EPS,
    Coefficients,
    Columns,
    centered,
    over,
    residual,
    variance,
    weighted_mean,
)
from tools.fuzz.problems import Problem

__all__ = ["Value", "is_flat", "remaining_gain", "unfairness"]

Floats = NDArray[np.float64]
# Coefficients this small, relative to the largest, are zero.
ZERO = 1e-9
# Curvature, relative to that of the null model, of a direction without any.
LOST = 1e-6


@dataclass(frozen=True)
class Value:
    """A recomputed number, and how much rounding can change it."""

    value: float
    error: float


# ------------------------------------------------------------------ fairness


def unfairness(definition: str, columns: Columns, model: Coefficients, free: Any) -> Value | None:
    """Recompute what is bounded; None where nothing is explained but rounding.

    Parameters
    ----------
    definition : str
        As in `Problem`.
    columns : Columns
        The data.
    model : Coefficients
        The model.
    free : Coefficients or None
        The unconstrained model, which individual fairness compares with.
    """
    if definition == "statistical-parity":
        return _parity(columns, model, columns.likelihood.family in ("gaussian", "cox"))
    if definition == "equality-of-opportunity":
        return _opportunity(columns, model)
    if definition == "uncentered":
        if columns.likelihood.family in ("gaussian", "cox"):
            return _parity(columns, model, True)
        return _deviance_share(columns, model, columns.center @ model.alpha)
    if definition == "nagelkerke":
        return _nagelkerke(columns, model)
    if definition == "individual":
        return _individual(columns, model, free)
    parts = [
        unfairness(name, columns, model, free)
        for name in ("statistical-parity", "equality-of-opportunity")
    ]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Value(max(part.value for part in known), max(part.error for part in known))


def _parity(columns: Columns, model: Coefficients, of_variance: bool) -> Value | None:
    """VAR(Sα)/(VAR(Sα) + VAR(Uβ)), or the share of deviance."""
    if not of_variance:
        return _deviance_share(columns, model, np.zeros(model.alpha.shape[1]))
    ours = variance(columns.S @ model.alpha, columns.weight)
    return _share(ours, variance(columns.U @ model.beta, columns.weight), columns)


def _deviance_share(columns: Columns, model: Coefficients, shift: Floats) -> Value | None:
    """(D(α, β) − D(0, β))/(D(α, β) − D(0, 0)); `shift` is α·s̄ where S is not centered."""
    full, without, null, size = _three_deviances(columns, model, shift)
    if null - full <= 1e-11 * size or not np.isfinite(size):
        return None
    rounding = 1e3 * max(columns.digits, EPS) * size / (null - full)
    share = (full - without) / (full - null)
    return Value(share, rounding * (1.0 + abs(share)))


def _nagelkerke(columns: Columns, model: Coefficients) -> Value | None:
    """1 − R²(0, β)/R²(α, β), R² ∝ 1 − exp((D − D(0, 0))/n)."""
    full, without, null, size = _three_deviances(columns, model, np.zeros(model.alpha.shape[1]))
    if null - full <= 1e-11 * size or not np.isfinite(size):
        return None
    n = columns.weight.sum()
    share = 1.0 - np.expm1((without - null) / n) / np.expm1((full - null) / n)
    rounding = 1e3 * max(columns.digits, EPS) * size / (null - full)
    return Value(float(share), rounding * (1.0 + abs(float(share))))


def _three_deviances(
    columns: Columns, model: Coefficients, shift: Floats
) -> tuple[float, float, float, float]:
    full = columns.likelihood.deviance(model.eta(columns))
    moved = Coefficients(model.alpha, model.beta, model.level - shift)
    without = columns.likelihood.deviance(moved.eta(columns, sensitive=False))
    null = columns.likelihood.deviance(moved.eta(columns, sensitive=False, predictors=False))
    return full[0], without[0], null[0], full[1] + without[1] + null[1]


def _opportunity(columns: Columns, model: Coefficients) -> Value | None:
    """Sequential sums of squares of η on S, then on what S leaves of y."""
    w, d = columns.weight, columns.digits
    target, _ = centered(_target(columns, model.alpha.shape[1]), w)
    left = residual(columns.S, residual(columns.S, target, w, d), w, d)
    ours = variance(columns.S @ model.alpha, w)
    fitted = columns.U @ model.beta
    explained = fitted - residual(left, fitted, w)
    return _share(ours, variance(explained, w), columns)


def _individual(columns: Columns, model: Coefficients, free: Any) -> Value | None:
    """αᵀMα/α₀ᵀMα₀ over pairs of rows, weighted by the distance of their responses."""
    family, y, w = columns.likelihood.family, columns.likelihood.y, columns.weight
    if family in ("binomial", "multinomial"):
        D = (y[:, None] != y).astype(float)
    elif family == "cox":
        D = np.abs(y[:, :1] - y[:, 0]) * np.abs(y[:, 1:] - y[:, 1])
    else:
        D = np.abs(y[:, None] - y)
    pairs = w[:, None] * D * w
    M = 2.0 * columns.S.T @ (np.diag(pairs.sum(axis=1)) - pairs) @ columns.S
    ours, theirs = (float(np.einsum("ik,ij,jk->", a, M, a)) for a in (model.alpha, free.alpha))
    if theirs <= 0.0:
        return None
    return Value(ours / theirs, 1e3 * columns.digits * (1.0 + ours / theirs))


def _target(columns: Columns, width: int) -> Floats:
    """Return the response as numbers: class dummies, minus log times, or itself."""
    family, y = columns.likelihood.family, columns.likelihood.y
    if family == "multinomial":
        return np.eye(width)[y]
    return (-np.log(y[:, 0]) if family == "cox" else y.astype(float))[:, None]


def _share(part: float, other: float, columns: Columns) -> Value | None:
    whole = part + other
    if whole <= 0.0 or not np.isfinite(whole):
        return None
    return Value(part / whole, 1e3 * columns.digits)


# -------------------------------------------------------------- stationarity


def remaining_gain(
    problem: Problem, columns: Columns, model: Coefficients, lambda_: float
) -> float:
    """Return what one Newton step would still take off the penalized deviance.

    ½gᵀH⁻¹g with g and H of D + λ·penalty(α) + λ₂‖β‖², relative to D(α, β) +
    D(0, 0): a number without units, whatever the units of the columns are.
    What rounding can do to g is taken off first. Where α = 0 is forced (λ = ∞,
    or r = 0), only the intercept and β are free.
    """
    likelihood, w, eta = columns.likelihood, columns.weight, model.eta(columns)
    g = likelihood.gradient(eta).reshape(len(w), -1)
    held = not np.isfinite(lambda_) or problem.unfairness == 0.0
    ones = np.ones((len(w), 1 if likelihood.has_intercept else 0))
    sd_S, sd_U = (np.sqrt(weighted_mean(Z**2, w)) for Z in (columns.S, columns.U))
    S, U = over(columns.S, sd_S), over(columns.U, sd_U)
    Z = np.hstack([ones, 0.0 * S if held else S, U])
    bounds = np.cumsum([0, ones.shape[1], S.shape[1], U.shape[1]])
    at_S, at_U = slice(*bounds[1:3]), slice(*bounds[2:4])
    # In a partial likelihood every row's gradient is a difference of terms of its weight's size.
    terms = 2.0 * w[:, None] + np.abs(g) if likelihood.family == "cox" else np.abs(g)
    gradient, size = Z.T @ g, np.abs(Z).T @ terms
    curvature = np.zeros((Z.shape[1], Z.shape[1]))
    if not held:
        Q, absolute = _penalty(problem, S, w, sd_S)
        t = _with_common_part(model.alpha * sd_S[:, None], Q, absolute)
        curvature[at_S, at_S] = 2.0 * lambda_ * Q
        pull = 2.0 * lambda_ * absolute[:, None]
        size[at_S] += np.abs(2.0 * lambda_ * (Q @ t)) + pull
        gradient[at_S] = _subgradient(gradient[at_S] + 2.0 * lambda_ * (Q @ t), pull, t)
    ridge = 2.0 * problem.predictor_penalty * np.diag(_unit_ratio(problem, sd_U) ** 2)
    curvature[at_U, at_U] = ridge
    pulled = ridge @ (model.beta * sd_U[:, None])
    gradient[at_U] += pulled
    size[at_U] += np.abs(pulled)
    H = likelihood.hessian(eta, Z) + np.kron(np.eye(g.shape[1]), curvature)
    noise = 1e3 * columns.digits * size
    gradient = np.sign(gradient) * np.maximum(np.abs(gradient) - noise, 0.0)
    scale = (
        likelihood.deviance(eta)[0]
        + likelihood.deviance(model.eta(columns, sensitive=False, predictors=False))[0]
    )
    # A deviance of classes, counts or ranks has the size of the weights, or is nothing.
    least = np.finfo(float).tiny if likelihood.family == "gaussian" else EPS * w.sum()
    return _decrement(H, gradient.T.ravel()) / max(abs(scale), least)


def is_flat(columns: Columns, model: Coefficients) -> bool:
    """Whether the deviance has lost its curvature in some direction, as on separated data.

    Then it has a limit there instead of a minimum: coefficients are whatever a
    search stopped at, and values of definitions can jump.
    """
    w, likelihood = columns.weight, columns.likelihood
    Z = np.hstack([columns.S, columns.U])
    ones = np.ones((len(w), 1 if likelihood.has_intercept else 0))
    Z = np.hstack([ones, over(Z, np.sqrt(weighted_mean(Z**2, w)))])
    null = model.eta(columns, sensitive=False, predictors=False)
    before, now = (likelihood.hessian(eta, Z) for eta in (null, model.eta(columns)))
    values, vectors = np.linalg.eigh(before)
    there = values > 1e-9 * values[-1]
    root = vectors[:, there] / np.sqrt(values[there])
    left = np.linalg.eigvalsh(root.T @ now @ root)
    return bool(left.size and left[0] < LOST * max(1.0, float(left[-1])))


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
    t = np.where(np.abs(t) <= ZERO * np.abs(t).max(initial=0.0), 0.0, t)
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - pull, 0.0)
    return np.where(t == 0.0, at_zero, gradient + pull * np.sign(t))


def _decrement(H: Floats, g: Floats) -> float:
    """½gᵀH⁻¹g, in directions of any curvature to speak of."""
    values, vectors = np.linalg.eigh((H + H.T) / 2.0)
    floor = 1e-11 * max(float(values[-1]), np.finfo(float).tiny)
    return float(0.5 * ((vectors.T @ g) ** 2 / np.maximum(values, floor)).sum())
