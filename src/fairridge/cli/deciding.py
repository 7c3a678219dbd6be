"""Commands about decisions: choose a bound by a rule, and watch a model in use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any

from fairridge.cli.column_types import is_text, kinds_of_model, typed
from fairridge.cli.errors import BadInputError, refusals
from fairridge.cli.exit_codes import ExitCode
from fairridge.cli.inputs import Source, check_columns, read
from fairridge.cli.options import (
    MODEL,
    OF_MODEL,
    ROWS,
    Columns,
    Exposure,
    Input,
    ModelOut,
    Offset,
    SavedModel,
    Seed,
    Separator,
    Weight,
    option,
)
from fairridge.cli.outputs import check_place
from fairridge.cli.parameters import Parameters, Settings
from fairridge.cli.predicting import columns_beside, load_model, model_rows
from fairridge.cli.response_families import CLASSES
from fairridge.cli.terminal import Result, note, progress, say, show
from fairridge.cli.training_data import Data, announce_size, make_model, read_data, save_model
from fairridge.outputs import updating
from fairridge.tables import Table

# Names of rules, and what the number after the colon is.
RULES = {
    "adverse-impact": ("AdverseImpact", "ratio"),
    "opportunity-gap": ("OpportunityGap", "maximum"),
    "odds-gap": ("OddsGap", "maximum"),
    "mean-gap": ("MeanGap", "maximum"),
}
RULED = Parameters(
    {f"rules.{kind}": name for name, (kind, _) in RULES.items()},
    apart=dict.fromkeys(("ratio", "maximum"), "--rule has it after the colon"),
)
HELD = ("X", "y", "sensitive_features", "sample_weight", "offset", "exposure")
CHOICE = Parameters(
    {"choose_bound": ""},
    apart={
        **ROWS,
        **{f"{name}_held": "--held-out has these rows" for name in HELD},
        "model": "it is made from the options of models",
        "rule": "--rule names it",
    },
    flags={"unfairness": ("--bounds",)},
)
CANDIDATE = MODEL.without(
    unfairness="--bounds has several",
    ties="rules are not for survival times",
    confidence="--confidence is that of the rule",
    certification="rules are tested on held-out rows",
)


def choose(
    data: Input,
    columns: Columns,
    settings: Annotated[Settings, CANDIDATE],
    rule: Annotated[
        str,
        option(
            "NAME:NUMBER",
            "adverse-impact:0.8, opportunity-gap:0.05, odds-gap:0.05 or mean-gap:0.05.",
        ),
    ],
    ruled: Annotated[Settings, RULED],
    asked: Annotated[Settings, CHOICE],
    held_out: Annotated[
        str,
        option("SHARE|FILE", "Share of the rows to test models on, or a file with other rows."),
    ] = "0.3",
    out: ModelOut = None,
    seed: Seed = 0,
    separator: Separator = None,
) -> Result:
    """Find the largest bound whose decisions meet a rule on new people, with confidence.

    The exit code is 3 if no bound meets the rule or the answer is open: nothing is saved then.
    """
    _refuse_times(columns.family)
    wanted = _rule(rule, ruled)
    check_place(out, data)
    with progress("reading"):
        everyone = read_data(data, columns, settings, separator)
        _refuse_times(everyone.family)
        training, held = _divided(everyone, settings, held_out, separator, seed)
    announce_size(training)
    with progress("fitting and testing"):
        choice = _chosen(make_model(training, settings, seed), training, held, wanted, asked)
    saved = out if choice.granted else None
    save_model(choice.model, training, saved)
    return Result(
        lambda: _answer(choice, rule, training, held) | {"saved": saved},
        lambda: _show(choice, unsaved=out is not None and saved is None),
        saved=(saved,),
        notes=(
            *training.notes,
            f"{training.X.num_rows:,} rows to fit to, {held.X.num_rows:,} to test on.",
        ),
        code=0 if choice.granted else ExitCode.NOT_GRANTED,
    )


def _chosen(model: Any, training: Data, held: Data, rule: Any, asked: Settings) -> Any:
    from fairridge import choose_bound

    known = {f"{name}_held": values for name, values in held.options.items()}
    y, y_held = _named(training), _named(held)
    every = {**training.options, **known, **asked}
    return choose_bound(model, training.X, y, held.X, y_held, rule=rule, **every)


WATCHED = Parameters(
    {"Monitor": ""},
    apart={**ROWS, "model": "--model names its file", **OF_MODEL},
    # What rows have in common may change while a model is watched.
    flags={"unfairness": ("--unfairness", "-r"), "shuffle": ("--shuffle/--no-shuffle",)},
)


def monitor(
    data: Input,
    model: SavedModel,
    state: Annotated[
        str, option("FILE", "What was seen so far; made if it is not there, and updated.")
    ],
    asked: Annotated[Settings, WATCHED],
    response: Annotated[
        str | None,
        option(
            "NAME",
            "Column with the observed class, for models with mean-opportunity or mean-odds.",
        ),
    ] = None,
    weight: Weight = None,
    offset: Offset = None,
    exposure: Exposure = None,
    separator: Separator = None,
) -> Result:
    """Watch whether a model keeps its bound on new rows; call it with each batch of rows, once."""
    check_place(state, data, model)
    fitted = load_model(model)
    with progress("reading and watching"):
        source = read(data, separator, kinds_of_model(fitted).as_text)
        X, attributes = model_rows(fitted, source)
        y = _observed(fitted, source, response)
        given = {"sample_weight": weight, "offset": offset, "exposure": exposure}
        beside = columns_beside(fitted, source, given)
        # Another run may add its rows to the same state.
        with updating(state, lambda: note(f"waiting for another run that updates {state}")):
            watch = _watch(fitted, state, asked)
            seen = watch.update(X, **attributes, y=y, **beside)
            watch.save(state)
    known = {
        "watches": watch.watches,
        "unfairness": watch.unfairness,
        "false_alarm": watch.false_alarm,
        "new_rows": X.num_rows,
        "rows": seen.n_rows,
        "wealth": seen.wealth,
        "alarm": seen.alarm,
        "surprises": seen.n_surprises,
        "state": state,
    }
    return Result(lambda: known, lambda: show(_alarm(known).text()))


def _alarm(known: Mapping[str, Any]) -> Table:
    """Return what people read of a monitor."""
    from fairridge.estimators._model import bound_text

    title = f"Monitor: {'ALARM: the bound does not hold' if known['alarm'] else 'no alarm'}"
    facts = (
        ("Watched", known["watches"]),
        ("Bound", bound_text(known["unfairness"])),
        ("Rows in this batch", f"{known['new_rows']:,}"),
        ("Rows seen", f"{known['rows']:,}"),
        ("Wealth, of a stake of 1", f"{known['wealth']:.4g}"),
        ("Alarm at a wealth of", f"{1.0 / known['false_alarm']:g}"),
    )
    return Table(title, facts=facts, listed=True)


def _answer(choice: Any, rule: str, training: Data, held_out: Data) -> dict[str, Any]:
    """Return what was asked and chosen, for JSON."""
    return {
        "rule": rule,
        "favorable": str(choice.favorable),
        "confidence": choice.confidence,
        "granted": choice.granted,
        "undecided": choice.undecided,
        "unfairness": choice.unfairness,
        "p_value": choice.p_value,
        "nearest": None if choice.nearest is None else asdict(choice.nearest),
        "failed": None if choice.failed is None else asdict(choice.failed),
        "untested": list(choice.untested),
        "passed_over": list(choice.passed_over),
        "training_rows": training.X.num_rows,
        "held_out_rows": held_out.X.num_rows,
        "tested": list(choice.steps),
    }


def _observed(model: Any, source: Source, response: str | None) -> Any:
    """Return the classes of rows as the model calls them; None if they are not asked for."""
    if response is None:
        return None
    check_columns([response], source, "--response")
    known = {str(label): label for label in getattr(model, "classes_", ())}
    kinds, csv = kinds_of_model(model), source.is_csv
    found = typed(source.table.select([response]), [response], kinds, dates=False, csv=csv)
    return [known.get(str(label), label) for label in found.table.column(response).to_pylist()]


def _watch(model: Any, state: str, asked: Settings) -> Any:
    """Return the monitor that a file keeps, or a new one if there is no such file."""
    from fairridge import Monitor
    from fairridge.estimators._model import bound_text

    with refusals():
        if not os.path.exists(state) or os.path.getsize(state) == 0:
            return Monitor(model, **asked)
        watch = Monitor.load(state, model)
    watch.shuffle = asked.get("shuffle", watch.shuffle)
    # The guarantee of a state is for what it was begun with.
    for name in asked.keys() - {"shuffle"}:
        flag, known = WATCHED.settings[name].flag, getattr(watch, name)
        if asked[name] != known:
            raise BadInputError(
                f"{state} was begun with {flag} {bound_text(known)}; leave {flag} out, or begin "
                "another state."
            )
    return watch


def _refuse_times(family: str | None) -> None:
    if family == "cox":
        raise BadInputError("rules are for classes and numbers, not for survival times.")


def _rule(text: str, ruled: Settings) -> Any:
    """Read ``adverse-impact:0.8``."""
    from fairridge import rules

    name, colon, number = text.partition(":")
    if name not in RULES:
        raise BadInputError(f"--rule {text} is not known; use one of {', '.join(RULES)}.")
    kind, argument = RULES[name]
    if colon:
        try:
            ruled = ruled | {argument: float(number)}
        except ValueError:
            raise BadInputError(
                f"--rule {text}: after the colon stands a number, such as {name}:0.8."
            ) from None
        if not 0.0 < ruled[argument] <= 1.0 and argument == "ratio":
            raise BadInputError(f"--rule {text}: a ratio lies between 0 and 1.")
        if not ruled[argument] > 0.0:
            raise BadInputError(f"--rule {text}: the number must be greater than 0.")
    for given in ruled.keys() - set(RULED.by_owner[f"rules.{kind}"]):
        raise BadInputError(f"{RULED.names[given]} is for {RULED.whom(given)}, and not for {name}.")
    return getattr(rules, kind)(**ruled)


def _divided(
    everyone: Data, settings: Settings, held_out: str, separator: str | None, seed: int
) -> tuple[Data, Data]:
    """Return rows to fit to, and rows to test on."""
    try:
        share = float(held_out)
    except ValueError:
        same = replace(
            everyone.columns,
            response=everyone.response,
            sensitive=list(everyone.roles.sensitive),
            predictors=list(everyone.roles.predictors),
            drop=None,
            family=everyone.family,
        )
        return everyone, read_data(held_out, same, settings, separator, everyone.written)
    if not 0.0 < share < 1.0:
        raise BadInputError(f"--held-out {held_out} must be a share between 0 and 1, or a file.")
    import numpy as np

    n = everyone.X.num_rows
    strata = np.zeros(n, dtype=np.intp)
    if everyone.family in CLASSES:
        strata = np.unique([str(label) for label in everyone.y.to_pylist()], return_inverse=True)[1]
    # Within each class the first of a random order are held out.
    order = np.random.default_rng(seed).permutation(n)
    held = np.zeros(n, dtype=bool)
    for code in range(int(strata.max()) + 1):
        members = order[strata[order] == code]
        held[members[: round(share * len(members))]] = True
    if min(held.sum(), n - held.sum()) < 2:
        raise BadInputError(f"{n} rows are too few to hold out {share:g} of them.")
    whole = replace(everyone, X=_with_levels(everyone.X))
    return whole.filter(~held), whole.filter(held)


def _with_levels(X: Any) -> Any:
    """Declare the levels of text, so that both parts have those of the whole."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for k, name in enumerate(X.column_names):
        column = X.column(name)
        if not is_text(column.type) or pa.types.is_dictionary(column.type):
            continue
        levels = pa.array(sorted(pc.unique(column.drop_null()).to_pylist()), column.type)
        codes = pc.index_in(column.combine_chunks(), levels)
        X = X.set_column(k, name, pa.DictionaryArray.from_arrays(codes, levels))
    return X


def _named(data: Data) -> Any:
    """Return the response with its name, from which the favorable outcome is guessed."""
    import pyarrow as pa

    return pa.table({data.response: data.y})


def _show(choice: Any, *, unsaved: bool) -> None:
    show(choice)
    if unsaved:
        why = "the answer is open" if choice.undecided else "no model meets the rule"
        say(f"Nothing is saved: {why}.")
