"""The command that compares models: compare."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fairridge.cli.auditing import favorable_facts
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import names
from fairridge.cli.model_tables import announce, announce_size
from fairridge.cli.model_values import base_of, bounds_of
from fairridge.cli.option_groups import Columns, ModelOptions, gathered
from fairridge.cli.options import (
    Favorable,
    Figures,
    Input,
    SafeCsv,
    Seed,
    Separator,
    Threshold,
    option,
)
from fairridge.cli.outputs import arrow, check_place, write
from fairridge.cli.response_families import CLASSES
from fairridge.cli.terminal import Result, progress, show
from fairridge.cli.training_data import Data, read_data

# Options of columns and models that the compared models do not share.
OMITTED = (
    "max_levels", "unknown",
    "unfairness", "definition", "penalty", "predictor_penalty", "ties", "link", "positive",
    "confidence", "certification", "class_weight",
)  # fmt: skip


@gathered(omit=OMITTED)
def compare(
    data: Input,
    columns: Columns,
    options: ModelOptions,
    separator: Separator = None,
    unfairness: Annotated[
        str, option("R,R,…", "Bounds on unfairness.", "--unfairness", "-r")
    ] = "0.05",
    models: Annotated[list[str] | None, option("NAME", "Models by name; all by default.")] = None,
    favorable: Favorable = None,
    threshold: Threshold = None,
    cv: Annotated[int, option("N", "Folds.")] = 5,
    seed: Seed = 0,
    out: Figures = None,
    safe_csv: SafeCsv = False,
) -> Result:
    """Fit every model that applies, and measure all of them in the same way."""
    check_place(out, data)
    training = read_data(data, columns, separator)
    task, bounds = _task(training.family), bounds_of(unfairness, "--unfairness")
    chosen = _chosen(names(models, "--models"), task, training, options)
    settings: dict[str, Any] = {
        "cv": cv, "random_state": seed, "missing": columns.missing, "threshold": threshold,
        **training.options,
    }  # fmt: skip
    announce_size(training)
    with progress("comparing"):
        from fairridge.validation import compare as compared

        comparison = compared(
            training.X,
            _plain(training.y),
            sensitive=list(training.roles.sensitive),
            unfairness=bounds,
            models=chosen,
            task=task,
            favorable=favorable,
            response=training.response,
            **settings,
        )
    if out is not None:
        write(arrow(comparison.to_frame()), out, safe=safe_csv)
    return Result(
        lambda: _comparison_facts(comparison),
        lambda: _show_comparison(training, comparison),
        saved=(out,),
    )


def _comparison_facts(comparison: Any) -> dict[str, Any]:
    return {
        "models": [dict(record) for record in comparison.records],
        "skipped": comparison.skipped,
        "notes": comparison.notes,
        "warnings": comparison.warnings,
        "sign_flips": [
            {"model": name, "unfairness": r, "predictors": flips}
            for name, r, flips in comparison.sign_flips
        ],
        "favorable": None
        if comparison.favorable is None
        else favorable_facts(comparison.favorable),
    }


def _task(family: str) -> str:
    if family in CLASSES:
        return "classification"
    return "survival" if family == "cox" else "regression"


def _plain(column: Any) -> Any:
    """Return a NumPy array; categorical values as their labels, times and events as a table."""
    import numpy as np
    import pyarrow.types as types

    if not hasattr(column, "type"):
        return column
    if types.is_dictionary(column.type):
        return np.array(column.to_pylist())
    return column.to_numpy()


def _chosen(
    wanted: tuple[str, ...], task: str, training: Data, options: ModelOptions
) -> dict[str, Any]:
    """Return the models by name; options go to those that have them."""
    from fairridge.arguments import check_option
    from fairridge.estimators._outcome import SEPARATION
    from fairridge.validation.compared_models import KNOWN, REGRESSORS, in_words

    known = dict(KNOWN[task])
    if task == "regression" and training.family != "gaussian":
        known = {"FRRM": partial(REGRESSORS["FRRM"], family=training.family)}
    for name in wanted:
        if name not in known:
            raise BadInputError(
                f"--models {name} is not known for {training.family} responses; there are "
                f"{', '.join(known)}."
            )
    check_option("separation", options.separation, SEPARATION)
    sensitive, columns = list(training.roles.sensitive), training.columns
    models = {in_words(name): known[name](sensitive=sensitive) for name in wanted or known}
    if task == "regression" and training.family != "gaussian":  # beside R² of η that of the means
        own_means = known["FRRM"](sensitive=sensitive, definition="mean-parity")
        models["fair ridge, mean parity"] = own_means
    parameters = {
        "separation": options.separation if options.separation != "isolate" else None,
        "blind": options.blind or None,
        "controls": list(training.roles.controls) or None,
        "min_frequency": columns.min_frequency,
        "base": base_of(columns.base),
        "missing": columns.missing if columns.missing != "error" else None,
    }
    for name, value in parameters.items():
        if value is None:
            continue
        having = [model for model in models.values() if name in model.get_params()]
        if not having:
            raise BadInputError(
                f"--{name.replace('_', '-')} is for fair ridge models, and none is compared; "
                "leave it out."
            )
        for model in having:
            model.set_params(**{name: value})
    return models


def _show_comparison(training: Data, comparison: Any) -> None:
    announce(training)
    show(comparison)
