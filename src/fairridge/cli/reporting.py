"""The command that writes the audit report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fairridge.cli.column_types import kinds_of_model
from fairridge.cli.errors import BadInputError, refusals
from fairridge.cli.options import (
    MODEL,
    ROWS,
    Columns,
    Input,
    Model,
    Seed,
    Separator,
    Stream,
    option,
)
from fairridge.cli.outputs import check_place
from fairridge.cli.parameters import Parameters, Settings
from fairridge.cli.predicting import load_model
from fairridge.cli.streams import is_stream, read_training
from fairridge.cli.terminal import Result, progress, say
from fairridge.cli.training_data import Data, announce_size, columns_of_model, make_model

REPORTED = Parameters(
    {"report": ""},
    apart={
        **ROWS,
        "model": "--model names its file",
        "out": "--out names the file",
        "source": "the name of the data, with a fingerprint",
        "date": "--made-on has it, as --date names columns",
        "format": "--card writes a card",
    },
)
# A report judges every bound, and --positive is the class that scores are of.
JUDGED = MODEL.without(
    positive="--positive is the class that scores are of",
    confidence="bounds of a report are not certified",
    certification="bounds of a report are not certified",
)


def report(
    data: Input,
    columns: Columns,
    settings: Annotated[Settings, JUDGED],
    asked: Annotated[Settings, REPORTED],
    seed: Seed = 0,
    made_on: Annotated[str | None, option("TEXT", "Date, for the record.")] = None,
    card: Annotated[
        bool, option("", "Write a model card in Markdown instead of the page.", "--card")
    ] = False,
    separator: Separator = None,
    stream: Stream = False,
    out: Annotated[str, option("FILE", "Where to write the page.", "--out", "-o")] = "report.html",
    model: Model = None,
) -> Result:
    """Write the audit report: one HTML file that opens from disk."""
    check_place(out, data, model)
    new_rows = asked.get("new_rows", False)
    if new_rows and model is None:
        raise BadInputError("--new-rows validates a model file: name it with --model FILE.")
    if not new_rows and is_stream(data, stream):
        raise BadInputError(
            "a report on training rows needs them in memory, and --stream or a pattern reads them "
            "batch by batch: name one file, or validate a model with --model FILE --new-rows."
        )
    fitted = None
    if model is not None:
        fitted, columns, settings = _known_model(model, columns, settings)
    training = read_training(data, columns, settings, separator, stream, kinds_of_model(fitted))
    announce_size(training)
    asked |= {"date": made_on, "random_state": seed, "format": "card" if card else "html"}
    with progress("report") as step, refusals():
        fitted = make_model(training, settings, seed) if fitted is None else fitted
        written = _reported(fitted, training, out, asked | {"progress": step})
    contents, place = written.contents, str(Path(out).resolve())
    facts = {
        "report": place,
        "family": training.family,
        "favorable": contents.subject.favorable or None,
    }
    found = _new_facts if new_rows else _facts
    return Result(
        lambda: facts | found(contents) | {"summary": written.summary},
        lambda: say(f"{written.summary}\n\nReport: {place}"),
        notes=training.notes,
    )


def _reported(model: Any, training: Data, out: str, asked: Settings) -> Any:
    from fairridge import report as reported

    X, apart = training.X, list(training.roles.sensitive)
    # The model gets the columns as it had them at fit.
    if training.y is not None and hasattr(model, "_fitted") and model._fitted.design.separate:
        asked |= {"sensitive_features": X.select(apart)}
        X = X.drop_columns(apart)
    asked |= {"response": training.response, "source": training.origin}
    return reported(model, X, training.y, out, **training.options, **asked)


def _known_model(place: str, columns: Columns, settings: Settings) -> tuple[Any, Columns, Settings]:
    """Read a model file, its columns and settings; raise if there are options for a new model."""
    given = [JUDGED.settings[name].flag for name in settings]
    for flag in [*given, *(["--controls"] if columns.controls else [])]:
        raise BadInputError(f"{flag} is for a new model; --model has its own: leave one out.")
    model = load_model(place)
    return model, columns_of_model(model, columns), {"missing": getattr(model, "missing", "error")}


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
            "is": contents.dependence.name,
            **values(contents.dependence),
            "refits": None if refits is None else [refits.low, refits.high, refits.count],
        },
        **{key: values(curve) for key, curve in contents.dependence_shares.items()},
        "accuracy": {"is": first.name, **values(first)},
        "mean_ratio": vars(contents.main.audits[k].mean_ratio),
        "inference": _inference(contents),
    }


def _inference(contents: Any) -> dict[str, Any]:
    """Return standard errors, the interval in the population and the certificate."""
    from fairridge.metrics.intervals import CONFIDENCE
    from fairridge.reports.html.contents import coefficient_errors

    inference, keys = contents.inference, ("error", "low", "high")
    errors = coefficient_errors(inference, "raw")
    return {
        "refused": contents.no_inference or None,
        "covariance": None if inference is None else inference.facts.covariance,
        "level": CONFIDENCE,
        "coefficients": {name: dict(zip(keys, e, strict=True)) for name, e in errors.items()}
        or None,
        "population": None if contents.population is None else vars(contents.population),
        "no_population": contents.no_population or None,
        "certificate": None if contents.certificate is None else vars(contents.certificate),
    }


def _new_facts(contents: Any) -> dict[str, Any]:
    keys = [one.found.key for one in contents.bounds]
    verdicts = [one.found.verdict(one.r) for one in contents.bounds]
    several = len(keys) > 1
    return {
        "rows": contents.subject.n_rows,
        "unfairness": contents.unfairness[0],
        "bound_is_on": keys if several else keys[0],
        "verdict": verdicts if several else verdicts[0],
        "measures": [vars(measure) for measure in (*contents.measures, *contents.accuracy)],
        "mean_ratio": vars(contents.main.audits[0].mean_ratio),
        "drift": [vars(column) for column in contents.drift],
        "no_drift": contents.no_drift or None,
    }
