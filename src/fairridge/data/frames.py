"""Frames out: results as a frame of the library the user works with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any

import narwhals as nw


def columns_of(records: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of a table with one row per record; what a record lacks is NaN."""
    rows = list(records)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, float("nan")) for row in rows] for name in names}


def make_frame(columns: dict[str, Any], backend: Any = None, index: Any = None) -> Any:
    """Build a native frame."""
    # `index` labels the rows of a pandas frame that is read beside others.
    chosen: Any = backend or next(
        (name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None
    )
    if chosen is None:
        raise ImportError("to_frame() needs pandas, polars or pyarrow: pip install pandas")
    frame = nw.from_dict(columns, backend=chosen).to_native()
    labeled = index is not None and nw.dependencies.is_pandas_dataframe(frame)
    return frame.set_axis(index) if labeled else frame
