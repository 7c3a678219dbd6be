"""Commands that take a model elsewhere: reasons for letters, and exports."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fairridge.cli.column_types import is_text, kinds_of_model
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import read
from fairridge.cli.option_groups import gathered
from fairridge.cli.options import AsJson, Input, RowsOut, SafeCsv, SavedModel, Separator, option
from fairridge.cli.outputs import arrow, check_place, write, write_rows
from fairridge.cli.predicting import input_columns, load_model
from fairridge.cli.terminal import note, progress, say, show_json
from fairridge.outputs import writing

FORMATS = ("sql", "python", "onnx", "sklearn", "scorecard")


@dataclass(frozen=True)
class ReasonOptions:
    """Which reasons are written, and how."""

    top: Annotated[int, option("N", "Most reasons of a row.", min=1)] = 4
    direction: Annotated[
        str,
        option("both|down|up", "Which reasons: all by size, or what lowers, or raises, the score."),
    ] = "both"
    label: Annotated[
        str | None,
        option(
            "CLASS",
            "Class whose score is explained: the modeled one of two by default, the predicted one "
            "of more.",
        ),
    ] = None
    template: Annotated[
        str | None,
        option(
            "TEXT", "A sentence with {attribute}, {value}, {effect}, {contribution} and {rank}."
        ),
    ] = None
    names: Annotated[
        list[str] | None,
        option("COLUMN=WORDS", "What a column is called in sentences; may be repeated."),
    ] = None


@gathered()
def reasons(
    data: Input,
    model: SavedModel,
    options: ReasonOptions,
    out: RowsOut = None,
    separator: Separator = None,
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """Write the reasons of scores as sentences, for letters about decisions."""
    import pyarrow as pa

    check_place(out, data, model)
    fitted = load_model(model)
    with progress("reading and explaining"):
        source = read(data, separator, kinds_of_model(fitted).as_text)
        found = _sentences(fitted, source, options)
    if as_json:
        show_json({"reasons": found})
        return
    columns = {
        f"reason_{k + 1}": pa.array(
            [row[k] if k < len(row) else None for row in found], pa.string()
        )
        for k in range(max(map(len, found), default=0))
    }
    write_rows(source.table, columns, out, "reasons", safe=safe_csv)


def _sentences(model: Any, source: Any, options: ReasonOptions) -> list[list[str]]:
    from fairridge.export import reasons as explained

    wanted: dict[str, Any] = {"top": options.top, "direction": options.direction}
    wanted["label"], words = _label(model, options.label), _words(options.names)
    try:
        X, S = input_columns(model, source)
        found = explained(model, X, sensitive_features=S, **wanted)
    except TypeError as error:  # the model is not linear
        raise BadInputError(str(error)) from error
    given = () if options.template is None else (options.template,)
    return _as_written(found, source.table).sentences(*given, names=words)


def _as_written(found: Any, table: Any) -> Any:
    """Quote amounts and dates as the file has them: nobody knows days since 1970."""
    import pyarrow.types as types

    quoted = {
        field.name: table.column(field.name).to_pylist()
        for field in table.schema
        if field.name in found.attributes and (is_text(field.type) or types.is_date(field.type))
    }
    columns = [quoted.get(name) for name in found.attributes]
    values = [
        tuple(
            text if column is None or column[row] is None else str(column[row])
            for text, column in zip(texts, columns, strict=True)
        )
        for row, texts in enumerate(found.values)
    ]
    return replace(found, values=tuple(values))


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
    to: Annotated[str, option("|".join(FORMATS), "What to write.")],
    out: Annotated[str, option("FILE", "Where to write it.", "--out", "-o")],
    dialect: Annotated[
        str | None,
        option(
            "NAME",
            "Whose SQL: bigquery, duckdb (the default), mysql, oracle, postgres, snowflake, spark "
            "or sqlserver.",
        ),
    ] = None,
    table: Annotated[
        str | None, option("NAME", "Table that a query reads; data by default.")
    ] = None,
    keep: Annotated[
        list[str] | None, option("NAME", "Column that a query returns, such as a key.")
    ] = None,
) -> None:
    """Write a model as a query, a Python module, an ONNX graph, for scikit-learn or as points."""
    if to not in FORMATS:
        raise BadInputError(f"--to {to} is not known; use one of {', '.join(FORMATS)}.")
    given = {"dialect": dialect, "table": table, "keep": keep}
    options = {name: value for name, value in given.items() if value is not None}
    if options and to != "sql":
        raise BadInputError(f"--{next(iter(options))} is for --to sql; leave it out.")
    check_place(out, model)
    fitted = load_model(model)
    try:
        _write_model(fitted, to, out, options)
    except TypeError as error:  # the model is not linear
        raise BadInputError(str(error)) from error
    say(f"Saved: {out}")


def _write_model(model: Any, to: str, out: str, options: dict[str, Any]) -> None:
    from fairridge import export

    if to == "scorecard":
        write(arrow(export.scorecard(model).to_frame()), out)
        return
    if to == "sql":
        content = (export.to_sql(model, **options) + "\n").encode()
    elif to == "python":
        content = export.to_python(model).encode()
    elif to == "onnx":
        content = export.to_onnx(model).SerializeToString()
    else:
        content = pickle.dumps(export.to_sklearn(model))
    with writing(out) as file:
        file.write(content)
    if to == "sklearn":
        note("note: a pickle runs code when it is loaded; load only files that you trust.")
