"""NCLM as fairml 0.8 states it for its solver: with zero blocks that are not quite zero.

Problem (7) minimizes γ under two quadratic constraints in θ = (γ, α, β), whose
matrices have zeros for γ, and one of them for β. fairml's solver of cones needs
definite matrices, so fairml raises what is below 1e-4 of the largest diagonal
element to that value (its function `make.definite`). This problem is solved
here exactly, in order to see what the floors alone change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from fairridge import FairRidgeRegressor, KomiyamaRegressor
from reproduction.data import load
from reproduction.examples import decorrelated
from reproduction.fairml import answers
from reproduction.linear import PAPER
from reproduction.measures import active
from reproduction.settings import Floats, Settings

CASES = ("vu.test", *PAPER)
FLOOR = 1e-4


def floors_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Residual sum of squares and R²_S on all rows: NCLM with floors, NCLM, FRRM, fairml."""
    data = load(case, settings)
    r = np.array([bound for bound in settings.bounds if bound > 0.0])
    parts = []
    for name, kind in (("FRRM", FairRidgeRegressor), ("NCLM", KomiyamaRegressor)):
        path: Any = kind(sensitive=data.sensitive).path(data.frame, data.labels, unfairness=r)
        found = {"rss": path.deviance, "share": path.achieved, "active": active(path)}
        parts.append(pd.DataFrame({"model": name, "r": r, **found}))
    floored = [with_floors(data.S, data.X, data.y, float(bound)) for bound in r]
    columns = ["rss", "share"]
    parts.append(pd.DataFrame(floored, columns=columns).assign(model="NCLM, floors", r=r))
    recorded = answers().query("case == @case and model == 'NCLM' and r in @r")
    parts.append(recorded.drop(columns="case").assign(model="NCLM, fairml"))
    return pd.concat(parts)


def with_floors(S: Floats, X: Floats, y: Floats, r: float) -> tuple[float, float]:
    """Solve NCLM with floors, and return its residual sum of squares and R²_S.

    Columns are standardized, and y if its standard deviation is below 1, as in
    fairml. In the eigenvectors of VAR(S) and VAR(U) both constraints are
    θᵀQθ + aᵀθ ≤ 0 with diagonal Q, so the dual has one unknown for each; for a
    share s of the second the best sum of both is explicit.
    """
    y = y - y.mean()
    scale = y.std(ddof=1)
    scaled = y / scale if scale < 1.0 else y
    of_S, of_U = (_spectral(Z) for Z in (S - S.mean(axis=0), _residuals(X, S)))
    columns = np.column_stack([of_S[0], of_U[0]])
    a = -np.append(1.0, 2.0 * columns.T @ scaled / len(y))
    first = np.concatenate([[0.0], of_S[1], of_U[1]])
    second = np.concatenate([[0.0], of_S[1] / r, np.zeros_like(of_U[1])])
    # Diagonal elements of VAR are 1.
    first, second = np.maximum(first, FLOOR), np.maximum(second, FLOOR / r)
    q = len(of_S[1])
    theta = _solved(a, first, second)[1:] * (scale if scale < 1.0 else 1.0)
    explained, rest = columns[:, :q] @ theta[:q], columns[:, q:] @ theta[q:]
    share = explained @ explained / (explained @ explained + rest @ rest)
    return float(((y - explained - rest) ** 2).sum()), float(share)


def _residuals(X: Floats, S: Floats) -> Floats:
    return decorrelated(X - X.mean(axis=0), S - S.mean(axis=0))


def _spectral(Z: Floats) -> tuple[Floats, Floats]:
    """Standardized columns in the eigenvectors of their covariances, and the eigenvalues."""
    Z = Z / Z.std(axis=0, ddof=1)
    values, vectors = np.linalg.eigh(Z.T @ Z / (len(Z) - 1.0))
    return Z @ vectors, values


def _solved(a: Floats, first: Floats, second: Floats) -> Floats:
    """Minimize θ₁ under θᵀQθ + aᵀθ ≤ 0 for two diagonal Q.

    With M = (1 − s)Q₁ + sQ₂ and multipliers that sum to m, the Lagrangian has
    its minimum at θ = −(e/m + a)/2M and the value −(e/m + a)ᵀM⁻¹(e + ma)/4, which
    is largest at m² = eᵀM⁻¹e / aᵀM⁻¹a. What is left has one maximum in s.
    """

    def multipliers(s: float) -> tuple[Floats, float]:
        M = (1.0 - s) * first + s * second
        return M, float(np.sqrt(1.0 / M[0] / (a * a / M).sum()))

    def value(s: float) -> float:
        M, m = multipliers(s)
        return (1.0 / m / M[0] + 2.0 * a[0] / M[0] + m * (a * a / M).sum()) / 4.0

    s = minimize_scalar(value, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12}).x
    M, m = multipliers(float(s))
    theta: Floats = -0.5 * a / M
    theta[0] -= 0.5 / m / M[0]
    return theta
