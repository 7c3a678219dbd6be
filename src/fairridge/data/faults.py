"""Which rows a model cannot predict, and why."""

from __future__ import annotations

import numpy as np

from fairridge._typing import Booleans
from fairridge.data.columns import CategoricalColumn, ColumnEncoding, FilledColumn, Unknown
from fairridge.data.levels import Levels
from fairridge.data.table import Column

# Rows, and what is wrong with them.
Fault = tuple[Booleans, str]


def column_faults(encoding: ColumnEncoding, column: Column, unknown: Unknown) -> list[Fault]:
    """Find the rows whose value in a column `predict` refuses."""
    name = encoding.name
    if isinstance(encoding, CategoricalColumn) and isinstance(column, Levels):
        codes = encoding.codes(column)
        faults: list[Fault] = [(codes == -1, f"{name!r} is missing")]
        if encoding.unseen(unknown) is not None:
            return faults
        for code in np.unique(column.codes[codes == -2]):
            level = "missing, which it never was" if code < 0 else repr(column.levels[code])
            faults.append((column.codes == code, f"{name!r} is {level}, not a level at fit"))
        return faults
    numbers = np.asarray(column, dtype=np.float64)
    faults = [(np.isinf(numbers), f"{name!r} is infinite")]
    if not isinstance(encoding, FilledColumn):
        faults.append((np.isnan(numbers), f"{name!r} is missing"))
    return faults
