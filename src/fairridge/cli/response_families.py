"""The family of a response: given, or guessed, and why."""

from __future__ import annotations

from typing import Any

from fairridge.arguments import meant
from fairridge.cli.column_types import is_text
from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import Source
from fairridge.data.groups import MAX_CATEGORIES

CLASSES = ("binomial", "multinomial")
# Whole numbers whose median is at most this are counts.
MAX_COUNT_MEDIAN = 5


def choose_family(
    table: Any, target: tuple[str, ...], family: str | None, source: Source
) -> tuple[str, str]:
    """Return the family, and why; `family` is what the user says, if anything."""
    if family is not None and family not in _families():
        raise BadInputError(f"--family {family} is not known. {meant(family, _families())}")
    if len(target) == 2:
        if family not in (None, "cox"):
            raise BadInputError(f"--event means survival times, not --family {family}.")
        return "cox", f"{target[0]} is a time, and {target[1]} says whether it is an event"
    if family == "cox":
        raise BadInputError("--family cox needs --event NAME, beside --response for the time.")
    if family is None and source.family is not None and target == source.response:
        return source.family, "it is the family of the data set"
    guess, reason = _guess(table.column(target[0]), target[0])
    if family is None:
        return guess, reason
    _check_family(family, guess, table.column(target[0]), target[0])
    return family, "--family says so"


def check_exposure(exposure: str | None, family: str) -> None:
    """Raise if a family has no rates."""
    from fairridge.search.setup import REGRESSION_FAMILIES

    known = [name for name, each in REGRESSION_FAMILIES.items() if each.link == "log"]
    if exposure is not None and family not in known:
        raise BadInputError(
            f"--exposure {exposure} is for counts and amounts, and the family is {family}; choose "
            f"one of {', '.join(known)} with --family, or leave it out."
        )


def _families() -> tuple[str, ...]:
    from fairridge.search.setup import REGRESSION_FAMILIES

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
        if len(values) > MAX_CATEGORIES:
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
    if whole and smallest == 0 and median <= MAX_COUNT_MEDIAN:
        return "poisson", f"{name} holds small counts"
    return "gaussian", f"{name} is a number"


def _check_family(family: str, guess: str, column: Any, name: str) -> None:
    """Raise if the response cannot be of the family that was asked for."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    size = len(pc.unique(column))
    if family in CLASSES:
        if family == "binomial" and size != 2:
            raise BadInputError(
                f"--family binomial needs two classes, but {name!r} has {size} different values; "
                "use another --family or --response."
            )
        if size > max(MAX_CATEGORIES, 2) and guess not in CLASSES:
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
