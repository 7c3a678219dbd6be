"""The quasi-Poisson family: counts with more, or less, than Poisson variance."""

from __future__ import annotations

from dataclasses import dataclass

from fairridge.families.base import Family
from fairridge.families.loglinear import Poisson, power_pearson


@dataclass(frozen=True)
class QuasiPoisson(Poisson):
    """Poisson coefficients with a free dispersion: VAR(y) = φμ.

    Only standard errors and the log-likelihood, a quasi log-likelihood with
    Pearson's dispersion, differ from the Poisson family.
    """

    name = "quasi-poisson"
    loglik = Family.loglik
    pearson = power_pearson
