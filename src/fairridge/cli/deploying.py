"""Commands that take a model elsewhere: reasons for letters, and exports."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from fairridge.cli.column_types import is_text, kinds_of_model
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import read
from fairridge.cli.options import AsJson, Input, RowsOut, SafeCsv, SavedModel, Separator
from fairridge.cli.outputs import arrow, as_csv, check_place, write
from fairridge.cli.predicting import free_name, input_columns, load_model
from fairridge.cli.terminal import note, say, show_json, waiting
from fairridge.outputs import writing

__all__ = ["export", "reasons"]


def reasons(
    data: Input,
    model: SavedModel,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=1, help="Most reasons of a row.")
    ] = 4,
    direction: Annotated[
        str,
        typer.Option(
            "--direction",
            metavar="both|down|up",
            help="Which reasons: all by size, or what lowers, or raises, the score.",
        ),
    ] = "both",
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="CLASS",
            help="Class whose score is explained: the modeled one of two by default, the predicted "
            "one of more.",
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            metavar="TEXT",
            help="A sentence with {attribute}, {value}, {effect}, {contribution} and {rank}.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--names",
            metavar="COLUMN=WORDS",
            help="What a column is called in sentences; may be repeated.",
        ),
    ] = None,
    out: RowsOut = None,
    separator: Separator = None,
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """Write the reasons of scores as sentences, for letters about decisions."""
    import pyarrow as pa

    check_place(out, data, model)
    fitted = load_model(model)
    with waiting("reading and explaining"):
        source = read(data, separator, kinds_of_model(fitted).categorical)
        options = {"top": top, "direction": direction, "label": _label(fitted, label)}
        found = _sentences(fitted, source, options, template, _words(names))
    if as_json:
        show_json({"reasons": found})
        return
    result = source.table
    for k in range(max(map(len, found), default=0)):
        column = pa.array([row[k] if k < len(row) else None for row in found], pa.string())
        result = result.append_column(free_name(f"reason_{k + 1}", result.column_names), column)
    if out is None:
        sys.stdout.write(as_csv(result, safe=safe_csv))
        return
    write(result, out, safe=safe_csv)
    note(f"{result.num_rows:,} rows with reasons: {out}")


def _sentences(
    model: Any, source: Any, options: dict[str, Any], template: str | None, names: dict[str, str]
) -> list[list[str]]:
    from fairridge.export import reasons as explained

    try:
        X, S = input_columns(model, source)
        found = explained(model, X, sensitive_features=S, **options)
    except TypeError as error:  # the model is not linear
        raise BadInputError(str(error)) from error
    given = () if template is None else (template,)
    return _as_written(found, source.table).sentences(*given, names=names)


def _as_written(found: Any, table: Any) -> Any:
    """Quote amounts and dates as the file has them: nobody knows days since 1970."""
    import pyarrow.types as types

    columns = [
        table.column(name).to_pylist()
        if name in table.column_names and _is_quoted(table.column(name).type, types)
        else None
        for name in found.attributes
    ]
    values = [
        tuple(
            text if column is None or column[row] is None else str(column[row])
            for text, column in zip(texts, columns, strict=True)
        )
        for row, texts in enumerate(found.values)
    ]
    return replace(found, values=tuple(values))


def _is_quoted(kind: Any, types: Any) -> bool:
    return is_text(kind) or bool(types.is_date(kind))


def _label(model: Any, text: str | None) -> Any:
    """Find the class that a text means: labels may be numbers."""
    from fairridge.metrics import find_label

    labels = getattr(model, "classes_", None)
    if text is None:
        return None
    if labels is None:
        raise BadInputError(f"--label {text} is for classifiers, and this model has no classes.")
    found = find_label(text, labels.tolist())
    if found is None:
        known = ", ".join(map(str, labels.tolist()))
        raise BadInputError(f"--label {text} is not a class of the model: {known}.")
    return found


def _words(names: Sequence[str] | None) -> dict[str, str]:
    """Read what columns are called."""
    pairs = [text.partition("=") for text in names or ()]
    for name, equals, words in pairs:
        if not (name and equals and words):
            raise BadInputError(
                f"--names {name}{equals}{words} must be a column and words, such as "
                "--names 'emp_length=length of employment'."
            )
    return {name.strip(): words.strip() for name, _, words in pairs}


def export(
    model: SavedModel,
    to: Annotated[
        str,
        typer.Option("--to", metavar="sql|python|onnx|sklearn|scorecard", help="What to write."),
    ],
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write it."),
    ],
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="NAME",
            help="Whose SQL: bigquery, duckdb (the default), mysql, oracle, postgres, snowflake, "
            "spark or sqlserver.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="Table that a query reads; data by default."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="NAME", help="Column that a query returns, such as a key."),
    ] = None,
) -> None:
    """Write a model as a query, a Python module, an ONNX graph, for scikit-learn or as points."""
    if to not in WRITERS:
        raise BadInputError(f"--to {to} is not known; use one of {', '.join(WRITERS)}.")
    given = {"dialect": dialect, "table": table, "keep": keep}
    options = {name: value for name, value in given.items() if value is not None}
    if options and to != "sql":
        raise BadInputError(f"--{next(iter(options))} is for --to sql; leave it out.")
    check_place(out, model)
    fitted = load_model(model)
    try:
        WRITERS[to](fitted, out, **options)
    except TypeError as error:  # the model is not linear
        raise BadInputError(str(error)) from error
    say(f"Saved: {out}")


def _write(content: bytes, out: str) -> None:
    with writing(out) as file:
        file.write(content)


def _write_sql(model: Any, out: str, **options: Any) -> None:
    from fairridge.export import to_sql

    _write((to_sql(model, **options) + "\n").encode(), out)


def _write_python(model: Any, out: str) -> None:
    from fairridge.export import to_python

    _write(to_python(model).encode(), out)


def _write_onnx(model: Any, out: str) -> None:
    from fairridge.export import to_onnx

    _write(to_onnx(model).SerializeToString(), out)


def _write_sklearn(model: Any, out: str) -> None:
    from fairridge.export import to_sklearn

    _write(pickle.dumps(to_sklearn(model)), out)
    note("note: a pickle runs code when it is loaded; load only files that you trust.")


def _write_scorecard(model: Any, out: str) -> None:
    from fairridge.export import scorecard

    write(arrow(scorecard(model).to_frame()), out)


WRITERS: dict[str, Callable[..., None]] = {
    "sql": _write_sql,
    "python": _write_python,
    "onnx": _write_onnx,
    "sklearn": _write_sklearn,
    "scorecard": _write_scorecard,
}
