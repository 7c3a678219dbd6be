"""Spaces that models are solved in: plain, given controls, blind, and features of many columns."""

from fairridge.models.spaces.base import Coordinates, Space, plain_space
from fairridge.models.spaces.blind import BlindSpace, blind_space, blind_space_of
from fairridge.models.spaces.compressed import compress
from fairridge.models.spaces.given_controls import controlled_space
from fairridge.models.spaces.sparse import SparseFeatures, sparse_features

__all__ = [
    "BlindSpace",
    "Coordinates",
    "Space",
    "SparseFeatures",
    "blind_space",
    "blind_space_of",
    "compress",
    "controlled_space",
    "plain_space",
    "sparse_features",
]
