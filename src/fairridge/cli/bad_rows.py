"""Rows that a model cannot predict: found one by one, with the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairridge.cli.column_types import columns_of, is_text, kinds_of_model, readable

ON_BAD_ROW = ("error", "skip", "flag")


def find_bad_rows(model: Any, table: Any, offsets: dict[str, str]) -> tuple[Any, list[str]]:
    """Say of every row why it cannot be predicted; nothing of those that can.

    In the table that is returned, text in columns that held numbers at fit is read as numbers,
    and missing where it is none. `offsets` names the columns of the offset and the exposure.
    """
    import numpy as np

    from fairridge.data import as_table
    from fairridge.data.columns import CategoricalColumn, NumericColumn, for_sensitive
    from fairridge.data.faults import column_faults

    reasons = np.full(table.num_rows, "", dtype=object)
    kinds = kinds_of_model(model)
    kinds = replace(kinds, numbers=(*kinds.numbers, *offsets.values()))

    def add(rows: Any, reason: str) -> None:
        first = rows & (reasons == "")
        reasons[first] = reason
        more = rows & ~first
        reasons[more] = [f"{known}; {reason}" for known in reasons[more]]

    columns = [
        (column, for_sensitive(model.unknown) if sensitive else model.unknown)
        for column, sensitive in columns_of(model._fitted.reads)
    ]
    columns += [(NumericColumn(name), "error") for name in offsets.values()]
    for column, unknown in columns:
        values, bad = table.column(column.name), dict[str, Any]()
        if not isinstance(column, CategoricalColumn) and is_text(values.type):
            values, bad = readable(values, column.name, kinds)
            table = table.set_column(table.column_names.index(column.name), column.name, values)
        for text, rows in bad.items():
            add(rows, f"{column.name!r} is {text!r}, not a number")
        gone = np.logical_or.reduce([np.zeros(table.num_rows, bool), *bad.values()])
        read = as_table(table.select([column.name])).column(0)
        for rows, reason in column_faults(column, read, unknown):
            add(rows & ~gone, reason)
        if column.name == offsets.get("exposure"):
            add(np.asarray(read) <= 0.0, f"the exposure {column.name!r} is not positive")
    return table, reasons.tolist()
