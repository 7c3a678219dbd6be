"""Regression models that are fair to a degree you choose."""

from fairridge.estimators import FairnessPath, FairRidgeRegressor

__version__ = "0.1.0"
__all__ = ["FairRidgeRegressor", "FairnessPath", "__version__"]
