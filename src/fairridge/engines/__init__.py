"""Sums over rows. The only code that touches rows."""

from fairridge.engines.base import Engine
from fairridge.engines.blocks import (
    Moments,
    Triangle,
    binary_columns,
    columns_in_threads,
    one_blas_thread,
    threads_for_blocks,
    threads_for_passes,
    triangular_factor,
)
from fairridge.engines.columns import column_blocks
from fairridge.engines.device import DeviceEngine
from fairridge.engines.device_rows import DeviceRows
from fairridge.engines.extent import Extent
from fairridge.engines.memory import (
    MemoryEngine,
    has_many_sparse,
    has_only_numbers,
    in_memory,
    is_wide,
    linear_predictor,
)
from fairridge.engines.precomputed import PrecomputedMoments
from fairridge.engines.sums import MeanSlopes, MeanSums, intercepts_of_sums

__all__ = [
    "DeviceEngine",
    "DeviceRows",
    "Engine",
    "Extent",
    "MeanSlopes",
    "MeanSums",
    "MemoryEngine",
    "Moments",
    "PrecomputedMoments",
    "Triangle",
    "binary_columns",
    "column_blocks",
    "columns_in_threads",
    "has_many_sparse",
    "has_only_numbers",
    "in_memory",
    "intercepts_of_sums",
    "is_wide",
    "linear_predictor",
    "one_blas_thread",
    "threads_for_blocks",
    "threads_for_passes",
    "triangular_factor",
]
