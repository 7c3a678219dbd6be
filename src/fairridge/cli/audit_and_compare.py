"""Commands that judge predictions and models: audit, compare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from fairridge.cli.column_types import Kinds, kinds_of_model, typed
from fairridge.cli.errors import BadInputError
from fairridge.cli.fitting import announce, announce_size, load_model, scored_columns
from fairridge.cli.inputs import Source, check_columns, names, read
from fairridge.cli.options import (
    AsJson,
    Categorical,
    Date,
    Drop,
    DropMissing,
    Family,
    Favorable,
    Input,
    Model,
    Numeric,
    Predictors,
    Response,
    SafeCsv,
    Seed,
    Sensitive,
    Separator,
    Weight,
)
from fairridge.cli.outputs import arrow, check_place, write
from fairridge.cli.terminal import note, progress, say, show_json, waiting
from fairridge.cli.terminal import table as show_table
from fairridge.cli.training_data import Columns, check_roles, prepare

__all__ = ["audit", "compare"]

AUDIT_COLUMNS = {
    "group": ("group", "{}"),
    "count": ("rows", "{:,}"),
    "mean_prediction": ("predicted", "{:.4g}"),
    "mean_response": ("observed", "{:.4g}"),
    "selection_rate": ("selected", "{:.1%}"),
    "adverse_impact_ratio": ("ratio", "{:.3f}"),
    "true_positive_rate": ("TPR", "{:.1%}"),
    "false_positive_rate": ("FPR", "{:.1%}"),
    "standardized_mean_difference": ("SMD", "{:+.2f}"),
    "kolmogorov_smirnov": ("KS", "{:.3f}"),
    "wasserstein": ("Wasserstein", "{:.4g}"),
    "calibration": ("obs − pred", "{:+.4g}"),
}


def audit(
    data: Input,
    prediction: Annotated[
        str | None,
        typer.Option(
            "--prediction",
            "-p",
            metavar="NAME",
            help="Column with the predictions of any model: numbers, probabilities or labels.",
        ),
    ] = None,
    sensitive: Sensitive = None,
    response: Response = None,
    model: Model = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", metavar="T", help="Predictions above are selected."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option("--positive", metavar="LABEL", help="Class whose probability it is."),
    ] = None,
    favorable: Favorable = None,
    bins: Annotated[
        int, typer.Option("--bins", metavar="N", help="Groups of a numeric attribute.")
    ] = 4,
    small: Annotated[
        int, typer.Option("--small", metavar="N", help="Groups with fewer rows are marked.")
    ] = 30,
    intersections: Annotated[
        bool, typer.Option("--intersections", help="Add the groups of all attributes crossed.")
    ] = False,
    reference: Annotated[
        list[str] | None,
        typer.Option("--reference", metavar="NAME=GROUP", help="Group to compare the others with."),
    ] = None,
    weight: Weight = None,
    separator: Separator = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write all figures: CSV or Parquet."),
    ] = None,
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """Compare the predictions of any model between groups of people."""
    from fairridge import audit as audited

    check_place(out, data, model)
    with waiting("reading and comparing"):
        source = read(data, separator, _texts(model))
        predicted, attributes, positive = _predicted(source, prediction, model, positive)
        attributes = names(sensitive, "--sensitive") or attributes or source.sensitive
        if not attributes:
            raise BadInputError("say which attributes are sensitive: --sensitive NAME.")
        check_columns(attributes, source, "--sensitive")
        target = response or (source.response[0] if len(source.response) == 1 else None)
        for name, option in ((target, "--response"), (weight, "--weight")):
            check_columns([] if name is None else [name], source, option)
        check_roles([] if target is None else [target], attributes, weight, None)
        others = [name for name in (target, weight, prediction) if name is not None]
        table, remarks = typed(source.table, [*attributes, *others], Kinds())
        truth = None if target is None else table.column(target)
        named = None if target is None else table.select([target])
        if prediction is not None:
            predicted = table.column(prediction)
        with _naming_columns(target or "response", prediction or "prediction"):
            found = audited(
                named,
                predicted,
                sensitive_features=table.select(list(attributes)),
                sample_weight=None if weight is None else table.column(weight),
                threshold=threshold,
                positive=_label(positive, truth if truth is not None else predicted),
                favorable=favorable,
                bins=bins,
                small=small,
                intersections=intersections,
                reference=_references(reference),
            )
    if out is not None:
        write(arrow(found.to_frame()), out, safe=safe_csv)
    if as_json:
        show_json(_audit_facts(found))
        return
    for remark in remarks:
        note(remark)
    _show_audit(found)
    if out is not None:
        say(f"Saved: {out}")


def compare(
    data: Input,
    response: Response = None,
    sensitive: Sensitive = None,
    unfairness: Annotated[
        str, typer.Option("--unfairness", "-r", metavar="R,R,…", help="Bounds on unfairness.")
    ] = "0.05",
    models: Annotated[
        list[str] | None,
        typer.Option("--models", metavar="NAME", help="Models by name; all by default."),
    ] = None,
    predictors: Predictors = None,
    drop: Drop = None,
    drop_missing: DropMissing = False,
    categorical: Categorical = None,
    numeric: Numeric = None,
    date: Date = None,
    separator: Separator = None,
    family: Family = None,
    favorable: Favorable = None,
    cv: Annotated[int, typer.Option("--cv", metavar="N", help="Folds.")] = 5,
    seed: Seed = 0,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write all figures: CSV or Parquet."),
    ] = None,
    safe_csv: SafeCsv = False,
    as_json: AsJson = False,
) -> None:
    """Fit every model that applies, and measure all of them in the same way."""
    check_place(out, data)
    columns = Columns(
        response=response, sensitive=sensitive, predictors=predictors, drop=drop, family=family,
        drop_missing=drop_missing, categorical=categorical, numeric=numeric, date=date,
    )  # fmt: skip
    training = prepare(read(data, separator, columns.kinds.categorical), columns)
    task, bounds = _task(training.family), _bounds(unfairness)
    announce_size(training)
    with progress("comparing"):
        from fairridge.validation import compare as compared

        found = compared(
            training.X,
            _plain(training.y),
            sensitive=list(training.sensitive),
            unfairness=bounds,
            models=_chosen(names(models, "--models"), task, training.sensitive),
            task=task,
            favorable=favorable,
            response=training.response,
            cv=cv,
            random_state=seed,
        )
    if out is not None:
        write(arrow(found.to_frame()), out, safe=safe_csv)
    if as_json:
        records = [dict(record) for record in found.records]
        wanted = None if found.favorable is None else _favorable_facts(found.favorable)
        show_json(
            {
                "models": records,
                "skipped": found.skipped,
                "loss": found.loss_name,
                "favorable": wanted,
            }
        )
        return
    announce(training)
    _show_comparison(found)
    if out is not None:
        say(f"Saved: {out}")


def _predicted(
    source: Source, prediction: str | None, model: str | None, positive: str | None
) -> tuple[Any, tuple[str, ...], str | None]:
    """Return predictions, and what a model file knows of sensitive attributes and classes."""
    if (prediction is None) == (model is None):
        raise BadInputError(
            "say where the predictions are: either --prediction NAME, or --model FILE to make them."
        )
    if prediction is not None:
        check_columns([prediction], source, "--prediction")
        return source.table.column(prediction), (), positive
    assert model is not None
    fitted = load_model(model)
    columns = scored_columns(fitted, source)
    design = fitted._design
    known = design.sensitive_names if design.separate else design.names
    attributes = tuple(known[k] for k in design.positions_sensitive)
    labels = [str(label) for label in getattr(fitted, "classes_", ())]
    if positive is not None and positive not in labels:
        raise BadInputError(f"--positive {positive} is not a class of the model.")
    if len(labels) == 2:
        modeled = columns[f"probability_{labels[1]}"]
        if positive == labels[0]:
            return 1.0 - modeled.to_numpy(), attributes, positive
        return modeled, attributes, labels[1]
    chosen = "prediction" if positive is None else f"probability_{positive}"
    return columns[chosen], attributes, positive


def _texts(model: str | None) -> tuple[str, ...]:
    """Return the columns that held texts when a model was fitted."""
    return () if model is None else kinds_of_model(load_model(model)).categorical


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


def _references(given: list[str] | None) -> dict[str, str] | None:
    if not given:
        return None
    pairs = [item.partition("=") for item in given]
    for name, equals, _ in pairs:
        if not equals:
            raise BadInputError(f"--reference {name} must look like NAME=GROUP.")
    return {name: group for name, _, group in pairs}


def _audit_facts(found: Any) -> dict[str, Any]:
    frame = arrow(found.to_frame())
    columns = {name: frame.column(name).to_pylist() for name in frame.column_names}
    return {
        "kind": found.kind,
        "positive": found.positive,
        "favorable": _favorable_facts(found.favorable),
        "threshold": found.threshold,
        "share_of_means": found.r_squared,
        "decision_gap": found.demographic_parity_difference,
        "r_squared_on_sensitive": found.r_squared,
        "max_correlation": found.max_correlation,
        "demographic_parity_difference": found.demographic_parity_difference,
        "demographic_parity_ratio": found.demographic_parity_ratio,
        "equalized_odds_difference": found.equalized_odds_difference,
        "groups": [
            {name: values[k] for name, values in columns.items()} for k in range(frame.num_rows)
        ],
    }


def _favorable_facts(favorable: Any) -> dict[str, Any]:
    return {
        "outcome": favorable.label,
        "means": favorable.words,
        "reason": favorable.reason or "given",
    }


def _show_audit(found: Any) -> None:
    say(_first_line(found.favorable))
    for line in found._facts():
        say(line)
    for part in found.attributes:
        rows = [group.flat() for group in (*part.groups, found.overall)]
        shown = [name for name in AUDIT_COLUMNS if any(row[name] == row[name] for row in rows)]
        show_table(
            f"\n{part.attribute}",
            [AUDIT_COLUMNS[name][0] for name in shown],
            [[_cell(row, name) for name in shown] for row in rows],
        )
    if any(group.small for part in found.attributes for group in part.groups):
        say(f"† fewer than {found.small} rows: left out of comparisons.", style="dim")


def _cell(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if value != value:
        return "–"
    text = AUDIT_COLUMNS[name][1].format(value)
    if name == "group":
        return text + (" †" if row["small"] else "")
    return text + (" ▼" if name == "adverse_impact_ratio" and row["adverse_impact"] else "")


def _task(family: str) -> str:
    if family == "gaussian":
        return "regression"
    if family in ("binomial", "multinomial"):
        return "classification"
    raise BadInputError(
        f"compare knows gaussian, binomial and multinomial responses, not {family}; choose with "
        "--family."
    )


def _bounds(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInputError(f"--unfairness {text} must be numbers with commas.") from None


def _plain(column: Any) -> Any:
    """Return a NumPy array; categorical values as their labels."""
    import numpy as np
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        return np.array(column.to_pylist())
    return column.to_numpy()


def _chosen(
    wanted: tuple[str, ...], task: str, sensitive: tuple[str, ...]
) -> dict[str, Any] | None:
    if not wanted:
        return None
    from fairridge.validation.comparison import CLASSIFIERS, REGRESSORS

    known: dict[str, Any] = dict(CLASSIFIERS if task == "classification" else REGRESSORS)
    for name in wanted:
        if name not in known:
            raise BadInputError(
                f"--models {name} is not known for {task}; there are {', '.join(known)}."
            )
    return {name: known[name](sensitive=list(sensitive)) for name in wanted}


def _first_line(favorable: Any) -> str:
    text = str(favorable)
    return f"{text[0].upper()}{text[1:]}"


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value == value else "–"


def _show_comparison(found: Any) -> None:
    if found.favorable is not None:
        say(_first_line(found.favorable))
    head = [
        "model", "r", f"{found.loss_name}", "±", "S explains", "max corr.", "KS", "ratio",
        "seconds",
    ]  # fmt: skip
    rows = [
        [
            record["model"],
            f"{record['unfairness']:.4g}",
            f"{record['loss']:.4g}",
            f"{record['loss_error']:.2g}",
            f"{record['r_squared_sensitive']:.2%}",
            f"{record['max_correlation']:.3f}",
            f"{record['kolmogorov_smirnov']:.3f}",
            _ratio(record.get("adverse_impact_ratio", float("nan"))),
            f"{record['seconds']:.2f}",
        ]
        for record in found.records
    ]
    show_table("Held-out loss; fairness of predictions in training", head, rows)
    for name, reason in found.skipped.items():
        say(f"Left out {name}: {reason}", style="dim")
