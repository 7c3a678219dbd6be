"""Zafar et al.: bounds on the association of predictions with each column of S."""

from fairridge.peers.zafar.estimators import ZafarClassifier, ZafarRegressor

__all__ = ["ZafarClassifier", "ZafarRegressor"]
