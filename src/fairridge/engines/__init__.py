"""Sums over rows. The only code that touches rows."""

from fairridge.engines.base import Engine, FamilyFunction, GLMSums, RowFunction
from fairridge.engines.batches import Encoder, Placed, Source
from fairridge.engines.blocks import one_blas_thread, threads_for_blocks
from fairridge.engines.columns import column_blocks
from fairridge.engines.known import KnownMoments, KnownRoot
from fairridge.engines.memory import MemoryEngine, linear_predictor
from fairridge.engines.moments import Moments
from fairridge.engines.pairwise import (
    AbsoluteDifference,
    ClassDifference,
    Distance,
    PairwiseDistance,
    SquaredDifference,
)
from fairridge.engines.row_keys import row_keys
from fairridge.engines.stream import FirstPass, StreamEngine, Triangle
from fairridge.engines.triangular import triangular_factor

__all__ = [
    "AbsoluteDifference",
    "ClassDifference",
    "Distance",
    "Encoder",
    "Engine",
    "FamilyFunction",
    "FirstPass",
    "GLMSums",
    "KnownMoments",
    "KnownRoot",
    "MemoryEngine",
    "Moments",
    "PairwiseDistance",
    "Placed",
    "RowFunction",
    "Source",
    "SquaredDifference",
    "StreamEngine",
    "Triangle",
    "column_blocks",
    "linear_predictor",
    "one_blas_thread",
    "row_keys",
    "threads_for_blocks",
    "triangular_factor",
]
