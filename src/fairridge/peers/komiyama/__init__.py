"""Komiyama et al.: least squares under a bound on the share of S, exact."""

from fairridge.peers.komiyama.estimator import KomiyamaRegressor

__all__ = ["KomiyamaRegressor"]
