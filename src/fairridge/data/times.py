"""Times and events: two columns, however they are passed."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge.data.levels import is_missing
from fairridge.data.series import values_of
from fairridge.data.table import as_native


def time_and_event(values: Any) -> dict[str, NDArray[Any]] | None:
    """Return the columns "time" and "event", found by name, or the event by being boolean."""
    # An array of shape (n, 2) has them in this order. None if there are no such columns.
    frame = nw.from_native(as_native(values), eager_only=True, pass_through=True)
    columns: dict[str, NDArray[Any]] = {}
    if isinstance(frame, nw.DataFrame):
        columns = {str(name): values_of(frame.get_column(name)) for name in frame.columns}
    else:
        array = np.asarray(frame)
        if array.dtype.names:
            columns = {name: array[name] for name in array.dtype.names}
        elif array.ndim == 2 and array.shape[1] == 2:
            columns = {"time": array[:, 0], "event": array[:, 1]}
    if columns.keys() == {"time", "event"}:
        return columns
    events = [name for name, column in columns.items() if _is_boolean(column)]
    if len(columns) == 2 and len(events) == 1:
        time = next(name for name in columns if name != events[0])
        return {"time": columns[time], "event": columns[events[0]]}
    return None


def _is_boolean(values: NDArray[Any]) -> bool:
    """Whether a column holds truth values; some may be missing."""
    if values.dtype.kind != "O":
        return values.dtype.kind == "b"
    known = [value for value in values.tolist() if not is_missing(value)]
    return bool(known) and all(isinstance(value, bool) for value in known)
