"""Frames in, encoded columns out: validation, encoding, names, levels."""

from fairridge.data.columns import Encoding, Missing, Unknown, dense_columns
from fairridge.data.design import (
    MAX_LEVELS,
    Design,
    learn_design,
    most_levels,
    require_few_levels,
)
from fairridge.data.frames import columns_of, make_frame
from fairridge.data.levels import Levels, is_missing
from fairridge.data.maps import MappedEncoding
from fairridge.data.offsets import (
    exposure_of,
    joined_offsets,
    log_exposure,
    offset_arguments,
    offset_names,
    read_offset,
    require_log_link,
    require_offsets,
)
from fairridge.data.rows import Indicators, Piece, RowLevel, Rows, Slab, SparseSlab
from fairridge.data.table import (
    Table,
    as_native,
    as_table,
    index_of,
    is_sparse,
    name_of,
    numeric_vector,
    one_per_row,
    require_usual_size,
    warn_of_order,
    weights,
)

__all__ = [
    "MAX_LEVELS",
    "Design",
    "Encoding",
    "Indicators",
    "Levels",
    "MappedEncoding",
    "Missing",
    "Piece",
    "RowLevel",
    "Rows",
    "Slab",
    "SparseSlab",
    "Table",
    "Unknown",
    "as_native",
    "as_table",
    "columns_of",
    "dense_columns",
    "exposure_of",
    "index_of",
    "is_missing",
    "is_sparse",
    "joined_offsets",
    "learn_design",
    "log_exposure",
    "make_frame",
    "most_levels",
    "name_of",
    "numeric_vector",
    "offset_arguments",
    "offset_names",
    "one_per_row",
    "read_offset",
    "require_few_levels",
    "require_log_link",
    "require_offsets",
    "require_usual_size",
    "warn_of_order",
    "weights",
]
