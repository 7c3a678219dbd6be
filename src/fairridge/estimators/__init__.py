"""What users type."""

from fairridge.estimators.barycenter import BarycenterRegressor
from fairridge.estimators.classifier import FairRidgeClassifier
from fairridge.estimators.convex import ConvexFairClassifier, ConvexFairRegressor
from fairridge.estimators.komiyama import KomiyamaRegressor, auxiliary_ridge_bias
from fairridge.estimators.path import FairnessPath
from fairridge.estimators.reductions import ReductionsClassifier
from fairridge.estimators.regressor import FairRidgeRegressor
from fairridge.estimators.steinberg import SteinbergRegressor
from fairridge.estimators.survival import FairRidgeSurvival
from fairridge.estimators.zafar import ZafarClassifier, ZafarRegressor

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
    "auxiliary_ridge_bias",
]
