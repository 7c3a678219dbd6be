"""The command that writes the audit report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from fairridge.cli.column_types import Kinds, kinds_of_model, sensitive_of
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import names
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
    option,
)
from fairridge.cli.outputs import check_place
from fairridge.cli.predicting import load_model
from fairridge.cli.terminal import progress, say, show_json
from fairridge.cli.training_data import Data, make_model, read_data


@dataclass(frozen=True)
class ReportOptions:
    """How a report is made, as in `fairridge.report`."""

    title: Annotated[str | None, option("TEXT", "Title.")] = None
    threshold: Threshold = None
    favorable: Favorable = None
    cv: Annotated[int, option("N", "Held-out folds; 0 for none.")] = 10
    bootstrap: Annotated[int | None, option("N", "Refits to resampled rows; 0 for none.")] = None
    bins: Bins = 4
    small: Small = 30
    made_on: Annotated[str | None, option("TEXT", "Date, for the record.")] = None
    seed: Seed = 0
    new_rows: Annotated[
        bool,
        option(
            None,
            "Validate the model of --model on rows that it has not seen: whether its bound holds "
            "there, groups, calibration, and drift of the columns.",
            "--new-rows",
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
    out: Annotated[str, option("FILE", "Where to write the page.", "--out", "-o")] = "report.html",
    model: Model = None,
    positive: Annotated[str | None, option("LABEL", "Class that scores are of.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the audit report: one HTML file that opens from disk."""
    check_place(out, data, model)
    if made.new_rows and model is None:
        raise BadInputError("--new-rows validates a model file: name it with --model FILE.")
    fitted = None if model is None else _known_model(model, columns, options)
    columns = columns if fitted is None else _known_columns(fitted, columns)
    known = Kinds() if fitted is None else kinds_of_model(fitted)
    training = read_data(data, columns, separator, known)
    announce_size(training)
    with progress("report") as step:
        fitted = make_model(training, options) if fitted is None else fitted
        written = _reported(fitted, training, out, made, positive=positive, progress=step)
    if as_json:
        contents = written.contents
        shared = {
            "report": str(Path(out).resolve()),
            "family": training.family,
            "favorable": contents.subject.favorable or None,
        }
        facts = (_new_facts if made.new_rows else _facts)(contents)
        show_json(shared | facts | {"summary": written.summary})
        return
    announce(training)
    say(written.summary)
    say(f"\nReport: {Path(out).resolve()}")


def _reported(model: Any, training: Data, out: str, made: ReportOptions, **others: Any) -> Any:
    from fairridge import report as reported

    options = vars(made).copy()
    renamed = {"date": options.pop("made_on"), "random_state": options.pop("seed")}
    X, apart = training.X, list(training.sensitive)
    # The model gets the columns as it had them at fit.
    if hasattr(model, "_design") and model._design.separate:
        others["sensitive_features"], X = X.select(apart), X.drop_columns(apart)
    return reported(
        model,
        X,
        training.y,
        out,
        **training.options,
        response=training.response,
        source=training.origin,
        **options,
        **renamed,
        **others,
    )


def _known_model(place: str, columns: Columns, options: ModelOptions) -> Any:
    """Read a model file; raise if there are options for a new model."""
    own = ("controls", "min_frequency", "missing", "unknown")
    defaults = vars(Columns()) | vars(ModelOptions())
    values = {name: getattr(columns, name) for name in own} | vars(options)
    for name, value in values.items():
        if value != defaults[name]:
            option_name = f"--{name.replace('_', '-')}"
            raise BadInputError(
                f"{option_name} is for a new model; --model has its own: leave one out."
            )
    return load_model(place)


def _known_columns(model: Any, columns: Columns) -> Columns:
    """Take columns from a model file if none are named."""
    design, sensitive, predictors = model._design, columns.sensitive, columns.predictors
    if design.names is not None:
        if not names(sensitive, "--sensitive"):
            sensitive = sensitive_of(model)
        if not names(predictors, "--predictors"):
            predictors = [design.names[k] for k in design.positions_predictors]
    return replace(
        columns,
        missing=getattr(model, "missing", "error"),
        sensitive=sensitive,
        predictors=predictors,
    )


def _facts(contents: Any) -> dict[str, Any]:
    k, first, refits = contents.chosen, contents.accuracy[0], contents.refits

    def values(curve: Any) -> dict[str, Any]:
        held_out = None if curve.held_out is None else curve.held_out[k]
        return {"training": curve.training[k], "held_out": held_out}

    return {
        "unfairness": contents.unfairness[k],
        "achieved": contents.achieved[k],
        "status": contents.status[k],
        "dependence": {
            "is": contents.dependence_name,
            **values(contents.dependence),
            "refits": None if refits is None else [refits.low, refits.high, refits.count],
        },
        **{key: values(curve) for key, curve in contents.yardstick.items()},
        "accuracy": {"is": first.name, **values(first)},
        "inference": _inference(contents.uncertainty),
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


def _new_facts(contents: Any) -> dict[str, Any]:
    return {
        "rows": contents.subject.n_rows,
        "unfairness": contents.unfairness[0],
        "bound_is_on": contents.bounded or None,
        "measures": [vars(one) for one in (*contents.measures, *contents.accuracy)],
        "drift": [vars(one) for one in contents.drift],
        "no_drift": contents.no_drift or None,
    }
