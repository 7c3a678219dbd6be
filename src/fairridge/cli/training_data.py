"""From a table and options to a model and its training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairridge.cli.column_types import Kinds, is_text, typed
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import Source, check_columns, names
from fairridge.cli.model_values import bound_of, class_weight_of, predictor_penalty_of
from fairridge.cli.option_groups import Columns, ModelOptions
from fairridge.cli.response_families import CLASSES, choose_family

__all__ = [
    "Data",
    "check_controls",
    "check_frequency",
    "check_roles",
    "make_model",
    "prepare",
]

# Options that only some families have, which, and whose models these are.
OWN_OPTIONS = (
    ("ties", ("cox",), "survival models"),
    ("link", CLASSES, "classifiers"),
    ("positive", CLASSES, "classifiers"),
    ("class_weight", CLASSES, "classifiers"),
)


@dataclass(frozen=True)
class Data:
    """What a model is fitted to.

    Attributes
    ----------
    origin : str
        Where it comes from, with a fingerprint.
    X, y : pyarrow Table, and array or Table
        Predictors with sensitive attributes, and the response; for rows that
        are not in memory a source of them, and None.
    weight, offset : array or None
        Of every row.
    response : str
        Name of the response.
    sensitive : tuple of str
        Names of sensitive attributes.
    family, reason : str
        The family, and why it was chosen.
    remarks : tuple of str
        What the user should know.
    streamed : bool
        Whether X is a source of rows.
    controls : tuple of str
        Names of predictors that may explain differences.
    min_frequency : float or None
        Rows, or share of them, below which levels of a predictor are merged.
    max_levels : int or None
        Most levels of a column of text; None for the library's rule.
    missing, unknown : str
        What missing values and unseen levels do.
    encoded : int or None
        How many columns X has once levels are written out; None if nobody has
        counted them.
    """

    origin: str
    X: Any
    y: Any
    weight: Any
    offset: Any
    response: str
    sensitive: tuple[str, ...]
    family: str
    reason: str
    remarks: tuple[str, ...] = ()
    streamed: bool = False
    controls: tuple[str, ...] = ()
    min_frequency: float | None = None
    max_levels: int | None = None
    missing: str = "error"
    unknown: str = "error"
    encoded: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `fit` beside X and y."""
        return {"sample_weight": self.weight, "offset": self.offset}


def make_model(data: Data, options: ModelOptions) -> Any:
    """Return the estimator that the family calls for."""
    from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival

    if "=" in options.unfairness and options.definition != "mean-parity":
        raise BadInputError(
            "--unfairness with a bound per attribute needs --definition mean-parity."
        )
    shared: dict[str, Any] = {
        "unfairness": bound_of(options.unfairness),
        # A source of rows knows its sensitive attributes itself.
        "sensitive": None if data.streamed else list(data.sensitive),
        "definition": options.definition,
        "penalty": options.penalty,
        "predictor_penalty": predictor_penalty_of(options.predictor_penalty),
        "separation": options.separation,
        "blind": options.blind,
        "confidence": options.confidence,
        "certification": options.certification,
        "controls": list(data.controls) or None,
        "min_frequency": data.min_frequency,
        "missing": data.missing,
        "unknown": data.unknown,
    }
    if data.max_levels is not None:
        # Levels of rows in memory have been counted, and the user wants so many.
        shared["max_levels"] = data.max_levels if data.streamed else None
    shared |= _own_options(data.family, options)
    if data.family == "cox":
        return FairRidgeSurvival(**shared)
    if data.family in CLASSES:
        return FairRidgeClassifier(**shared)
    return FairRidgeRegressor(**shared, family=data.family)


def _own_options(family: str, options: ModelOptions) -> dict[str, Any]:
    """Return options that only some families have; raise if this one has not."""
    found: dict[str, Any] = {}
    given = vars(options) | {"class_weight": class_weight_of(options.class_weight)}
    for name, families, whom in OWN_OPTIONS:
        value = given[name]
        if value is not None and family not in families:
            shown = ",".join(value) if isinstance(value, dict) else value
            raise BadInputError(
                f"--{name.replace('_', '-')} {shown} is for {whom}, but the family is {family}; "
                "leave it out."
            )
        if value is not None:
            found[name] = value
    return found


@dataclass(frozen=True)
class _Roles:
    """Which columns are what."""

    target: tuple[str, ...]
    sensitive: tuple[str, ...]
    predictors: tuple[str, ...]
    others: tuple[str, ...]
    controls: tuple[str, ...]


def prepare(source: Source, columns: Columns) -> Data:
    """Give the columns of a table their roles."""
    roles, kinds = _roles(source, columns), columns.kinds
    check_frequency(columns.min_frequency)
    used = [name for name in source.columns if name in {*roles.sensitive, *roles.predictors}]
    _check_kinds(kinds, source)
    every = [*used, *roles.target, *roles.others]
    kept = used if columns.missing == "level" else []
    table, remarks = _complete(source, every, columns.drop_missing, kept)
    table, notes = typed(table, [*used, *roles.others], kinds)
    # A date is an unlikely response, and a number of days an unlikely answer.
    table, more = typed(table, roles.target, kinds, dates=False)
    weight = None if columns.weight is None else table.column(columns.weight)
    levels = _levels(table, used, columns, roles)
    family, reason = choose_family(table, roles.target, columns.family, source)
    return Data(
        origin=source.fingerprint,
        X=table.select(used),
        y=_target(table, roles.target),
        weight=weight,
        offset=None if columns.offset is None else table.column(columns.offset),
        response=roles.target[0],
        sensitive=roles.sensitive,
        family=family,
        reason=reason,
        remarks=(*remarks, *notes, *more),
        controls=roles.controls,
        min_frequency=columns.min_frequency,
        max_levels=columns.max_levels,
        missing=columns.missing,
        unknown=columns.unknown,
        encoded=sum(levels),
    )


def _roles(source: Source, columns: Columns) -> _Roles:
    target = _response(source, columns.response, columns.event)
    sensitive = names(columns.sensitive, "--sensitive")
    sensitive = sensitive or tuple(name for name in source.sensitive if name not in target)
    if not sensitive:
        raise BadInputError("say which attributes are sensitive: --sensitive NAME.")
    check_columns(sensitive, source, "--sensitive")
    weight, offset = columns.weight, columns.offset
    others = tuple(name for name in (weight, offset) if name is not None)
    check_columns(others, source, "--weight or --offset")
    check_roles(target, sensitive, weight, offset)
    taken = (*target, *sensitive, *others)
    chosen = _predictors(source, columns.predictors, columns.drop, taken)
    if not chosen:
        raise BadInputError("no predictors are left; name some with --predictors.")
    controls = check_controls(columns.controls, source, chosen)
    return _Roles(target, sensitive, tuple(chosen), others, controls)


def check_controls(
    controls: Sequence[str] | None, source: Source, predictors: Sequence[str]
) -> tuple[str, ...]:
    """Return the names of controls; raise unless they are predictors."""
    found = names(controls, "--controls")
    check_columns(found, source, "--controls")
    for name in found:
        if name not in predictors:
            raise BadInputError(
                f"{name!r} is not a predictor; --controls names predictors that may explain "
                "differences between people."
            )
    return found


def check_frequency(min_frequency: float | None) -> None:
    """Raise unless levels can be merged below it."""
    if min_frequency is not None and not min_frequency > 0.0:
        raise BadInputError(
            f"--min-frequency {min_frequency:g} must be a number of rows, or below 1 a share of "
            "them."
        )


def _check_kinds(kinds: Kinds, source: Source) -> None:
    check_columns(kinds.categorical, source, "--categorical")
    check_columns(kinds.numeric, source, "--numeric")
    check_columns(kinds.date, source, "--date")


def check_roles(
    target: Sequence[str], sensitive: Sequence[str], weight: str | None, offset: str | None
) -> None:
    """Raise if a column has two roles."""
    roles = (
        ("the response", target[:1]),
        ("the event", target[1:]),
        ("sensitive", sensitive),
        ("the weight", () if weight is None else (weight,)),
        ("the offset", () if offset is None else (offset,)),
    )
    known: dict[str, str] = {}
    for role, columns in roles:
        for name in columns:
            if name in known:
                raise BadInputError(
                    f"{name!r} is {known[name]}; it cannot be {role}, too: name another column."
                )
            known[name] = role


def _response(source: Source, response: str | None, event: str | None) -> tuple[str, ...]:
    if response is None:
        if source.response:
            return source.response
        raise BadInputError("say which column is the response: --response NAME.")
    target: tuple[str, ...] = (response,) if event is None else (response, event)
    if event is None and source.family == "cox" and response == source.response[0]:
        target = source.response
    check_columns(target, source, "--response" if event is None else "--response or --event")
    return target


def _predictors(
    source: Source,
    predictors: Sequence[str] | None,
    drop: Sequence[str] | None,
    taken: tuple[str, ...],
) -> list[str]:
    wanted, unwanted = names(predictors, "--predictors"), names(drop, "--drop")
    check_columns(wanted, source, "--predictors")
    check_columns(unwanted, source, "--drop")
    for name in unwanted:
        if name in taken:
            raise BadInputError(f"{name!r} has another role; it cannot be dropped.")
    for name in wanted:
        if name in taken:
            raise BadInputError(f"{name!r} has another role; it cannot be a predictor, too.")
    return [
        name
        for name in source.columns
        if name not in taken and name not in unwanted and (not wanted or name in wanted)
    ]


def _complete(
    source: Source, used: list[str], drop_missing: bool, kept: Sequence[str]
) -> tuple[Any, tuple[str, ...]]:
    """Return the columns in use, without missing values but in some, and what that cost."""
    import pyarrow.compute as pc

    table = source.table.select(used)
    keep = None
    for name in used:
        column = table.column(name)
        if column.null_count == len(column):
            raise BadInputError(f"column {name!r} is empty; leave it out: --drop {name}.")
        if name in kept and not drop_missing:
            continue
        gone = pc.is_null(column, nan_is_null=True)
        missing = pc.sum(gone).as_py()
        if missing and not drop_missing:
            raise BadInputError(
                f"column {name!r} has {missing} missing value{'s'[: missing > 1]}; leave such "
                f"rows out with --drop-missing, or the column with --drop {name}, or learn from "
                "what is missing with --missing level."
            )
        here = pc.invert(gone)
        keep = here if keep is None else pc.and_(keep, here)
    if not drop_missing:
        return table, ()
    complete = table.filter(keep)
    if complete.num_rows == 0:
        raise BadInputError(f"every row of {source.name} has a missing value.")
    lost = table.num_rows - complete.num_rows
    return complete, (f"Left out {lost:,} rows with missing values.",) if lost else ()


def _levels(table: Any, used: Sequence[str], columns: Columns, roles: _Roles) -> list[int]:
    """Count the columns that each column becomes; raise if text is not of categories."""
    import pyarrow.compute as pc

    from fairridge.data import most_levels

    maximum = columns.max_levels
    most = most_levels(table.num_rows) if maximum is None else maximum
    counts = []
    for name in used:
        column = table.column(name)
        if not is_text(column.type):
            # A number that is missing in some rows has a column that says so.
            counts.append(2 if pc.any(pc.is_null(column, nan_is_null=True)).as_py() else 1)
            continue
        least = columns.min_frequency if name in roles.predictors else None
        count = _levels_left(table, name, least, columns.weight)
        if count > most:
            example = column.drop_null()[0].as_py()
            raise BadInputError(
                f"column {name!r} is text with {count:,} different values in "
                f"{table.num_rows:,} rows, such as {example!r}: too many for categories. "
                f"If it is a key, leave it out: --drop {name}; if it holds numbers or dates, say "
                f"so: --numeric {name} or --date {name}; otherwise merge rare values with "
                f"--min-frequency, or allow more than {most:,}: --max-levels {count}."
            )
        counts.append(count - 1)
    return counts


def _levels_left(table: Any, name: str, least: float | None, weight: str | None) -> int:
    """Return the number of levels of a column, once rare ones are merged."""
    import numpy as np

    from fairridge.data import numeric_vector
    from fairridge.data.columns import CategoricalColumn

    coded = table.column(name).combine_chunks()
    coded = coded if hasattr(coded, "dictionary") else coded.dictionary_encode()
    levels = coded.dictionary.to_pylist()
    # The last code is that of missing values.
    codes = coded.indices.fill_null(len(levels)).to_numpy(zero_copy_only=False)
    given = None if weight is None else numeric_vector(table.column(weight), len(codes), weight)
    *sums, gone = np.bincount(codes, weights=given, minlength=len(levels) + 1).tolist()
    known = {level: float(size) for level, size in zip(levels, sums, strict=True) if size > 0.0}
    learned = CategoricalColumn.learn(name, known, least, float(gone)) if known else None
    return 0 if learned is None else len(learned.levels)


def _target(table: Any, target: tuple[str, ...]) -> Any:
    if len(target) == 1:
        return table.column(target[0])
    return table.select(list(target)).rename_columns(["time", "event"])
