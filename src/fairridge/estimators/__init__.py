"""What users type."""

from fairridge.estimators.classifier import FairRidgeClassifier
from fairridge.estimators.cross_validation import CrossValidation, cross_validate
from fairridge.estimators.path import FairnessPath
from fairridge.estimators.regressor import FairRidgeRegressor
from fairridge.estimators.survival import FairRidgeSurvival

__all__ = [
    "CrossValidation",
    "FairRidgeClassifier",
    "FairRidgeRegressor",
    "FairRidgeSurvival",
    "FairnessPath",
    "cross_validate",
]
