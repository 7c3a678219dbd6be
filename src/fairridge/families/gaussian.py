"""The gaussian family: least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairridge.engines import AbsoluteDifference, Distance

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class Gaussian:
    """E(y) = η, with the residual sum of squares as deviance."""

    name = "gaussian"

    @property
    def distance(self) -> Distance:
        """Distance between responses for individual fairness: |yᵢ − yⱼ|."""
        return AbsoluteDifference()

    def loglik(self, deviance: float, weight: float) -> float:
        """Log-likelihood at σ² = RSS/n, its maximum."""
        if deviance <= 0.0:
            return float("inf")
        return float(-0.5 * weight * (np.log(2.0 * np.pi * deviance / weight) + 1.0))
