"""Groups of two attributes together, at the chosen bound."""

from __future__ import annotations

import numpy as np

from fairridge.metrics import GroupMeasures
from fairridge.reports.html.contents import Audited, Crossed
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import MISSING, count, number, percent, ratio, span
from fairridge.reports.html.sections.parts import table
from fairridge.reports.html.sections.words import term

__all__ = ["intersections_part"]

MOST_GROUPS = 24
BELOW, SMALL_GROUP = " ▼", " †"


def intersections_part(contents: Audited) -> list[Html]:
    """Return one table for every two attributes."""
    if not contents.intersections:
        return []
    return [
        element("h3", "Two attributes together"),
        element(
            "p",
            f"Groups by two attributes at a time, on {contents.main.rows} rows, at the chosen "
            "bound and without one. A bound on each attribute's linear part says nothing of "
            "their combinations.",
        ),
        *(_table(contents, one) for one in contents.intersections),
    ]


def _table(contents: Audited, crossed: Crossed) -> Html:
    classes = contents.main.audits[0].kind == "classification"
    sizes = np.array([group.count for group in crossed.chosen.groups])
    shown = sorted(np.argsort(-sizes, kind="stable")[:MOST_GROUPS].tolist())
    rows = []
    for k in shown:
        here, free = crossed.chosen.groups[k], crossed.free.groups[k]
        rows.append(
            [
                element("span", here.group, SMALL_GROUP if here.small else ""),
                element("td", count(here.count), element("small", percent(here.share, 0))),
                _selected(here),
                _ratio(here),
                percent(free.selection_rate.value),
                _ratio(free),
                _mean(here.mean_prediction.value, classes),
                _mean(here.mean_response.value, classes),
            ]
        )
    head = ["Group", "Rows", term("Selected"), term("Ratio"), "Selected, no bound",
            "Ratio, no bound", term("Predicted"), term("Observed")]  # fmt: skip
    left = len(sizes) - len(shown)
    note = element("p", f"{left} smaller groups are not shown.", class_="note") if left else None
    name = f"Groups of {crossed.chosen.attribute}"
    return element("div", element("h4", crossed.chosen.attribute), table(name, head, rows), note)


def _selected(group: GroupMeasures) -> Html:
    rate = group.selection_rate
    return element("td", percent(rate.value), element("small", span(rate.low, rate.high)))


def _ratio(group: GroupMeasures) -> Html:
    below = group.adverse_impact
    text = ratio(group.adverse_impact_ratio) + (BELOW if below else "")
    return element("td", element("span", text, class_="below" if below else None))


def _mean(value: float, classes: bool) -> str:
    if not np.isfinite(value):
        return MISSING
    return percent(value) if classes else number(value)
