"""The command that predicts with a saved model, and says which rows it cannot predict."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fairridge.arguments import check_option
from fairridge.cli.column_types import columns_of, is_text, kinds_of_model, readable, typed
from fairridge.cli.errors import BadInputError, naming
from fairridge.cli.inputs import Source, check_columns, read
from fairridge.cli.options import (
    AsJson,
    Exposure,
    Input,
    Offset,
    RowsOut,
    SafeCsv,
    SavedModel,
    Separator,
    Stream,
    option,
)
from fairridge.cli.outputs import check_place, write_rows
from fairridge.cli.streams import is_stream, write_predictions
from fairridge.cli.terminal import note, progress, show_json

ON_BAD_ROW = ("error", "skip", "flag")
Unknown = Annotated[
    str | None,
    option(
        "error|base|mean",
        "What levels do that the model has not seen; by default what it was fitted with.",
    ),
]
OnBadRow = Annotated[
    str,
    option(
        "error|skip|flag",
        "What happens to rows that cannot be predicted: error stops, skip leaves them out, flag "
        "keeps them without predictions. The column reason says why.",
    ),
]


def predict(
    data: Input,
    model: SavedModel,
    out: RowsOut = None,
    unknown: Unknown = None,
    on_bad_row: OnBadRow = "error",
    offset: Offset = None,
    exposure: Exposure = None,
    separator: Separator = None,
    stream: Stream = False,
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """Predict new rows, to the last bit as the model did when it was saved."""
    check_place(out, data, model)
    check_option("on_bad_row", on_bad_row, ON_BAD_ROW)
    fitted = load_model(model)
    if unknown is not None:
        fitted.set_params(unknown=unknown)
    if is_stream(data, stream):
        if as_json:
            raise BadInputError("--json needs the rows in memory; leave --stream or --json out.")
        if on_bad_row != "error":
            raise BadInputError("--on-bad-row needs the rows in memory; leave --stream out.")
        written = write_predictions(fitted, data, out, offset, exposure)
        note(f"{written:,} rows with predictions: {out}")
        return
    with progress("reading and predicting"):
        source = read(data, separator, kinds_of_model(fitted).as_text)
        if on_bad_row == "error":
            table, scores = source.table, scored_columns(fitted, source, offset, exposure)
        else:
            table, scores = _scored_where_possible(fitted, source, (offset, exposure), on_bad_row)
    if fitted._fitted.offsets and fitted.family_.link == "log":
        what = "counts or amounts" if exposure is not None else "rates, per unit of exposure"
        note(f"note: predictions are {what}.")
    if as_json:
        show_json({name: column.to_pylist() for name, column in scores.items()})
    else:
        write_rows(table, scores, out, ", ".join(scores), safe=safe_csv)


def load_model(name: str) -> Any:
    """Read a model file; commands know the columns of linear models."""
    from fairridge import load

    if Path(name).is_dir():
        raise IsADirectoryError(errno.EISDIR, "", name)
    with naming(name):
        model = load(name)
    if not hasattr(type(model), "_description"):
        raise BadInputError(
            f"{name}: commands read linear models of fairridge, and this file has a "
            f"{type(model).__name__}; use fairridge.load in Python, and fairridge audit for its "
            "predictions in a column."
        )
    return model


def scored_columns(
    model: Any, source: Source, offset: str | None = None, exposure: str | None = None
) -> dict[str, Any]:
    """Return predictions, and probabilities if there are any, by name."""
    import pyarrow as pa

    from fairridge.sources.predictions import BOTH, BatchPredictor

    predictor = BatchPredictor(model, BOTH, offset, exposure)
    return {name: pa.array(column) for name, column in predictor(_typed(predictor, source)).items()}


def _scored_where_possible(
    model: Any, source: Source, shifts: tuple[str | None, str | None], on_bad_row: str
) -> tuple[Any, dict[str, Any]]:
    """Return rows and scores, null for rows that cannot be predicted, or without these rows."""
    import numpy as np
    import pyarrow as pa

    from fairridge.sources.predictions import BOTH, BatchPredictor

    predictor = BatchPredictor(model, BOTH, *shifts)
    table = _typed(predictor, source, strict=False)
    table, reasons = _find_bad_rows(model, table, predictor.offsets)
    good = np.array([not reason for reason in reasons], dtype=bool)
    if not good.any():
        raise BadInputError(f"no row of {source.name} can be predicted: {reasons[0]}.")
    scores = {name: pa.array(column) for name, column in predictor(table.filter(good)).items()}
    if not good.all():
        fate = "left out" if on_bad_row == "skip" else "without predictions"
        counts = Counter(reason for reason in reasons if reason).most_common()
        shown = "; ".join(f"{reason} ({count:,})" for reason, count in counts[:3])
        shown += f" and {len(counts) - 3} more reasons" if len(counts) > 3 else ""
        note(f"{int((~good).sum()):,} of {len(good):,} rows {fate}: {shown}.")
    if on_bad_row == "skip":
        return source.table.filter(good), scores
    places = pa.array(np.cumsum(good) - 1, mask=~good)
    placed = {name: column.take(places) for name, column in scores.items()}
    return source.table, placed | {"reason": pa.array([reason or None for reason in reasons])}


def _find_bad_rows(model: Any, table: Any, offsets: dict[str, str]) -> tuple[Any, list[str]]:
    """Say of every row why it cannot be predicted; nothing of those that can."""
    # In the table that is returned, text in columns that held numbers at fit is read as numbers,
    # and missing where it is none. `offsets` names the columns of the offset and the exposure.
    import numpy as np

    from fairridge.data import as_table
    from fairridge.data.columns import (
        CategoricalColumn,
        NumericColumn,
        column_faults,
        for_sensitive,
    )

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


def model_rows(model: Any, source: Source) -> tuple[Any, dict[str, Any]]:
    """Return all columns that a model knows, sensitive ones included, as it read them at fit."""
    design = model._fitted.design
    names, apart = design.names, design.sensitive_names if design.separate else ()
    if names is None or apart is None:
        raise BadInputError(
            "this model was fitted to arrays without names; use it in Python instead."
        )
    table = read_as_at_fit(model, source, [*names, *apart])
    X = table.select(list(names))
    return X, {"sensitive_features": table.select(list(apart))} if apart else {}


def input_columns(model: Any, source: Source, *, quiet: bool = False) -> tuple[Any, Any]:
    """Return X and, if it is separate, S, with the columns that predictions read."""
    from fairridge.sources.predictions import BatchPredictor

    predictor = BatchPredictor(model, "predict", None)
    table = _typed(predictor, source, quiet=quiet)
    X, S = (table.select(list(columns)) for columns in predictor.inputs)
    return X, S if S.num_columns else None


def columns_beside(model: Any, source: Source, given: Mapping[str, str | None]) -> dict[str, Any]:
    """Return responses, weights, offsets and exposures, read as at fit, by argument."""
    named = {argument: name for argument, name in given.items() if name is not None}
    for argument, name in named.items():
        flag = "response" if argument == "y" else argument.removeprefix("sample_")
        check_columns([name], source, f"--{flag}")
    table = read_as_at_fit(model, source, list(dict.fromkeys(named.values())), quiet=True)
    return {argument: table.column(name) for argument, name in named.items()}


def read_as_at_fit(
    model: Any, source: Source, names: list[str], *, quiet: bool = False, strict: bool = True
) -> Any:
    """Return columns as a model read them at fit."""
    check_columns(names, source, "the model needs it")
    kinds = replace(kinds_of_model(model), strict=strict)
    found = typed(source.table.select(names), names, kinds, csv=source.is_csv)
    for remark in () if quiet else found.notes:
        note(remark)
    return found.table


def _typed(predictor: Any, source: Source, *, quiet: bool = False, strict: bool = True) -> Any:
    """Return the columns that predictions read, the offset and the exposure."""
    from fairridge.data import require_log_link

    inputs = [name for part in predictor.inputs for name in part]
    if predictor.exposure is not None:
        require_log_link(predictor.model.family_.link)
    for role, name in predictor.offsets.items():
        check_columns([name], source, f"--{role}")
        if name in inputs:
            raise BadInputError(
                f"--{role} {name} is an input of the model; it cannot be the {role}, too."
            )
        inputs.append(name)
    return read_as_at_fit(predictor.model, source, inputs, quiet=quiet, strict=strict)
