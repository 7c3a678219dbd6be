"""Any learner under a bound: its cross-fitted scores are the predictors of a fair ridge."""

from fairridge.stacking.classifier import FairStackingClassifier
from fairridge.stacking.path import StackedPath
from fairridge.stacking.regressor import FairStackingRegressor

__all__ = ["FairStackingClassifier", "FairStackingRegressor", "StackedPath"]
