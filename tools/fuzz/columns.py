"""The rows of a problem as the mathematics sees them: centered S, U, and η = c + Sα + Uβ.

The columns are centered with the weights, and U is what is left of X after
regression on S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.fuzz.deviances import Likelihood
from tools.fuzz.problems import Problem

Floats = NDArray[np.float64]
EPS = float(np.finfo(float).eps)
# Directions with less than this of their scale left after a regression have nothing left.
NO_DIRECTION = 1e-9


@dataclass(frozen=True)
class Columns:
    """Rows of positive weight: centered S, U, and what was subtracted.

    Attributes
    ----------
    S, U : ndarray
        Centered S, and X less its regression on S.
    center : ndarray of shape (q,)
        Means of S.
    raw : ndarray of shape (n, q+p)
        [S, X] as they are.
    weight, offset : ndarray of shape (n,)
        Of the rows kept.
    likelihood : Likelihood
        The deviance of these rows.
    keep : ndarray of bool
        Which rows have a positive weight.
    digits : float
        Relative error of centered columns (and of y in gaussian models): ε times the
        largest value in standard deviations.
    """

    S: Floats
    U: Floats
    center: Floats
    raw: Floats
    weight: Floats
    offset: Floats
    likelihood: Likelihood
    keep: NDArray[np.bool_]
    digits: float

    @property
    def null(self) -> Floats:
        """The linear predictor of a model with an intercept only, or nearly so with offsets."""
        return _as_response(self.offset[:, None] + self.likelihood.null_level())


@dataclass(frozen=True)
class Coefficients:
    """A model in the fair basis, one column per linear predictor."""

    alpha: Floats
    beta: Floats
    level: Floats  # c, at the means of S

    def eta(self, columns: Columns, *, sensitive: bool = True, predictors: bool = True) -> Floats:
        """Return the linear predictor with offset; parts can be left out."""
        eta = columns.offset[:, None] + self.level
        if sensitive:
            eta = eta + columns.S @ self.alpha
        if predictors:
            eta = eta + columns.U @ self.beta
        return _as_response(eta)


def columns_of(problem: Problem, classes: Any = None) -> Columns:
    """Return the centered, decorrelated columns of a problem."""
    n = len(problem.X)
    weight = np.ones(n) if problem.weight is None else problem.weight
    keep = weight > 0.0
    S, X = (Z[keep] for Z in problem.features)
    w, y = weight[keep], problem.y[keep]
    offset = np.zeros(n)[keep] if problem.offset is None else problem.offset[keep]
    family = problem.family
    if family in ("binomial", "multinomial"):
        y = np.searchsorted(classes, y)
        family = "binomial" if len(classes) == 2 else "multinomial"
    if family == "gaussian":
        y, offset = y - offset, 0.0 * offset
    Sc, center = centered(S, w)
    Xc, _ = centered(X, w)
    Z = np.hstack([S, X])
    digits = max(digits_of(Z, w), digits_of(y[:, None], w) if family == "gaussian" else 0.0)
    U = residual(Sc, residual(Sc, Xc, w, digits), w, digits)
    likelihood = Likelihood(family, y, w, problem.ties)
    return Columns(Sc, U, center, Z, w, offset, likelihood, keep, digits)


def digits_of(Z: Floats, w: Floats) -> float:
    """Return the largest relative error of columns once they are centered."""
    spread = np.sqrt(weighted_mean(centered(Z, w)[0] ** 2, w))
    size = np.abs(Z).max(axis=0) / np.where(spread > 0.0, spread, np.inf)
    return EPS * float(np.max(size, initial=1.0))


def coefficients_of(model: Any, columns: Columns) -> Coefficients:
    """Return a fitted model's α, β and its level at the means of S."""
    alpha, beta = np.atleast_2d(model.alpha_).T, np.atleast_2d(model.beta_).T
    return Coefficients(alpha, beta, np.atleast_1d(model.fair_intercept_) + columns.center @ alpha)


def _as_response(eta: Floats) -> Floats:
    return eta[:, 0] if eta.shape[1] == 1 else eta


def weighted_mean(Z: Floats, w: Floats) -> Floats:
    """Return Σ w z / Σ w."""
    return w @ Z / w.sum()


def centered(Z: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Return centered columns, exactly zero where a column is constant, and the means."""
    mean = weighted_mean(Z, w)
    centered = Z - mean
    centered = centered - weighted_mean(centered, w)
    constant = np.ptp(Z, axis=0) == 0.0
    return np.where(constant, 0.0, centered), mean


def over(Z: Floats, scale: Floats) -> Floats:
    """Divide columns by their scales; constant ones stay."""
    return Z / np.where(scale > 0.0, scale, 1.0)


def residual(
    S: Floats, X: Floats, w: Floats, digits: float = EPS, least: float = NO_DIRECTION
) -> Floats:
    """Return what weighted regression on S leaves of X; zero where only rounding is left."""
    nothing = max(least, 1e2 * digits)
    root = np.sqrt(w)[:, None]
    norm = np.sqrt((w[:, None] * S**2).sum(axis=0))
    Q, values, _ = np.linalg.svd(root * over(S, norm), full_matrices=False)
    Q = Q[:, values > nothing * max(values.max(initial=0.0), 1e-300)]
    Y = root * X
    rest = Y - Q @ (Q.T @ Y)
    rest = rest - Q @ (Q.T @ rest)
    gone = np.linalg.norm(rest, axis=0) <= nothing * np.linalg.norm(Y, axis=0)
    return np.where(gone, 0.0, rest / root)


def variance(Z: Floats, w: Floats) -> float:
    """Weighted variance, summed over columns."""
    return float((weighted_mean((Z - weighted_mean(Z, w)) ** 2, w)).sum())
