"""Commands around one model: fit, path, predict."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fairridge.cli.column_types import Kinds, kinds_of_model, typed
from fairridge.cli.errors import BadInputError, naming
from fairridge.cli.inputs import Source, check_columns, read
from fairridge.cli.options import (
    AsJson,
    Categorical,
    Date,
    Definition,
    Drop,
    DropMissing,
    Event,
    Family,
    Input,
    Link,
    MaxLevels,
    Numeric,
    Offset,
    Penalty,
    Positive,
    PredictorPenalty,
    Predictors,
    Response,
    SafeCsv,
    Sensitive,
    Separator,
    Stream,
    Ties,
    Unfairness,
    Weight,
)
from fairridge.cli.outputs import arrow, as_csv, check_both, check_place, write
from fairridge.cli.streams import is_stream, read_training, write_predictions
from fairridge.cli.terminal import facts, note, say, show_json, table, waiting
from fairridge.cli.training_data import Columns, Data, ModelOptions, make_model
from fairridge.outputs import writing

__all__ = ["announce", "announce_size", "fit", "load_model", "path", "predict", "scored_columns"]

MOST_ROWS = 20
SHORT_PATH = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)


def fit(
    data: Input,
    response: Response = None,
    sensitive: Sensitive = None,
    unfairness: Unfairness = 0.05,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Where to save the model.")
    ] = None,
    event: Event = None,
    predictors: Predictors = None,
    drop: Drop = None,
    weight: Weight = None,
    offset: Offset = None,
    drop_missing: DropMissing = False,
    categorical: Categorical = None,
    numeric: Numeric = None,
    date: Date = None,
    max_levels: MaxLevels = None,
    separator: Separator = None,
    stream: Stream = False,
    family: Family = None,
    definition: Definition = "statistical-parity",
    penalty: Penalty = "ridge",
    predictor_penalty: PredictorPenalty = 0.0,
    ties: Ties = None,
    link: Link = None,
    positive: Positive = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all coefficients, however many.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model with a bound on unfairness."""
    options = ModelOptions(unfairness, definition, penalty, predictor_penalty, ties, link, positive)
    check_place(out, data)
    columns = Columns(
        response, event, sensitive, predictors, drop, weight, offset, family, drop_missing,
        categorical, numeric, date, max_levels,
    )  # fmt: skip
    with waiting("reading"):
        training = read_training(data, columns, separator, stream)
    announce_size(training)
    with waiting("fitting"):
        model = make_model(training, options)
        model.fit(training.X, training.y, **training.options)
    if out is not None:
        from fairridge import save

        save(model, out)
    if as_json:
        show_json(_model_facts(model, training) | {"saved": out})
        return
    announce(training)
    _show_model(model, None if everything else MOST_ROWS)
    if out is not None:
        say(f"Saved: {out}")


def path(
    data: Input,
    response: Response = None,
    sensitive: Sensitive = None,
    bounds: Annotated[
        str | None,
        typer.Option("--bounds", metavar="R,R,…", help="Bounds; 0 to 1 by default."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write every bound and coefficient: CSV or Parquet."
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Save a figure of the coefficients."),
    ] = None,
    event: Event = None,
    predictors: Predictors = None,
    drop: Drop = None,
    weight: Weight = None,
    offset: Offset = None,
    drop_missing: DropMissing = False,
    categorical: Categorical = None,
    numeric: Numeric = None,
    date: Date = None,
    max_levels: MaxLevels = None,
    separator: Separator = None,
    stream: Stream = False,
    family: Family = None,
    definition: Definition = "statistical-parity",
    penalty: Penalty = "ridge",
    predictor_penalty: PredictorPenalty = 0.0,
    ties: Ties = None,
    link: Link = None,
    positive: Positive = None,
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """Fit the models for many bounds at once."""
    options = ModelOptions(0.0, definition, penalty, predictor_penalty, ties, link, positive)
    check_place(out, data)
    check_place(plot, data)
    check_both(out, plot, "--out and --plot")
    columns = Columns(
        response, event, sensitive, predictors, drop, weight, offset, family, drop_missing,
        categorical, numeric, date, max_levels,
    )  # fmt: skip
    with waiting("reading"):
        training = read_training(data, columns, separator, stream)
    announce_size(training)
    with waiting("fitting"):
        # A file gets every bound, a screen the telling ones.
        chosen = _bounds(bounds) or (None if out or plot else SHORT_PATH)
        found = make_model(training, options).path(
            training.X, training.y, unfairness=chosen, **training.options
        )
    if out is not None:
        write(arrow(found.to_frame()), out, safe=safe_csv)
    if plot is not None:
        _save_figure(found, plot)
    if as_json:
        show_json(_columns(found))
        return
    announce(training)
    _show_path(found)
    for place in (out, plot):
        if place is not None:
            say(f"Saved: {place}")


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

    X, options = _inputs(model, source)
    if offset is not None:
        check_columns([offset], source, "--offset")
        if offset in (*model._design.names, *(model._design.sensitive_names or ())):
            raise BadInputError(
                f"--offset {offset} is an input of the model; it cannot be the offset, too."
            )
        options["offset"] = source.table.column(offset)
    found: dict[str, Any] = {"prediction": pa.array(model.predict(X, **options))}
    if not hasattr(model, "predict_proba"):
        return found
    probability = model.predict_proba(X, **options)
    if len(model.classes_) == 2:
        return found | {f"probability_{model.classes_[1]}": pa.array(probability[:, 1])}
    return found | {
        f"probability_{label}": pa.array(probability[:, k])
        for k, label in enumerate(model.classes_)
    }


def announce(training: Data) -> None:
    """Say what was made of the data."""
    note(f"Family: {training.family}, because {training.reason}.")
    for remark in training.remarks:
        note(remark)


def announce_size(training: Data) -> None:
    """Say before a fit how large it is, if that is known."""
    if training.encoded is None:
        return
    given, encoded, rows = training.X.num_columns, training.encoded, training.X.num_rows
    note(f"note: {given:,} columns become {encoded:,} encoded columns; {rows:,} rows.")


def _inputs(model: Any, source: Source) -> tuple[Any, dict[str, Any]]:
    """Find the columns of a model in a table."""
    design = model._design
    if design.names is None:
        raise BadInputError(
            "this model was fitted to an array without names; predict with it in Python."
        )
    check_columns(design.names, source, "the model needs it")
    kinds = kinds_of_model(model)
    X = _typed(source, design.names, kinds)
    if not design.separate:
        return X, {}
    if design.sensitive_names is None:
        raise BadInputError(
            "the sensitive attributes of this model have no names; predict with it in Python."
        )
    check_columns(design.sensitive_names, source, "the model needs it")
    return X, {"sensitive_features": _typed(source, design.sensitive_names, kinds)}


def _typed(source: Source, columns: Sequence[str], kinds: Kinds) -> Any:
    table, remarks = typed(source.table.select(list(columns)), columns, kinds)
    for remark in remarks:
        note(remark)
    return table


def _bounds(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInputError(
            f"--bounds {text} must be numbers with commas between them, such as 0,0.05,1."
        ) from None


def _free_name(name: str, taken: list[str]) -> str:
    while name in taken:
        name = f"{name}_"
    return name


# ------------------------------------------------------------------------ shows


def _show_model(model: Any, maximum: int | None) -> None:
    summary = model.summary()
    facts(summary.title, summary.facts)
    rows = summary.coefficients
    shown = rows if maximum is None else rows[:maximum]
    table(
        "\nCoefficients",
        ["column", "role", "coefficient", "on raw column", "S explains"],
        [
            [
                row.term,
                row.role,
                f"{row.coefficient:.5g}",
                f"{row.raw:.5g}",
                "" if row.explained != row.explained else f"{row.explained:.1%}",
            ]
            for row in shown
        ],
        left=2,
    )
    if len(shown) < len(rows):
        say(f"… and {len(rows) - len(shown)} more; --all shows them.", style="dim")


def _show_path(found: Any) -> None:
    score = {"r_squared": "R²", "d_squared": "D²"}.get(found.score_name, found.score_name)
    rows = [
        [f"{r:.4g}", f"{achieved:.2%}", f"{value:.4f}", f"{penalty:.4g}", status]
        for r, achieved, value, penalty, status in zip(
            found.unfairness, found.achieved, found.score, found.lambda_, found.status, strict=True
        )
    ]
    if len(rows) > MOST_ROWS:
        nearest = {int(abs(found.unfairness - r).argmin()) for r in SHORT_PATH}
        rows = [rows[k] for k in sorted(nearest)]
    table(
        f"Path: {found.definition}, in training",
        ["r", "achieved", score, "λ(r)", "status"],
        rows,
        left=0,
    )


def _model_facts(model: Any, training: Data) -> dict[str, Any]:
    from fairridge.metrics import WORDS

    summary = model.summary()
    return {
        "model": summary.title,
        "family": training.family,
        "classes": list(getattr(model, "classes_", ())) or None,
        "positive": model.classes_[1] if len(getattr(model, "classes_", ())) == 2 else None,
        "reason": training.reason,
        "rows": model.n_rows_,
        "encoded_columns": len(model.coef_names_),
        "remarks": list(training.remarks),
        "response": training.response,
        "sensitive": list(training.sensitive),
        "unfairness": float(model.unfairness),
        "achieved": model.unfairness_,
        **(dict.fromkeys(WORDS) | model.dependence_),
        "lambda": model.lambda_,
        "status": model.status_,
        "isolated": model.isolated_,
        "explained_deviance": model.explained_deviance_,
        "log_likelihood": model.loglik_,
        "fingerprint": model.fingerprint_,
        "coefficients": [
            {
                "term": row.term,
                "role": row.role or "intercept",
                "coefficient": row.coefficient,
                "raw": row.raw,
                "explained_by_sensitive": row.explained,
            }
            for row in summary.coefficients
        ],
    }


def _columns(found: Any) -> dict[str, Any]:
    frame = arrow(found.to_frame())
    return {name: frame.column(name).to_pylist() for name in frame.column_names}


def _save_figure(found: Any, place: str) -> None:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'fairridge[plot]'") from error
    matplotlib.use("Agg")
    axes = found.plot("coefficients")
    with writing(place) as file:
        axes.figure.savefig(file, dpi=140, format=Path(place).suffix[1:].lower() or "png")
