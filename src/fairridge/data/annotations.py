"""Whether a value is what the annotation of a field says.

Files that are read back hold frozen dataclasses. Their annotations are the
declaration of what a file may contain, and this is the one place that
compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

# Larger numbers overflow as soon as something is multiplied by them.
LARGEST_NUMBER = 1e300


def is_number(value: Any) -> bool:
    """Whether a value is one real number of a size that can be calculated with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST_NUMBER  # False for NaN


def conforms(value: Any, hint: Any, facts: Any = None) -> bool:
    """Whether a value is what a type hint says; numbers and arrays must be finite."""
    # Functions in ``Annotated[hint, …]``, and the method `conforms` of a hint of another kind,
    # are asked about the value and about facts that it has to fit.
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, *checks = inside
        return conforms(value, kind, facts) and all(check(value, facts) for check in checks)
    if hasattr(hint, "conforms"):
        return bool(hint.conforms(value, facts))
    if origin in CONTAINERS:
        return CONTAINERS[origin](value, inside)
    if hint in PLAIN:
        return PLAIN[hint](value)
    if hint is Any or getattr(hint, "_is_protocol", False):
        return True  # the resolver of a protocol checks it
    return isinstance(value, origin or hint)


def require_annotated(instance: Any) -> None:
    """Raise a ValueError that names the first field of a dataclass that is not as annotated."""
    hints = get_type_hints(type(instance))
    for field in fields(instance):
        value = getattr(instance, field.name)
        if not conforms(value, hints[field.name]):
            raise ValueError(
                f"{field.name} of {type(instance).__name__} is {shown(value)}, not {field.type}."
            )


def shown(value: Any) -> str:
    """Write a value for a message, or its type if that is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def _tuple(value: Any, inside: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    if inside[-1] is Ellipsis:
        return all(conforms(item, inside[0]) for item in value)
    return len(value) == len(inside) and all(map(conforms, value, inside))


def _sequence(value: Any, inside: tuple[Any, ...]) -> bool:
    items = value.tolist() if isinstance(value, np.ndarray) else value
    return isinstance(items, list | tuple) and all(conforms(item, inside[0]) for item in items)


def _dict(value: Any, inside: tuple[Any, ...]) -> bool:
    return isinstance(value, dict) and all(
        conforms(key, inside[0]) and conforms(item, inside[1]) for key, item in value.items()
    )


def _floats(value: Any, inside: tuple[Any, ...]) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and bool((np.abs(value) <= LARGEST_NUMBER).all())
    )


def _union(value: Any, inside: tuple[Any, ...]) -> bool:
    return any(conforms(value, hint) for hint in inside)


CONTAINERS: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    tuple: _tuple,
    Sequence: _sequence,
    dict: _dict,
    Mapping: _dict,
    np.ndarray: _floats,
    Union: _union,
    UnionType: _union,
    Literal: lambda value, inside: isinstance(value, str) and value in inside,
    Callable: lambda value, inside: callable(value),
}
PLAIN: dict[Any, Callable[[Any], bool]] = {
    float: is_number,
    int: lambda value: is_number(value) and isinstance(value, int),
    bool: lambda value: isinstance(value, bool),
    str: lambda value: isinstance(value, str),
    NoneType: lambda value: value is None,
}
