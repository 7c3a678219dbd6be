"""The quasi-Poisson family: counts with more, or less, than Poisson variance."""

from __future__ import annotations

from dataclasses import dataclass

from fairridge._typing import Floats
from fairridge.families._single import quasi_loglik
from fairridge.families.loglinear import Poisson, power_pearson

__all__ = ["QuasiPoisson"]


@dataclass(frozen=True)
class QuasiPoisson(Poisson):
    """Poisson coefficients with a free dispersion: VAR(y) = φμ.

    Only standard errors and the log-likelihood, a quasi log-likelihood with
    Pearson's dispersion, differ from the Poisson family.
    """

    name = "quasi-poisson"

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return −½ deviance/dispersion."""
        return quasi_loglik(deviance, dispersion)

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Σ w (y − μ)²/μ."""
        return power_pearson(self, y, eta, weight)
