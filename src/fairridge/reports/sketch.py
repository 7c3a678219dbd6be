"""Small pictures for notebooks, and where values stand in drawings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.markup import Html, element, join

# Colors of lines.
INKS = ("#0072B2", "#D55E00", "#009E73")


@dataclass(frozen=True)
class Scale:
    """Where values stand on an axis."""

    low: float
    high: float
    # Where these two stand, in units of the drawing.
    start: float
    end: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> Scale:
        """Return an axis with room beyond the smallest and the largest value."""
        known = list(values)
        low, high = min(known, default=0.0), max(known, default=0.0)
        if not high > low:
            low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
        margin = 0.06 * (high - low)
        return cls(low - margin, high + margin, start, end)

    def at(self, value: Any) -> Any:
        """Return where a value stands."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share


def points_of(xs: Iterable[float], ys: Iterable[float]) -> str:
    """Write points."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))


def sketch(x: Floats, lines: Mapping[str, Floats], label: str) -> Html:
    """Draw lines over one axis as a small picture for notebooks, with their names below."""
    known = np.concatenate([values[np.isfinite(values)] for values in lines.values()])
    ends = (known.min(), known.max()) if known.size else (0.0, 1.0)
    width, height, room = 350, 160, 40  # of the picture, and around its plot
    right, bottom = width - 8, height - room
    across, up = Scale.around(x, room, right), Scale.around(known, bottom, 8)
    order = np.argsort(x, kind="stable")
    drawn, names = [], []
    for color, (name, values) in zip(INKS, lines.items(), strict=False):
        shown = order[np.isfinite(values[order])]
        points = points_of(across.at(x[shown]), up.at(values[shown]))
        line = {"fill": "none", "stroke": color, "stroke_width": 2}
        drawn.append(element("polyline", **line, points=points))
        names.append([element("span", "━", style=f"color:{color}"), f" {name}\u2003"])
    frame = f"M{room},8V{bottom}H{right}"
    texts = [
        *((room - 4, up.at(y) + 4, f"{y:.3g}", "end") for y in ends),
        *((across.at(end), bottom + 14, f"{end:g}", "middle") for end in (x.min(), x.max())),
        ((room + width) / 2, height - 4, label, "middle"),
    ]
    style = {"fill": "currentColor", "font_size": 11}
    body = [
        element("path", d=frame, fill="none", stroke="currentColor"),
        *(element("text", text, x=x, y=y, text_anchor=end, **style) for x, y, text, end in texts),
        drawn,
    ]
    picture = element("svg", body, width=width, height=height, role="img")
    return join([picture, element("div", names)])
