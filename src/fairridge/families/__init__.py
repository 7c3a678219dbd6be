"""Families of responses, one per file."""

from __future__ import annotations

from fairridge.families.base import Family, SinglePredictor
from fairridge.families.binomial import Binomial, QuasiBinomial
from fairridge.families.cox import Cox
from fairridge.families.gaussian import Gaussian
from fairridge.families.loglinear import Gamma, Poisson, Tweedie
from fairridge.families.multinomial import Multinomial
from fairridge.families.negative_binomial import NegativeBinomial
from fairridge.families.quasi_poisson import QuasiPoisson
from fairridge.families.sums import RowSums

__all__ = [
    "Binomial",
    "Cox",
    "Family",
    "Gamma",
    "Gaussian",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "QuasiBinomial",
    "QuasiPoisson",
    "RowSums",
    "SinglePredictor",
    "Tweedie",
]
