"""From a table and options to a model and its training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairridge.cli.column_types import Kinds, is_text, typed
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import Source, check_columns, names

__all__ = [
    "Columns",
    "Data",
    "ModelOptions",
    "check_roles",
    "choose_family",
    "make_model",
    "prepare",
]

CLASSES = ("binomial", "multinomial")
# Options that only some families have, which, and whose models these are.
OWN_OPTIONS = (
    ("ties", ("cox",), "survival models"),
    ("link", CLASSES, "classifiers"),
    ("positive", CLASSES, "classifiers"),
)
# Text with more values than this is a name, a date or a comment, not a response.
MOST_CLASSES = 20
# Whole numbers whose median is at most this are counts.
COUNTS = 5


@dataclass(frozen=True)
class Columns:
    """What the user says about columns.

    Attributes
    ----------
    response, event, weight, offset : str or None
        Names.
    sensitive, predictors, drop : sequence of str or None
        Names, with commas or without.
    family : str or None
        The family; None guesses it.
    drop_missing : bool
        Whether rows with missing values are left out.
    categorical, numeric, date : sequence of str or None
        Names of columns that hold categories, numbers or dates, whatever they
        look like.
    max_levels : int or None
        Most levels of a column of text; None for the library's rule.
    """

    response: str | None = None
    event: str | None = None
    sensitive: Sequence[str] | None = None
    predictors: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    weight: str | None = None
    offset: str | None = None
    family: str | None = None
    drop_missing: bool = False
    categorical: Sequence[str] | None = None
    numeric: Sequence[str] | None = None
    date: Sequence[str] | None = None
    max_levels: int | None = None

    @property
    def kinds(self) -> Kinds:
        """What the user says that columns hold."""
        found = Kinds(
            names(self.categorical, "--categorical"),
            names(self.numeric, "--numeric"),
            names(self.date, "--date"),
        )
        every = (*found.categorical, *found.numeric, *found.date)
        twice = next((name for name in every if every.count(name) > 1), None)
        if twice is not None:
            raise BadInputError(
                f"{twice!r} cannot be two of --categorical, --numeric and --date; choose one."
            )
        return found


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
    max_levels : int or None
        Most levels of a column of text; None for the library's rule.
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
    max_levels: int | None = None
    encoded: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `fit` beside X and y."""
        return {"sample_weight": self.weight, "offset": self.offset}


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of a model, as they come from the command line."""

    unfairness: float = 0.05
    definition: str = "statistical-parity"
    penalty: str = "ridge"
    predictor_penalty: float = 0.0
    ties: str | None = None
    link: str | None = None
    positive: str | None = None


def make_model(data: Data, options: ModelOptions) -> Any:
    """Return the estimator that the family calls for."""
    from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival

    shared: dict[str, Any] = {
        "unfairness": options.unfairness,
        # A source of rows knows its sensitive attributes itself.
        "sensitive": None if data.streamed else list(data.sensitive),
        "definition": options.definition,
        "penalty": options.penalty,
        "predictor_penalty": options.predictor_penalty,
    }
    if data.max_levels is not None:
        # Levels of rows in memory have been counted, and the user wants so many.
        shared["max_levels"] = data.max_levels if data.streamed else None
    for name, families, whom in OWN_OPTIONS:
        value = getattr(options, name)
        if value is not None and data.family not in families:
            raise BadInputError(
                f"--{name} {value} is for {whom}, but the family is {data.family}; leave it out."
            )
        if value is not None:
            shared[name] = value
    if data.family == "cox":
        return FairRidgeSurvival(**shared)
    if data.family in CLASSES:
        return FairRidgeClassifier(**shared)
    return FairRidgeRegressor(**shared, family=data.family)


def prepare(source: Source, columns: Columns) -> Data:
    """Give the columns of a table their roles."""
    target = _response(source, columns.response, columns.event)
    attributes = names(columns.sensitive, "--sensitive")
    attributes = attributes or tuple(name for name in source.sensitive if name not in target)
    if not attributes:
        raise BadInputError("say which attributes are sensitive: --sensitive NAME.")
    check_columns(attributes, source, "--sensitive")
    weight, offset = columns.weight, columns.offset
    others = [name for name in (weight, offset) if name is not None]
    check_columns(others, source, "--weight or --offset")
    check_roles(target, attributes, weight, offset)
    taken = (*target, *attributes, *others)
    chosen = _predictors(source, columns.predictors, columns.drop, taken)
    if not chosen:
        raise BadInputError("no predictors are left; name some with --predictors.")
    used = [name for name in source.columns if name in {*attributes, *chosen}]
    kinds = columns.kinds
    check_columns(kinds.categorical, source, "--categorical")
    check_columns(kinds.numeric, source, "--numeric")
    check_columns(kinds.date, source, "--date")
    table, remarks = _complete(source, [*used, *target, *others], columns.drop_missing)
    table, notes = typed(table, [*used, *others], kinds)
    # A date is an unlikely response, and a number of days an unlikely answer.
    table, more = typed(table, target, kinds, dates=False)
    levels = _levels(table, used, columns.max_levels)
    family, reason = choose_family(table, target, columns, source)
    return Data(
        origin=source.fingerprint,
        X=table.select(used),
        y=_target(table, target),
        weight=None if weight is None else table.column(weight),
        offset=None if offset is None else table.column(offset),
        response=target[0],
        sensitive=attributes,
        family=family,
        reason=reason,
        remarks=(*remarks, *notes, *more),
        max_levels=columns.max_levels,
        encoded=sum(levels),
    )


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


def _complete(source: Source, used: list[str], drop_missing: bool) -> tuple[Any, tuple[str, ...]]:
    """Return the columns in use without missing values, and what that cost."""
    import pyarrow.compute as pc

    table = source.table.select(used)
    keep = None
    for name in used:
        column = table.column(name)
        if column.null_count == len(column):
            raise BadInputError(f"column {name!r} is empty; leave it out: --drop {name}.")
        gone = pc.is_null(column, nan_is_null=True)
        missing = pc.sum(gone).as_py()
        if missing and not drop_missing:
            raise BadInputError(
                f"column {name!r} has {missing} missing value{'s'[: missing > 1]}; leave such "
                f"rows out with --drop-missing, or the column with --drop {name}."
            )
        here = pc.invert(gone)
        keep = here if keep is None else pc.and_(keep, here)
    if not drop_missing:
        return table, ()
    kept = table.filter(keep)
    if kept.num_rows == 0:
        raise BadInputError(f"every row of {source.name} has a missing value.")
    lost = table.num_rows - kept.num_rows
    return kept, (f"Left out {lost:,} rows with missing values.",) if lost else ()


def _levels(table: Any, used: Sequence[str], maximum: int | None) -> list[int]:
    """Count the columns that each column becomes; raise if text is not of categories."""
    import pyarrow.compute as pc

    from fairridge.data import most_levels

    most = most_levels(table.num_rows) if maximum is None else maximum
    counts = []
    for name in used:
        column = table.column(name)
        if not is_text(column.type):
            counts.append(1)
            continue
        values = pc.unique(column)
        if len(values) > most:
            raise BadInputError(
                f"column {name!r} is text with {len(values):,} different values in "
                f"{table.num_rows:,} rows, such as {values[0].as_py()!r}: too many for categories. "
                f"If it is a key, leave it out: --drop {name}; if it holds numbers or dates, say "
                f"so: --numeric {name} or --date {name}; otherwise merge its values, or allow "
                f"more than {most:,}: --max-levels {len(values)}."
            )
        counts.append(len(values) - 1)
    return counts


def _target(table: Any, target: tuple[str, ...]) -> Any:
    if len(target) == 1:
        return table.column(target[0])
    return table.select(list(target)).rename_columns(["time", "event"])


def choose_family(
    table: Any, target: tuple[str, ...], columns: Columns, source: Source
) -> tuple[str, str]:
    """Return the family, and why."""
    family = columns.family
    if family is not None and family not in _families():
        raise BadInputError(f"--family {family} is not known; use one of {', '.join(_families())}.")
    if len(target) == 2:
        if family not in (None, "cox"):
            raise BadInputError(f"--event means survival times, not --family {family}.")
        return "cox", f"{target[0]} is a time, and {target[1]} says whether it is an event"
    if family == "cox":
        raise BadInputError("--family cox needs --event NAME, beside --response for the time.")
    if family is None and source.family is not None and target == source.response:
        return source.family, "the data set says so"
    guess, reason = _guess(table.column(target[0]), target[0])
    if family is None:
        return guess, reason
    _check_family(family, guess, table.column(target[0]), target[0])
    return family, "you said so"


def _families() -> tuple[str, ...]:
    from fairridge.families import REGRESSION_FAMILIES

    return (*REGRESSION_FAMILIES, *CLASSES, "cox")


def _guess(column: Any, name: str) -> tuple[str, str]:
    import pyarrow.compute as pc
    import pyarrow.types as types

    numeric = types.is_integer(column.type) or types.is_floating(column.type)
    values = pc.unique(column)
    if not numeric:
        if not (is_text(column.type) or types.is_boolean(column.type)):
            raise BadInputError(
                f"the response {name!r} holds {column.type}; a number or classes are needed."
            )
        if len(values) > MOST_CLASSES:
            raise BadInputError(
                f"the response {name!r} is text with {len(values)} different values, such as "
                f"{values[0].as_py()!r}; a number or few classes are needed: choose another "
                "--response."
            )
        kind = "binomial" if len(values) <= 2 else "multinomial"
        return kind, f"{name} has the {len(values)} classes {_classes(values)}"
    if len(values) == 2:
        return "binomial", f"{name} has the two values {_classes(values)}"
    whole = types.is_integer(column.type) or pc.all(pc.equal(column, pc.floor(column))).as_py()
    smallest, median = pc.min(column).as_py(), pc.quantile(column, 0.5)[0].as_py()
    if whole and smallest == 0 and median <= COUNTS:
        return "poisson", f"{name} holds small counts"
    return "gaussian", f"{name} is a number"


def _check_family(family: str, guess: str, column: Any, name: str) -> None:
    """Raise where the response cannot be of the family that was asked for."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    size = len(pc.unique(column))
    if family in CLASSES:
        if family == "binomial" and size != 2:
            raise BadInputError(
                f"--family binomial needs two classes, but {name!r} has {size} different values; "
                "use another --family or --response."
            )
        if size > max(MOST_CLASSES, 2) and guess not in CLASSES:
            raise BadInputError(
                f"--family {family} needs classes, but {name!r} has {size} different numbers; "
                "use another --family or --response."
            )
        return
    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        if types.is_boolean(column.type) and family != "gamma":
            return
        raise BadInputError(
            f"--family {family} needs a response of numbers, but {name!r} holds "
            f"{pc.unique(column)[0].as_py()!r}; use --family {guess}, or another --response."
        )


def _classes(values: Any) -> str:
    shown = sorted(str(value) for value in values.to_pylist())
    text = ", ".join(shown[:4]) + (", …" if len(shown) > 4 else "")
    return text.replace(", ", " and ") if len(shown) == 2 else text
