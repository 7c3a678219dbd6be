"""Group metrics for every sensitive attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fairridge.markup import Html, element, remark, section
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.group_measures import AttributeAudit, GroupMeasures
from fairridge.metrics.intervals import UNDEFINED, Estimate
from fairridge.reports.html.board import Board, view_of
from fairridge.reports.html.contents import Audited, Crossed, Sample
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
from fairridge.reports.html.sections.parts import OPEN_ROWS, Cell, part, sentence, table
from fairridge.reports.html.svg import Line, chart, line_style
from fairridge.tables import decimals

# Texts that move with the slider, in all tables together: about two megabytes.
MAX_MOVING_TEXTS = 160_000
MAX_GROUP_LINES = 12

Write = Callable[[float], str]


class _Measure(NamedTuple):
    """What a column of a group table shows."""

    text: Callable[[GroupMeasures], str]
    interval: Callable[[GroupMeasures], str] | None = None  # below that

    def cell(self, group: GroupMeasures) -> Cell:
        """Show it of one group."""
        text, below = self.text(group), None if self.interval is None else self.interval(group)
        return Cell(text, below, "below" if text.endswith("▼") else "")


def groups_section(contents: Audited, board: Board, *, over_bounds: bool) -> Html:
    """Return one table per attribute, and charts."""
    audit, measures = contents.main.audits[contents.chosen], _measures(contents)
    rule, bins = contents.subject.rule, audit.score_bins
    # As many groups of an attribute as keep the file small.
    texts = sum(2 if measure.interval else 1 for measure in measures.values()) + 1
    per_group = texts * len(contents.unfairness) * len(contents.samples)
    maximum = int(np.clip(MAX_MOVING_TEXTS / (per_group * len(audit.attributes)), 2, 40))
    attributes = []
    for position, attribute in enumerate(audit.attributes):
        shown = _largest(attribute, maximum)
        drawn = shown[:MAX_GROUP_LINES]
        figures = [
            _chart(contents, position, drawn) if over_bounds else None,
            calibration_figure(attribute, drawn, contents),
        ]
        groups = _table(contents, board, measures, position, shown)
        pair = element("div", figures, class_="pair")
        attributes += part(attribute.attribute, "", groups, _about_others(attribute, shown), pair)
    return section(
        "groups",
        "Groups",
        element(
            "p",
            f"{f'A row is selected when {rule}. ' if rule else ''}Distances compare a group with "
            f"all rows outside it. Intervals are at {100 * audit.confidence:g} %.",
        ),
        _about_class(contents, board),
        _tenths(contents),
        attributes,
        _intersections(contents, measures),
        remark(
            f"{'▼ below four fifths of the highest selection rate. ' if rule else ''}† fewer than "
            f"{audit.small} rows: left out of the highest {'rate' if rule else 'mean'} and of "
            "comparisons, because they are too noisy."
        ),
        remark(sentence("" if bins is None else bins.words)),
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


def _tenths(contents: Audited) -> list[Html]:
    """Return predictions of numbers against responses, by tenth of all predictions."""
    audit = contents.main.audits[contents.chosen]
    if audit.kind != "regression" or not audit.tenths:
        return []
    tenths, responses = audit.tenths, [tenth.mean_response for tenth in audit.tenths]
    of_amounts = np.isfinite(audit.overall.predicted_over_observed.value)
    ends = zip(column(t.low for t in tenths), column(t.high for t in tenths), strict=True)
    observed = zip(column(found.value for found in responses), responses, strict=True)
    columns: dict[str, list[Any]] = {
        "Predictions": [f"{low} to {high}" for low, high in ends],
        "Rows": [count(tenth.count) for tenth in tenths],
        "Predicted": column(tenth.mean_prediction for tenth in tenths),
        "Observed": [
            Cell(text, span(found.low, found.high, shares=False)) for text, found in observed
        ],
        "Cali\u00adbration": [number(tenth.calibration) for tenth in tenths],
    }
    if of_amounts:
        columns["Pred./obs."] = [ratio(tenth.predicted_over_observed) for tenth in tenths]
    caption = f"Calibration at the chosen bound, {contents.main.rows} rows"
    return part("All rows, by tenth of the predictions", "", table(caption, columns))


def _largest(attribute: AttributeAudit, maximum: int) -> list[int]:
    """Return the largest groups, in their own order."""
    sizes = np.array([group.count for group in attribute.groups])
    return sorted(np.argsort(-sizes, kind="stable")[:maximum].tolist())


def _about_others(attribute: AttributeAudit, shown: Sequence[int]) -> Html | None:
    left = len(attribute.groups) - len(shown)
    return remark(f"{left} smaller groups are not shown." if left else "")


def _names_and_sizes(groups: Sequence[GroupMeasures]) -> dict[str, list[Any]]:
    """Return the first columns of a group table."""
    return {
        "Group": [f"{group.group}{' †' if group.small else ''}" for group in groups],
        "Rows": [Cell(count(group.count), percent(group.share, 0)) for group in groups],
    }


def _table(
    contents: Audited,
    board: Board,
    measures: dict[str, _Measure],
    position: int,
    shown: Sequence[int],
) -> Html:
    attributes = contents.main.audits[contents.chosen].attributes
    attribute, first = attributes[position], sum(len(a.groups) for a in attributes[:position])
    columns = _names_and_sizes([attribute.groups[k] for k in shown])
    for name, measure in measures.items():
        columns[name] = [_cell(board, measure, position, k) for k in shown]
    if "Selected" in columns:
        rates = [100.0 * attribute.groups[k].selection_rate.value for k in shown]
        cells = zip(columns["Selected"], rates, strict=True)
        columns["Selected"] = [replace(cell, number=rate, largest=100.0) for cell, rate in cells]
    if contents.main.decisions is not None:
        columns["Changed"] = [board.of_samples(partial(_changed, first + k)) for k in shown]
    return table(f"Groups of {attribute.attribute}", columns, "groups")


def _cell(board: Board, measure: _Measure, position: int, group: int) -> Cell:
    def moving(write: Callable[[GroupMeasures], str]) -> Html:
        return board.of_samples(
            lambda sample, k: write(sample.audits[k].attributes[position].groups[group])
        )

    return Cell(
        moving(measure.text), None if measure.interval is None else moving(measure.interval)
    )


def _changed(group: int, sample: Sample, k: int) -> str:
    if sample.decisions is None:
        return MISSING
    gained, lost = sample.decisions.gained[k, group], sample.decisions.lost[k, group]
    return f"+{count(gained)} / −{count(lost)}"


def _measures(contents: Audited) -> dict[str, _Measure]:
    """Return columns that are defined somewhere, those that matter most first."""
    audit = contents.main.audits[contents.chosen]
    classes = audit.kind == "classification"
    write = _means(audit)

    def difference(value: float) -> str:
        known = classes and np.isfinite(value)
        return f"{signed(100 * value, 1)} points" if known else number(value)

    between = partial(_between, shares=classes)
    measures = {
        "Selected": _estimated("selection_rate", percent, _between),
        "Ratio": _Measure(
            lambda g: ratio(g.adverse_impact_ratio) + (" ▼" if g.adverse_impact else ""),
            lambda g: _ends(g.impact_ratio),
        ),
        "Predicted": _estimated("mean_prediction", write, between),
        "Among equals": _estimated("adjusted_difference", difference, between),
        "Of highest": _estimated("mean_ratio", ratio, _ends),
        "Observed": _Measure(lambda g: write(g.mean_response.value)),
        "TPR": _estimated("true_positive_rate", percent, _between),
        "FPR": _estimated("false_positive_rate", percent, _between),
        "Cali\u00adbration": _Measure(lambda g: difference(g.calibration.value)),
        "Pred./obs.": _estimated("predicted_over_observed", ratio, _ends),
        "SMD": _Measure(lambda g: signed(g.distances.standardized_mean_difference, 2)),
        "KS": _Measure(lambda g: ratio(g.distances.kolmogorov_smirnov)),
        "Wasser\u00adstein": _Measure(lambda g: number(g.distances.wasserstein)),
    }
    if classes:  # the difference of observed and predicted says what their ratio does
        del measures["Pred./obs."]
    audits = [sample.audits[contents.chosen] for sample in contents.samples]
    groups = [group for audit in audits for group in audit._groups]
    return {
        name: measure
        for name, measure in measures.items()
        if any(measure.text(group) != MISSING for group in groups)
    }


def _means(audit: Audit) -> Write:
    """Return how means are written: of numbers with decimals that tell groups apart."""
    if audit.kind == "classification":
        return percent
    means = [v for g in audit._groups for v in (g.mean_prediction.value, g.mean_response.value)]
    return partial(number, places=decimals(means))


def _estimated(name: str, write: Write, interval: Callable[[Estimate], str]) -> _Measure:
    """Show an estimate of every group and its interval."""

    def found(group: GroupMeasures) -> Estimate:
        return getattr(group, name) or UNDEFINED

    return _Measure(lambda group: write(found(group).value), lambda group: interval(found(group)))


def _between(estimate: Estimate, *, shares: bool = True) -> str:
    return span(estimate.low, estimate.high, shares=shares)


def _ends(estimate: Estimate) -> str:
    """Write the interval of a ratio; nothing for that of a group to itself."""
    known = estimate.low < estimate.high
    return f"{ratio(estimate.low)} – {ratio(estimate.high)}" if known else ""


def _chart(contents: Audited, position: int, shown: Sequence[int]) -> Html:
    """Draw selection rates, or mean predictions without decisions, over the bounds."""
    selected = contents.main.decisions is not None
    what = "selection_rate" if selected else "mean_prediction"
    lines = []
    for sample in contents.samples:
        for color, k in enumerate(shown):
            groups = [audit.attributes[position].groups[k] for audit in sample.audits]
            values = np.array([getattr(group, what).value for group in groups])
            view = view_of(sample)
            lines.append(Line(values, line_style(color), groups[0].group, view=view))
    name = "Selected" if selected else "Mean prediction"
    return chart(
        f"{name}, by group, over the bound",
        contents,
        lines,
        width=680.0,
        label=name.lower(),
        height=300.0,
        as_percent=selected or contents.main.audits[0].kind == "classification",
        first_view=view_of(contents.main),
    )


def _intersections(contents: Audited, measures: dict[str, _Measure]) -> list[Html]:
    """Return one table for every two attributes, at the chosen bound."""
    if not contents.intersections:
        return []
    return part(
        "Two attributes together",
        f"Groups by two attributes at a time, on {contents.main.rows} rows, at the chosen bound "
        "and without one. A bound on each attribute's linear part says nothing of their "
        "combinations.",
        [_crossed_table(contents, pair, measures) for pair in contents.intersections],
    )


def _crossed_table(contents: Audited, crossed: Crossed, measures: dict[str, _Measure]) -> Html:
    shown, name = _largest(crossed.chosen, OPEN_ROWS), crossed.chosen.attribute
    here, free = ([of.groups[k] for k in shown] for of in (crossed.chosen, crossed.free))
    columns = _names_and_sizes(here)
    moved = ("Selected", "Ratio") if contents.subject.rule else ("Predicted",)
    for head in ("Selected", "Ratio", "Predicted", "Observed"):
        if head not in measures:
            continue
        columns[head] = [measures[head].cell(group) for group in here]
        if head in moved:
            columns[f"{head}, no bound"] = [measures[head].text(group) for group in free]
    groups = table(f"Groups of {name}", columns)
    return element("div", element("h4", name), groups, _about_others(crossed.chosen, shown))
