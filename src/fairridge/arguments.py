"""Checks of arguments that every layer uses."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

__all__ = ["check_finite", "check_flag", "is_number"]


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
