"""Parameters of models that are more than a number or a name: what their text means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fairridge.cli.errors import BadInputError
from fairridge.cli.inputs import names


def bound_of(text: str) -> float | dict[str, float]:
    """Read one bound, or the bounds of attributes."""
    if "=" not in text:
        return _number(
            "--unfairness",
            text,
            "a number, such as 0.05, or one per attribute, such as sex=0.01,age=0.1",
        )
    return _by_name("--unfairness", names([text], "--unfairness"), "sex=0.01,age=0.1")


def bounds_of(text: str | None, option: str) -> list[float] | None:
    """Read bounds with commas between them."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInputError(
            f"{option} {text} must be numbers with commas between them, such as 0,0.05,1."
        ) from None


def base_of(texts: Sequence[str] | None) -> dict[str, str] | Literal["most-frequent"] | None:
    """Read base levels by column, or that they are the most frequent ones."""
    if not texts:
        return None
    if list(texts) == ["most-frequent"]:
        return "most-frequent"
    levels: dict[str, str] = {}
    for text in texts:
        name, equals, level = text.partition("=")
        if not equals or not name or name in levels:
            raise BadInputError(
                f"--base {text} must be a column and its level, each column once, such as "
                "brand=VW, or most-frequent alone."
            )
        levels[name] = level
    return levels


def predictor_penalty_of(text: str) -> float | Literal["cv"]:
    """Read a penalty, or that it is to be chosen."""
    if text == "cv":
        return "cv"
    return _number("--predictor-penalty", text, "a number, or cv, which chooses it")


def class_weight_of(texts: Sequence[str] | None) -> dict[str, float] | Literal["balanced"] | None:
    """Read weights of classes."""
    parts = names(texts, "--class-weight")
    if not parts:
        return None
    if parts == ("balanced",):
        return "balanced"
    return _by_name("--class-weight", parts, "balanced, or good=1,bad=5")


def _by_name(option: str, parts: Sequence[str], example: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for part in parts:
        # A label may have an equals sign in it, a number has none.
        name, equals, value = part.rpartition("=")
        if not equals or not name:
            raise BadInputError(f"{option} {part} must be a name and a number, such as {example}.")
        if name in values:
            raise BadInputError(f"{option} names {name!r} twice; leave one out.")
        values[name] = _number(option, value, f"a number after {name}=, such as {example}")
    return values


def _number(option: str, text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInputError(f"{option} {text} must be {what}.") from None


def top_of(text: str | None) -> float | int | None:
    """Read a share, which has a decimal point, or a count."""
    if text is None:
        return None
    from fairridge.metrics.selection import check_top

    try:
        return check_top(int(text) if text.strip().isdigit() else float(text))
    except ValueError:
        raise BadInputError(
            f"--top {text} must be a share between 0 and 1, such as 0.2, or a count, such as 500."
        ) from None
