"""The fair ridge models: what users type first."""

from fairridge.estimators._inferring import row_products
from fairridge.estimators.classifier import FairRidgeClassifier
from fairridge.estimators.path import FairnessPath
from fairridge.estimators.regressor import FairRidgeRegressor
from fairridge.estimators.survival import FairRidgeSurvival

__all__ = [
    "FairRidgeClassifier",
    "FairRidgeRegressor",
    "FairRidgeSurvival",
    "FairnessPath",
    "row_products",
]
