"""Commands that fit models: fit, path."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from fairridge.cli.errors import BadInputError
from fairridge.cli.options import (
    MODEL,
    ROWS,
    Columns,
    Input,
    ModelOut,
    SafeCsv,
    Seed,
    Separator,
    Stream,
    option,
)
from fairridge.cli.outputs import arrow, check_place, write
from fairridge.cli.parameters import Parameters, Settings
from fairridge.cli.streams import read_training
from fairridge.cli.terminal import Result, note, progress, say, show
from fairridge.cli.training_data import Data, announce_size, make_model, save_model
from fairridge.outputs import is_same_file, writing
from fairridge.tables import SHOWN_ROWS, Column, Table

# Bounds whose models a screen shows.
SHORT_PATH = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
PATH = Parameters(
    {"FairRidgeClassifier.path": ""},
    apart={**ROWS, "self": "the model"},
    flags={"unfairness": ("--bounds",)},
)


def fit(
    data: Input,
    columns: Columns,
    settings: Annotated[Settings, MODEL],
    seed: Seed = 0,
    separator: Separator = None,
    stream: Stream = False,
    out: ModelOut = None,
    inference: Annotated[
        bool, option("", "Show standard errors and intervals of coefficients.", "--inference")
    ] = False,
    everything: Annotated[
        bool, option("", "Show all coefficients, however many.", "--all")
    ] = False,
) -> Result:
    """Fit a model with a bound on unfairness."""
    check_place(out, data)
    training = _read(data, columns, settings, separator, stream)
    with progress("fitting"):
        model = make_model(training, settings, seed)
        model.fit(training.X, training.y, **training.options)
        inferred = None
        if inference:
            inferred = model.inference(training.X, training.y, **training.options)
    save_model(model, training, out)

    def facts() -> dict[str, Any]:
        more = {} if inferred is None else {"inference": arrow(inferred.to_frame()).to_pylist()}
        return _facts(model, training) | more | {"saved": out}

    def show() -> None:
        _show_model(model, everything)
        _show_certificate(model)
        if inferred is not None:
            say(f"\n{inferred}")

    return Result(facts, show, saved=(out,), notes=training.notes)


def path(
    data: Input,
    columns: Columns,
    settings: Annotated[Settings, MODEL.without(unfairness="--bounds has several")],
    several: Annotated[Settings, PATH],
    seed: Seed = 0,
    separator: Separator = None,
    stream: Stream = False,
    out: Annotated[
        str | None,
        option("FILE", "Write every bound and coefficient: CSV or Parquet.", "--out", "-o"),
    ] = None,
    plot: Annotated[str | None, option("FILE", "Save a figure of the coefficients.")] = None,
    safe_csv: SafeCsv = False,
) -> Result:
    """Fit the models for many bounds at once."""
    check_place(out, data)
    check_place(plot, data)
    if out is not None and plot is not None and is_same_file(out, plot):
        raise BadInputError(f"--out and --plot name the same file, {out}; choose two names.")
    training = _read(data, columns, settings, separator, stream)
    # A file gets every bound, a screen only some of them.
    bounds = {"unfairness": None if out or plot else SHORT_PATH} | several
    with progress("fitting"):
        model = make_model(training, settings, seed)
        fitted = model.path(training.X, training.y, **bounds, **training.options)
    write(fitted.to_frame(), out, safe=safe_csv)
    if plot is not None:
        _save_figure(fitted, plot)

    def facts() -> dict[str, Any]:
        more = {"isolated": fitted.isolated, "predictor_penalty": fitted.predictor_penalty}
        return arrow(fitted.to_frame()).to_pydict() | more

    def show() -> None:
        if model.predictor_penalty == "cv":
            bound, value = model.unfairness, fitted.predictor_penalty
            note(f"Penalty on predictors, chosen by cross-validation at r = {bound}: {value:.4g}.")
        _show_path(fitted)

    return Result(facts, show, saved=(out, plot), notes=training.notes)


def _read(
    data: str, columns: Columns, settings: Settings, separator: str | None, stream: bool
) -> Data:
    with progress("reading"):
        training = read_training(data, columns, settings, separator, stream)
    announce_size(training)
    return training


def _show_model(model: Any, everything: bool) -> None:
    """Print facts and coefficients; many only if everything is wanted."""
    summary = model.summary(details=everything)
    show("\n\n".join(replace(table, brief=not everything).text() for table in summary._tables()))
    if len(summary.coefficients) > SHOWN_ROWS and not everything:
        say("--all shows all coefficients.", style="dim")


def _show_path(path: Any) -> None:
    """Print the models of a path, or some of many."""
    score = {"r_squared": "R²", "d_squared": "D²"}.get(path.score_name, path.score_name)
    rows = list(range(len(path.unfairness)))
    if len(rows) > SHOWN_ROWS:
        rows = sorted({int(abs(path.unfairness - r).argmin()) for r in SHORT_PATH})
    columns = {
        "r": Column(path.unfairness[rows], "r", ".4g"),
        "achieved": Column(path.achieved[rows], "achieved", ".2%"),
        "score": Column(path.score[rows], score, ".4f"),
        "lambda": Column(path.lambda_[rows], "λ(r)", ".4g"),
        "status": Column([path.status[k] for k in rows], "status"),
    }
    show(Table(f"Path: {path.definition}, in training", columns).text())
    if path.isolated:
        levels = ", ".join(f"{name} ({rows:,})" for name, rows in path.isolated.items())
        note(f"Isolated, since all their rows have the same outcome (rows): {levels}.")


def _facts(model: Any, training: Data) -> dict[str, Any]:
    """Return what is known of a fitted model, for machines."""
    from fairridge.metrics.dependence_shares import WORDS

    summary, classes = model.summary(), list(getattr(model, "classes_", ()))
    return {
        "model": summary.title,
        "family": training.family,
        "classes": classes or None,
        "positive": getattr(model, "positive_", None),
        "reason": training.reason,
        "rows": model.n_rows_,
        "encoded_columns": len(model.coef_names_),
        "remarks": list(training.remarks),
        "response": training.response,
        "sensitive": list(training.roles.sensitive),
        "unfairness": model.unfairness,
        "achieved": model.unfairness_,
        **(dict.fromkeys(WORDS) | model.dependence_),
        "lambda": model.lambda_,
        "predictor_penalty": model.predictor_penalty_,
        "status": model.status_,
        "certificate": None if model.certificate_ is None else asdict(model.certificate_),
        "isolated": model.isolated_,
        "blind": model.blind,
        "controls": list(training.roles.controls),
        "group_differences": model.group_differences_,
        "explained_deviance": model.explained_deviance_,
        "log_likelihood": model.loglik_,
        "fingerprint": model.fingerprint_,
        "coefficients": [
            row | {"role": row["role"] or "intercept"}
            for row in arrow(summary.to_frame()).to_pylist()
        ],
    }


def _show_certificate(model: Any) -> None:
    """Say what a certified bound promises for the population."""
    known = model.certificate_
    if known is None:
        return
    certain = f"with {known.confidence:.4g} confidence, by {known.method}, {known.n_rows:,} rows"
    if not known.granted:
        upper = f"unfairness may be {known.upper:.4g} {certain}"
        say(f"No certificate: {known.warning or upper}.")
        return
    say(f"Certificate: unfairness in the population is at most {known.upper:.4g} {certain}.")
    price = "" if known.price is None else f", which lowers D² in training by {known.price:.4g}"
    fitted = f"For that the model was fitted with the bound {known.training_bound:.4g}{price}."
    say(fitted, style="dim")
    if known.warning is not None:
        say(f"It may not hold: {known.warning}.")


def _save_figure(path: Any, place: str) -> None:
    """Draw the coefficients of a path into a file."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'fairridge[plot]'") from error
    matplotlib.use("Agg")
    axes = path.plot("coefficients")
    with writing(place) as file:
        axes.figure.savefig(file, dpi=140, format=Path(place).suffix[1:].lower() or "png")
