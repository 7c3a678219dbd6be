"""Chzhen et al.: predictions moved to the Wasserstein barycenter of the groups."""

from fairridge.peers.barycenter.classifier import BarycenterClassifier
from fairridge.peers.barycenter.regressor import BarycenterRegressor

__all__ = ["BarycenterClassifier", "BarycenterRegressor"]
