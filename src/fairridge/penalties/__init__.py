"""Penalties on the coefficients of the sensitive attributes, one per file."""

from __future__ import annotations

from fairridge.penalties.base import Penalty, SecularPenalty
from fairridge.penalties.elastic_net import ElasticNet, Lasso
from fairridge.penalties.radial import Radial
from fairridge.penalties.ridge import Ridge
from fairridge.solvers import Spectrum

__all__ = [
    "ElasticNet",
    "Lasso",
    "Penalty",
    "Radial",
    "Ridge",
    "SecularPenalty",
    "Spectrum",
]
