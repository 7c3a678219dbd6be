"""Regression models that are fair to a degree you choose."""

from fairridge.estimators import (
    BarycenterRegressor,
    ConvexFairClassifier,
    ConvexFairRegressor,
    FairnessPath,
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    KomiyamaRegressor,
    ReductionsClassifier,
    SteinbergRegressor,
    ZafarClassifier,
    ZafarRegressor,
    compare,
    cross_validate,
)
from fairridge.estimators._exports import load, save

__version__ = "0.1.0"
__all__ = [
    "BarycenterRegressor",
    "ConvexFairClassifier",
    "ConvexFairRegressor",
    "FairRidgeClassifier",
    "FairRidgeRegressor",
    "FairRidgeSurvival",
    "FairnessPath",
    "KomiyamaRegressor",
    "ReductionsClassifier",
    "SteinbergRegressor",
    "ZafarClassifier",
    "ZafarRegressor",
    "__version__",
    "compare",
    "cross_validate",
    "load",
    "save",
]
