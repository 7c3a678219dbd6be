"""λ(r) and α in closed form for orthogonal sensitive attributes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reproduction.settings import Floats


class OrthogonalSolution(NamedTuple):
    """The penalty λ(r) and the coefficients α."""

    lambda_: float
    alpha: Floats


def orthogonal_solution(
    S: Floats, y: Floats, predictor_variance: float, unfairness: float
) -> OrthogonalSolution:
    """Solve the fair ridge regression for mutually orthogonal, standardized S.

    With SᵀS = nI and c² = VAR(Uβ),

        λ(r) = −n + ‖Sᵀy‖ / (c √(r/(1−r))),
        α = c √(r/(1−r)) Sᵀy / ‖Sᵀy‖,

    so that COR(ŷ, S) is proportional to √r. The paper (section 3.2) prints
    ‖Sᵀy‖² in both places, and √(r/(1−r)) for the correlation.

    Parameters
    ----------
    S : ndarray of shape (n, q)
        Centered columns with variance 1 (divisor n), orthogonal to each other.
    y : ndarray of shape (n,)
        The response.
    predictor_variance : float
        c² = VAR(Uβ).
    unfairness : float
        r in [0, 1].

    Returns
    -------
    lambda_, alpha
        λ = 0 and the least-squares α if these meet the bound; λ = ∞ and
        α = 0 at r = 0.
    """
    if not 0.0 <= unfairness <= 1.0:
        raise ValueError(f"unfairness={unfairness!r} must lie in [0, 1].")
    n = S.shape[0]
    gram = S.T @ S / n
    if np.abs(gram - np.eye(S.shape[1])).max() > 1e-8:
        raise ValueError("the columns of S must be orthogonal, centered and have variance 1.")
    products = S.T @ (y - y.mean())
    norm = float(np.linalg.norm(products))
    odds = np.inf if unfairness == 1.0 else unfairness / (1.0 - unfairness)
    allowed = (
        float(np.sqrt(odds * predictor_variance))
        if predictor_variance > 0
        else (np.inf if unfairness == 1.0 else 0.0)
    )
    if norm / n <= allowed:
        return OrthogonalSolution(0.0, products / n)
    if allowed == 0.0:
        return OrthogonalSolution(np.inf, np.zeros_like(products))
    return OrthogonalSolution(max(norm / allowed - n, 0.0), allowed * products / norm)
