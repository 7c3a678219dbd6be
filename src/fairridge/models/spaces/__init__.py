"""Spaces that models are solved in: plain, given controls, blind, and features of many columns."""

from fairridge.models.spaces.base import Space, plain_space
from fairridge.models.spaces.blind import BlindSpace, blind_space, blind_space_of
from fairridge.models.spaces.compressed import Compression, FeatureSpace, compress
from fairridge.models.spaces.given_controls import ControlledSpace, controlled_space
from fairridge.models.spaces.sparse import SparseFeatures, sparse_features

__all__ = [
    "BlindSpace",
    "Compression",
    "ControlledSpace",
    "FeatureSpace",
    "Space",
    "SparseFeatures",
    "blind_space",
    "blind_space_of",
    "compress",
    "controlled_space",
    "plain_space",
    "sparse_features",
]
