"""Commands that fit models: fit, path."""

from __future__ import annotations

from typing import Annotated, Any

from fairridge.cli.model_tables import (
    SHORT_PATH,
    announce,
    announce_penalty,
    announce_size,
    model_facts,
    save_figure,
    show_certificate,
    show_model,
    show_path,
)
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
from fairridge.cli.outputs import arrow, check_both, check_place, write
from fairridge.cli.parameters import Parameters, Settings
from fairridge.cli.streams import read_training
from fairridge.cli.terminal import Result, progress, say
from fairridge.cli.training_data import Data, make_model, remember

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
        bool, option(None, "Show standard errors and intervals of coefficients.", "--inference")
    ] = False,
    everything: Annotated[
        bool, option(None, "Show all coefficients, however many.", "--all")
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
    if out is not None:
        from fairridge import save

        remember(model, training)
        save(model, out)

    def facts() -> dict[str, Any]:
        more = {} if inferred is None else {"inference": arrow(inferred.to_frame()).to_pylist()}
        return model_facts(model, training) | more | {"saved": out}

    def show() -> None:
        announce(training)
        show_model(model, everything)
        show_certificate(model)
        if inferred is not None:
            say(f"\n{inferred}")

    return Result(facts, show, saved=(out,))


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
    check_both(out, plot, "--out and --plot")
    training = _read(data, columns, settings, separator, stream)
    # A file gets every bound, a screen only some of them.
    bounds = {"unfairness": None if out or plot else SHORT_PATH} | several
    with progress("fitting"):
        model = make_model(training, settings, seed)
        fitted = model.path(training.X, training.y, **bounds, **training.options)
    if out is not None:
        write(arrow(fitted.to_frame()), out, safe=safe_csv)
    if plot is not None:
        save_figure(fitted, plot)

    def facts() -> dict[str, Any]:
        more = {"isolated": fitted.isolated, "predictor_penalty": fitted.predictor_penalty}
        return arrow(fitted.to_frame()).to_pydict() | more

    def show() -> None:
        announce(training)
        announce_penalty(model, fitted)
        show_path(fitted)

    return Result(facts, show, saved=(out, plot))


def _read(
    data: str, columns: Columns, settings: Settings, separator: str | None, stream: bool
) -> Data:
    with progress("reading"):
        training = read_training(data, columns, settings, separator, stream)
    announce_size(training)
    return training
