"""The slider, and the figures that move with it."""

from __future__ import annotations

import math

from fairridge.reports.html.alternatives import lowest_ratio
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import ratio
from fairridge.reports.html.sections.parts import (
    achieved_text,
    amount,
    bound_label,
    changed_text,
    measure_text,
)


def console(contents: ReportContents, board: Board) -> Html:
    """Return the bar that stays in view."""
    places = {"r = 0": 0, "chosen": contents.chosen, "no bound": contents.free}
    buttons = [
        element("button", label, type="button", data_go=position)
        for label, position in places.items()
    ]
    reading = board.each(lambda k: bound_label(contents, k))
    return element(
        "div",
        element(
            "div",
            element("label", "Bound on unfairness, r", for_="r"),
            element(
                "input",
                type="range",
                id="r",
                min=0,
                max=contents.free,
                step=1,
                value=contents.chosen,
                autocomplete="off",
                aria_valuetext=bound_label(contents, contents.chosen),
            ),
            element("output", reading, id="reading", for_="r"),
            element("span", buttons, class_="buttons"),
            class_="control",
        ),
        element(
            "div",
            element("dl", _readings(contents, board), class_="readings"),
            _choices(contents),
            class_="below-slider",
        ),
        class_="console",
        id="console",
        role="group",
        aria_label="Explore bounds",
    )


def _readings(contents: ReportContents, board: Board) -> list[Html]:
    first = contents.accuracy[0]
    achieved = board.each(lambda k: achieved_text(contents, k))
    rows = [("achieved", achieved, "what the bound is on, in training")]
    held_out = contents.dependence.held_out
    if held_out is not None:
        text = board.each(lambda k: amount(contents, held_out[k]))
        rows.append(("S explains", text, f"{contents.dependence_name}, on held-out rows"))
    where = "on held-out rows" if first.held_out is not None else "in training"
    rows.append((first.name, board.each(lambda k: measure_text(first, k)), where))
    if any(math.isfinite(lowest_ratio(audit)) for audit in contents.main.audits):
        lowest = board.of_samples(lambda sample, k: ratio(lowest_ratio(sample.audits[k])))
        meaning = "lowest adverse impact ratio of any group that is not small"
        rows.append(("lowest ratio", lowest, meaning))
    if any(math.isfinite(audit.mean_ratio.value) for audit in contents.main.audits):
        lowest = board.of_samples(lambda sample, k: ratio(sample.audits[k].mean_ratio.value))
        meaning = "lowest ratio of mean predictions of two groups that are not small"
        rows.append(("ratio of means", lowest, meaning))
    if contents.main.decisions is not None:
        changed = board.of_samples(changed_text)
        rows.append(("decisions changed", changed, "against the model without a bound"))
    return [
        element("div", element("dt", label), element("dd", value), title=meaning)
        for label, value, meaning in rows
    ]


def _choices(contents: ReportContents) -> Html | None:
    rows = list(dict.fromkeys(sample.rows for sample in contents.samples))
    outcomes = list(dict.fromkeys(sample.outcome for sample in contents.samples))
    parts: list[Html] = []
    if len(rows) > 1:
        choices = [
            element(
                "label",
                element("input", type="radio", name="rows", value=name, checked=name == rows[0]),
                f" {name} rows",
            )
            for name in rows
        ]
        parts.append(element("fieldset", element("legend", "Groups on"), choices))
    if len(outcomes) > 1:
        options = [element("option", name, value=name) for name in outcomes]
        parts.append(
            element("label", "Class ", element("select", options, id="outcome", autocomplete="off"))
        )
    return element("div", parts, class_="choices") if parts else None
