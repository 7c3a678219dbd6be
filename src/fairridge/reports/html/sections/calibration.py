"""Calibration by group, at the chosen bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairridge.markup import Html, remark
from fairridge.metrics.group_measures import AttributeAudit, CalibrationBin
from fairridge.reports.html.contents import Audited
from fairridge.reports.html.svg import (
    BOTTOM,
    LEFT,
    TOP,
    dot,
    drawing,
    figure,
    horizontal_axis,
    line_style,
    nice_ticks,
    polyline,
    straight,
    tick_labels,
    vertical_axis,
)
from fairridge.reports.sketch import Scale, points_of

# Width and height of the drawing, and where its axes end.
SIZE, RIGHT = 340.0, 326.0


def calibration_figure(
    part: AttributeAudit, shown: Sequence[int], contents: Audited
) -> Html | None:
    """Draw mean responses against mean predictions; None if there are no responses."""
    names = [part.groups[k].group for k in shown if not part.groups[k].small]
    bins = [b for b in part.calibration if b.group in names and b.count >= 5]
    known = [v for b in bins for v in (b.mean_prediction, b.mean_response.value)]
    if not known or max(known) == min(known):
        return None
    x, y = Scale.around(known, LEFT, RIGHT), Scale.around(known, SIZE - BOTTOM, TOP)
    as_percent = contents.main.audits[0].kind == "classification"
    ticks = nice_ticks(x.low, x.high, 4)
    below = zip(map(x.at, ticks), tick_labels(ticks, as_percent=as_percent), strict=True)
    legend = {line_style(color): part.groups[k].group for color, k in enumerate(shown)}
    body = [
        vertical_axis(y, RIGHT, "observed", as_percent=as_percent),
        horizontal_axis(list(below), SIZE - BOTTOM, "predicted", (LEFT + RIGHT) / 2),
        straight("mark diagonal", LEFT, SIZE - BOTTOM, RIGHT, TOP),
        [_line(x, y, [b for b in bins if b.group == name], s) for s, name in legend.items()],
    ]
    title = f"Observed against predicted, by {part.attribute}"
    at_bound = " at the chosen bound" if contents.subject.definition else ""
    return figure(
        f"Calibration{at_bound}, {contents.main.rows} rows",
        [
            remark(_totals(part, shown, contents)),
            drawing(title, SIZE, SIZE, body, class_="chart square"),
        ],
        legend,
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


def _line(x: Scale, y: Scale, bins: list[CalibrationBin], style: str) -> Html | None:
    if not bins:
        return None
    places = ((x.at(b.mean_prediction), y.at(b.mean_response.value)) for b in bins)
    points = points_of(*zip(*places, strict=True))
    dots = (dot(style, point, 3) for point in points.split(" "))
    return polyline(bins[0].group, f"thin {style}", points, *dots)
