"""Sums over rows. The only code that touches rows."""

from fairridge.engines.base import Engine, GLMSums, RowFunction
from fairridge.engines.blocks import one_blas_thread
from fairridge.engines.known import KnownMoments
from fairridge.engines.memory import MemoryEngine, linear_predictor
from fairridge.engines.moments import Moments
from fairridge.engines.pairwise import (
    AbsoluteDifference,
    ClassDifference,
    Distance,
    PairwiseDistance,
    SquaredDifference,
)
from fairridge.engines.triangular import triangular_factor

__all__ = [
    "AbsoluteDifference",
    "ClassDifference",
    "Distance",
    "Engine",
    "GLMSums",
    "KnownMoments",
    "MemoryEngine",
    "Moments",
    "PairwiseDistance",
    "RowFunction",
    "SquaredDifference",
    "linear_predictor",
    "one_blas_thread",
    "triangular_factor",
]
