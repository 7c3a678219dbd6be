"""The command that writes the audit report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairridge.cli.column_types import kinds_of_model
from fairridge.cli.errors import BadInputError
from fairridge.cli.fitting import announce, announce_size, load_model
from fairridge.cli.inputs import names, read
from fairridge.cli.options import (
    AsJson,
    Categorical,
    Date,
    Definition,
    Drop,
    DropMissing,
    Event,
    Family,
    Favorable,
    Input,
    Link,
    MaxLevels,
    Model,
    Numeric,
    Offset,
    Penalty,
    PredictorPenalty,
    Predictors,
    Response,
    Seed,
    Sensitive,
    Separator,
    Ties,
    Unfairness,
    Weight,
)
from fairridge.cli.outputs import check_place
from fairridge.cli.terminal import progress, say, show_json
from fairridge.cli.training_data import Columns, Data, ModelOptions, make_model, prepare

__all__ = ["report"]


def report(
    data: Input,
    response: Response = None,
    sensitive: Sensitive = None,
    unfairness: Unfairness = 0.05,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where to write the page.")
    ] = "report.html",
    model: Model = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", metavar="T", help="Scores above are selected."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option("--positive", metavar="LABEL", help="Class that scores are of."),
    ] = None,
    favorable: Favorable = None,
    cv: Annotated[int, typer.Option("--cv", metavar="N", help="Held-out folds; 0 for none.")] = 10,
    bootstrap: Annotated[
        int | None,
        typer.Option("--bootstrap", metavar="N", help="Refits to resampled rows; 0 for none."),
    ] = None,
    bins: Annotated[
        int, typer.Option("--bins", metavar="N", help="Groups of a numeric attribute.")
    ] = 4,
    small: Annotated[
        int, typer.Option("--small", metavar="N", help="Groups with fewer rows are marked.")
    ] = 30,
    made_on: Annotated[
        str | None, typer.Option("--made-on", metavar="TEXT", help="Date, for the record.")
    ] = None,
    seed: Seed = 0,
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
    family: Family = None,
    definition: Definition = "statistical-parity",
    penalty: Penalty = "ridge",
    predictor_penalty: PredictorPenalty = 0.0,
    ties: Ties = None,
    link: Link = None,
    as_json: AsJson = False,
) -> None:
    """Write the audit report: one HTML file that opens from disk."""
    check_place(out, data, model)
    if model is not None and ties is not None:
        raise BadInputError("--ties is for a new model; --model has its own: leave one out.")
    fitted = None if model is None else load_model(model)
    columns = Columns(
        response,
        event,
        _known_sensitive(fitted, sensitive),
        _known_predictors(fitted, predictors),
        drop,
        weight,
        offset,
        family,
        drop_missing,
        _known_texts(fitted, categorical),
        numeric,
        date,
        max_levels,
    )
    training = prepare(read(data, separator, columns.kinds.categorical), columns)
    if fitted is None:
        fitted = make_model(
            training, ModelOptions(unfairness, definition, penalty, predictor_penalty, ties, link)
        )
    announce_size(training)
    with progress("report") as step:
        from fairridge import report as reported

        written = reported(
            fitted,
            **_columns_of(fitted, training),
            y=training.y,
            out=out,
            **training.options,
            title=title,
            response=training.response,
            cv=cv,
            bootstrap=bootstrap,
            random_state=seed,
            threshold=threshold,
            positive=positive,
            favorable=favorable,
            bins=bins,
            small=small,
            source=training.origin,
            date=made_on,
            progress=step,
        )
    if as_json:
        show_json(_facts(written, training, out))
        return
    announce(training)
    say(written.summary)
    say(f"\nReport: {Path(out).resolve()}")


def _known_sensitive(model: Any, sensitive: list[str] | None) -> list[str] | None:
    """Take sensitive attributes from a model file where none are named."""
    if model is None or names(sensitive, "--sensitive") or model._design.names is None:
        return sensitive
    design = model._design
    known = design.sensitive_names if design.separate else design.names
    return None if known is None else [known[k] for k in design.positions_sensitive]


def _known_texts(model: Any, categorical: list[str] | None) -> list[str] | None:
    """Read as text what was text when a model was fitted."""
    return (
        categorical if model is None else [*(categorical or ()), *kinds_of_model(model).categorical]
    )


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
    if model is None or names(predictors, "--predictors") or model._design.names is None:
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
        "summary": written.summary,
    }
