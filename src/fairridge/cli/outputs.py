"""Tables out: CSV and Parquet files, checked before any work is done."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import BUILTIN
from fairridge.cli.terminal import note
from fairridge.outputs import is_writable, writing

PARQUET = (".parquet", ".pq")
# Spreadsheets read a cell that begins like this as a formula.
FORMULA = r"^[=+\-@\t\r]"


def check_place(path: str | None, *inputs: str | None) -> None:
    """Raise before any work is done if a result cannot be written there, or is an input."""
    if path is None:
        return
    if not path:
        raise BadInputError("the name of an output is empty; name a file.")
    # A dangling link names the file to create; /dev/stdout exists, but its real path does not.
    place = Path(path if os.path.exists(path) else os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, "", path)
    folder = place.parent
    if not folder.is_dir():
        raise BadInputError(f"{path}: there is no folder {str(folder)!r}; make it first.")
    new = not place.exists()
    needed = [folder] if new else [place, folder] if place.is_file() else [place]
    if not all(is_writable(item) for item in needed):
        raise PermissionError(errno.EACCES, "", path)
    from fairridge.sources._files import refuse_sources

    for name in inputs:
        if name is not None and not name.startswith(BUILTIN):
            refuse_sources(path, name)


def write(frame: Any, path: str | None, *, safe: bool = False) -> None:
    """Write a frame if it has a place: Parquet if that ends like it, else CSV with all digits."""
    # A `safe` CSV file has no text that spreadsheets read as a formula.
    import pyarrow.csv
    import pyarrow.parquet as pq

    if path is None:
        return
    table = arrow(frame)
    with writing(path) as file:
        if path.endswith(PARQUET):
            pq.write_table(table, file)
        else:
            pyarrow.csv.write_csv(_quoted(table) if safe else table, file)


def write_rows(
    table: Any, columns: Mapping[str, Any], path: str | None, what: str, *, safe: bool
) -> None:
    """Write rows and columns beside them to a file, or as CSV to the screen."""
    # A name that is taken gets an underscore; `what` are the columns in words.
    import pyarrow
    import pyarrow.csv

    for name, column in columns.items():
        while name in table.column_names:
            name = f"{name}_"
        table = table.append_column(name, column)
    if path is None:
        sink = pyarrow.BufferOutputStream()
        pyarrow.csv.write_csv(_quoted(table) if safe else table, sink)
        sys.stdout.write(sink.getvalue().to_pybytes().decode())
    else:
        write(table, path, safe=safe)
        note(f"{table.num_rows:,} rows with {what}: {path}")


def arrow(frame: Any) -> Any:
    """Turn a frame of any library into a pyarrow Table."""
    import narwhals as nw

    return nw.from_native(frame, eager_only=True).to_arrow()


def _quoted(table: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would execute, as OWASP advises."""
    # Names of columns are text, too. Numbers are left alone: a minus sign is part of them.
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    def text(column: Any) -> Any:
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        if not (types.is_string(kind) or types.is_large_string(kind)):
            return column
        return pc.replace_substring_regex(column.cast(kind), FORMULA, r"'\0")

    names = pc.replace_substring_regex(pa.array(table.column_names), FORMULA, r"'\0")
    return pa.table([text(column) for column in table.columns], names=names.to_pylist())
