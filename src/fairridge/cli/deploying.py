"""Commands that take a model elsewhere: reasons for letters, and exports."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fairridge.cli.column_types import is_text, kinds_of_model
from fairridge.cli.errors import BadInputError, refusals
from fairridge.cli.inputs import read
from fairridge.cli.options import (
    OF_MODEL,
    ROWS,
    Exposure,
    Input,
    Offset,
    Response,
    RowsOut,
    SafeCsv,
    SavedModel,
    Separator,
    Weight,
    option,
)
from fairridge.cli.outputs import check_place, write, write_rows
from fairridge.cli.parameters import Parameters, Settings, member
from fairridge.cli.predicting import columns_beside, input_columns, load_model
from fairridge.cli.terminal import Result, note, progress, say
from fairridge.outputs import writing

EXPLAINED = Parameters(
    {"export.reasons": ""},
    apart={**ROWS, "model": "--model names its file", **OF_MODEL},
    flags={"sensitive": ("--with-sensitive",)},
)
SENTENCES = Parameters({"export.Reasons.sentences": ""}, apart={"self": "the reasons"})


def reasons(
    data: Input,
    model: SavedModel,
    asked: Annotated[Settings, EXPLAINED],
    worded: Annotated[Settings, SENTENCES],
    out: RowsOut = None,
    separator: Separator = None,
    safe_csv: SafeCsv = False,
) -> Result:
    """Write the reasons of scores as sentences, for letters about decisions."""
    import pyarrow as pa

    from fairridge.export import reasons as explained

    check_place(out, data, model)
    fitted = load_model(model)
    with progress("reading and explaining"):
        source = read(data, separator, kinds_of_model(fitted).as_text)
        if "label" in asked:
            asked |= {"label": _label(fitted, asked["label"])}
        with refusals():
            X, S = input_columns(fitted, source)
            found = explained(fitted, X, sensitive_features=S, **asked)
        sentences = _as_written(found, source.table).sentences(**worded)
    columns = {
        f"reason_{k + 1}": pa.array(
            [row[k] if k < len(row) else None for row in sentences], pa.string()
        )
        for k in range(max(map(len, sentences), default=0))
    }
    return Result(
        lambda: {"reasons": sentences},
        lambda: write_rows(source.table, columns, out, "reasons", safe=safe_csv),
    )


def _as_written(reasons: Any, table: Any) -> Any:
    """Quote amounts and dates as they are in the file, not as days since 1970."""
    import pyarrow.types as types

    quoted = {
        field.name: table.column(field.name).to_pylist()
        for field in table.schema
        if field.name in reasons.attributes and (is_text(field.type) or types.is_date(field.type))
    }
    columns = [quoted.get(name) for name in reasons.attributes]
    values = [
        tuple(
            text if column is None or column[row] is None else str(column[row])
            for text, column in zip(texts, columns, strict=True)
        )
        for row, texts in enumerate(reasons.values)
    ]
    return replace(reasons, values=tuple(values))


def _label(model: Any, text: str) -> Any:
    """Find the class that a text means: labels may be numbers."""
    from fairridge.metrics.favorable import find_label

    labels = getattr(model, "classes_", None)
    if labels is None:
        raise BadInputError(f"--label {text} is for classifiers, and this model has no classes.")
    label = find_label(text, labels.tolist())
    if label is None:
        known = ", ".join(map(str, labels.tolist()))
        raise BadInputError(f"--label {text} is not a class of the model: {known}.")
    return label


# Formats, and what writes them.
FORMATS = {
    "sql": "export.to_sql",
    "python": "export.to_python",
    "onnx": "export.to_onnx",
    "sklearn": "export.to_sklearn",
    "scorecard": "export.scorecard",
    "relativities": "export.relativities",
}
EXPORTED = Parameters(
    {owner: f"--to {name}" for name, owner in FORMATS.items()},
    apart={**ROWS, "X": "--data has them", "model": "--model names its file", **OF_MODEL},
)


def export(
    model: SavedModel,
    to: Annotated[str, option("|".join(FORMATS), "What to write.")],
    out: Annotated[str, option("FILE", "Where to write it.", "--out", "-o")],
    asked: Annotated[Settings, EXPORTED],
    data: Annotated[
        str | None,
        option("FILE", "Rows that relativities are of, for exposures; those of the fit."),
    ] = None,
    response: Response = None,
    weight: Weight = None,
    offset: Offset = None,
    exposure: Exposure = None,
    separator: Separator = None,
) -> None:
    """Write a model as a query, a module, an ONNX graph, for scikit-learn, as points or factors."""
    if to not in FORMATS:
        raise BadInputError(f"--to {to} is not known; use one of {', '.join(FORMATS)}.")
    named = {"y": response, "sample_weight": weight, "offset": offset, "exposure": exposure}
    columns = {role: name for role, name in named.items() if name is not None}
    _require_format(to, [*asked, *columns], data)
    check_place(out, model, data)
    fitted = load_model(model)
    with refusals():
        if to == "relativities":
            rows = _rows(fitted, data, columns, separator)
            # Spreadsheets open them, so that no text may be a formula.
            write(member(FORMATS[to])(fitted, **rows, **asked), out, safe=True)
        else:
            from fairridge.export import linear_form

            _write_model(fitted, to, out, asked | columns)
            if hasattr(fitted, "coef_"):  # others keep no styles of columns
                # What to convert in files such as that of the fit.
                form = linear_form(fitted, "to_sql", predicts=True).without_sensitive()
                for line in form.conversions:
                    note(f"note: {line}.")
    say(f"Saved: {out}")


def _require_format(to: str, given: Sequence[str], data: str | None) -> None:
    """Raise if an option is for other formats."""
    known = EXPORTED.by_owner
    for name in [*given, *(["X"] if data is not None else [])]:
        if name not in known[FORMATS[to]] or (name == "X" and to != "relativities"):
            whom = "--to relativities" if name == "X" else EXPORTED.whom(name)
            raise BadInputError(f"{EXPORTED.names[name]} is for {whom}; leave it out.")


def _write_model(model: Any, to: str, out: str, options: Settings) -> None:
    written = member(FORMATS[to])(model, **options)
    if to == "scorecard":
        write(written.to_frame(), out)
        return
    if to == "sql":
        content = f"{written}\n".encode()
    elif to == "python":
        content = written.encode()
    else:
        content = written.SerializeToString() if to == "onnx" else pickle.dumps(written)
    with writing(out) as file:
        file.write(content)
    if to == "sklearn":
        note("note: a pickle runs code when it is loaded; load only files that you trust.")


def _rows(
    model: Any, data: str | None, columns: dict[str, str], separator: str | None
) -> dict[str, Any]:
    """Return rows of a file, as arguments."""
    if data is None:
        for role in columns:
            flag = EXPORTED.names[role]
            raise BadInputError(f"{flag} is a column of rows: name their file with --data FILE.")
        return {}
    source = read(data, separator, kinds_of_model(model).as_text)
    X, S = input_columns(model, source)
    return {"X": X, "sensitive_features": S, **columns_beside(model, source, columns)}
