"""Penalties on the coefficients of the sensitive attributes, one per file."""

from fairridge.penalties.base import Penalty, SecularPenalty
from fairridge.penalties.ridge import Ridge

__all__ = ["Penalty", "Ridge", "SecularPenalty"]
