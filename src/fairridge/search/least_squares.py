"""What problems with a closed-form gaussian solution share beside their coefficients."""

from __future__ import annotations

import numpy as np

from fairridge.engines import Engine
from fairridge.families import Gaussian
from fairridge.models import FairBasis, Fit

__all__ = ["LeastSquares"]


class LeastSquares:
    """A gaussian model on given rows."""

    engine: Engine
    basis: FairBasis
    family: Gaussian

    @property
    def rank(self) -> int:
        """Directions in which the fitted values can vary."""
        return self.basis.rank

    @property
    def null_deviance(self) -> float:
        """Total sum of squares."""
        return float(self.basis.target_scatter[0, 0])

    def dispersion(self, fit: Fit) -> float:
        """Return RSS/(n − rank − 1)."""
        return fit.deviance / max(self.basis.weight - self.rank - 1, 1.0)

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood at σ² = RSS/n."""
        total = np.array([self.basis.weight])  # all that it needs to know of the rows
        return self.family.loglik(fit.deviance, np.empty((0, 1)), total, self.dispersion(fit))

    def warm_start(self) -> None:
        """Return None: a closed form needs no start."""

    def start_from(self, warm_start: None) -> None:
        """Do nothing."""
