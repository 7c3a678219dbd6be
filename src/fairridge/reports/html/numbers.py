"""Numbers as readers see them; the page's script shows the same strings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

from fairridge import tables

MISSING = "–"


def number(value: float, digits: int = 3, places: int = 0) -> str:
    """Write a number with some significant digits, without an exponent if it is short."""
    return _minus(tables.number(value, digits, places)) or MISSING


def column(values: Iterable[float], scale: float = 0.0) -> list[str]:
    """Write numbers that are compared; rounding, beside the scale or the largest, is 0."""
    return [_minus(text) or MISSING for text in tables.numbers(values, 3, scale)]


def ratio(value: float) -> str:
    """Write a number of the size of one, with three places."""
    return MISSING if not math.isfinite(value) else _minus(f"{value:.3f}")


def signed(value: float, places: int = 3) -> str:
    """Write a number with its sign."""
    if not math.isfinite(value):
        return MISSING
    text = f"{value:+.{places}f}"
    # Nothing is neither positive nor negative.
    return _minus(text if float(text) else text[1:])


def percent(value: float, places: int = 1, unit: str = "%") -> str:
    """Write a share as a percentage."""
    return MISSING if not math.isfinite(value) else f"{_minus(f'{100 * value:.{places}f}')} {unit}"


# How much of a variance is explained, which may be little; and differences of shares.
share, points = partial(percent, places=2), partial(percent, unit="points")


def span(low: float, high: float, *, shares: bool = True) -> str:
    """Write an interval, with places enough to tell its ends apart."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return MISSING
    unit, digits = (100.0, 2) if shares else (1.0, 3)
    _, *ends = tables.estimate(unit * (low + high) / 2.0, unit * low, unit * high, digits)
    return _minus(" – ".join(ends)) + (" %" if shares else "")


def count(value: float) -> str:
    """Write a number of rows."""
    return f"{int(value):,}"


def bound(value: float) -> str:
    """Write a bound r."""
    return _minus(f"{value:.4g}")


def measure(key: str, value: float) -> str:
    """Write a measure of accuracy or of dependence on S, by its name in tables."""
    return WRITERS.get(key.partition("[")[0], ratio)(value)


WRITERS: dict[str, Callable[[float], str]] = {
    "accuracy": percent,
    "rmse": partial(number, digits=4),
    "loss": partial(number, digits=4),
    "decision_gap": points,
    "share_of_eta": share,
    "share_of_means": share,
    "bounded": share,
}


def unbroken(text: str) -> str:
    """Keep percentages on one line."""
    return text.replace(" %", "\u00a0%")


def _minus(text: str) -> str:
    return text.replace("-", "−")
