"""How unfair a fitted model is in the population that its rows came from.

In training R² of the linear predictor on S is r exactly; in the population it
is a matter of the errors of the coefficients. With draws (γ*, β*) from their
estimated distribution and the sample's Σ_S, Σ_U and B,

    ρ* = ‖γ* + Bβ*‖²_S / (‖γ* + Bβ*‖²_S + ‖β*‖²_U),

summed over classes. Errors add to what S explains, so the mean of ρ* lies
above the value in training.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.inference.estimates import Estimates, Interval, check_probability

DRAWS = 1000


@dataclass(frozen=True)
class Population:
    """Moments of S and U, as the sample has them.

    Attributes
    ----------
    raw : Estimates
        Intercept and coefficients of [S, X], in that order.
    sensitive, predictors : ndarray
        Σ_S and Σ_U.
    B : ndarray of shape (q, p)
        Coefficients of X on S.
    n_predictors : int
        Number of classes with coefficients, or 1.
    refusal : str or None
        Why the definition has no such interval, if it has none.
    """

    raw: Estimates
    sensitive: Floats
    predictors: Floats
    B: Floats
    n_predictors: int
    refusal: str | None = None

    def shares(self, coefficients: Floats) -> Floats:
        """Return R² of the linear predictor on S for raw coefficients of shape (d, K, q+p)."""
        q = len(self.B)
        beta = coefficients[..., q:]
        alpha = coefficients[..., :q] + beta @ self.B.T
        own = ((alpha @ self.sensitive) * alpha).sum(axis=(-2, -1))
        rest = ((beta @ self.predictors) * beta).sum(axis=(-2, -1))
        total = own + rest
        return np.asarray(np.divide(own, total, out=np.zeros_like(own), where=total > 0.0))

    def unfairness(self, confidence: float) -> Interval:
        """Return the mean of ρ* and its quantiles."""
        if self.refusal is not None:
            raise ValueError(self.refusal)
        check_probability("confidence", confidence)
        sizes, vectors = np.linalg.eigh(self.raw.covariance)
        root = vectors * np.sqrt(np.maximum(sizes, 0.0))
        normal = np.random.default_rng(0).standard_normal((DRAWS, len(root)))
        drawn = (self.raw.estimate + normal @ root.T).reshape(DRAWS, self.n_predictors, -1)
        shares = self.shares(drawn[:, :, -sum(self.B.shape) :])
        tail = 0.5 - confidence / 2.0
        lower, upper = np.quantile(shares, [tail, 1.0 - tail])
        return Interval(float(shares.mean()), float(lower), float(upper), confidence)
