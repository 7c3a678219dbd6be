"""A model on given rows, in small matrices: its factor, its basis, its coordinates, one fit."""

from fairridge.models.basis import FairBasis, fair_basis
from fairridge.models.canonical import BlindCoordinates, CanonicalSpace, canonical_space
from fairridge.models.compression import Compression, compress, is_wide
from fairridge.models.controls import (
    ConditionalBasis,
    ConditionalCoordinates,
    conditional_basis,
)
from fairridge.models.coordinates import Coordinates
from fairridge.models.factor import Factor, factorize
from fairridge.models.fit import ConditionalFit, ExpandedFit, Fit, Separation
from fairridge.models.isolation import DecidedLevel, Isolation, isolate

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
    "Fit",
    "Isolation",
    "Separation",
    "canonical_space",
    "compress",
    "conditional_basis",
    "factorize",
    "fair_basis",
    "is_wide",
    "isolate",
]
