"""The command that writes the audit report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fairridge.cli.column_types import kinds_of_model
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import names, read
from fairridge.cli.model_tables import announce, announce_size
from fairridge.cli.option_groups import Columns, ModelOptions, gathered
from fairridge.cli.options import (
    AsJson,
    Bins,
    Favorable,
    Input,
    Model,
    Seed,
    Separator,
    Small,
    Threshold,
)
from fairridge.cli.outputs import check_place
from fairridge.cli.predicting import load_model
from fairridge.cli.terminal import progress, say, show_json
from fairridge.cli.training_data import Data, make_model, prepare

__all__ = ["report"]


@dataclass(frozen=True)
class ReportOptions:
    """How a report is made, as in `fairridge.report`."""

    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title.")] = None
    threshold: Threshold = None
    favorable: Favorable = None
    cv: Annotated[int, typer.Option("--cv", metavar="N", help="Held-out folds; 0 for none.")] = 10
    bootstrap: Annotated[
        int | None,
        typer.Option("--bootstrap", metavar="N", help="Refits to resampled rows; 0 for none."),
    ] = None
    bins: Bins = 4
    small: Small = 30
    made_on: Annotated[
        str | None, typer.Option("--made-on", metavar="TEXT", help="Date, for the record.")
    ] = None
    seed: Seed = 0
    new_rows: Annotated[
        bool,
        typer.Option(
            "--new-rows",
            help="Validate the model of --model on rows that it has not seen: whether its bound "
            "holds there, groups, calibration, and drift of the columns.",
        ),
    ] = False


# --positive is the class that scores are of, and not one that is modeled.
@gathered(omit=("positive", "confidence", "certification"))
def report(
    data: Input,
    columns: Columns,
    options: ModelOptions,
    made: ReportOptions,
    separator: Separator = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where to write the page.")
    ] = "report.html",
    model: Model = None,
    positive: Annotated[
        str | None,
        typer.Option("--positive", metavar="LABEL", help="Class that scores are of."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the audit report: one HTML file that opens from disk."""
    check_place(out, data, model)
    if made.new_rows and model is None:
        raise BadInputError("--new-rows validates a model file: name it with --model FILE.")
    fitted = None if model is None else _known_model(model, columns, options)
    columns = columns if fitted is None else _known_columns(fitted, columns)
    training = prepare(read(data, separator, columns.kinds.categorical), columns)
    announce_size(training)
    with progress("report") as step:
        fitted = make_model(training, options) if fitted is None else fitted
        written = _reported(fitted, training, out, made, positive=positive, progress=step)
    if as_json:
        facts = _new_facts if made.new_rows else _facts
        show_json(facts(written, training, out))
        return
    announce(training)
    say(written.summary)
    say(f"\nReport: {Path(out).resolve()}")


def _reported(model: Any, training: Data, out: str, made: ReportOptions, **others: Any) -> Any:
    from fairridge import report as reported

    options = vars(made).copy()
    renamed = {"date": options.pop("made_on"), "random_state": options.pop("seed")}
    return reported(
        model,
        **_columns_of(model, training),
        y=training.y,
        out=out,
        **training.options,
        response=training.response,
        source=training.origin,
        **options,
        **renamed,
        **others,
    )


def _known_model(place: str, columns: Columns, options: ModelOptions) -> Any:
    """Read a model file; raise if there are options for a new model."""
    own = ("controls", "min_frequency")
    given = [name for name in own if getattr(columns, name) is not None]
    given += [name for name in ("missing", "unknown") if getattr(columns, name) != "error"]
    defaults = vars(ModelOptions())
    given += [name for name, value in vars(options).items() if value != defaults[name]]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise BadInputError(f"{option} is for a new model; --model has its own: leave one out.")
    return load_model(place)


def _known_columns(model: Any, columns: Columns) -> Columns:
    """Take columns from a model file where none are named."""
    return replace(
        columns,
        missing=getattr(model, "missing", "error"),
        sensitive=_known_sensitive(model, columns.sensitive),
        predictors=_known_predictors(model, columns.predictors),
        categorical=[*(columns.categorical or ()), *kinds_of_model(model).categorical],
    )


def _known_sensitive(model: Any, sensitive: list[str] | None) -> list[str] | None:
    if names(sensitive, "--sensitive") or model._design.names is None:
        return sensitive
    design = model._design
    known = design.sensitive_names if design.separate else design.names
    return None if known is None else [known[k] for k in design.positions_sensitive]


def _columns_of(model: Any, training: Data) -> dict[str, Any]:
    """Hand over the columns as the model had them at fit."""
    design = model._design if hasattr(model, "_design") else None
    if design is None or not design.separate:
        return {"X": training.X}
    attributes = training.X.select(list(training.sensitive))
    return {
        "X": training.X.drop_columns(list(training.sensitive)),
        "sensitive_features": attributes,
    }


def _known_predictors(model: Any, predictors: list[str] | None) -> list[str] | None:
    if names(predictors, "--predictors") or model._design.names is None:
        return predictors
    return [model._design.names[k] for k in model._design.positions_predictors]


def _facts(written: Any, training: Data, out: str) -> dict[str, Any]:
    contents = written.contents
    k, first = contents.chosen, contents.accuracy[0]
    refits = contents.refits
    return {
        "report": str(Path(out).resolve()),
        "family": training.family,
        "favorable": contents.subject.favorable or None,
        "unfairness": contents.unfairness[k],
        "achieved": contents.achieved[k],
        "status": contents.status[k],
        "dependence": {
            "is": contents.dependence_name,
            "training": contents.dependence.training[k],
            "held_out": None
            if contents.dependence.held_out is None
            else contents.dependence.held_out[k],
            "refits": None if refits is None else [refits.low, refits.high, refits.count],
        },
        **{
            key: {
                "training": curve.training[k],
                "held_out": None if curve.held_out is None else curve.held_out[k],
            }
            for key, curve in contents.yardstick.items()
        },
        "accuracy": {
            "is": first.name,
            "training": first.training[k],
            "held_out": None if first.held_out is None else first.held_out[k],
        },
        "inference": _inference(contents.uncertainty),
        "summary": written.summary,
    }


def _inference(found: Any) -> dict[str, Any]:
    """Return standard errors, the interval in the population and the certificate."""
    return {
        "refused": found.refusal or None,
        "covariance": found.covariance or None,
        "level": found.level,
        "coefficients": {name: vars(one) for name, one in found.raw.items()} or None,
        "population": None if found.population is None else vars(found.population),
        "no_population": found.no_population or None,
        "certificate": None if found.certificate is None else vars(found.certificate),
    }


def _new_facts(written: Any, training: Data, out: str) -> dict[str, Any]:
    contents = written.contents
    return {
        "report": str(Path(out).resolve()),
        "family": training.family,
        "favorable": contents.subject.favorable or None,
        "rows": contents.subject.n_rows,
        "unfairness": contents.unfairness[0],
        "bound_is_on": contents.bounded or None,
        "measures": [vars(one) for one in (*contents.measures, *contents.accuracy)],
        "drift": [vars(one) for one in contents.drift],
        "no_drift": contents.no_drift or None,
        "summary": written.summary,
    }
