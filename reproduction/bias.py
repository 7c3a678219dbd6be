"""The bias of a ridge in the auxiliary model (paper, section 2.2).

With a ridge the decorrelated predictors Ũ = X − S(SᵀS + λI)⁻¹SᵀX keep a
covariance with S, so VAR(Sα + Ũβ) is not the sum of two variances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from reproduction.examples import example_of, sample_example
from reproduction.settings import Floats, Settings

CASES = ("example", "vu.test", "correlations of 0.6")
BOUNDS = (0.01, 0.02, 0.05, 0.1)
# From no effect to no regression: SᵀS has eigenvalues of about 700 and 1600.
PENALTIES = np.logspace(-3.0, 9.0, 121)


def bias_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Compare the two shares of S over λ, on one sample of the example.

    As in the paper's figure, the coefficients are those of NCLM on (S, Ũ), and
    their share is measured with the covariance of Sα and Ũβ, and without. The
    paper prints VAR(Sα + Ũβ) with −2COV; the sign is plus.
    """
    strong = case == "correlations of 0.6"
    sample = sample_example(settings, run, 0.6) if strong else example_of(case, run, settings)
    S, X, y = sample.centered()
    low, high = one_standard_error(S, X, settings.generator(run, purpose=2))
    rows = []
    for penalty in PENALTIES:
        U = X - S @ ridge(S, X, float(penalty))
        kept = np.linalg.norm(S.T @ U) / np.linalg.norm(S.T @ X)
        for r in BOUNDS:
            alpha, beta = nclm_coefficients(S, U, y, r)
            apart = float(np.var(S @ alpha) + np.var(U @ beta))
            twice = 2.0 * float(np.mean((S @ alpha) * (U @ beta)))
            rows.append(
                {
                    "r": r,
                    "penalty": penalty,
                    "printed": apart / (apart - twice),
                    "correct": apart / (apart + twice),
                    "covariance": kept,
                    "optimal": int(low <= penalty <= high),
                }
            )
    return pd.DataFrame(rows)


def nclm_coefficients(S: Floats, U: Floats, y: Floats, r: float) -> tuple[Floats, Floats]:
    """Return NCLM's coefficients where S and U are taken for orthogonal.

    That is the optimum of the paper's problem (6), whose matrix has no block
    for COV(S, U): α_OLS/(1 + μ(1−r)) and β_OLS/(1 − μr) with

        μ = (√(1−r)·a − √r·b) / (r√(1−r)·a + (1−r)√r·b),

    a² = VAR(Sα_OLS), b² = VAR(Uβ_OLS), and μ = 0 where these meet the bound.
    """
    alpha, beta = (_least_squares(columns, y) for columns in (S, U))
    a, b = float(np.std(S @ alpha)), float(np.std(U @ beta))
    excess = np.sqrt(1.0 - r) * a - np.sqrt(r) * b
    if excess <= 0.0:
        return alpha, beta
    mu = excess / (r * np.sqrt(1.0 - r) * a + (1.0 - r) * np.sqrt(r) * b)
    return alpha / (1.0 + mu * (1.0 - r)), beta / (1.0 - mu * r)


def _least_squares(columns: Floats, y: Floats) -> Any:
    return np.linalg.lstsq(columns, y, rcond=None)[0]


def one_standard_error(S: Floats, X: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the range over predictors of the one-standard-error penalty.

    That is the largest λ whose error in 10-fold cross-validation is within one
    standard error of the smallest (Hastie, Tibshirani and Friedman, section 7.10).
    """
    fold = rng.permutation(np.arange(len(S)) % 10)
    errors = np.empty((10, len(PENALTIES), X.shape[1]))
    for k in range(10):
        train, test = fold != k, fold == k
        center_S, center_X = S[train].mean(axis=0), X[train].mean(axis=0)
        for j, penalty in enumerate(PENALTIES):
            B = ridge(S[train] - center_S, X[train] - center_X, float(penalty))
            residual = X[test] - center_X - (S[test] - center_S) @ B
            errors[k, j] = (residual**2).mean(axis=0)
    mean, spread = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(10.0)
    chosen = []
    for i in range(X.shape[1]):
        best = int(mean[:, i].argmin())
        within = mean[:, i] <= mean[best, i] + spread[best, i]
        chosen.append(float(PENALTIES[np.flatnonzero(within)[-1]]))
    return min(chosen), max(chosen)


def ridge(S: Floats, X: Floats, penalty: float) -> Floats:
    """Return the coefficients of X on S with a ridge penalty."""
    coefficients: Any = np.linalg.solve(S.T @ S + penalty * np.eye(S.shape[1]), S.T @ X)
    return np.asarray(coefficients, dtype=np.float64)
