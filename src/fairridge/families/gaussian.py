"""The gaussian family: least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge._arrays import namespace
from fairridge._typing import Floats
from fairridge.families.base import SinglePredictor


@dataclass(frozen=True)
class Gaussian(SinglePredictor):
    """E(y) = η, with the residual sum of squares as deviance.

    See Also
    --------
    fairridge.FairRidgeRegressor : Its default family.

    References
    ----------
    .. [1] "The model" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.families import Gaussian
    >>> model = FairRidgeRegressor(0.05, family=Gaussian()).fit(X, y, sensitive_features=S)
    >>> print(model.status_)
    converged
    """

    name = "gaussian"
    link = "identity"
    least_squares = True
    has_minimum = True
    share = "variance"

    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """(y − η)²."""
        return (y - eta) ** 2

    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """2(η − y) and 2."""
        return 2.0 * (eta - y), namespace(eta).full_like(eta, 2.0)

    def unit(self, mean: float) -> float:
        """Return 0: squares of the response have no scale of their own."""
        return 0.0

    def to_eta(self, mu: Floats) -> Floats:
        """Return μ."""
        return mu

    def mean(self, eta: Floats) -> Floats:
        """Return η."""
        return eta

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float:
        """Σ w (y − η)²."""
        return float(weight @ (y[:, 0] - eta[:, 0]) ** 2)

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Log-likelihood at σ² = RSS/n, its maximum."""
        if deviance <= 0.0:
            return float("inf")
        n = float(weight.sum())
        return float(-0.5 * n * (np.log(2.0 * np.pi * deviance / n) + 1.0))
