"""Frames out: results as a frame of the library the user works with."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import narwhals as nw

__all__ = ["make_frame"]


def make_frame(columns: dict[str, Any], backend: Any = None) -> Any:
    """Build a native frame.

    Parameters
    ----------
    columns : dict of str to sequence
        The columns, in order.
    backend : narwhals Implementation or str, optional
        The library; by default the first installed of pandas, polars and pyarrow.
    """
    chosen: Any = backend or next(
        (name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None
    )
    if chosen is None:
        raise ImportError("to_frame() needs pandas, polars or pyarrow: pip install pandas")
    return nw.from_dict(columns, backend=chosen).to_native()
