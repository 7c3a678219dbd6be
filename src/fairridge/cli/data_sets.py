"""The command that lists the data sets that ship."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import BUILTIN, read
from fairridge.cli.options import AsJson, SafeCsv, option
from fairridge.cli.outputs import check_place, write
from fairridge.cli.terminal import say, show_json, table


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", show_default=False, help="One of them; all by default."),
    ] = None,
    out: Annotated[str | None, option("FILE", "Write it: CSV or Parquet.", "--out", "-o")] = None,
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """List the data sets that ship, describe one, or write it to a file."""
    check_place(out)
    if name is None and out is not None:
        raise BadInputError(
            "--out needs the name of a data set: fairridge datasets NAME --out FILE."
        )
    if name is None:
        _list(as_json)
        return
    name = name.removeprefix(BUILTIN)
    source = read(f"{BUILTIN}{name}")
    if out is not None:
        write(_plain(source.table), out, safe=safe_csv)
        say(f"{source.table.num_rows:,} rows: {out}")
        return
    from fairridge.datasets import load

    description = load(name, backend="pyarrow").description
    if as_json:
        show_json(
            {
                "name": name,
                "rows": source.table.num_rows,
                "columns": source.columns,
                "response": source.response,
                "sensitive": source.sensitive,
                "family": source.family,
                "description": description,
            }
        )
        return
    say(description)
    say(f"\nResponse: {', '.join(source.response)}. Sensitive: {', '.join(source.sensitive)}.")


def _list(as_json: bool) -> None:
    from fairridge.datasets import available

    found = available()
    if as_json:
        show_json([info._asdict() for info in found])
        return
    rows = [
        [
            info.name,
            info.family,
            f"{info.rows:,}",
            str(info.columns),
            ", ".join(info.response),
            ", ".join(info.sensitive),
        ]
        for info in found
    ]
    head = ["name", "family", "rows", "columns", "response", "sensitive"]
    table("Data sets that ship; use them as builtin:NAME", head, rows, left=2)


def _plain(frame: Any) -> Any:
    """Write out categories as text, for files that have no categories."""
    import pyarrow as pa
    import pyarrow.types as types

    columns = [
        column.cast(pa.string()) if types.is_dictionary(column.type) else column
        for column in frame.columns
    ]
    return pa.table(columns, names=frame.column_names)
