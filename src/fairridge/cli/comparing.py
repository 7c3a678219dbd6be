"""The command that compares models: compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fairridge.cli.auditing import favorable_facts
from fairridge.cli.errors import BadInputError
from fairridge.cli.options import MODEL, ROWS, Columns, Figures, Input, SafeCsv, Seed, Separator
from fairridge.cli.outputs import check_place, write
from fairridge.cli.parameters import Parameters, Settings
from fairridge.cli.response_families import CLASSES
from fairridge.cli.terminal import Result, progress, show
from fairridge.cli.training_data import Data, announce_size, read_data

COMPARED = Parameters(
    {"compare": ""},
    apart={
        **ROWS,
        "sensitive": "--sensitive names columns of the data",
        "task": "--family is guessed from the response",
        "folds": "rows in files have no folds",
        "n_jobs": "models are fitted one after another",
    },
    flags={"unfairness": ("--unfairness", "-r")},
)
# What families are for; all others are for regression.
TASKS = dict.fromkeys(CLASSES, "classification") | {"cox": "survival"}
# Parameters of one model that the other ones do not have, or have in another sense.
OWN = "models are compared by what they are by default"
SHARED = MODEL.without(
    unfairness="--unfairness is that of all models",
    missing="--missing is that of all models",
    **dict.fromkeys(
        ("definition", "penalty", "predictor_penalty", "ties", "link", "positive", "confidence",
         "certification", "class_weight", "unknown", "max_levels", "standardize", "tol",
         "max_iter"),
        OWN,
    ),
)  # fmt: skip


def compare(
    data: Input,
    columns: Columns,
    settings: Annotated[Settings, SHARED],
    asked: Annotated[Settings, COMPARED],
    separator: Separator = None,
    seed: Seed = 0,
    out: Figures = None,
    safe_csv: SafeCsv = False,
) -> Result:
    """Fit every model that applies, and measure all of them in the same way."""
    check_place(out, data)
    shared = {name: value for name, value in asked.items() if name == "missing"}
    training = read_data(data, columns, settings | shared, separator)
    task, wanted = TASKS.get(training.family, "regression"), asked.pop("models", ())
    chosen = _chosen(wanted, task, training, settings | shared)
    announce_size(training)
    with progress("comparing"):
        from fairridge.validation import compare as compared

        comparison = compared(
            training.X,
            _plain(training.y),
            sensitive=list(training.roles.sensitive),
            models=chosen,
            task=task,
            response=training.response,
            random_state=seed,
            **training.options,
            **asked,
        )
    write(comparison.to_frame(), out, safe=safe_csv)
    return Result(
        lambda: _comparison_facts(comparison),
        partial(show, comparison),
        saved=(out,),
        notes=training.notes,
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


def _plain(column: Any) -> Any:
    """Return a NumPy array; categorical values as their labels, times and events as a table."""
    import numpy as np
    import pyarrow.types as types

    if not hasattr(column, "type"):
        return column
    if types.is_dictionary(column.type):
        return np.array(column.to_pylist())
    return column.to_numpy()


def _chosen(wanted: Sequence[str], task: str, training: Data, settings: Settings) -> dict[str, Any]:
    """Return the models by name; settings go to those that have them."""
    from fairridge.validation.comparison import KNOWN, in_words

    known = dict(KNOWN[task])
    if task == "regression" and training.family != "gaussian":
        known = {"FRRM": partial(KNOWN["regression"]["FRRM"], family=training.family)}
    for name in wanted:
        if name not in known:
            raise BadInputError(
                f"--models {name} is not known for {training.family} responses; there are "
                f"{', '.join(known)}."
            )
    sensitive, controls = list(training.roles.sensitive), list(training.roles.controls)
    models = {in_words(name): known[name](sensitive=sensitive) for name in wanted or known}
    if task == "regression" and training.family != "gaussian":  # beside R² of η that of the means
        own_means = known["FRRM"](sensitive=sensitive, definition="mean-parity")
        models["fair ridge, mean parity"] = own_means
    for name, value in (settings | ({"controls": controls} if controls else {})).items():
        having = [model for model in models.values() if name in model.get_params()]
        if not having:
            raise BadInputError(
                f"--{name.replace('_', '-')} is for fair ridge models, and none is compared; "
                "leave it out."
            )
        for model in having:
            model.set_params(**{name: value})
    return models
