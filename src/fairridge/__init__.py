"""Regression models that are fair to a degree you choose."""

from fairridge.estimators import (
    FairnessPath,
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    cross_validate,
)

__version__ = "0.1.0"
__all__ = [
    "FairRidgeClassifier",
    "FairRidgeRegressor",
    "FairRidgeSurvival",
    "FairnessPath",
    "__version__",
    "cross_validate",
]
