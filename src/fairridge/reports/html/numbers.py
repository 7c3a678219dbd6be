"""Numbers as readers see them; the page's script shows the same strings."""

from __future__ import annotations

import math

MISSING = "–"


def number(value: float, digits: int = 3) -> str:
    """Write a number with some significant digits, without an exponent if it is short."""
    if not math.isfinite(value):
        return MISSING if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value == 0.0:
        return "0"
    if 1e-4 <= abs(value) < 1e6:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        return _minus(f"{value:,.{min(places, 8)}f}")
    return _minus(f"{value:.{digits - 1}e}")


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


def percent(value: float, places: int = 1) -> str:
    """Write a share as a percentage."""
    return MISSING if not math.isfinite(value) else f"{_minus(f'{100 * value:.{places}f}')} %"


def points(value: float) -> str:
    """Write a difference of shares, in points of 1 %."""
    return MISSING if not math.isfinite(value) else f"{_minus(f'{100 * value:.1f}')} points"


def span(low: float, high: float, *, shares: bool = True) -> str:
    """Write an interval."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return MISSING
    if shares:
        return f"{100 * low:.0f} – {100 * high:.0f} %"
    return f"{number(low)} – {number(high)}"


def count(value: float) -> str:
    """Write a number of rows."""
    return f"{int(value):,}"


def bound(value: float) -> str:
    """Write a bound r."""
    return _minus(f"{value:.4g}")


def _minus(text: str) -> str:
    return text.replace("-", "−")
