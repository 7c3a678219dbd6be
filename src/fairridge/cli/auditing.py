"""The command that compares groups of people: audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fairridge.cli.column_types import kinds_of_model, sensitive_of, typed
from fairridge.cli.errors import BadInputError, refusals
from fairridge.cli.inputs import Source, check_columns, names, read
from fairridge.cli.options import (
    ROWS,
    Columns,
    Compared,
    Figures,
    Input,
    Model,
    SafeCsv,
    Separator,
    Stream,
    option,
)
from fairridge.cli.outputs import arrow, check_place, write
from fairridge.cli.parameters import Parameters, Settings
from fairridge.cli.predicting import columns_beside, input_columns, load_model, scored_columns
from fairridge.cli.streams import is_stream, read_training
from fairridge.cli.terminal import Result, progress, show
from fairridge.cli.training_data import ColumnRoles, check_roles, columns_of_model, named_roles

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
    columns: Compared,
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
    model: Model = None,
    separator: Separator = None,
    stream: Stream = False,
    out: Figures = None,
    safe_csv: SafeCsv = False,
) -> Result:
    """Compare the predictions of any model between groups of people."""
    check_place(out, data, model)
    if (prediction is None) == (model is None):
        raise BadInputError(
            "say where the predictions are: either --prediction NAME, or --model FILE to make them."
        )
    with progress("reading and comparing"):
        fitted = None if model is None else load_model(model)
        if is_stream(data, stream):
            audited, remarks = _streamed(data, fitted, columns, asked)
        else:
            source = read(data, separator, kinds_of_model(fitted).as_text)
            audited, remarks = _in_memory(source, fitted, prediction, columns, asked)
    write(audited.to_frame(), out, safe=safe_csv)
    return Result(
        lambda: _audit_facts(audited), partial(show, audited), saved=(out,), notes=remarks
    )


def _controls(columns: Compared, model: Any) -> tuple[str, ...]:
    """Return the columns that may differ between groups: by default those of the model."""
    if model is None or columns.controls:
        return names(columns.controls, "--controls")
    from fairridge.metrics.measure import control_names

    facts = model._fitted
    return tuple(control_names(facts.design, getattr(facts.settings, "controls", None)))


def _streamed(
    data: str, model: Any, compared: Compared, asked: Settings
) -> tuple[Any, tuple[str, ...]]:
    """Compare groups of rows that are read batch by batch; also say how many there are."""
    from fairridge import audit as audited
    from fairridge.sources.predictions import BatchPredictor

    if model is None:
        raise BadInputError(
            "rows that are read batch by batch are predicted by a model file: name it with "
            "--model FILE, or leave --stream out."
        )
    columns = columns_of_model(model, Columns(**vars(compared)))
    held = _controls(columns, model)
    attributes, others = names(columns.sensitive, "--sensitive"), columns.others.values()
    taken = {columns.response, columns.event, *attributes, *others}
    inputs = dict.fromkeys((*BatchPredictor(model, "predict", None).columns, *held))
    kept = [name for name in inputs if name not in taken]
    columns = replace(columns, predictors=kept, controls=list(held))
    rows = read_training(data, columns, {}, None, True, kinds_of_model(model))
    with refusals():
        predictions = getattr(model, "predict_proba", model.predict)(rows.X)
        known = _kind(model) | asked
        known["positive"] = _label(asked.get("positive"), getattr(model, "classes_", ()))
        return audited(rows.X, predictions, controls=held or None, **known), rows.remarks


def _in_memory(
    source: Source, model: Any, prediction: str | None, columns: Compared, asked: Settings
) -> tuple[Any, tuple[str, ...]]:
    """Compare groups of rows; also return how columns were read."""
    from fairridge import audit as audited

    if model is None and columns.offset is not None:
        raise BadInputError("--offset is for --model, which adds it; leave it out.")
    check_columns([] if prediction is None else [prediction], source, "--prediction")
    known: Settings = {"positive": asked.get("positive")}
    if model is not None:
        predicted, known = _predicted(source, model, columns, known["positive"])
    roles, weight, exposure = _roles(source, model, columns), columns.weight, columns.exposure
    others = (*roles.target, weight, exposure, prediction, *roles.controls)
    used = [*roles.sensitive, *(name for name in others if name is not None)]
    table, remarks, _ = typed(source.table, used, kinds_of_model(model), csv=source.is_csv)
    if prediction is not None:
        predicted = table.column(prediction)
    if exposure is not None and known.get("exposure") is None:
        known["exposure"] = table.column(exposure)
    y: Any = table.select(list(roles.target)) if roles.target else None
    if len(roles.target) == 2:
        y = y.rename_columns(["time", "event"])
        known["survival"] = None if model is None else _survival(y, model, predicted)
    truth = predicted if y is None else y.column(0)
    label = _label(known["positive"], getattr(truth, "to_pylist", list)())
    with _naming_columns((*roles.target, "response")[0], prediction or "prediction"):
        audit = audited(
            y,
            predicted,
            sensitive_features=table.select(list(roles.sensitive)),
            sample_weight=None if weight is None else table.column(weight),
            controls=table.select(list(roles.controls)) if roles.controls else None,
            **(known | asked | {"positive": label}),
        )
    return audit, remarks


def _survival(y: Any, model: Any, eta: Any) -> tuple[Any, Any] | None:
    """Return times, and the survival that a model predicts there; None of a single time."""
    import numpy as np

    from fairridge.metrics.brier import survival_at, times_of_events

    observed = (y.column(name).to_numpy().astype(np.float64) for name in ("time", "event"))
    times = times_of_events(*observed)
    baseline = model.event_times_, np.log(model.cumulative_hazard_)
    found = survival_at(times, np.asarray(eta, dtype=np.float64), baseline)
    return (times, found) if len(times) > 1 else None


def _roles(source: Source, model: Any, columns: Compared) -> ColumnRoles:
    """Return the roles of columns, by default those of the model; raise if one has two."""
    if model is not None and not names(columns.sensitive, "--sensitive"):
        columns = replace(columns, sensitive=sensitive_of(model))
    roles = named_roles(source, replace(columns, controls=list(_controls(columns, model))))
    if model is not None and model.family_.reads == "times" and len(roles.target) == 1:
        raise BadInputError(
            f"the model is of times, so say which column has the events: --event NAME, beside "
            f"--response {roles.target[0]}."
        )
    check_roles(roles)
    return roles


def _predicted(
    source: Source, model: Any, columns: Compared, positive: str | None
) -> tuple[Any, Settings]:
    """Return what a model predicts, and what else it knows, as arguments of an audit."""
    given = {"offset": columns.offset, "exposure": columns.exposure}
    found = scored_columns(model, source, **given)
    eta = model._linear_predictor(*input_columns(model, source, quiet=True), None)
    exposure = _exposure(model, source, given)
    labels = [str(label) for label in getattr(model, "classes_", ())]
    known = {"linear_predictor": eta, "positive": positive}
    if not labels:
        return found["prediction"], known | {"exposure": exposure} | _kind(model)
    if positive is not None and positive not in labels:
        raise BadInputError(f"--positive {positive} is not a class of the model.")
    if len(labels) == 2:
        name = str(model.positive_)
        modeled = found[f"probability_{name}"]
        if positive not in (None, name):
            return 1.0 - modeled.to_numpy(), known
        return modeled, known | {"positive": name}
    if positive is not None:
        return found[f"probability_{positive}"], known
    import numpy as np

    return np.column_stack([found[f"probability_{label}"] for label in labels]), known


def _kind(model: Any) -> Settings:
    """Return what the numbers are that a model predicts; nothing of classes and times."""
    if model.family_.reads != "numbers":
        return {}
    return {"kind": "amounts" if model.family_.link == "log" else "regression"}


def _exposure(model: Any, source: Source, given: dict[str, str | None]) -> Any:
    """Return exposures, if offsets or exposures make rates of predictions; None if not."""
    # Raises if the model was fitted with an offset or an exposure that is not named.
    from fairridge.data import exposure_of, joined_offsets, read_offset, require_offsets

    named = dict.fromkeys(given) | columns_beside(model, source, given)
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


def _label(text: str | None, known: Iterable[Any]) -> Any:
    """Find the label that a text means: labels may be numbers."""
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
