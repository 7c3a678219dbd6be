"""The command that lists the data sets that ship."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import BUILTIN, read
from fairridge.cli.options import SafeCsv, option
from fairridge.cli.outputs import check_place, write
from fairridge.cli.terminal import Result, say, show
from fairridge.tables import Column, Table


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", show_default=False, help="One of them; all by default."),
    ] = None,
    out: Annotated[str | None, option("FILE", "Write it: CSV or Parquet.", "--out", "-o")] = None,
    safe_csv: SafeCsv = False,
) -> Result:
    """List the data sets that ship, describe one, or write it to a file."""
    check_place(out)
    if name is None and out is not None:
        raise BadInputError(
            "--out needs the name of a data set: fairridge datasets NAME --out FILE."
        )
    if name is None:
        return _listing()
    name = name.removeprefix(BUILTIN)
    source = read(f"{BUILTIN}{name}")
    if out is not None:
        write(_plain(source.table), out, safe=safe_csv)
        rows = source.table.num_rows
        return Result(lambda: {"rows": rows, "saved": out}, lambda: say(f"{rows:,} rows: {out}"))
    from fairridge.datasets import load

    description = load(name, backend="pyarrow").description
    roles = f"Response: {', '.join(source.response)}. Sensitive: {', '.join(source.sensitive)}."
    facts = {
        "name": name,
        "rows": source.table.num_rows,
        "columns": source.columns,
        "response": source.response,
        "sensitive": source.sensitive,
        "family": source.family,
        "description": description,
    }
    return Result(lambda: facts, lambda: say(f"{description}\n\n{roles}"))


def _listing() -> Result:
    from fairridge.datasets import available

    listed = [info._asdict() for info in available()]
    head = ["name", "family", "rows", "columns", "response", "sensitive"]
    columns = {name: Column([_written(info[name]) for info in listed], name, ",") for name in head}
    title = "Data sets that ship; use them as builtin:NAME"
    return Result(lambda: listed, lambda: show(Table(title, columns).text()))


def _written(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, tuple) else value


def _plain(frame: Any) -> Any:
    """Write out categories as text, for files that have no categories."""
    import pyarrow as pa
    import pyarrow.types as types

    columns = [
        column.cast(pa.string()) if types.is_dictionary(column.type) else column
        for column in frame.columns
    ]
    return pa.table(columns, names=frame.column_names)
