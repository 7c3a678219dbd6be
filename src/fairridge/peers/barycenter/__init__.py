"""Chzhen et al.: predictions moved to the Wasserstein barycenter of the groups."""

from fairridge.peers.barycenter.estimator import BarycenterRegressor

__all__ = ["BarycenterRegressor"]
