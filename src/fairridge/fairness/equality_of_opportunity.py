"""Equality of opportunity as the paper defines it: statistical parity on another scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness.base import VarianceShare, Whole
from fairridge.fairness.scatter_shares import sequential_share
from fairridge.models import Fit, PredictedModels
from fairridge.solvers.spectrum import RANK_TOLERANCE


@dataclass(frozen=True)
class EqualityOfOpportunity(VarianceShare):
    """Share of S in what S and then y explain of the predictions.

    This does not equalize opportunities. In gaussian models it is statistical
    parity with another bound r′,

        r′/(1 − r′) = k·r/(1 − r),   k = COR(Uβ, y⊥)²,

    because Uβ does not depend on λ; in all models it chooses a point on the
    path α(λ) of statistical parity, and at r = 0 it is α = 0. Rates of the
    positive class may differ more between groups than without a bound.
    `MeanOpportunity` bounds the dependence on S among the positive class.

    The sequential sums of squares of ŷ ~ S + y give VAR(Sα) for S and
    COV(Uβ, y⊥)² / VAR(y⊥) for y, where y⊥ = y − S α_OLS:

        VAR(Sα) / (VAR(Sα) + COV(Uβ, y⊥)²/VAR(y⊥)).

    R²_EO as the paper prints it (section 4.3), with partial coefficients given
    y, is not monotone in λ and does not vanish as λ → ∞; the sequential
    version, which R's fairml computes, is and does.

    See Also
    --------
    MeanOpportunity : What the name suggests.
    StatisticalParity : The same path on another scale.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.3.
    .. [2] "Definitions of fairness" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import EqualityOfOpportunity
    >>> model = FairRidgeRegressor(0.05, definition=EqualityOfOpportunity())
    >>> print(f"{model.fit(X, y, sensitive_features=S).unfairness_:.4f}")
    0.0500
    """

    name = "equality-of-opportunity"
    needs_only_moments = True
    sees_columns = False

    def whole(self, family: Any) -> Whole:
        """Return what S and then the response explain of scores."""
        return "both"

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return the share from the same sequential sums of squares on other rows."""
        return sequential_share(scatter, q, m)

    def other_variance(self, fit: Fit | PredictedModels) -> Any:
        """COV(Uβ, y⊥)² / VAR(y⊥), with y⊥ = y − Sα_OLS."""
        # With several linear predictors or targets, the trace of that matrix; of several models, of
        # shape (L, K, p), one number each.
        basis = fit.basis
        size = np.sqrt(np.diag(basis.target_scatter))
        unit = np.where(size > 0.0, size, 1.0)
        rounding = np.sqrt(basis.weight) * basis.target_rounding / unit
        fitted = basis.predictors.rotate(np.atleast_2d(fit.beta))
        cross = fitted @ (basis.on_predictors / unit)
        # Uβ may be orthogonal to y⊥, and then what is left is rounding as well.
        size = np.linalg.norm(fitted, axis=-1, keepdims=True)
        cross = np.where(np.abs(cross) > rounding * size, cross, 0.0)
        total = basis.on_predictors.T @ basis.on_predictors + basis.residual
        values, vectors = np.linalg.eigh(total / np.outer(unit, unit))
        # S may explain all of y, and columns of classes sum to one: what remains is rounding.
        # One target is a length, which has the digits of the rows; an eigenvalue of several has
        # half as many.
        one = len(unit) == 1
        varies = values > (rounding**2 if one else RANK_TOLERANCE)
        explained = (cross @ vectors[:, varies]) ** 2 / values[varies]
        return explained.sum(axis=(-2, -1)) / basis.weight

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the shares of VAR(ŷ) that S explains, and that y explains after S."""
        sensitive = fit.sensitive_variance
        total = sensitive + fit.predictor_variance
        if total == 0.0:
            return {"r_squared_sensitive": 0.0, "r_squared_response": 0.0}
        return {
            "r_squared_sensitive": sensitive / total,
            "r_squared_response": self.other_variance(fit) / total,
        }
