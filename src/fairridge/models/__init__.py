"""A model on given rows, in small matrices: its factor, its basis, its coordinates, one fit."""

from fairridge.models.basis import Factor, FairBasis, basis_on, factorize, fair_basis
from fairridge.models.coordinates import Coordinates
from fairridge.models.fit import (
    ControlledColumns,
    Fit,
    PredictedModels,
    Separation,
    TrainingColumns,
)
from fairridge.models.isolation import Isolation, SeparatedLevel, drop_separated, separated_levels

__all__ = [
    "ControlledColumns",
    "Coordinates",
    "Factor",
    "FairBasis",
    "Fit",
    "Isolation",
    "PredictedModels",
    "SeparatedLevel",
    "Separation",
    "TrainingColumns",
    "basis_on",
    "drop_separated",
    "factorize",
    "fair_basis",
    "separated_levels",
]
