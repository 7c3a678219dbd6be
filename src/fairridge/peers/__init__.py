"""The models that fair ridge regression is compared with, one folder each."""

from fairridge.peers.barycenter import BarycenterClassifier, BarycenterRegressor
from fairridge.peers.blind_exact import BlindExactRegressor
from fairridge.peers.convex import ConvexFairClassifier, ConvexFairRegressor
from fairridge.peers.komiyama import KomiyamaRegressor
from fairridge.peers.reductions import ReductionsClassifier
from fairridge.peers.steinberg import SteinbergRegressor
from fairridge.peers.zafar import ZafarClassifier, ZafarRegressor

__all__ = [
    "BarycenterClassifier",
    "BarycenterRegressor",
    "BlindExactRegressor",
    "ConvexFairClassifier",
    "ConvexFairRegressor",
    "KomiyamaRegressor",
    "ReductionsClassifier",
    "SteinbergRegressor",
    "ZafarClassifier",
    "ZafarRegressor",
]
