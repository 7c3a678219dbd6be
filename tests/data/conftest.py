"""Columns in every container."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


@pytest.fixture
def categorical_of(library):
    """Return a function from codes (None is missing) and levels to a column of each library."""
    return {
        "pandas": lambda codes, levels: pd.Categorical.from_codes(
            [-1 if code is None else code for code in codes], levels
        ),
        "polars": lambda codes, levels: pl.Series(
            [None if code is None else levels[code] for code in codes], dtype=pl.Enum(levels)
        ),
        "pyarrow": lambda codes, levels: pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int8()), pa.array(levels)
        ),
    }[library]
