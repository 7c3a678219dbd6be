"""What users type."""

from fairridge.estimators.path import FairnessPath
from fairridge.estimators.regressor import FairRidgeRegressor

__all__ = ["FairRidgeRegressor", "FairnessPath"]
