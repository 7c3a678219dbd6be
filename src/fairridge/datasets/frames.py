"""NumPy columns in, a frame of the user's own library out.

pandas is not a dependency of the library, so data travel as NumPy columns until
the last step, which builds a pandas, polars or pyarrow frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True)
class Column:
    """One column, independent of any frame library."""

    values: NDArray[Any]  # numbers; for a categorical column, codes into `levels`, of shape (n,)
    levels: tuple[str, ...] | None = None  # the levels in their order; None for a numeric column
    ordered: bool = False  # whether the order of the levels is a ranking


def choose_backend(backend: str | None) -> Backend:
    """Return the frame library to use."""
    # None takes the first of the three that is installed.
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)} or None, not {backend!r}.")
    for candidate in BACKENDS:
        if backend in (None, candidate) and find_spec(candidate) is not None:
            return candidate
    missing = "none of pandas, polars and pyarrow" if backend is None else f"no {backend}"
    raise ImportError(
        f"A data set is returned as a frame, and there is {missing} to hold it. "
        "Install one of these libraries; pip install 'fairridge[data]' brings pandas."
    )


def as_frame(columns: Mapping[str, Column], backend: Backend) -> nw.DataFrame[Any]:
    """Build the frame, categorical columns with their levels in order."""
    library = import_module(backend)
    native = {name: _native(column, backend, library) for name, column in columns.items()}
    return nw.from_dict(native, backend=backend)


def _native(column: Column, backend: Backend, library: Any) -> Any:
    """Return what the frame constructor of the library takes for one column."""
    if column.levels is None:
        return column.values
    # narwhals makes an ordered categorical out of an Enum in pandas and none in
    # pyarrow, so each library gets its own call.
    codes, levels = column.values.astype(np.int32), list(column.levels)
    if backend == "pandas":
        return library.Categorical.from_codes(codes, categories=levels, ordered=column.ordered)
    if backend == "polars":
        return library.Series(levels, dtype=library.Enum(levels)).gather(codes)
    return library.DictionaryArray.from_arrays(codes, levels, ordered=column.ordered)
