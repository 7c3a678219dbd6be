"""A model on given rows, in small matrices: its factor, its basis, one fit."""

from fairridge.models.basis import FairBasis, factorize, fair_basis
from fairridge.models.fit import (
    ControlledColumns,
    Fit,
    PredictedModels,
    Separation,
    TrainingColumns,
)
from fairridge.models.isolation import (
    Isolation,
    SeparatedLevel,
    drop_separated,
    separated_levels,
)

__all__ = [
    "ControlledColumns",
    "FairBasis",
    "Fit",
    "Isolation",
    "PredictedModels",
    "SeparatedLevel",
    "Separation",
    "TrainingColumns",
    "drop_separated",
    "factorize",
    "fair_basis",
    "separated_levels",
]
