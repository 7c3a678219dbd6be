"""Bounds that are not on α: on predicted means, on models without S, given controls.

Each has a penalty of its own, so value and stationarity are recomputed here:
at a minimum of D + λP + λ₂R the gradient vanishes, and at λ = ∞ the part of
the gradient of D + λ₂R along which P stays zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import expit, softmax

from tools.fuzz.columns import (
    EPS,
    Columns,
    centered,
    over,
    residual,
    variance,
    weighted_mean,
)
from tools.fuzz.problems import Problem
from tools.fuzz.reference import Value
from tools.fuzz.stationarity import (
    COLLINEAR,
    decrement,
    deviance_scale,
    ridge_units,
    shortest,
    unit_ratio,
)

Floats = NDArray[np.float64]
# Part of a variance that controls leave and that is theirs, but for rounding: searches may end
# where the library's own, 10⁻¹², begins.
LEFT = 2e-12
# Variance of a linear predictor that is rounding, if it has no unit.
ROUNDING = 1e-26
# Families with the log link.
LOG = ("poisson", "quasi-poisson", "gamma", "tweedie", "negative-binomial")


@dataclass(frozen=True)
class OtherBound:
    """A model under such a bound.

    Attributes
    ----------
    value : callable
        What is bounded; None where nothing varies but rounding.
    gain : callable
        Maps λ to the part of the deviance that another step would take off.
    penalty : callable
        λ₂R: at a minimum a step moves it as much as the deviance.
    """

    value: Callable[[], Value | None]
    gain: Callable[[float], float]
    penalty: Callable[[], float]


def other_bound(problem: Problem, columns: Columns, raw: Floats, small: float = 0.0) -> OtherBound:
    """Return value and stationarity of a model.

    Parameters
    ----------
    problem : Problem
        The problem.
    columns : Columns
        Its rows.
    raw : ndarray of shape (m, 1+q+p)
        Levels and coefficients of [S, X], zero for S in blind models.
    small : float
        Ridge on all columns in standard deviations, of separated data.
    """
    if problem.controls and not problem.blind:
        return _given_controls(problem, columns, raw, small)
    model = _Model(problem, columns, raw, small)
    return OtherBound(model.share, model.gain, model.penalty)


# ------------------------------------------------------------------ forms of S


@dataclass(frozen=True)
class _Form:
    """Σ‖P_S m‖² of one or more vectors m, each among some rows.

    Attributes
    ----------
    parts : list of (int, ndarray, ndarray)
        For each vector its column, the rows, and an orthonormal basis of √w(S − mean) there.
    weight : ndarray
        w.
    controls : ndarray
        Centered controls, which variances are given.
    """

    parts: list[tuple[int, NDArray[np.intp], Floats]]
    weight: Floats
    controls: Floats

    def explained(self, values: Floats) -> list[Floats]:
        """Return Qᵀ√w m."""
        return [Q.T @ (np.sqrt(self.weight[at]) * values[at, k]) for k, at, Q in self.parts]

    def share(self, values: Floats, digits: float) -> Value | None:
        """Return the share of the squares around the means that S explains."""
        ours = sum(float(a @ a) for a in self.explained(values))
        total = squares = variance = 0.0
        for k, at, _ in self.parts:
            m, w = values[at, k], self.weight[at]
            left = m - np.average(m, weights=w)
            variance += float(w @ left**2)
            if self.controls.size:
                left = residual(self.controls[at], left[:, None], w)[:, 0]
            total += float(w @ left**2)
            squares += float(w @ m**2)
        if not total > 1e-20 * squares or not np.isfinite(squares):
            return None
        if self.controls.size and total <= LEFT * variance:
            return None
        rounding = 1e3 * digits + 1e2 * EPS * np.sqrt(squares / total)
        return Value(ours / total, float(rounding))


def _form(
    S: Floats,
    w: Floats,
    groups: list[tuple[int, NDArray[np.intp]]],
    controls: Floats,
    digits: float,
) -> _Form:
    parts, least = [], max(COLLINEAR, 10.0 * digits)  # of columns that rounding sets apart
    for k, at in groups:
        Z, _ = centered(S[at], w[at])
        Z = over(Z, np.sqrt(weighted_mean(Z**2, w[at])))
        Q, sizes, _ = np.linalg.svd(np.sqrt(w[at])[:, None] * Z, full_matrices=False)
        parts.append((k, at, Q[:, sizes > least * max(sizes.max(initial=0.0), 1e-300)]))
    return _Form(parts, w, controls)


def _means(family: str, eta: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Return μ, and what maps derivatives in μ to derivatives in η."""
    if family == "multinomial":
        P = softmax(eta, axis=1)
        return P, lambda d: P * (d - (P * d).sum(axis=1, keepdims=True))
    if family == "gaussian":
        return eta, lambda d: d
    if family in ("binomial", "quasi-binomial"):
        return expit(eta), lambda d: d * expit(eta) * expit(-eta)
    return np.exp(eta), lambda d: d * np.exp(eta)


# ---------------------------------------------------------------------- models


@dataclass(frozen=True)
class _Model:
    """A model whose penalty is on what S explains of its means, or of η if it is blind."""

    problem: Problem
    columns: Columns
    raw: Floats
    small: float

    @property
    def _eta(self) -> Floats:
        """The linear predictors, with offset."""
        columns = self.columns
        return columns.offset[:, None] + self.raw[:, 0] + columns.raw @ self.raw[:, 1:].T

    @property
    def _bounds_means(self) -> bool:
        return self.problem.bounds_means

    @property
    def _bounded(self) -> tuple[Floats, Callable[[Floats], Floats]]:
        """What the penalty is on, and its derivatives."""
        if self._bounds_means:
            means, chain = _means(self.columns.likelihood.family, self._eta)
            each = 1.0 / self._exposure[:, None]
            return means * each, lambda d: chain(d * each)
        return self._eta - self.columns.offset[:, None], lambda d: d

    @property
    def _form(self) -> _Form:
        columns, m = self.columns, len(self.raw)
        y, everywhere = columns.likelihood.y, np.arange(len(columns.S))
        groups = [(k, everywhere) for k in range(m)]
        if self.problem.definition == "mean-opportunity":
            positive = [(0, 1)] if m == 1 else [(k, k) for k in range(m)]
            groups = [(k, np.flatnonzero(y == code)) for k, code in positive]
        S, weight = columns.S, columns.weight * self._exposure
        C, _ = centered(self._controls, weight)  # rates count by their exposure
        if C.size:
            S, _ = centered(S, weight)
            S = residual(C, residual(C, S, weight), weight)
        return _form(S, weight, groups, C, columns.digits)

    @property
    def _controls(self) -> Floats:
        """Centered controls of a blind model."""
        q = self.columns.S.shape[1]
        chosen = self.columns.raw[:, q : q + self.problem.controls]
        return centered(chosen, self.columns.weight)[0]

    @property
    def _exposure(self) -> Floats:
        """What an offset stands for under a log link, where means are rates; ones otherwise."""
        rates = self._bounds_means and self.columns.likelihood.family in LOG
        return np.exp(self.columns.offset) if rates else np.ones(len(self.columns.S))

    def _held(self, Z: Floats) -> Floats:
        """Return derivatives of the totals of the means, which are those of the response."""
        family, m = self.columns.likelihood.family, len(self.raw)
        if not self._bounds_means:
            return np.zeros((0, Z.shape[1] * m))
        _, chain = _means(family, self._eta)
        each = np.eye(m)[:, None, :] * self.columns.weight[:, None]
        return np.array([(Z.T @ chain(one)).T.ravel() for one in each])

    def share(self) -> Value | None:
        """R² on S of the means, or of η; None of an η that is rounding."""
        values, family = self._bounded[0], self.columns.likelihood.family
        spread = float(variance(values, self.columns.weight))
        if not self._bounds_means and family != "gaussian" and spread <= ROUNDING:
            return None
        return self._form.share(values, self.columns.digits)

    def _design(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return [1, S, U] or [1, C, X], the ridge on each column, and the coefficients.

        And directions of coefficients that are the shortest, of separated data.
        """
        columns, problem, q = self.columns, self.problem, self.columns.S.shape[1]
        ones = np.ones((len(columns.S), 1 if columns.likelihood.has_intercept else 0))
        C, q, w = self._controls, q + problem.controls, columns.weight
        X, _ = centered(columns.raw[:, q:], w)
        others = X if problem.blind else columns.U
        if C.size:
            others = residual(C, residual(C, X, w), w)
        deviations = np.sqrt(weighted_mean(others**2, columns.weight))
        beside = C if problem.blind else columns.S
        ours = np.sqrt(weighted_mean(beside**2, w))
        beside = over(beside, ours)
        first = np.hstack([ones, beside])
        unit = deviations if problem.standardize else np.ones_like(deviations)
        ratio = over(unit, deviations)
        beta = self.raw[:, 1 + q :].T * deviations[:, None]
        Z = np.hstack([first, over(others, deviations)])
        ridge = np.concatenate(
            [
                np.zeros(ones.shape[1]),
                self.small * ridge_units(problem, ours, columns) ** 2,
                problem.predictor_penalty * ratio**2
                + self.small * ridge_units(problem, deviations, columns) ** 2,
            ]
        )
        eta = self._eta - columns.offset[:, None]
        held = np.eye(len(ours))  # coefficients of controls are the shortest in their own units
        if self.small and not problem.blind:
            held = shortest(beside, unit_ratio(problem, ours))
        rest = eta - others @ self.raw[:, 1 + q :].T
        on_beside = held @ _regressed(beside @ held, rest, w)
        T = np.vstack([np.zeros((ones.shape[1], len(self.raw))), on_beside, beta])
        some = shortest(over(others, deviations), ratio) if self.small else np.eye(len(ratio))
        return Z, ridge, T, block_diag(np.eye(ones.shape[1]), held, some)

    def penalty(self) -> float:
        """Return λ₂R, with the ridge of separated data."""
        _, ridge, T, _ = self._design()
        return float(ridge @ (T * T).sum(axis=1))

    def gain(self, lambda_: float) -> float:
        """Return what one more step takes off, relative to the deviance."""
        columns, likelihood, m = self.columns, self.columns.likelihood, len(self.raw)
        Z, ridge, T, W = self._design()
        eta = self._eta
        flat = eta[:, 0] if m == 1 else eta
        values, chain = self._bounded
        weight = 0.0 if np.isinf(lambda_) else lambda_
        g = likelihood.gradient(flat).reshape(eta.shape)
        pull, J, rounded = np.zeros_like(eta), [], np.zeros_like(eta)
        root = np.sqrt(columns.weight * self._exposure)
        for (k, at, Q), a in zip(self._form.parts, self._form.explained(values), strict=True):
            each = np.zeros_like(eta)
            each[at, k] = root[at] * (Q @ a)
            pull += 2.0 * weight * chain(each)
            # Means of 1000 that vary by 1e-7: their own rounding is what λ multiplies.
            each[at, k] = root[at] * (np.abs(Q) @ (np.abs(Q).T @ np.abs(root[at] * values[at, k])))
            rounded += 2.0 * weight * np.abs(chain(each))
            for column in Q.T:
                each = np.zeros_like(eta)
                each[at, k] = root[at] * column
                J.append((Z.T @ chain(each)).T.ravel())
        bent = 2.0 * ridge[:, None] * T
        gradient = Z.T @ (g + pull) + bent
        size = np.abs(Z).T @ (np.abs(g) + np.abs(pull)) + np.abs(bent)
        size = size + 1e-2 * np.abs(Z).T @ rounded
        H = likelihood.hessian(flat, Z) + np.kron(np.eye(m), np.diag(2.0 * ridge))
        J, held = np.array(J).reshape(-1, H.shape[0]), self._held(Z)
        each = np.kron(np.eye(m), W)
        H, J, held = each.T @ H @ each, J @ each, held @ each
        gradient, size = W.T @ gradient, np.abs(W).T @ size
        return _gain(columns, H, gradient, size, J, lambda_, flat, held)


def _scaled(Z: Floats, w: Floats) -> Floats:
    return over(Z, np.sqrt(weighted_mean(Z**2, w)))


def _regressed(Z: Floats, values: Floats, w: Floats) -> Floats:
    """Return the shortest coefficients of a weighted regression on centered columns."""
    root = np.sqrt(w)[:, None]
    return np.linalg.lstsq(root * Z, root * (values - weighted_mean(values, w)), rcond=1e-9)[0]


def _gain(
    columns: Columns,
    H: Floats,
    gradient: Floats,
    size: Floats,
    J: Floats,
    lambda_: float,
    eta: Floats,
    held: Floats,
) -> float:
    """½gᵀH⁻¹g relative to the deviance, along directions that are left free.

    Those are not, that change what is held at zero: totals, and P where λ = ∞.
    """
    g, noise = gradient.T.ravel(), 1e3 * columns.digits * size.T.ravel()
    if np.isinf(lambda_):
        held = np.vstack([held, J])
    elif J.size:
        # Gauss and Newton's: what the penalty's own curvature adds is of any sign.
        H = H + 2.0 * lambda_ * J.T @ J
    if held.size:
        lengths = np.linalg.norm(held, axis=1, keepdims=True)
        _, sizes, V = np.linalg.svd(over(held.T, lengths[:, 0]).T)
        kept = V[np.count_nonzero(sizes > COLLINEAR * max(sizes.max(initial=0.0), 1e-300)) :].T
        # Directions have rounding errors of their own, of a gradient that is held at zero.
        turned = 1e2 * EPS * float(size.max(initial=0.0))
        H, g, noise = kept.T @ H @ kept, kept.T @ g, np.abs(kept).T @ noise + turned
    return decrement(H, g, noise) / deviance_scale(columns, eta, columns.null)


# -------------------------------------------------------------------- controls


def _given_controls(problem: Problem, columns: Columns, raw: Floats, small: float) -> OtherBound:
    """Judge the model in residuals on the controls: a bound on S̃ as usual, free controls."""
    w, q, c = columns.weight, columns.S.shape[1], problem.controls
    X, _ = centered(columns.raw[:, q:], w)
    C, others = X[:, :c], X[:, c:]
    S, others = (residual(C, residual(C, Z, w), w) for Z in (columns.S, others))
    U = residual(S, residual(S, others, w), w)
    beta = raw[:, 1 + q + c :].T
    eta = raw[:, 0] + columns.raw @ raw[:, 1:].T
    # Of S̃ alone: Ũ has nothing of it. Of collinear columns the penalty wants the shortest α.
    unit, root = np.sqrt(weighted_mean(S**2, w)), np.sqrt(w)[:, None]
    if not problem.standardize and np.linalg.matrix_rank(root * over(S, unit), rtol=1e-9) < q:
        unit = np.ones(q)  # otherwise α is the same in all units, and small ones cost digits
    alpha = np.linalg.lstsq(root * over(S, unit), root * (eta - eta.mean(axis=0)), rcond=1e-9)[0]
    alpha = over(alpha.T, unit).T
    rest = eta - S @ alpha - U @ beta
    given = replace(columns, S=S, U=U)

    def value() -> Value | None:
        if columns.likelihood.family in ("gaussian", "cox"):
            ours, theirs = (variance(part, w) for part in (S @ alpha, U @ beta))
            whole = ours + theirs
            nothing = (1e-9 + 1e2 * columns.digits) ** 2 * variance(eta, w)
            # A constant η is a level with rounding, of which S explains some.
            nothing += (1e2 * EPS) ** 2 * float(weighted_mean(eta**2, w).sum())
            return None if whole <= nothing else Value(ours / whole, 1e4 * columns.digits)
        return _deviance_share(given, rest, alpha, beta)

    def gain(lambda_: float) -> float:
        return _gain_given(problem, given, C, eta, alpha, beta, lambda_, small)

    def penalty() -> float:
        unit = np.sqrt(weighted_mean(U**2, w)) if problem.standardize else np.ones(len(beta))
        return problem.predictor_penalty * float(((unit[:, None] * beta) ** 2).sum())

    return OtherBound(value, gain, penalty)


def _deviance_share(columns: Columns, rest: Floats, alpha: Floats, beta: Floats) -> Value | None:
    """(D(α, β, ζ) − D(0, β, ζ))/(D(α, β, ζ) − D(0, 0, ζ))."""

    def deviance(eta: Floats) -> tuple[float, float]:
        eta = eta + columns.offset[:, None]
        return columns.likelihood.deviance(eta[:, 0] if eta.shape[1] == 1 else eta)

    S, U = columns.S @ alpha, columns.U @ beta
    full, without, null = (deviance(rest + part) for part in (S + U, U, 0.0 * U))
    size = full[1] + without[1] + null[1]
    if null[0] - full[0] <= 1e-10 * size or not np.isfinite(size):
        return None
    share = (full[0] - without[0]) / (full[0] - null[0])
    rounding = 1e4 * columns.digits * size / (null[0] - full[0])
    return Value(share, rounding * (1.0 + abs(share)))


def _gain_given(
    problem: Problem,
    columns: Columns,
    C: Floats,
    eta: Floats,
    alpha: Floats,
    beta: Floats,
    lambda_: float,
    small: float,
) -> float:
    likelihood, w, m = columns.likelihood, columns.weight, eta.shape[1]
    ones = np.ones((len(w), 1 if likelihood.has_intercept else 0))
    scaled = _scaled(C, w)
    free = np.hstack([ones, scaled])
    deviations = [np.sqrt(weighted_mean(Z**2, w)) for Z in (columns.S, columns.U)]
    S, U = (over(Z, sd) for Z, sd in zip((columns.S, columns.U), deviations, strict=True))
    held = np.isinf(lambda_) or problem.unfairness == 0.0
    ratios = [
        np.ones_like(sd) if problem.standardize else 1.0 / np.where(sd > 0.0, sd, 1.0)
        for sd in deviations
    ]
    weights = (0.0 if held else lambda_, problem.predictor_penalty)
    ridge = np.concatenate(
        [
            np.zeros(ones.shape[1]),
            np.full(C.shape[1], small),
            *(small + x * ratio**2 for x, ratio in zip(weights, ratios, strict=True)),
        ]
    )
    T = np.vstack(
        [
            np.zeros((ones.shape[1], m)),
            _regressed(scaled, eta - columns.S @ alpha - columns.U @ beta, w),
            alpha * deviations[0][:, None],
            beta * deviations[1][:, None],
        ]
    )
    Z = np.hstack([free, 0.0 * S if held else S, U])
    full = eta + columns.offset[:, None]
    flat = full[:, 0] if m == 1 else full
    g = likelihood.gradient(flat).reshape(full.shape)
    bent = 2.0 * ridge[:, None] * T
    gradient, size = Z.T @ g + bent, np.abs(Z).T @ np.abs(g) + np.abs(bent)
    # α is recomputed from η and has its rounding, which the penalty multiplies.
    ours = slice(free.shape[1], free.shape[1] + S.shape[1])
    size[ours] += 2.0 * ridge[ours, None] * np.abs(eta).max(axis=0)
    if likelihood.family == "cox":
        size = size + np.abs(Z).T @ (2.0 * w[:, None] + 0.0 * full)
    H = likelihood.hessian(flat, Z) + np.kron(np.eye(m), np.diag(2.0 * ridge))
    nothing = np.zeros((0, len(H)))
    return _gain(columns, H, gradient, size, nothing, 0.0, flat, nothing)
