"""A model on given rows, in small matrices: its factor, its basis, its coordinates, one fit."""

from fairridge.models.basis import Factor, FairBasis, basis_on, factorize, fair_basis
from fairridge.models.coordinates import Coordinates
from fairridge.models.fit import Fit, Separation, TrainingColumns
from fairridge.models.isolation import DecidedLevel, Isolation, decided_levels, isolate

__all__ = [
    "Coordinates",
    "DecidedLevel",
    "Factor",
    "FairBasis",
    "Fit",
    "Isolation",
    "Separation",
    "TrainingColumns",
    "basis_on",
    "decided_levels",
    "factorize",
    "fair_basis",
    "isolate",
]
