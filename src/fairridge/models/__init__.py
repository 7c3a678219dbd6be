"""A model on given rows, in small matrices: its factor, its basis, one fit."""

from fairridge.models.basis import FairBasis, factorize
from fairridge.models.fit import Fit, PredictedModels, Separation
from fairridge.models.isolation import (
    Isolation,
    SeparatedLevel,
    drop_separated,
    separated_levels,
)

__all__ = [
    "FairBasis",
    "Fit",
    "Isolation",
    "PredictedModels",
    "SeparatedLevel",
    "Separation",
    "drop_separated",
    "factorize",
    "separated_levels",
]
