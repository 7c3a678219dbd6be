"""Commands that judge predictions and models: audit, compare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from fairridge.cli.errors import BadInputError
from fairridge.cli.fitting import announce, load_model, scored_columns
from fairridge.cli.inputs import Source, check_columns, names, read
from fairridge.cli.options import (
    AsJson,
    Drop,
    DropMissing,
    Family,
    Input,
    Model,
    Predictors,
    Response,
    SafeCsv,
    Seed,
    Sensitive,
    Separator,
    Weight,
)
from fairridge.cli.outputs import arrow, check_place, write
from fairridge.cli.terminal import progress, say, show_json, table, waiting
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
        typer.Option("--positive", metavar="LABEL", help="Class that counts as positive."),
    ] = None,
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
        source = read(data, separator)
        predicted, attributes, positive = _predicted(source, prediction, model, positive)
        attributes = names(sensitive, "--sensitive") or attributes or source.sensitive
        if not attributes:
            raise BadInputError("say which attributes are sensitive: --sensitive NAME.")
        check_columns(attributes, source, "--sensitive")
        target = response or (source.response[0] if len(source.response) == 1 else None)
        for name, option in ((target, "--response"), (weight, "--weight")):
            check_columns([] if name is None else [name], source, option)
        check_roles([] if target is None else [target], attributes, weight, None)
        truth = None if target is None else source.table.column(target)
        with _naming_columns(target or "response", prediction or "prediction"):
            found = audited(
                truth,
                predicted,
                sensitive_features=source.table.select(list(attributes)),
                sample_weight=None if weight is None else source.table.column(weight),
                threshold=threshold,
                positive=_label(positive, truth if truth is not None else predicted),
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
    separator: Separator = None,
    family: Family = None,
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
        drop_missing=drop_missing,
    )  # fmt: skip
    training = prepare(read(data, separator), columns)
    task, bounds = _task(training.family), _bounds(unfairness)
    with progress("comparing"):
        from fairridge.validation import compare as compared

        found = compared(
            training.X,
            _plain(training.y),
            sensitive=list(training.sensitive),
            unfairness=bounds,
            models=_chosen(names(models, "--models"), task, training.sensitive),
            task=task,
            cv=cv,
            random_state=seed,
        )
    if out is not None:
        write(arrow(found.to_frame()), out, safe=safe_csv)
    if as_json:
        records = [dict(record) for record in found.records]
        show_json({"models": records, "skipped": found.skipped, "loss": found.loss_name})
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
    labels = design.sensitive_names if design.separate else design.names
    attributes = tuple(labels[k] for k in design.positions_sensitive)
    if "probability" in columns:
        first, second = (str(label) for label in fitted.classes_)
        if positive == first:
            return 1.0 - columns["probability"].to_numpy(), attributes, positive
        return columns["probability"], attributes, positive or second
    if hasattr(fitted, "classes_") and positive is not None:
        name = f"probability[{positive}]"
        if name not in columns:
            raise BadInputError(f"--positive {positive} is not a class of the model.")
        return columns[name], attributes, positive
    return columns["prediction"], attributes, positive


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
        "threshold": found.threshold,
        "r_squared_on_sensitive": found.r_squared,
        "max_correlation": found.max_correlation,
        "demographic_parity_difference": found.demographic_parity_difference,
        "demographic_parity_ratio": found.demographic_parity_ratio,
        "equalized_odds_difference": found.equalized_odds_difference,
        "groups": [
            {name: values[k] for name, values in columns.items()} for k in range(frame.num_rows)
        ],
    }


def _show_audit(found: Any) -> None:
    for line in found._facts():
        say(line)
    for part in found.attributes:
        rows = [group.flat() for group in (*part.groups, found.overall)]
        shown = [name for name in AUDIT_COLUMNS if any(row[name] == row[name] for row in rows)]
        table(
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


def _show_comparison(found: Any) -> None:
    head = ["model", "r", f"{found.loss_name}", "±", "S explains", "max corr.", "KS", "seconds"]
    rows = [
        [
            record["model"],
            f"{record['unfairness']:.4g}",
            f"{record['loss']:.4g}",
            f"{record['loss_error']:.2g}",
            f"{record['r_squared_sensitive']:.2%}",
            f"{record['max_correlation']:.3f}",
            f"{record['kolmogorov_smirnov']:.3f}",
            f"{record['seconds']:.2f}",
        ]
        for record in found.records
    ]
    table("Held-out loss; fairness of predictions in training", head, rows)
    for name, reason in found.skipped.items():
        say(f"Left out {name}: {reason}", style="dim")
