"""The command that compares groups of people: audit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from fairridge.cli.column_types import Kinds, kinds_of_model, sensitive_of, typed
from fairridge.cli.errors import BadInputError, refusals
from fairridge.cli.inputs import Source, check_columns, names, read
from fairridge.cli.options import (
    ROWS,
    Columns,
    Exposure,
    Figures,
    Input,
    Model,
    Offset,
    Response,
    SafeCsv,
    Sensitive,
    Separator,
    Stream,
    Weight,
    option,
)
from fairridge.cli.outputs import arrow, check_place, write
from fairridge.cli.parameters import Parameters, Settings
from fairridge.cli.predicting import (
    linear_predictors,
    load_model,
    read_as_at_fit,
    scored_columns,
)
from fairridge.cli.streams import is_stream, read_training
from fairridge.cli.terminal import Result, note, progress, show
from fairridge.cli.training_data import check_roles, columns_of_model


@dataclass(frozen=True)
class _Predictions:
    """Predictions, and what a model file knows beside them."""

    values: Any
    sensitive: tuple[str, ...]
    positive: str | None
    eta: Any = None
    exposure: Any = None  # what counts are of, if the model says so
    # Event times and the logarithm of the cumulative hazard there, of a survival model.
    baseline: tuple[Any, Any] | None = None
    # What the numbers are, by the family of the model.
    kind: Literal["regression", "amounts"] | None = None


@dataclass(frozen=True)
class _AuditColumns:
    """Which columns are what."""

    target: str | None
    sensitive: tuple[str, ...]
    weight: str | None
    exposure: str | None
    event: str | None = None


AUDITED = Parameters(
    {"audit": ""},
    apart={
        **ROWS,
        "y_true": "--response names it",
        "y_pred": "--prediction names it, or --model makes it",
        "linear_predictor": "--model knows it",
        "survival": "--model knows it",
    },
)


def audit(
    data: Input,
    asked: Annotated[Settings, AUDITED],
    prediction: Annotated[
        str | None,
        option(
            "NAME",
            "Column with the predictions of any model: numbers, probabilities or labels.",
            "--prediction",
            "-p",
        ),
    ] = None,
    sensitive: Sensitive = None,
    response: Response = None,
    model: Model = None,
    weight: Weight = None,
    offset: Offset = None,
    exposure: Exposure = None,
    event: Annotated[
        str | None, option("NAME", "Column of events (1 or 0), if the response is a time.")
    ] = None,
    controls: Annotated[
        list[str] | None,
        option("NAME", "Columns that may differ between groups.", "--controls"),
    ] = None,
    separator: Separator = None,
    stream: Stream = False,
    out: Figures = None,
    safe_csv: SafeCsv = False,
) -> Result:
    """Compare the predictions of any model between groups of people."""
    check_place(out, data, model)
    with progress("reading and comparing"):
        fitted = None if model is None else load_model(model)
        if is_stream(data, stream):
            columns = Columns(response, sensitive, event, weight=weight, offset=offset,
                              exposure=exposure)  # fmt: skip
            audited, remarks = _audited_stream(data, fitted, columns, controls, asked)
        else:
            kinds = Kinds() if fitted is None else kinds_of_model(fitted)
            source = read(data, separator, kinds.as_text)
            given = {"offset": offset, "exposure": exposure}
            predicted = _predicted(source, prediction, fitted, asked.get("positive"), given)
            roles = _roles(source, predicted, sensitive, (response, event), weight, given)
            known = _controls(controls, source, fitted, prediction)
            audited, remarks = _audited(source, predicted, prediction, roles, known, asked, kinds)
    if out is not None:
        write(arrow(audited.to_frame()), out, safe=safe_csv)
    return Result(
        lambda: _audit_facts(audited), lambda: _show_audit(audited, remarks), saved=(out,)
    )


def _controls(
    given: list[str] | None, source: Source | None, model: Any, prediction: str | None
) -> list[str]:
    """Return the columns that may differ between groups: by default those of the model."""
    if given is None and model is not None and prediction is None:
        from fairridge.metrics.measure import control_names

        facts = model._fitted
        return list(control_names(facts.design, getattr(facts.settings, "controls", None)))
    controls = list(names(given, "--controls"))
    if source is not None:  # rows that are streamed name a column that they lack
        check_columns(controls, source, "--controls")
    return controls


def _audited_stream(
    data: str, model: Any, columns: Columns, controls: list[str] | None, asked: Settings
) -> tuple[Any, tuple[str, ...]]:
    """Compare groups of rows that are read batch by batch; also say how many there are."""
    from fairridge import audit as audited
    from fairridge.sources.predictions import BatchPredictor

    if model is None:
        raise BadInputError(
            "rows that are read batch by batch are predicted by a model file: name it with "
            "--model FILE, or leave --stream out."
        )
    held = _controls(controls, None, model, None)
    columns = columns_of_model(model, columns)
    attributes, others = names(columns.sensitive, "--sensitive"), columns.others.values()
    taken = {columns.response, columns.event, *attributes, *others}
    inputs = dict.fromkeys((*BatchPredictor(model, "predict", None).columns, *held))
    kept = [name for name in inputs if name not in taken]
    columns = replace(columns, predictors=kept, controls=held)
    rows = read_training(data, columns, {}, None, True, kinds_of_model(model))
    known: Settings = {} if _kind(model) is None else {"kind": _kind(model)}
    with refusals():
        predictions = getattr(model, "predict_proba", model.predict)(rows.X)
        return audited(rows.X, predictions, controls=held or None, **known | asked), rows.remarks


def _audited(
    source: Source,
    predicted: _Predictions,
    prediction: str | None,
    roles: _AuditColumns,
    controls: list[str],
    asked: Settings,
    kinds: Kinds,
) -> tuple[Any, tuple[str, ...]]:
    """Compare groups; also return how columns were read."""
    from fairridge import audit as audited

    named = (roles.target, roles.event, roles.weight, roles.exposure, prediction)
    others = [name for name in (*named, *controls) if name is not None]
    table, remarks, _ = typed(source.table, [*roles.sensitive, *others], kinds, csv=source.is_csv)
    values = predicted.values if prediction is None else table.column(prediction)
    truth = values if roles.target is None else table.column(roles.target)
    known = {"positive": _label(predicted.positive, truth)}
    if predicted.kind is not None:
        known["kind"] = predicted.kind
    exposure = predicted.exposure
    if exposure is None and roles.exposure is not None:
        exposure = table.column(roles.exposure)
    response = None if roles.target is None else table.select([roles.target])
    survival = None
    if roles.event is not None:
        response, survival = _times(table, roles, predicted)
    with _naming_columns(roles.target or "response", prediction or "prediction"):
        audit = audited(
            response,
            values,
            sensitive_features=table.select(list(roles.sensitive)),
            sample_weight=None if roles.weight is None else table.column(roles.weight),
            exposure=exposure,
            linear_predictor=predicted.eta,
            survival=survival,
            controls=table.select(controls) if controls else None,
            **(known | asked | {"positive": known["positive"]}),
        )
    return audit, remarks


def _times(table: Any, roles: _AuditColumns, predicted: _Predictions) -> tuple[Any, Any]:
    """Return times and events, and the survival that a model predicts, if there is one."""
    import numpy as np

    from fairridge.metrics.brier import survival_at, times_of_events

    y = table.select([roles.target, roles.event]).rename_columns(["time", "event"])
    if predicted.baseline is None:
        return y, None
    times = times_of_events(
        *(y.column(name).to_numpy().astype(np.float64) for name in y.schema.names)
    )
    eta = np.asarray(predicted.values, dtype=np.float64)
    known = len(times) > 1
    return y, (times, survival_at(times, eta, predicted.baseline)) if known else None


def _roles(
    source: Source,
    predicted: _Predictions,
    sensitive: list[str] | None,
    responses: tuple[str | None, str | None],
    weight: str | None,
    given: dict[str, str | None],
) -> _AuditColumns:
    """Raise unless there are sensitive attributes, and every column has one role."""
    attributes = names(sensitive, "--sensitive") or predicted.sensitive or source.sensitive
    response, event = responses
    target = response or (source.response[0] if source.response else None)
    if event is None and len(source.response) == 2 and target == source.response[0]:
        event = source.response[1]
    if event is not None and target is None:
        raise BadInputError(f"--event {event} needs the times, too: --response NAME.")
    if predicted.baseline is not None and target is not None and event is None:
        raise BadInputError(
            f"the model is of times, so say which column has the events: --event NAME, beside "
            f"--response {target}."
        )
    if not attributes:
        raise BadInputError("say which attributes are sensitive: --sensitive NAME.")
    check_columns(attributes, source, "--sensitive")
    columns = {"response": target, "event": event, "weight": weight} | given
    for role, name in columns.items():
        check_columns([] if name is None else [name], source, f"--{role}")
    others = {role: name for role, name in ({"weight": weight} | given).items() if name}
    check_roles([name for name in (target, event) if name], attributes, others)
    return _AuditColumns(target, attributes, weight, given["exposure"], event)


def _predicted(
    source: Source,
    prediction: str | None,
    model: Any,
    positive: str | None,
    given: dict[str, str | None],
) -> _Predictions:
    """Return predictions, and what a model knows of sensitive attributes and classes."""
    if (prediction is None) == (model is None):
        raise BadInputError(
            "say where the predictions are: either --prediction NAME, or --model FILE to make them."
        )
    if prediction is not None:
        if given["offset"] is not None:
            raise BadInputError("--offset is for --model, which adds it; leave it out.")
        check_columns([prediction], source, "--prediction")
        return _Predictions(source.table.column(prediction), (), positive)
    columns, eta = scored_columns(model, source, **given), linear_predictors(model, source)
    exposure = _exposure(model, source, given)
    attributes = tuple(sensitive_of(model) or ())
    labels = [str(label) for label in getattr(model, "classes_", ())]
    if positive is not None and positive not in labels:
        raise BadInputError(f"--positive {positive} is not a class of the model.")
    if len(labels) == 2:
        name = str(model.positive_)
        modeled = columns[f"probability_{name}"]
        if positive not in (None, name):
            return _Predictions(1.0 - modeled.to_numpy(), attributes, positive, eta)
        return _Predictions(modeled, attributes, name, eta)
    if len(labels) > 2 and positive is None:
        import numpy as np

        every = np.column_stack([columns[f"probability_{label}"] for label in labels])
        return _Predictions(every, attributes, None, eta)
    chosen = "prediction" if positive is None else f"probability_{positive}"
    of_model = exposure, _baseline(model), _kind(model)
    return _Predictions(columns[chosen], attributes, positive, eta, *of_model)


def _kind(model: Any) -> Literal["regression", "amounts"] | None:
    """Return what the numbers are that a model predicts; None of classes and times."""
    if model.family_.reads != "numbers":
        return None
    return "amounts" if model.family_.link == "log" else "regression"


def _baseline(model: Any) -> tuple[Any, Any] | None:
    """Return the baseline hazard of a survival model; None of others."""
    import numpy as np

    if model.family_.reads != "times":
        return None
    return model.event_times_, np.log(model.cumulative_hazard_)


def _exposure(model: Any, source: Source, given: dict[str, str | None]) -> Any:
    """Return exposures, if offsets or exposures make rates of predictions; None if not.

    Raises if the model was fitted with an offset or an exposure that is not named.
    """
    from fairridge.data import exposure_of, joined_offsets, read_offset, require_offsets

    named = {
        role: None if name is None else read_as_at_fit(model, source, [name]).column(name)
        for role, name in given.items()
    }
    shift = joined_offsets(model.family_.link, **named)
    require_offsets(model._fitted.offsets, shift, type(model).__name__)
    return exposure_of(model.family_.link, read_offset(shift, source.table.num_rows))


@contextmanager
def _naming_columns(response: str, prediction: str) -> Iterator[None]:
    """Name the columns in messages, instead of the arguments of the library."""
    try:
        yield
    except ValueError as error:
        message = str(error).replace("y_true", repr(response))
        error.args = (message.replace("y_pred", repr(prediction)),)
        raise


def _label(text: str | None, values: Any) -> Any:
    """Find the label that a text means: labels may be numbers."""
    if text is None:
        return None
    known = sorted(set(values.to_pylist()), key=str) if hasattr(values, "to_pylist") else []
    return next((label for label in known if str(label) == text), text)


def _audit_facts(audit: Any) -> dict[str, Any]:
    estimates = {
        "share_of_eta": audit.eta_share,
        "share_of_means": audit.means_share,
        "learned_share_of_means": audit.learned_share,
        **{f"share_of_means[{label}]": share for label, share in audit.by_class.items()},
        "decision_gap": audit.parity_difference,
        "mean_difference": audit.mean_difference,
        "mean_ratio": audit.mean_ratio,
        "demographic_parity_difference": audit.parity_difference,
        "demographic_parity_ratio": audit.parity_ratio,
        "equal_opportunity_difference": audit.opportunity_difference,
        "equalized_odds_difference": audit.odds_difference,
    }
    if audit.partial_r_squared is not None:
        estimates["partial_r_squared"] = audit.partial_r_squared
    return {
        "kind": audit.kind,
        "positive": audit.positive,
        "favorable": favorable_facts(audit.favorable),
        "threshold": audit.threshold,
        "top": audit.top,
        "minimum_share": audit.minimum_share,
        "controls": list(audit.controls),
        "confidence": audit.confidence,
        **{
            key: value
            for name, estimate in estimates.items()
            for key, value in estimate.flat(name).items()
        },
        "max_correlation": audit.max_correlation,
        "attributes": arrow(audit.attributes_frame()).to_pylist(),
        "groups": arrow(audit.to_frame()).to_pylist(),
    }


def favorable_facts(favorable: Any) -> dict[str, Any]:
    """Return which outcome people want, and why it was chosen."""
    return {
        "outcome": favorable.label,
        "means": favorable.words,
        "reason": favorable.reason or "given",
    }


def _show_audit(audit: Any, remarks: tuple[str, ...]) -> None:
    for remark in remarks:
        note(remark)
    show(audit)
