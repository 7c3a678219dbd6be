"""Commands that take a model elsewhere: reasons for letters, and exports."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fairridge.cli.column_types import is_text, kinds_of_model, typed
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import check_columns, read
from fairridge.cli.option_groups import gathered
from fairridge.cli.options import (
    Exposure,
    Input,
    Offset,
    RowsOut,
    SafeCsv,
    SavedModel,
    Separator,
    option,
)
from fairridge.cli.outputs import arrow, check_place, write, write_rows
from fairridge.cli.predicting import input_columns, load_model
from fairridge.cli.terminal import Result, note, progress, say
from fairridge.outputs import writing

FORMATS = ("sql", "python", "onnx", "sklearn", "scorecard", "relativities")


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
) -> Result:
    """Write the reasons of scores as sentences, for letters about decisions."""
    import pyarrow as pa

    check_place(out, data, model)
    fitted = load_model(model)
    with progress("reading and explaining"):
        source = read(data, separator, kinds_of_model(fitted).as_text)
        sentences = _sentences(fitted, source, options)
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


def _sentences(model: Any, source: Any, options: ReasonOptions) -> list[list[str]]:
    from fairridge.export import reasons as explained

    wanted: dict[str, Any] = {"top": options.top, "direction": options.direction}
    wanted["label"], words = _label(model, options.label), _words(options.names)
    try:
        X, S = input_columns(model, source)
        reasons = explained(model, X, sensitive_features=S, **wanted)
    except TypeError as error:  # the model is not linear
        raise BadInputError(str(error)) from error
    template = () if options.template is None else (options.template,)
    return _as_written(reasons, source.table).sentences(*template, names=words)


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


def _label(model: Any, text: str | None) -> Any:
    """Find the class that a text means: labels may be numbers."""
    from fairridge.metrics.favorable import find_label

    labels = getattr(model, "classes_", None)
    if text is None:
        return None
    if labels is None:
        raise BadInputError(f"--label {text} is for classifiers, and this model has no classes.")
    label = find_label(text, labels.tolist())
    if label is None:
        known = ", ".join(map(str, labels.tolist()))
        raise BadInputError(f"--label {text} is not a class of the model: {known}.")
    return label


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


@dataclass(frozen=True)
class QueryOptions:
    """How a query is written."""

    dialect: Annotated[
        str | None,
        option(
            "NAME",
            "Whose SQL: bigquery, duckdb (the default), mysql, oracle, postgres, snowflake, spark "
            "or sqlserver.",
        ),
    ] = None
    table: Annotated[str | None, option("NAME", "Table that a query reads; data by default.")] = (
        None
    )
    keep: Annotated[
        list[str] | None, option("NAME", "Column that a query returns, such as a key.")
    ] = None


@dataclass(frozen=True)
class PointOptions:
    """The scale of a scorecard."""

    points_to_double_odds: Annotated[
        float | None, option("POINTS", "Of a scorecard; 20 by default.")
    ] = None
    base_score: Annotated[
        float | None, option("POINTS", "Score of the base odds; 600 by default.")
    ] = None
    base_odds: Annotated[float | None, option("ODDS", "To one; 50 by default.")] = None


@dataclass(frozen=True)
class TariffOptions:
    """The rows that relativities are shown with, and bands of numbers."""

    data: Annotated[
        str | None,
        option("FILE", "Rows that relativities are of, for exposures; those of the fit."),
    ] = None
    response: Annotated[
        str | None,
        option("NAME", "Column of the response, for observed over expected and intervals.",
               "--response", "-y"),
    ] = None  # fmt: skip
    weight: Annotated[str | None, option("NAME", "Column of weights.")] = None
    bands: Annotated[
        list[str] | None,
        option("COLUMN=ENDS", "Bands of a number, such as age=18,25,40,65; may be repeated."),
    ] = None


@gathered()
def export(
    model: SavedModel,
    to: Annotated[str, option("|".join(FORMATS), "What to write.")],
    out: Annotated[str, option("FILE", "Where to write it.", "--out", "-o")],
    query: QueryOptions,
    points: PointOptions,
    tariff: TariffOptions,
    offset: Offset = None,
    exposure: Exposure = None,
    separator: Separator = None,
) -> None:
    """Write a model as a query, a module, an ONNX graph, for scikit-learn, as points or factors."""
    if to not in FORMATS:
        raise BadInputError(f"--to {to} is not known; use one of {', '.join(FORMATS)}.")
    options: dict[str, Any] = {}
    for format_, group in {"sql": query, "scorecard": points, "relativities": tariff}.items():
        given = {name: value for name, value in vars(group).items() if value is not None}
        if given and to != format_:
            name = next(iter(given)).replace("_", "-")
            raise BadInputError(f"--{name} is for --to {format_}; leave it out.")
        options |= given
    both = {"offset": offset, "exposure": exposure}
    named = {role: name for role, name in both.items() if name is not None}
    if named and to not in ("sql", "onnx", "relativities"):
        raise BadInputError(
            f"--{next(iter(named))} is for --to sql, onnx and relativities; leave it out: "
            "predictions of models that were fitted with an exposure are rates, per unit of "
            "exposure."
        )
    options |= named
    check_place(out, model, tariff.data)
    fitted = load_model(model)
    try:
        if to == "relativities":
            _write_relativities(fitted, out, tariff, both, separator)
        else:
            _write_model(fitted, to, out, options)
    except TypeError as error:  # the model is not linear
        raise BadInputError(str(error)) from error
    say(f"Saved: {out}")


def _write_model(model: Any, to: str, out: str, options: dict[str, Any]) -> None:
    from fairridge import export

    if to == "scorecard":
        write(arrow(export.scorecard(model, **options).to_frame()), out)
        return
    if to == "sql":
        content = (export.to_sql(model, **options) + "\n").encode()
    elif to == "python":
        content = export.to_python(model).encode()
    elif to == "onnx":
        content = export.to_onnx(model, **options).SerializeToString()
    else:
        content = pickle.dumps(export.to_sklearn(model))
    with writing(out) as file:
        file.write(content)
    if to == "sklearn":
        note("note: a pickle runs code when it is loaded; load only files that you trust.")


def _write_relativities(
    model: Any,
    out: str,
    options: TariffOptions,
    offsets: dict[str, str | None],
    separator: str | None,
) -> None:
    """Write tariff factors; spreadsheets open them, so that no text may be a formula."""
    from fairridge import export

    rows: dict[str, Any] = {}
    roles = {
        "y": (options.response, "--response"),
        "sample_weight": (options.weight, "--weight"),
        **{role: (name, f"--{role}") for role, name in offsets.items()},
    }
    named = {role: (name, flag) for role, (name, flag) in roles.items() if name is not None}
    if options.data is None:
        for _, flag in named.values():
            raise BadInputError(f"{flag} is a column of rows: name their file with --data FILE.")
    else:
        kinds = kinds_of_model(model)
        source = read(options.data, separator, kinds.as_text)
        X, S = input_columns(model, source)
        rows = {"X": X, "sensitive_features": S}
        names = [name for name, flag in named.values()]
        for name, flag in named.values():
            check_columns([name], source, flag)
        table = typed(source.table.select(names), names, kinds, csv=source.is_csv).table
        rows |= {role: table.column(name) for role, (name, _) in named.items()}
    frame = export.relativities(model, **rows, bands=_bands(options.bands))
    write(arrow(frame), out, safe=True)


def _bands(texts: Sequence[str] | None) -> dict[str, list[float]]:
    """Read bands such as age=18,25,40,65."""
    bands = {}
    for text in texts or ():
        name, _, ends = text.rpartition("=")
        try:
            bands[name.strip()] = [float(end) for end in ends.split(",")]
        except ValueError:
            bands[""] = []
        if "" in bands:
            raise BadInputError(
                f"--bands {text} must be a column and numbers, such as --bands age=18,25,40,65."
            )
    return bands
