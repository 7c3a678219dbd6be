"""Group metrics for every sensitive attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.group_measures import AttributeAudit, GroupMeasures
from fairridge.metrics.intervals import UNDEFINED, Estimate
from fairridge.reports.html.board import Board, view_of
from fairridge.reports.html.contents import Audited, Crossed, Sample
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import (
    MISSING,
    column,
    count,
    number,
    percent,
    ratio,
    signed,
    span,
)
from fairridge.reports.html.sections.calibration import calibration_figure
from fairridge.reports.html.sections.parts import (
    OPEN_ROWS,
    bar,
    figure,
    legend,
    line_style,
    remark,
    section,
    table,
)
from fairridge.reports.html.sections.words import term
from fairridge.reports.html.svg import Line, PathScale, chart
from fairridge.tables import decimals

# Texts that move with the slider, in all tables together: about two megabytes.
MAX_MOVING_TEXTS = 160_000
MAX_GROUP_LINES = 12


@dataclass(frozen=True)
class _TableColumn:
    """One column of a group table."""

    name: str  # heading, one of `MEANINGS`
    text: Callable[[GroupMeasures], str]  # what a cell shows
    interval: Callable[[GroupMeasures], str] | None = None  # what it shows below that
    bar: bool = False  # whether the cell has a bar


def groups_section(contents: Audited, board: Board, scale: PathScale | None) -> Html:
    """Return one table per attribute, and charts; those over bounds need a scale."""
    audit = contents.main.audits[contents.chosen]
    columns = _columns(contents)
    rule = contents.subject.rule
    intro = (
        f"{f'A row is selected when {rule}. ' if rule else ''}Distances compare a group with all "
        f"rows outside it. Intervals are at {100 * audit.confidence:g} %."
    )
    highest = "rate" if rule else "mean"
    marks = (
        f"{'▼ below four fifths of the highest selection rate. ' if rule else ''}† fewer than "
        f"{audit.small} rows: left out of the highest {highest} and of comparisons, because they "
        "are too noisy."
    )
    # As many groups of an attribute as keep the file small.
    texts = sum(2 if column.interval else 1 for column in columns) + 1
    per_group = texts * len(contents.unfairness) * len(contents.samples)
    maximum = int(np.clip(MAX_MOVING_TEXTS / (per_group * len(audit.attributes)), 2, 40))
    return section(
        "groups",
        "Groups",
        element("p", intro),
        _about_class(contents, board),
        _tenths(contents),
        [
            _attribute(contents, board, scale, columns, position, maximum)
            for position in range(len(audit.attributes))
        ],
        _intersections(contents),
        remark(marks),
        remark(_bins(audit)),
    )


def _about_class(contents: Audited, board: Board) -> Html | None:
    """Name the class that numbers of groups are of; nothing if there is only one outcome."""
    if not contents.main.outcome:
        return None
    return element(
        "p",
        "Of several classes, predictions, rates and distances are those of one: of ",
        board.of_samples(lambda sample, k: sample.outcome),
        f" in tables, of {contents.main.outcome} in charts and for two attributes together.",
    )


def _bins(audit: Audit) -> str:
    """Say how far measures of sorted predictions may be off, if they come from bins."""
    if audit.score_bins is None:
        return ""
    words = audit.score_bins.words
    return f"{words[0].upper()}{words[1:]}."


def _attribute(
    contents: Audited,
    board: Board,
    scale: PathScale | None,
    columns: Sequence[_TableColumn],
    position: int,
    maximum: int,
) -> Html:
    part = contents.main.audits[contents.chosen].attributes[position]
    shown, note = _largest(part, maximum)
    return element(
        "div",
        element("h3", part.attribute),
        _table(contents, board, columns, position, shown),
        note,
        element(
            "div",
            None if scale is None else _chart(contents, scale, position, shown[:MAX_GROUP_LINES]),
            calibration_figure(part, shown[:MAX_GROUP_LINES], contents),
            class_="pair",
        ),
        class_="attribute",
    )


def _tenths(contents: Audited) -> list[Html]:
    """Return predictions of numbers against responses, by tenth of all predictions."""
    audit = contents.main.audits[contents.chosen]
    if audit.kind != "regression" or not audit.tenths:
        return []
    of_amounts = np.isfinite(audit.overall.predicted_over_observed.value)
    lows, highs, predicted, observed = (
        column(values)
        for values in zip(
            *((t.low, t.high, t.mean_prediction, t.mean_response.value) for t in audit.tenths),
            strict=True,
        )
    )
    rows = [
        [
            f"{lows[k]} to {highs[k]}",
            count(tenth.count),
            predicted[k],
            element(
                "td",
                observed[k],
                element("small", span(tenth.mean_response.low, tenth.mean_response.high,
                                      shares=False)),
            ),
            number(tenth.calibration),
            ratio(tenth.predicted_over_observed) if of_amounts else MISSING,
        ]
        for k, tenth in enumerate(audit.tenths)
    ]  # fmt: skip
    head = ["Predictions", "Rows", *map(term, ("Predicted", "Observed", "Cali\u00adbration",
                                               "Pred./obs."))]  # fmt: skip
    known = [k for k, cell in enumerate(zip(*rows, strict=True)) if set(cell) != {MISSING}]
    return [
        element("h3", "All rows, by tenth of the predictions"),
        table(
            f"Calibration at the chosen bound, {contents.main.rows} rows",
            [head[k] for k in known],
            [[row[k] for k in known] for row in rows],
        ),
    ]


def _largest(part: AttributeAudit, maximum: int) -> tuple[list[int], Html | None]:
    """Return the largest groups, in their own order, and a note if there are more."""
    sizes = np.array([group.count for group in part.groups])
    shown = sorted(np.argsort(-sizes, kind="stable")[:maximum].tolist())
    left = len(sizes) - len(shown)
    return shown, remark(f"{left} smaller groups are not shown." if left else "")


def _name_and_size(group: GroupMeasures) -> list[Html]:
    size = element("td", count(group.count), element("small", percent(group.share, 0)))
    return [element("span", group.group, " †" if group.small else ""), size]


def _table(
    contents: Audited,
    board: Board,
    columns: Sequence[_TableColumn],
    position: int,
    shown: Sequence[int],
) -> Html:
    attributes = contents.main.audits[contents.chosen].attributes
    part, first = attributes[position], sum(len(p.groups) for p in attributes[:position])
    changes = contents.main.decisions is not None
    head = ["Group", "Rows", *(term(column.name) for column in columns)]
    if changes:
        head.append(term("Changed"))
    rows = []
    for k in shown:
        cells = [_cell(contents, board, column, position, k) for column in columns]
        if changes:
            cells.append(board.of_samples(partial(_changed, first + k)))
        rows.append([*_name_and_size(part.groups[k]), *cells])
    return table(f"Groups of {part.attribute}", head, rows, class_="groups")


def _cell(contents: Audited, board: Board, column: _TableColumn, position: int, group: int) -> Html:
    def of(sample: Sample, k: int) -> GroupMeasures:
        return sample.audits[k].attributes[position].groups[group]

    text = board.of_samples(lambda sample, k: column.text(of(sample, k)))
    interval = None
    if column.interval is not None:
        write = column.interval
        interval = element("small", board.of_samples(lambda sample, k: write(of(sample, k))))
    if column.bar:
        value = of(contents.main, contents.chosen).selection_rate.value
        return bar(element("span", text, interval), 100.0, 100.0 * value)
    return element("td", text, interval)


def _changed(group: int, sample: Sample, k: int) -> str:
    if sample.decisions is None:
        return MISSING
    gained, lost = sample.decisions.gained[k, group], sample.decisions.lost[k, group]
    return f"+{count(gained)} / −{count(lost)}"


def _columns(contents: Audited) -> list[_TableColumn]:
    """Columns that are defined somewhere."""
    audit = contents.main.audits[contents.chosen]
    classes = audit.kind == "classification"
    write = percent if classes else _comparable(audit)

    def difference(value: float) -> str:
        known = classes and np.isfinite(value)
        return f"{signed(100 * value, 1)} points" if known else number(value)

    def adjusted(group: GroupMeasures) -> Estimate:
        return group.adjusted_difference or UNDEFINED

    # The columns that matter most come first: a phone shows no more.
    columns = [
        _estimated("Selected", "selection_rate", percent, bar=True),
        _TableColumn("Ratio", _ratio, lambda g: _ends(g.impact_ratio)),
        _estimated("Predicted", "mean_prediction", write, shares=classes),
        _TableColumn(
            "Among equals",
            lambda g: difference(adjusted(g).value),
            lambda g: span(adjusted(g).low, adjusted(g).high, shares=classes),
        ),
        _of_estimate("Of highest", "mean_ratio"),
        _TableColumn("Observed", lambda g: write(g.mean_response.value)),
        _estimated("TPR", "true_positive_rate", percent),
        _estimated("FPR", "false_positive_rate", percent),
        _TableColumn("Cali\u00adbration", lambda g: difference(g.calibration.value)),
        *([] if classes else [_of_estimate("Pred./obs.", "predicted_over_observed")]),
        _TableColumn("SMD", lambda g: signed(g.distances.standardized_mean_difference, 2)),
        _TableColumn("KS", lambda g: ratio(g.distances.kolmogorov_smirnov)),
        _TableColumn("Wasser\u00adstein", lambda g: number(g.distances.wasserstein)),
    ]
    groups = [
        group
        for sample in contents.samples
        for part in sample.audits[contents.chosen].attributes
        for group in part.groups
    ]
    return [column for column in columns if any(column.text(g) != MISSING for g in groups)]


def _comparable(audit: Audit) -> Callable[[float], str]:
    """Return how means of numbers are written, with decimals that tell groups apart."""
    groups = [group for part in audit.attributes for group in part.groups]
    means = [v for g in groups for v in (g.mean_prediction.value, g.mean_response.value)]
    return partial(number, places=decimals(means))


def _estimated(
    heading: str,
    name: str,
    write: Callable[[float], str],
    *,
    shares: bool = True,
    bar: bool = False,
) -> _TableColumn:
    """Show an estimate of every group and its interval."""

    def interval(group: GroupMeasures) -> str:
        estimate = getattr(group, name)
        return span(estimate.low, estimate.high, shares=shares)

    return _TableColumn(heading, lambda group: write(getattr(group, name).value), interval, bar)


def _of_estimate(heading: str, name: str) -> _TableColumn:
    """Show a ratio of every group and its interval."""
    return _TableColumn(
        heading,
        lambda group: ratio(getattr(group, name).value),
        lambda group: _ends(getattr(group, name)),
    )


def _ends(estimate: Estimate) -> str:
    """Write the interval of a ratio; nothing for that of a group to itself."""
    known = estimate.low < estimate.high
    return f"{ratio(estimate.low)} – {ratio(estimate.high)}" if known else ""


def _ratio(group: GroupMeasures) -> str:
    return ratio(group.adverse_impact_ratio) + (" ▼" if group.adverse_impact else "")


def _chart(contents: Audited, scale: PathScale, position: int, shown: Sequence[int]) -> Html:
    """Draw selection rates, or mean predictions without decisions, over the bounds."""
    selected = contents.main.decisions is not None
    what = "selection_rate" if selected else "mean_prediction"
    part = contents.main.audits[0].attributes[position]
    entries = [(line_style(color), part.groups[k].group) for color, k in enumerate(shown)]
    lines = []
    for sample in contents.samples:
        for (style, group), k in zip(entries, shown, strict=True):
            groups = [audit.attributes[position].groups[k] for audit in sample.audits]
            values = np.array([getattr(measured, what).value for measured in groups])
            lines.append(Line(values, style, group, view=view_of(sample)))
    name = "Selected" if selected else "Mean prediction"
    drawing = chart(
        scale.wider(680.0),
        contents.chosen,
        lines,
        title=f"{name} by {part.attribute} over the bound",
        label=name.lower(),
        height=250.0,
        as_percent=selected or contents.main.audits[0].kind == "classification",
        first_view=view_of(contents.main),
    )
    return figure(f"{name}, by group, over the bound", drawing, legend(entries))


def _intersections(contents: Audited) -> list[Html]:
    """Return one table for every two attributes, at the chosen bound."""
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
        *(_crossed_table(contents, pair) for pair in contents.intersections),
    ]


def _crossed_table(contents: Audited, crossed: Crossed) -> Html:
    decides = bool(contents.subject.rule)
    audit = contents.main.audits[contents.chosen]
    mean = percent if audit.kind == "classification" else _comparable(audit)
    shown, note = _largest(crossed.chosen, OPEN_ROWS)
    head = ["Group", "Rows"]
    if decides:
        head += [term("Selected"), term("Ratio"), "Selected, no bound", "Ratio, no bound"]
    head += [term("Predicted"), term("Observed")]
    if not decides:
        head += ["Predicted, no bound"]
    rows = []
    for k in shown:
        here, free = crossed.chosen.groups[k], crossed.free.groups[k]
        cells: list[Html | str] = [mean(here.mean_prediction.value), mean(here.mean_response.value)]
        if decides:
            rate = here.selection_rate
            selected = element(
                "td", percent(rate.value), element("small", span(rate.low, rate.high))
            )
            before = percent(free.selection_rate.value), _marked_ratio(free)
            cells = [selected, _marked_ratio(here), *before, *cells]
        else:
            cells.append(mean(free.mean_prediction.value))
        rows.append([*_name_and_size(here), *cells])
    name = crossed.chosen.attribute
    return element("div", element("h4", name), table(f"Groups of {name}", head, rows), note)


def _marked_ratio(group: GroupMeasures) -> Html:
    style = "below" if group.adverse_impact else None
    return element("td", element("span", _ratio(group), class_=style))
