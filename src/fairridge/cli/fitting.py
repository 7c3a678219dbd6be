"""Commands that fit models: fit, path."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairridge.cli.errors import BadInputError
from fairridge.cli.model_tables import (
    SHORT_PATH,
    announce,
    announce_penalty,
    announce_size,
    inference_rows,
    model_facts,
    path_columns,
    save_figure,
    show_certificate,
    show_model,
    show_path,
)
from fairridge.cli.option_groups import Columns, ModelOptions, gathered
from fairridge.cli.options import AsJson, Input, SafeCsv, Separator, Stream
from fairridge.cli.outputs import arrow, check_both, check_place, write
from fairridge.cli.streams import read_training
from fairridge.cli.terminal import say, show_json, waiting
from fairridge.cli.training_data import Data, make_model

__all__ = ["bounds_of", "fit", "path"]


@gathered()
def fit(
    data: Input,
    columns: Columns,
    options: ModelOptions,
    separator: Separator = None,
    stream: Stream = False,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Where to save the model.")
    ] = None,
    inference: Annotated[
        bool,
        typer.Option("--inference", help="Show standard errors and intervals of coefficients."),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all coefficients, however many.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model with a bound on unfairness."""
    check_place(out, data)
    training = _read(data, columns, separator, stream)
    with waiting("fitting"):
        model = make_model(training, options)
        model.fit(training.X, training.y, **training.options)
        inferred = None
        if inference:
            inferred = model.inference(training.X, training.y, **training.options)
    if out is not None:
        from fairridge import save

        save(model, out)
    if as_json:
        more = {} if inferred is None else {"inference": inference_rows(inferred)}
        show_json(model_facts(model, training) | more | {"saved": out})
        return
    announce(training)
    show_model(model, everything)
    show_certificate(model)
    if inferred is not None:
        say(f"\n{inferred}")
    if out is not None:
        say(f"Saved: {out}")


@gathered(omit=("unfairness",))
def path(
    data: Input,
    columns: Columns,
    options: ModelOptions,
    separator: Separator = None,
    stream: Stream = False,
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
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """Fit the models for many bounds at once."""
    check_place(out, data)
    check_place(plot, data)
    check_both(out, plot, "--out and --plot")
    training = _read(data, columns, separator, stream)
    # A file gets every bound, a screen the telling ones.
    chosen = bounds_of(bounds) or (None if out or plot else SHORT_PATH)
    found = _fitted_path(training, options, chosen)
    if out is not None:
        write(arrow(found.to_frame()), out, safe=safe_csv)
    if plot is not None:
        save_figure(found, plot)
    if as_json:
        show_json(path_columns(found))
        return
    announce(training)
    announce_penalty(options, found)
    show_path(found)
    for place in (out, plot):
        if place is not None:
            say(f"Saved: {place}")


def _read(data: str, columns: Columns, separator: str | None, stream: bool) -> Data:
    with waiting("reading"):
        training = read_training(data, columns, separator, stream)
    announce_size(training)
    return training


def _fitted_path(training: Data, options: ModelOptions, bounds: Any) -> Any:
    with waiting("fitting"):
        model = make_model(training, options)
        return model.path(training.X, training.y, unfairness=bounds, **training.options)


def bounds_of(text: str | None) -> list[float] | None:
    """Read bounds with commas between them."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInputError(
            f"--bounds {text} must be numbers with commas between them, such as 0,0.05,1."
        ) from None
