"""What users type."""

from fairridge.estimators.barycenter import BarycenterRegressor
from fairridge.estimators.classifier import FairRidgeClassifier
from fairridge.estimators.compare import Comparison, compare
from fairridge.estimators.convex import ConvexFairClassifier, ConvexFairRegressor
from fairridge.estimators.cross_validation import CrossValidation, cross_validate
from fairridge.estimators.komiyama import KomiyamaRegressor, auxiliary_ridge_bias
from fairridge.estimators.path import FairnessPath
from fairridge.estimators.reductions import ReductionsClassifier
from fairridge.estimators.regressor import FairRidgeRegressor
from fairridge.estimators.steinberg import SteinbergRegressor
from fairridge.estimators.survival import FairRidgeSurvival
from fairridge.estimators.zafar import ZafarClassifier, ZafarRegressor

__all__ = [
    "BarycenterRegressor",
    "Comparison",
    "ConvexFairClassifier",
    "ConvexFairRegressor",
    "CrossValidation",
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
    "compare",
    "cross_validate",
]
