"""Several models at once, as one pass over the rows foretells them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairridge._typing import Floats
from fairridge.families import Family
from fairridge.models.basis import FairBasis


@dataclass(frozen=True)
class PredictedModels:
    """What definitions need of L models that differ in λ; the names are those of `Fit`."""

    alpha: Floats  # of shape (L, K, q), K rows of coefficients each
    beta: Floats  # of shape (L, K, p)
    deviance: Floats  # of shape (L,)
    # Deviances at α = 0, with β and without it, of shape (L,).
    without_sensitive: Floats
    null: Floats
    family: Family
    basis: FairBasis

    @cached_property
    def sensitive_variance(self) -> Floats:
        """VAR(Sα), summed over classes, of shape (L,)."""
        variance: Floats = np.asarray(self.basis.sensitive_variance(self.alpha))
        return variance.sum(axis=1)

    @cached_property
    def predictor_variance(self) -> Floats:
        """VAR(Uβ), summed over classes, of shape (L,)."""
        variance: Floats = np.asarray(self.basis.predictor_variance(self.beta))
        return variance.sum(axis=1)

    def deviance_without(self, *, predictors: bool, center: bool, log_size: float) -> Floats:
        """Return the deviances at α = 0, with β or without it, on centered S."""
        return self.without_sensitive if predictors else self.null
