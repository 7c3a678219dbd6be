"""From a table and options to a model and its training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from fairridge.arguments import check_number
from fairridge.cli.column_types import NOTHING, Kinds, sensitive_of, typed
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import Source, check_columns, names, read, repeated
from fairridge.cli.options import MODEL, Columns, Compared
from fairridge.cli.parameters import Settings
from fairridge.cli.response_families import CLASSES, check_exposure, choose_family
from fairridge.cli.terminal import note
from fairridge.data.columns import missing_values
from fairridge.data.text_style import TextStyle


@dataclass(frozen=True)
class Data:
    """What a model is fitted to."""

    origin: str  # where it comes from, with a fingerprint
    # Predictors with sensitive attributes (pyarrow Table), or a source of rows not in memory.
    X: Any
    roles: ColumnRoles
    # The family, and why it was chosen.
    family: str
    reason: str
    columns: Columns  # what the user says about columns
    remarks: tuple[str, ...]  # what the user should know
    y: Any = None  # the response (array or Table); a source has it
    # Arguments of `fit` beside X and y: weights, offsets and exposures (arrays) of rows.
    options: Mapping[str, Any] = field(default_factory=dict)
    # How many columns X has once levels are written out; None if that is not known.
    encoded: int | None = None
    styles: tuple[TextStyle, ...] = ()  # how columns were written

    @property
    def written(self) -> Kinds:
        """How columns were written, for another file of the same columns."""
        return Kinds(styles={style.name: style for style in self.styles})

    @property
    def notes(self) -> tuple[str, ...]:
        """What was made of the data."""
        return (f"Family: {self.family}, because {self.reason}.", *self.remarks)

    @property
    def response(self) -> str:
        """The name of the response."""
        return self.roles.target[0]

    def filter(self, chosen: Any) -> Data:
        """Return some of the rows."""
        options = {name: values.filter(chosen) for name, values in self.options.items()}
        return replace(self, X=self.X.filter(chosen), y=self.y.filter(chosen), options=options)


def announce_size(training: Data) -> None:
    """Say before a fit how large it is, if that is known."""
    if training.encoded is not None:
        columns, encoded, rows = training.X.num_columns, training.encoded, training.X.num_rows
        note(f"note: {columns:,} columns become {encoded:,} encoded columns; {rows:,} rows.")


def make_model(data: Data, settings: Settings, seed: int = 0) -> Any:
    """Return the estimator that the family calls for."""
    import fairridge

    kind = {"cox": "FairRidgeSurvival"} | dict.fromkeys(CLASSES, "FairRidgeClassifier")
    name, streamed = kind.get(data.family, "FairRidgeRegressor"), data.y is None
    for parameter, value in settings.items():
        if parameter not in MODEL.by_owner[name]:
            shown = ",".join(value) if isinstance(value, dict) else value
            raise BadInputError(
                f"{MODEL.names[parameter]} {shown} is for {MODEL.whom(parameter)}, but the family "
                f"is {data.family}; leave it out."
            )
    if not streamed:  # levels of rows in memory have been counted already
        settings = settings | dict.fromkeys(settings.keys() & {"max_levels"})
    parameters: dict[str, Any] = settings | {
        # A source of rows knows its sensitive attributes itself.
        "sensitive": None if streamed else list(data.roles.sensitive),
        "controls": list(data.roles.controls) or None,
        "random_state": seed,
    }
    if name == "FairRidgeRegressor":
        parameters["family"] = data.family
    return getattr(fairridge, name)(**parameters)


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns are what."""

    target: tuple[str, ...]
    sensitive: tuple[str, ...]
    predictors: tuple[str, ...]
    # Weights, offsets and exposures, by the argument of `fit`.
    others: Mapping[str, str]
    controls: tuple[str, ...]


def kinds_of(columns: Columns) -> Kinds:
    """Return what the user says that columns hold."""
    kinds = Kinds(
        names(columns.categorical, "--categorical"),
        names(columns.numeric, "--numeric"),
        names(columns.date, "--date"),
    )
    twice = repeated((*kinds.categorical, *kinds.numeric, *kinds.date))
    if twice is not None:
        raise BadInputError(
            f"{twice!r} cannot be two of --categorical, --numeric and --date; choose one."
        )
    return kinds


def read_data(
    name: str,
    columns: Columns,
    settings: Settings,
    separator: str | None = None,
    known: Kinds = NOTHING,
) -> Data:
    """Read a table, and give its columns their roles."""
    # `settings` are those of the model; `known` says how columns were written that a model was
    # fitted to.
    said = kinds_of(columns)
    kinds = said.like(known)
    source = read(name, separator, kinds.as_text)
    roles = roles_of(source, columns)
    used = [name for name in source.columns if name in {*roles.sensitive, *roles.predictors}]
    for kind in ("categorical", "numeric", "date"):
        check_columns(getattr(said, kind), source, f"--{kind}")
    every = [*used, *roles.target, *roles.others.values()]
    kept = used if settings.get("missing") == "level" else []
    table, remarks = _complete(source, every, columns.drop_missing, kept)
    csv = source.is_csv
    table, notes, styles = typed(table, [*used, *roles.others.values()], kinds, csv=csv)
    # A date is an unlikely response, and a number of days an unlikely answer.
    table, more, others = typed(table, roles.target, kinds, dates=False, csv=csv)
    family, reason = choose_family(table, roles.target, columns.family, source)
    check_exposure(columns.exposure, family)
    X = table.select(used)
    options = {argument: table.column(name) for argument, name in roles.others.items()}
    return Data(
        origin=source.fingerprint,
        X=X,
        y=_target(table, roles.target),
        options=options,
        roles=roles,
        family=family,
        reason=reason,
        columns=columns,
        remarks=(*remarks, *notes, *more),
        encoded=_encoded_columns(X, settings, roles, options.get("sample_weight")),
        styles=(*styles, *others),
    )


def save_model(model: Any, data: Data, place: str | None) -> None:
    """Save a model that has a place, with how its file was written, to read others in that way."""
    from fairridge import save
    from fairridge.estimators._model import keep_text_styles

    if place is not None:
        keep_text_styles(model, data.styles)
        save(model, place)


def roles_of(source: Source, columns: Columns) -> ColumnRoles:
    """Return the roles of columns; raise unless each has one, and all that is needed is there."""
    if columns.response is None and not source.response:
        raise BadInputError("say which column is the response: --response NAME.")
    roles = named_roles(source, columns)
    chosen = _predictors(source, columns, check_roles(roles))
    for name in roles.controls:
        if name not in chosen:
            raise BadInputError(
                f"{name!r} is not a predictor; --controls names predictors that may explain "
                "differences between people."
            )
    return replace(roles, predictors=chosen)


def named_roles(source: Source, columns: Compared) -> ColumnRoles:
    """Return the roles of columns that the user, or else the data set, names."""
    response, event = columns.response, columns.event
    if response is None and source.response:
        response = source.response[0]
    if event is None and len(source.response) == 2 and response == source.response[0]:
        event = source.response[1]
    if event is not None and response is None:
        raise BadInputError(f"--event {event} needs the times, too: --response NAME.")
    target = tuple(name for name in (response, event) if name is not None)
    sensitive = names(columns.sensitive, "--sensitive")
    sensitive = sensitive or tuple(name for name in source.sensitive if name not in target)
    if not sensitive:
        raise BadInputError("say which attributes are sensitive: --sensitive NAME.")
    controls, others = names(columns.controls, "--controls"), columns.others
    named = {"response": target[:1], "event": target[1:], "sensitive": sensitive}
    named |= {role.removeprefix("sample_"): (name,) for role, name in others.items()}
    for flag, wanted in (named | {"controls": controls}).items():
        check_columns(wanted, source, f"--{flag}")
    return ColumnRoles(target, sensitive, (), others, controls)


def columns_of_model(model: Any, columns: Columns) -> Columns:
    """Take columns from a fitted model if none are named."""
    design, sensitive, predictors = model._fitted.design, columns.sensitive, columns.predictors
    if design.names is not None:
        if not names(sensitive, "--sensitive"):
            sensitive = sensitive_of(model)
        if not names(predictors, "--predictors"):
            predictors = [design.names[k] for k in design.positions_predictors]
    return replace(columns, sensitive=sensitive, predictors=predictors)


def check_roles(named: ColumnRoles) -> dict[str, str]:
    """Return the role of each column; raise if one has two."""
    roles = (
        ("the response", named.target[:1]),
        ("the event", named.target[1:]),
        ("sensitive", named.sensitive),
        *((f"the {role.removeprefix('sample_')}", [name]) for role, name in named.others.items()),
    )
    known: dict[str, str] = {}
    for role, columns in roles:
        for name in columns:
            if name in known:
                raise BadInputError(
                    f"{name!r} is {known[name]}; it cannot be {role}, too: name another column."
                )
            known[name] = role
    return known


def _predictors(source: Source, columns: Columns, taken: Mapping[str, str]) -> tuple[str, ...]:
    wanted, unwanted = names(columns.predictors, "--predictors"), names(columns.drop, "--drop")
    check_columns(wanted, source, "--predictors")
    check_columns(unwanted, source, "--drop")
    for named, fate in ((unwanted, "be dropped"), (wanted, "be a predictor, too")):
        for name in named:
            if name in taken:
                raise BadInputError(f"{name!r} is {taken[name]}; it cannot {fate}.")
    chosen = [name for name in wanted or source.columns if name not in {*taken, *unwanted}]
    if not chosen:
        raise BadInputError("no predictors are left; name some with --predictors.")
    return tuple(chosen)


def _complete(
    source: Source, used: list[str], drop_missing: bool, kept: Sequence[str]
) -> tuple[Any, tuple[str, ...]]:
    """Return the columns in use, without missing values but in those kept, and what that cost."""
    import pyarrow.compute as pc

    table = source.table.select(used)
    gone = {name: pc.is_null(table.column(name), nan_is_null=True) for name in used}
    missing = {name: pc.sum(rows).as_py() for name, rows in gone.items() if pc.any(rows).as_py()}
    for name, count in missing.items():
        if count == table.num_rows:
            raise BadInputError(f"column {name!r} is empty; leave it out: --drop {name}.")
    if drop_missing and missing:
        complete = table.filter(pc.invert(reduce(pc.or_, (gone[name] for name in missing))))
        if complete.num_rows == 0:
            raise BadInputError(f"every row of {source.name} has a missing value.")
        lost = table.num_rows - complete.num_rows
        return complete, (f"Left out {lost:,} rows with missing values.",)
    refused = {name: count for name, count in missing.items() if name not in kept}
    if refused:
        raise BadInputError(
            f"{missing_values(refused)} Learn from them with --missing level, leave columns out "
            f"with --drop {','.join(refused)}, or rows with --drop-missing (which can drop more "
            "people of one group)."
        )
    return table, ()


def _encoded_columns(X: Any, settings: Settings, roles: ColumnRoles, weight: Any) -> int:
    """Count the columns that columns become; raise if text is not of categories."""
    from fairridge.data import as_table, learn_design, most_levels, weights
    from fairridge.data.columns import CategoricalColumn

    rare, n = settings.get("min_frequency"), X.num_rows
    if rare is not None:
        check_number("min_frequency", rare, minimum=0.0, strict=True)
    missing, weight = settings.get("missing", "error"), weights(weight, n)
    design = learn_design(as_table(X), None, list(roles.sensitive), None, weight, rare, missing)
    most = settings.get("max_levels", most_levels(n))
    for column in design.columns:
        if not isinstance(column, CategoricalColumn):
            continue
        count = len(column.levels) - len(column.empty)
        if count > most:
            raise BadInputError(
                f"column {column.name!r} is text with {count:,} different values in {n:,} rows, "
                f"such as {column.levels[0]!r}: too many for categories. If it is a key, leave it "
                f"out: --drop {column.name}; if it holds numbers or dates, say so: --numeric "
                f"{column.name} or --date {column.name}; otherwise merge rare values with "
                f"--min-frequency, or allow more than {most:,}: --max-levels {count}."
            )
    return len(design.encoded_names)


def _target(table: Any, target: tuple[str, ...]) -> Any:
    if len(target) == 1:
        return table.column(target[0])
    return table.select(list(target)).rename_columns(["time", "event"])
