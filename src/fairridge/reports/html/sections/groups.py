"""Group metrics for every sensitive attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairridge.metrics import AttributeAudit, Estimate, GroupMeasures
from fairridge.reports.html.board import Board, view_of
from fairridge.reports.html.contents import Audited, Sample
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import MISSING, count, number, percent, ratio, signed, span
from fairridge.reports.html.sections.calibration import calibration_figure
from fairridge.reports.html.sections.intersections import intersections_part
from fairridge.reports.html.sections.parts import bar, figure, legend, section, table
from fairridge.reports.html.sections.words import term
from fairridge.reports.html.svg import Chart, Line, PathScale

__all__ = ["groups_section"]

COLORS = 8
# Texts that move with the slider, in all tables together: about two megabytes.
MOST_TEXTS = 160_000
MOST_LINES = 12
BELOW = " ▼"
SMALL_GROUP = " †"


@dataclass(frozen=True)
class _Column:
    """One column of a group table.

    Attributes
    ----------
    name : str
        Heading, one of `MEANINGS`.
    text : callable
        What a cell shows.
    interval : callable, optional
        What it shows below that.
    bar : bool
        Whether the cell has a bar.
    """

    name: str
    text: Callable[[GroupMeasures], str]
    interval: Callable[[GroupMeasures], str] | None = None
    bar: bool = False


def groups_section(contents: Audited, board: Board, scale: PathScale | None) -> Html:
    """Return one table per attribute, and charts; those over bounds need a scale."""
    audit = contents.main.audits[contents.chosen]
    intro = (
        f"A row is selected when {contents.subject.rule}. Distances compare a group with all "
        f"rows outside it. Intervals are at {100 * audit.confidence:g} %."
    )
    marks = (
        f"▼ below four fifths of the highest selection rate. † fewer than {audit.small} rows: "
        "left out of the highest rate and of comparisons, because chance would rule."
    )
    maximum = _most_groups(contents)
    return section(
        "groups",
        "Groups",
        element("p", intro),
        [
            _attribute(contents, board, scale, position, maximum)
            for position in range(len(audit.attributes))
        ],
        intersections_part(contents),
        element("p", marks, class_="note"),
    )


def _most_groups(contents: Audited) -> int:
    """As many groups of an attribute as keep the file small."""
    columns = _columns(contents)
    texts = sum(2 if column.interval else 1 for column in columns) + 1
    audit = contents.main.audits[0]
    per_group = texts * len(contents.unfairness) * len(contents.samples)
    return int(np.clip(MOST_TEXTS / (per_group * len(audit.attributes)), 2, 40))


def _attribute(
    contents: Audited, board: Board, scale: PathScale | None, position: int, maximum: int
) -> Html:
    part = contents.main.audits[contents.chosen].attributes[position]
    # The largest groups, in their own order.
    sizes = [group.count for group in part.groups]
    shown = sorted(np.argsort(-np.array(sizes), kind="stable")[:maximum].tolist())
    left = len(part.groups) - len(shown)
    return element(
        "div",
        element("h3", part.attribute),
        _table(contents, board, position, shown),
        element("p", f"{left} smaller groups are not shown.", class_="note") if left else None,
        element(
            "div",
            None if scale is None else _chart(contents, scale, position, shown[:MOST_LINES]),
            calibration_figure(part, shown[:MOST_LINES], contents),
            class_="pair",
        ),
        class_="attribute",
    )


def _table(contents: Audited, board: Board, position: int, shown: Sequence[int]) -> Html:
    columns = _columns(contents)
    part = contents.main.audits[contents.chosen].attributes[position]
    first = sum(len(p.groups) for p in contents.main.audits[0].attributes[:position])
    changes = contents.main.decisions is not None
    head = ["Group", "Rows", *(term(column.name) for column in columns)]
    if changes:
        head.append(term("Changed"))
    rows = []
    for k in shown:
        group = part.groups[k]
        cells = [_cell(contents, board, column, position, k) for column in columns]
        if changes:
            cells.append(board.of_samples(_changed(first + k)))
        name = element("span", group.group, SMALL_GROUP if group.small else "")
        size = element("td", count(group.count), element("small", percent(group.share, 0)))
        rows.append([name, size, *cells])
    return table(f"Groups of {part.attribute}", head, rows, class_="groups")


def _cell(contents: Audited, board: Board, column: _Column, position: int, group: int) -> Html:
    def of(sample: Sample, k: int) -> GroupMeasures:
        return sample.audits[k].attributes[position].groups[group]

    text = board.of_samples(lambda sample, k: column.text(of(sample, k)))
    interval = None
    if column.interval is not None:
        write = column.interval
        interval = element("small", board.of_samples(lambda sample, k: write(of(sample, k))))
    if column.bar:
        value = of(contents.main, contents.chosen).selection_rate.value
        both = element("span", text, interval)
        return bar(both, 100.0, 100.0 * value)
    return element("td", text, interval)


def _changed(group: int) -> Callable[[Sample, int], str]:
    def text(sample: Sample, k: int) -> str:
        if sample.decisions is None:
            return MISSING
        gained, lost = sample.decisions.gained[k, group], sample.decisions.lost[k, group]
        return f"+{count(gained)} / −{count(lost)}"

    return text


def _columns(contents: Audited) -> list[_Column]:
    """Columns that are defined somewhere."""
    classes = contents.main.audits[0].kind == "classification"

    mean = partial(_mean, classes=classes)
    # The columns that matter most come first: a phone shows no more.
    columns = [
        _Column("Selected", _rate("selection_rate"), _interval("selection_rate", True), bar=True),
        _Column("Ratio", _ratio),
        _Column("Predicted", mean("mean_prediction"), _interval("mean_prediction", classes)),
        _Column("Observed", mean("mean_response")),
        _Column("TPR", _rate("true_positive_rate"), _interval("true_positive_rate", True)),
        _Column("FPR", _rate("false_positive_rate"), _interval("false_positive_rate", True)),
        _Column("Cali\u00adbration", lambda g: _points(g.calibration.value, classes)),
        _Column("SMD", lambda g: signed(g.distances.standardized_mean_difference, 2)),
        _Column("KS", lambda g: ratio(g.distances.kolmogorov_smirnov)),
        _Column("Wasser\u00adstein", lambda g: number(g.distances.wasserstein)),
    ]
    groups = [
        group
        for sample in contents.samples
        for part in sample.audits[contents.chosen].attributes
        for group in part.groups
    ]
    return [column for column in columns if any(column.text(g) != MISSING for g in groups)]


def _rate(name: str) -> Callable[[GroupMeasures], str]:
    return lambda group: percent(getattr(group, name).value)


def _mean(name: str, *, classes: bool) -> Callable[[GroupMeasures], str]:
    return _rate(name) if classes else lambda group: number(getattr(group, name).value)


def _interval(name: str, shares: bool) -> Callable[[GroupMeasures], str]:
    def text(group: GroupMeasures) -> str:
        estimate: Estimate = getattr(group, name)
        return span(estimate.low, estimate.high, shares=shares)

    return text


def _ratio(group: GroupMeasures) -> str:
    return ratio(group.adverse_impact_ratio) + (BELOW if group.adverse_impact else "")


def _points(value: float, classes: bool) -> str:
    if not np.isfinite(value):
        return MISSING
    return f"{signed(100 * value, 1)} pt" if classes else number(value)


def _chart(contents: Audited, scale: PathScale, position: int, shown: Sequence[int]) -> Html:
    """Draw selection rates, or mean predictions where nobody is selected, over the bounds."""
    selected = contents.main.decisions is not None
    what = "selection_rate" if selected else "mean_prediction"
    lines = []
    for sample in contents.samples:
        for color, k in enumerate(shown):
            values = np.array(
                [
                    getattr(audit.attributes[position].groups[k], what).value
                    for audit in sample.audits
                ]
            )
            group = sample.audits[0].attributes[position].groups[k]
            lines.append(Line(values, _style(color), group.group, view=view_of(sample)))
    part: AttributeAudit = contents.main.audits[0].attributes[position]
    name = "Selected" if selected else "Mean prediction"
    classes = contents.main.audits[0].kind == "classification"
    chart = Chart(scale.wider(680.0), contents.chosen).draw(
        lines,
        title=f"{name} by {part.attribute} over the bound",
        label=name.lower(),
        height=250.0,
        as_percent=selected or classes,
        first_view=view_of(contents.main),
    )
    entries = [(_style(color), part.groups[k].group) for color, k in enumerate(shown)]
    return figure(f"{name}, by group, over the bound", chart, legend(entries))


def _style(color: int) -> str:
    dash = ("", " dashed", " dotted")[color // COLORS % 3]
    return f"c{color % COLORS}{dash}"
