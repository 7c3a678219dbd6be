"""The command that predicts with a saved model."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fairridge.cli.column_types import kinds_of_model, typed
from fairridge.cli.errors import BadInputError, naming
from fairridge.cli.inputs import Source, check_columns, read
from fairridge.cli.options import AsJson, Input, Offset, SafeCsv, Separator, Stream
from fairridge.cli.outputs import as_csv, check_place, write
from fairridge.cli.streams import is_stream, write_predictions
from fairridge.cli.terminal import note, show_json, waiting

__all__ = ["linear_predictors", "load_model", "model_rows", "predict", "scored_columns"]


def predict(
    data: Input,
    model: Annotated[
        str,
        typer.Option("--model", "-m", metavar="FILE", help="Model file that fit has written."),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="CSV or Parquet with all columns; CSV to the screen by default.",
        ),
    ] = None,
    offset: Offset = None,
    separator: Separator = None,
    stream: Stream = False,
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """Predict new rows, to the last bit as the model did when it was saved."""
    check_place(out, data, model)
    fitted = load_model(model)
    if is_stream(data, stream):
        if as_json:
            raise BadInputError("--json needs the rows in memory; leave --stream or --json out.")
        written = write_predictions(fitted, data, out, offset)
        note(f"{written:,} rows with predictions: {out}")
        return
    with waiting("reading and predicting"):
        source = read(data, separator, kinds_of_model(fitted).categorical)
        scores = scored_columns(fitted, source, offset)
    if as_json:
        show_json({name: column.to_pylist() for name, column in scores.items()})
        return
    result = source.table
    for name, column in scores.items():
        result = result.append_column(_free_name(name, result.column_names), column)
    if out is None:
        sys.stdout.write(as_csv(result, safe=safe_csv))
        return
    write(result, out, safe=safe_csv)
    note(f"{source.table.num_rows:,} rows with {', '.join(scores)}: {out}")


def load_model(name: str) -> Any:
    """Read a model file."""
    from fairridge import load

    if Path(name).is_dir():
        raise IsADirectoryError(errno.EISDIR, "", name)
    with naming(name):
        return load(name)


def scored_columns(model: Any, source: Source, offset: str | None = None) -> dict[str, Any]:
    """Return predictions, and probabilities where there are any, by name."""
    import pyarrow as pa

    from fairridge.sources.predictions import BOTH, Predictor

    predictor = Predictor(model, BOTH, offset)
    return {name: pa.array(column) for name, column in predictor(_typed(predictor, source)).items()}


def model_rows(model: Any, source: Source) -> tuple[Any, dict[str, Any]]:
    """Return all columns that a model knows, sensitive ones included, as it read them at fit."""
    design = model._design
    names, apart = design.names, design.sensitive_names if design.separate else ()
    if names is None or apart is None:
        raise BadInputError(
            "this model was fitted to arrays without names; use it in Python instead."
        )
    check_columns((*names, *apart), source, "the model needs it")
    kinds, parts = kinds_of_model(model), []
    for columns in (names, apart):
        table, remarks = typed(source.table.select(list(columns)), columns, kinds)
        parts.append(table)
        for remark in remarks:
            note(remark)
    return parts[0], {"sensitive_features": parts[1]} if apart else {}


def linear_predictors(model: Any, source: Source) -> Any:
    """Return η of every row, without an offset; None for models that are not linear."""
    from fairridge.peers._peer import LinearModel
    from fairridge.sources.predictions import Predictor

    if not isinstance(model, LinearModel):
        return None
    predictor = Predictor(model, "predict", None)
    table = _typed(predictor, source, quiet=True)
    X, S = (table.select(list(columns)) for columns in predictor.inputs)
    return model._linear_predictor(X, S if S.num_columns else None, None)


def _typed(predictor: Any, source: Source, *, quiet: bool = False) -> Any:
    """Return the columns that a model reads, as it read them at fit."""
    offset, inputs = predictor.offset, [name for part in predictor.inputs for name in part]
    check_columns(inputs, source, "the model needs it")
    table, remarks = typed(source.table.select(inputs), inputs, kinds_of_model(predictor.model))
    for remark in () if quiet else remarks:
        note(remark)
    if offset is None:
        return table
    check_columns([offset], source, "--offset")
    if offset in inputs:
        raise BadInputError(
            f"--offset {offset} is an input of the model; it cannot be the offset, too."
        )
    return table.append_column(offset, source.table.column(offset))


def _free_name(name: str, taken: list[str]) -> str:
    while name in taken:
        name = f"{name}_"
    return name
