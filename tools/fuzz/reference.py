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
    residual,
    variance,
)

Floats = NDArray[np.float64]
# Definitions over pairs of rows, which compare with the unconstrained model.
INDIVIDUAL = ("individual", "same-outcome", "closeness")


@dataclass(frozen=True)
class Value:
    """A recomputed number, and how much rounding can change it."""

    value: float
    error: float


@dataclass(frozen=True)
class Unconstrained:
    """The model that individual fairness compares with, and by which α it is not determined."""

    model: Coefficients
    undetermined: list[Floats]


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
    free : Unconstrained or None
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
    if definition in INDIVIDUAL:
        return _individual(definition, columns, model, free)
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
    rounding += 3.0 * _rounding_of_deviance(columns, model) / (null - full)
    share = (full - without) / (full - null)
    return Value(share, rounding * (1.0 + abs(share)))


def _rounding_of_deviance(columns: Columns, model: Coefficients) -> float:
    """Return what the digits of U, which B and centers leave, can move the deviance by.

    Of the squares of shifted columns little is left once they are centered, and the
    coefficients of that are large.
    """
    size = np.abs(columns.U) @ np.abs(model.beta)
    eta = model.eta(columns, sensitive=False)
    slope = np.abs(columns.likelihood.gradient(eta)).reshape(size.shape)
    return float(columns.digits * (slope * size).sum())


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
    if not left.any() and residual(columns.S, target, w, least=0.0).any():
        return None  # what S leaves of y has fewer digits than would show it
    ours = variance(columns.S @ model.alpha, w)
    fitted = columns.U @ model.beta
    explained = fitted - residual(left, fitted, w)
    return _share(ours, variance(explained, w), columns)


def _individual(
    definition: str, columns: Columns, model: Coefficients, free: Unconstrained
) -> Value | None:
    """αᵀMα/α₀ᵀMα₀ over pairs of rows, weighted by how their responses differ, or do not."""
    family, y, w = columns.likelihood.family, columns.likelihood.y, columns.weight
    if definition == "same-outcome":
        D = (y[:, None] == y).astype(float)
    elif definition == "closeness":
        scale = np.sqrt(variance(y[:, None], w)) or 1.0  # of a constant all distances are 0
        D = np.exp(-np.abs(y[:, None] - y) / scale)
    elif family in ("binomial", "multinomial"):
        D = (y[:, None] != y).astype(float)
    elif family == "cox":
        D = np.abs(y[:, :1] - y[:, 0]) * np.abs(y[:, 1:] - y[:, 1])
    else:
        D = np.abs(y[:, None] - y)
    pairs = w[:, None] * D * w
    # Over differences of Sα: in products of nearly collinear columns these would cancel.

    def spread(alpha: Floats) -> float:
        return float(sum((pairs * (t[:, None] - t) ** 2).sum() for t in (columns.S @ alpha).T))

    ours, theirs = spread(model.alpha), spread(free.model.alpha)
    # S that moves η by rounding errors only has no share, nor do pairs that are treated alike.
    unit = variance(y[:, None], w) if family == "gaussian" else 1.0
    moved = np.abs(columns.S) @ np.abs(free.model.alpha)
    noise = float((pairs.sum(axis=1) @ moved**2).sum()) * (1e2 * EPS) ** 2
    if theirs <= noise or variance(columns.S @ free.model.alpha, w) <= 1e-26 * unit:
        return None
    others = [spread(free.model.alpha + change) for change in free.undetermined]
    doubt = max((abs(other / theirs - 1.0) for other in others), default=0.0)
    share = ours / theirs
    return Value(share, 1e3 * columns.digits * (1.0 + share) + share * doubt)


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
    # Where B itself has few digits, U has fewer.
    return Value(part / whole, (1e5 if columns.digits > 1e-9 else 1e3) * columns.digits)
