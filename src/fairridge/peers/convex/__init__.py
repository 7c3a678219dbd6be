"""Do et al.: a convex penalty on unequal treatment of equal outcomes."""

from fairridge.peers.convex.estimators import ConvexFairClassifier, ConvexFairRegressor

__all__ = ["ConvexFairClassifier", "ConvexFairRegressor"]
