"""Calibration by group, at the chosen bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairridge.metrics.group_measures import AttributeAudit, CalibrationBin
from fairridge.reports.html.contents import Audited
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.sections.parts import COLORS, figure, legend, remark
from fairridge.reports.html.svg import Margins, nice_ticks, straight, tick_labels, upright

# Width and height of the drawing.
SIZE = 340.0
MARGINS = Margins(left=56.0, right=14.0, top=12.0, bottom=42.0)


def calibration_figure(
    part: AttributeAudit, shown: Sequence[int], contents: Audited
) -> Html | None:
    """Draw mean responses against mean predictions; None if there are no responses."""
    names = [part.groups[k].group for k in shown if not part.groups[k].small]
    bins = [b for b in part.calibration if b.group in names and b.count >= 5]
    known = [v for b in bins for v in (b.mean_prediction, b.mean_response.value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if not high > low:
        return None
    margin = 0.05 * (high - low)
    axes = _Square(low - margin, high + margin)
    colors = [(f"c{color % COLORS}", part.groups[k].group) for color, k in enumerate(shown)]
    drawing = element(
        "svg",
        element("title", f"Observed against predicted, by {part.attribute}"),
        axes.draw(contents.main.audits[0].kind == "classification"),
        [_line(axes, [b for b in bins if b.group == group], style) for style, group in colors],
        class_="chart square",
        role="img",
        viewBox=f"0 0 {SIZE:g} {SIZE:g}",
        style=f"--w:{SIZE:g}",
    )
    at_bound = " at the chosen bound" if contents.subject.definition else ""
    return figure(
        f"Calibration{at_bound}, {contents.main.rows} rows",
        remark(_totals(part, shown, contents)),
        drawing,
        legend(colors),
        remark("Points near the line are calibrated. Tenths of all predictions; groups by color."),
    )


def _totals(part: AttributeAudit, shown: Sequence[int], contents: Audited) -> str:
    """Say what predictions add up to beside what was observed, in all rows and in groups."""
    everyone = contents.main.audits[contents.chosen].overall
    groups = [("all rows", everyone), *((part.groups[k].group, part.groups[k]) for k in shown)]
    texts = [
        f"{name} {found.words('.3f')}"
        for name, group in groups
        if np.isfinite((found := group.predicted_over_observed).value)
    ]
    return f"Total predicted over total observed: {', '.join(texts)}." if texts else ""


def _line(axes: _Square, bins: list[CalibrationBin], style: str) -> Html | None:
    if not bins:
        return None
    points = [
        (f"{axes.x(b.mean_prediction):.1f}", f"{axes.y(b.mean_response.value):.1f}") for b in bins
    ]
    text = " ".join(f"{x},{y}" for x, y in points)
    return element(
        "g",
        element("title", bins[0].group),
        element("polyline", class_=f"line thin {style}", points=text),
        [element("circle", class_=f"dot {style}", cx=x, cy=y, r=3) for x, y in points],
    )


class _Square:
    """Two equal axes."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def x(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return MARGINS.left + (SIZE - MARGINS.left - MARGINS.right) * share

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return MARGINS.top + (SIZE - MARGINS.top - MARGINS.bottom) * (1.0 - share)

    def draw(self, as_percent: bool) -> list[Html]:
        bottom, right = SIZE - MARGINS.bottom, SIZE - MARGINS.right
        parts = []
        ticks = nice_ticks(self.low, self.high, 4)
        for tick, text in zip(ticks, tick_labels(ticks, as_percent=as_percent), strict=True):
            y, x = f"{self.y(tick):.1f}", f"{self.x(tick):.1f}"
            parts += [
                straight("grid", MARGINS.left, y, right, y),
                element("text", text, class_="tick end", x=MARGINS.left - 6, y=y, dy="0.32em"),
                element("text", text, class_="tick middle", x=x, y=bottom + 16),
            ]
        return [
            *parts,
            straight("mark diagonal", MARGINS.left, bottom, right, MARGINS.top),
            element(
                "text", "predicted", class_="name middle", x=(MARGINS.left + right) / 2, y=SIZE - 6
            ),
            upright("observed", (MARGINS.top + bottom) / 2),
        ]
