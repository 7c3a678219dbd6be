"""The models of Komiyama and Zafar: a closed form, and conditions of optimality."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from tools.fuzz.columns import Columns, centered, over, residual, variance, weighted_mean
from tools.fuzz.problems import Problem
from tools.fuzz.reference import Value

Floats = NDArray[np.float64]


def komiyama(problem: Problem, columns: Columns) -> Floats | None:
    """Return η of the closed form; None where U explains nothing and there is none.

    α = α_OLS/(1 + μ(1 − r)) and β = β_OLS/(1 − μr): the least-squares point
    (a, b) projected on the edge (√r, √(1−r)) of the bound.
    """
    w, r, y = columns.weight, problem.unfairness, columns.likelihood.y[:, None]
    level = weighted_mean(y, w)
    # Directions that only the lost digits of columns tell apart are none, as in U itself.
    on_S, on_U = (
        (y - level) - residual(Z, y - level, w, columns.digits) for Z in (columns.S, columns.U)
    )
    a, b = (np.sqrt(variance(part, w)) for part in (on_S, on_U))
    if b <= 1e-9 * np.sqrt(variance(y, w)):
        return None
    if a**2 <= r * (a**2 + b**2):
        return (level + on_S + on_U)[:, 0]
    t = np.sqrt(r) * a + np.sqrt(1.0 - r) * b
    return (level + on_S * np.sqrt(r) * t / a + on_U * np.sqrt(1.0 - r) * t / b)[:, 0]


def zafar(
    problem: Problem, columns: Columns, eta: Floats, small: float = 0.0
) -> tuple[Value, float]:
    """Return max |COR(Sⱼ, η)|, and how far the gradient is from a sum of active constraints.

    At the optimum dD/db = −Σ νⱼ·sign(corⱼ)·COV(X, Sⱼ) with νⱼ ≥ 0 for the attributes
    at the bound; the distance is relative to the gradient of the null model. `small` is the
    ridge on separated data.
    """
    w, likelihood = columns.weight, columns.likelihood
    X, _ = centered(columns.raw[:, columns.S.shape[1] :], w)
    X = over(X, np.sqrt(weighted_mean(X**2, w)))
    S = over(columns.S, np.sqrt(weighted_mean(columns.S**2, w)))
    spread = np.sqrt(variance(eta[:, None], w))
    total = w.sum()
    cor = S.T @ (w * eta) / total / spread if spread > 0.0 else np.zeros(S.shape[1])
    largest = Value(float(np.abs(cor).max(initial=0.0)), 1e3 * columns.digits)
    r = problem.unfairness
    active = np.abs(cor) >= r - 1e-5 if r > 0.0 else np.ones(len(cor), bool)
    C = (X.T @ (w[:, None] * S))[:, active] / total
    normals = np.hstack([C, -C]) if r == 0.0 else C * np.sign(cor[active])
    g, null = (likelihood.gradient(v) for v in (eta + columns.offset, 0.0 * eta + _level(columns)))
    root = np.sqrt(w)
    b = np.linalg.lstsq(root[:, None] * X, root * (eta - np.average(eta, weights=w)), rcond=1e-9)[0]
    target = -(X.T @ g + 2.0 * small * b) / total
    scale = np.sqrt((null**2 / w).sum() / total)
    if normals.shape[1] == 0:
        return largest, float(np.abs(target).max(initial=0.0) / scale)
    return largest, float(nnls(normals, target)[1] / scale)


def _level(columns: Columns) -> float:
    y, w = columns.likelihood.y, columns.weight
    mean = float(np.average(y, weights=w))
    return mean if columns.likelihood.family == "gaussian" else float(np.log(mean / (1.0 - mean)))
