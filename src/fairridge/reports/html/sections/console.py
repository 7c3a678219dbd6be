"""The slider, and the numbers that move with it."""

from __future__ import annotations

from fairridge.markup import Html, element
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.sections.measures import (
    achieved_text,
    amount,
    bound_label,
    known_measures,
)


def console(contents: ReportContents, board: Board) -> Html:
    """Return the bar that stays in view."""
    places = {"r = 0": 0, "chosen": contents.chosen, "no bound": contents.free}
    buttons = [
        element("button", label, type="button", data_go=position)
        for label, position in places.items()
    ]
    slider = element(
        "input",
        type="range",
        id="r",
        min=0,
        max=contents.free,
        step=1,
        value=contents.chosen,
        autocomplete="off",
        aria_valuetext=bound_label(contents, contents.chosen),
    )
    reading = board.each(lambda k: bound_label(contents, k))
    control = [
        element("label", "Bound on unfairness, r", for_="r"),
        slider,
        element("output", reading, id="reading", for_="r"),
        element("span", buttons, class_="buttons"),
    ]
    readings = element("dl", _readings(contents, board), class_="readings")
    return element(
        "div",
        element("div", control, class_="control"),
        element("div", readings, _choices(contents), class_="below-slider"),
        class_="console",
        id="console",
        role="group",
        aria_label="Explore bounds",
    )


def _readings(contents: ReportContents, board: Board) -> list[Html]:
    first, dependence = contents.accuracy[0], contents.dependence
    achieved = board.each(lambda k: achieved_text(contents, k))
    rows = [("achieved", achieved, "what the bound is on, in training")]
    if dependence.held_out is not None:
        text = board.each(lambda k: amount(contents, dependence.best_known[k]))
        rows.append(("S explains", text, f"{dependence.name}, on held-out rows"))
    rows.append((first.name, board.each(first.text), first.on_rows))
    rows += [
        (each.short, board.of_samples(each.text), each.name)
        for each in known_measures(contents)
        if each.short
    ]
    return [
        element("div", element("dt", label), element("dd", value), title=meaning)
        for label, value, meaning in rows
    ]


def _choices(contents: ReportContents) -> Html | None:
    """Return what a reader may look at: rows, and classes."""
    rows = list(dict.fromkeys(sample.rows for sample in contents.samples))
    outcomes = list(dict.fromkeys(sample.outcome for sample in contents.samples))
    parts: list[Html] = []
    if len(rows) > 1:
        legend = element("legend", "Groups on")
        buttons = {
            name: element("input", type="radio", name="rows", value=name, checked=name == rows[0])
            for name in rows
        }
        labels = [element("label", button, f" {name} rows") for name, button in buttons.items()]
        parts.append(element("fieldset", legend, labels))
    if len(outcomes) > 1:
        options = [element("option", name, value=name) for name in outcomes]
        select = element("select", options, id="outcome", autocomplete="off")
        parts.append(element("label", "Class ", select))
    return element("div", parts, class_="choices") if parts else None
