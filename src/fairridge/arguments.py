"""Checks of arguments, and lists in messages, that every layer uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_number(value: Any) -> bool:
    """Whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_flag(name: str, value: Any) -> bool:
    """Return True or False; any other value, however true it looks, is a ValueError."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False.")
    return bool(value)


def check_finite(name: str, value: Any) -> float | None:
    """Return a finite number, or None if none was given."""
    if value is not None and not (is_number(value) and np.isfinite(value)):
        raise ValueError(f"{name}={value!r} must be a finite number.")
    return None if value is None else float(value)


def check_bounds(unfairness: Any, maximum: float = 1.0) -> NDArray[np.float64]:
    """Return bounds r as an array; each must lie in [0, maximum]."""
    if isinstance(unfairness, Mapping):
        raise ValueError(
            f"unfairness={dict(unfairness)!r} has a bound per attribute, which only the fair ridge "
            "models take, at fit; use numbers here."
        )
    if np.ndim(unfairness) > 1 or np.size(unfairness) == 0:
        raise ValueError("unfairness must be one number, or a list of at least one.")
    bounds = np.atleast_1d(np.asarray(unfairness, dtype=object))
    for r in bounds:
        if not is_number(r) or not 0.0 <= r <= maximum:
            raise ValueError(
                f"unfairness={r!r} is not a bound: use numbers from 0 (no linear dependence on S) "
                + (f"to {maximum:g} (unconstrained)." if np.isfinite(maximum) else "upward.")
            )
    return bounds.astype(np.float64)


def check_bound(unfairness: Any, maximum: float = 1.0) -> NDArray[np.float64]:
    """Return one bound r as an array of length 1."""
    if np.ndim(unfairness) != 0:
        raise ValueError("unfairness must be one number; use path() for several.")
    return check_bounds(unfairness, maximum)


def largest_bound(unfairness: Any) -> Any:
    """Return the bound, or the largest of several that bounds something."""
    if not isinstance(unfairness, Mapping):
        return unfairness
    return max((r for r in unfairness.values() if r < 1.0), default=1.0)


def with_largest(unfairness: Any, r: float) -> Any:
    """Return a bound of r; or bounds of attributes of which r is the largest."""
    # These keep their proportions, and attributes without a bound stay without: r = 1 bounds
    # nothing.
    if not isinstance(unfairness, Mapping):
        return float(r)
    largest = largest_bound(unfairness)
    if r == largest:
        return dict(unfairness)
    if r == 1.0:
        return dict.fromkeys(unfairness, 1.0)
    return {
        name: 1.0 if own == 1.0 > largest else float(r * (own / largest if largest else 1.0))
        for name, own in unfairness.items()
    }


def check_number(name: str, value: Any, *, minimum: float, strict: bool = False) -> float:
    """Return a finite number that is at least (or more than) `minimum`."""
    if (
        not is_number(value)
        or not np.isfinite(value)
        or value < minimum
        or (strict and value == minimum)
    ):
        relation = "greater than" if strict else "at least"
        raise ValueError(f"{name}={value!r} must be a number {relation} {minimum:g}.")
    return float(value)


def check_probability(name: str, value: Any) -> float:
    """Return a number between 0 and 1, both excluded."""
    if not is_number(value) or not 0.0 < value < 1.0:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1.")
    return float(value)


def check_count(name: str, value: Any, *, minimum: int = 1) -> int:
    """Return a whole number that is at least `minimum`."""
    if not is_number(value) or not np.isfinite(value) or value < minimum or value != int(value):
        raise ValueError(f"{name}={value!r} must be a whole number, at least {minimum}.")
    return int(value)


def listed(values: Iterable[Any], most: int = 5, write: Callable[[Any], str] = repr) -> str:
    """Write the first of some values, and how many more there are."""
    texts = list(map(write, values))
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def enumerated(names: Iterable[Any], last: str = "and", most: int | None = None) -> str:
    """Write names as a reader says them: a, b and c; above some number how many more there are."""
    texts = list(map(str, names))
    if most is not None and len(texts) > most:
        texts[most:] = [f"{len(texts) - most} more"]
    return f" {last} ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def meant(name: Any, known: Iterable[Any]) -> str:
    """Ask whether a wrong name was meant to be one of those known, or list these."""
    texts = list(map(str, known))
    plain, asked = [text.casefold() for text in texts], str(name).casefold()
    close = get_close_matches(asked, plain, n=1) + [t for t in plain if t.startswith(asked)]
    if close:
        return f"Did you mean {texts[plain.index(close[0])]!r}?"
    return f"There are {listed(texts, 20, str)}."


def check_option(name: str, value: Any, options: tuple[str, ...]) -> None:
    """Raise unless the value is one of the options."""
    if value not in options:
        raise ValueError(f"{name}={value!r} is not known; use {' or '.join(map(repr, options))}.")
