"""Checks of constructor parameters, made at fit as scikit-learn does."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.families import Gaussian
from fairridge.penalties import Penalty, Ridge

__all__ = ["check_bounds", "check_number", "check_option", "resolve_family", "resolve_penalty"]

FAMILIES = {"gaussian": Gaussian}
PENALTIES = {"ridge": Ridge}


def check_bounds(unfairness: Any) -> NDArray[np.float64]:
    """Return bounds r as an array; each must lie in [0, 1]."""
    for r in np.ravel(np.asarray(unfairness, dtype=object)):
        if not _is_number(r) or not 0.0 <= r <= 1.0:
            raise ValueError(
                f"unfairness={r!r} is not a bound: use numbers from 0 (fair) to 1 (unconstrained)."
            )
    return np.atleast_1d(np.asarray(unfairness, dtype=np.float64))


def check_number(name: str, value: Any, *, least: float, strict: bool = False) -> float:
    """Return a finite number that is at least (or more than) `least`."""
    if (
        not _is_number(value)
        or not np.isfinite(value)
        or value < least
        or (strict and value == least)
    ):
        relation = "greater than" if strict else "at least"
        raise ValueError(f"{name}={value!r} must be a number {relation} {least:g}.")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_option(name: str, value: Any, options: tuple[str, ...]) -> None:
    """Raise unless the value is one of the options."""
    if value not in options:
        raise ValueError(f"{name}={value!r} is not known; use {' or '.join(map(repr, options))}.")


def resolve_family(family: Any) -> Gaussian:
    """Return the family meant by a short name or an object."""
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    if isinstance(family, Gaussian):
        return family
    raise ValueError(
        f"family={family!r} is not known; use one of {', '.join(map(repr, FAMILIES))} "
        "or an object from fairridge.families."
    )


def resolve_penalty(penalty: Any) -> Penalty:
    """Return the penalty meant by a short name or an object."""
    if isinstance(penalty, str) and penalty in PENALTIES:
        return PENALTIES[penalty]()
    if hasattr(penalty, "coefficients") and not isinstance(penalty, type):
        return penalty
    raise ValueError(
        f"penalty={penalty!r} is not known; use one of {', '.join(map(repr, PENALTIES))} "
        "or an object from fairridge.penalties."
    )
