"""Calibration by group, at the chosen bound."""

from __future__ import annotations

from collections.abc import Sequence

from fairridge.metrics import AttributeAudit, CalibrationBin
from fairridge.reports.html.contents import Audited
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.sections.parts import figure, legend
from fairridge.reports.html.svg import nice_ticks, tick_labels

__all__ = ["calibration_figure"]

SIZE, LEFT, TOP, BOTTOM, RIGHT = 340.0, 56.0, 12.0, 42.0, 14.0
COLORS = 8


def calibration_figure(
    part: AttributeAudit, shown: Sequence[int], contents: Audited
) -> Html | None:
    """Draw mean responses against mean predictions; None where there are no responses."""
    names = [part.groups[k].group for k in shown if not part.groups[k].small]
    bins = [b for b in part.calibration if b.group in names and b.count >= 5]
    if not bins:
        return None
    classes = contents.main.audits[0].kind == "classification"
    known = [v for b in bins for v in (b.mean_prediction, b.mean_response.value)]
    low, high = min(known), max(known)
    if not high > low:
        return None
    margin = 0.05 * (high - low)
    axes = _Square(low - margin, high + margin)
    groups = [
        _line(axes, [b for b in bins if b.group == part.groups[k].group], f"c{color % COLORS}")
        for color, k in enumerate(shown)
    ]
    drawing = element(
        "svg",
        element("title", f"Observed against predicted, by {part.attribute}"),
        axes.draw(classes),
        groups,
        class_="chart square",
        role="img",
        viewBox=f"0 0 {SIZE:g} {SIZE:g}",
        style=f"--w:{SIZE:g}",
    )
    remark = "Points near the line are calibrated. Tenths of all predictions; groups by color."
    colors = [(f"c{color % COLORS}", part.groups[k].group) for color, k in enumerate(shown)]
    return figure(
        f"Calibration at the chosen bound, {contents.main.rows} rows",
        drawing,
        legend(colors),
        element("p", remark, class_="note"),
    )


def _line(axes: _Square, bins: list[CalibrationBin], style: str) -> Html | None:
    points = [(axes.x(b.mean_prediction), axes.y(b.mean_response.value)) for b in bins]
    if not points:
        return None
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    circles = [
        element("circle", class_=f"dot {style}", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3)
        for x, y in points
    ]
    line = element("polyline", class_=f"line thin {style}", points=text)
    return element("g", element("title", bins[0].group), line, circles)


class _Square:
    """Two equal axes."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def x(self, value: float) -> float:
        return LEFT + (SIZE - LEFT - RIGHT) * (value - self.low) / (self.high - self.low)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return TOP + (SIZE - TOP - BOTTOM) * (1.0 - share)

    def draw(self, as_percent: bool) -> list[Html]:
        bottom, right = SIZE - BOTTOM, SIZE - RIGHT
        parts = []
        ticks = nice_ticks(self.low, self.high, 4)
        for tick, text in zip(ticks, tick_labels(ticks, as_percent=as_percent), strict=True):
            y, x = f"{self.y(tick):.1f}", f"{self.x(tick):.1f}"
            parts.append(element("line", class_="grid", x1=LEFT, x2=right, y1=y, y2=y))
            parts.append(element("text", text, class_="tick end", x=LEFT - 6, y=y, dy="0.32em"))
            parts.append(element("text", text, class_="tick middle", x=x, y=bottom + 16))
        parts.append(element("line", class_="mark diagonal", x1=LEFT, y1=bottom, x2=right, y2=TOP))
        middle = f"{(TOP + bottom) / 2:.1f}"
        parts.append(
            element("text", "predicted", class_="name middle", x=(LEFT + right) / 2, y=SIZE - 6)
        )
        parts.append(
            element("text", "observed", class_="name middle", x=12, y=middle,
                    transform=f"rotate(-90 12 {middle})")
        )  # fmt: skip
        return parts
