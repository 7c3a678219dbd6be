"""A model on given rows, in small matrices: its factor, its basis, its coordinates, one fit."""

from fairridge.models.basis import Factor, FairBasis, basis_on, factorize, fair_basis
from fairridge.models.canonical import BlindCoordinates, CanonicalSpace, canonical_space
from fairridge.models.compression import Compression, Features, compress
from fairridge.models.controls import (
    ConditionalBasis,
    ConditionalCoordinates,
    conditional_basis,
)
from fairridge.models.coordinates import Coordinates
from fairridge.models.fit import ConditionalFit, ExpandedFit, Fit, Separation, TrainingColumns
from fairridge.models.isolation import DecidedLevel, Isolation, isolate
from fairridge.models.sparse_compression import SparseFeatures, sparse_features

__all__ = [
    "BlindCoordinates",
    "CanonicalSpace",
    "Compression",
    "ConditionalBasis",
    "ConditionalCoordinates",
    "ConditionalFit",
    "Coordinates",
    "DecidedLevel",
    "ExpandedFit",
    "Factor",
    "FairBasis",
    "Features",
    "Fit",
    "Isolation",
    "Separation",
    "SparseFeatures",
    "TrainingColumns",
    "basis_on",
    "canonical_space",
    "compress",
    "conditional_basis",
    "factorize",
    "fair_basis",
    "isolate",
    "sparse_features",
]
