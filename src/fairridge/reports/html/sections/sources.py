"""Where dependence on the sensitive attributes comes from."""

from __future__ import annotations

import math

from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import percent
from fairridge.reports.html.sections.parts import bar, remark, section, table
from fairridge.reports.html.sections.words import term

MOST_PREDICTORS = 25


def sources_section(contents: ReportContents, board: Board) -> Html:
    """Return the split over attributes, and the predictors that stand in for them."""
    return section(
        "sources",
        "Where it comes from",
        _attributes(contents, board),
        _predictors(contents),
    )


def _attributes(contents: ReportContents, board: Board) -> list[Html]:
    split = contents.attribution
    if not split:
        return []
    total = board.text([percent(one.total, 2) for one in split])
    largest = max(100.0 * one.shares.max() for one in split)
    rows = []
    for j, name in enumerate(split[0].attributes):
        shares = board.text([percent(one.shares[j], 2) for one in split])
        rows.append(
            [
                name,
                bar(shares, largest, 100.0 * split[contents.chosen].shares[j]),
                board.text([percent(one.alone[j], 2) for one in split]),
                board.text([percent(one.last[j], 2) for one in split]),
            ]
        )
    head = ["Attribute", term("Its share"), term("Alone"), term("Added last")]
    return [
        element("h3", "Which attributes"),
        element(
            "p",
            "In training the sensitive attributes explain ",
            element("b", total),
            " of the variance of the scores (linear predictors). The shares split this exactly.",
        ),
        table("Variance of the scores explained by each attribute", head, rows),
    ]


def _predictors(contents: ReportContents) -> list[Html | None]:
    shown = contents.predictors[:MOST_PREDICTORS]
    if not shown:
        return []
    head = ["Predictor", term("S explains")]
    largest = 100.0 * shown[0].explained
    rows: list[list[Html | str]] = []
    for one in shown:
        text = element("span", percent(one.explained))
        rows.append([one.name, bar(text, largest, 100.0 * one.explained)])
    if any(math.isfinite(one.carries) for one in shown):
        head.append(term("Carries without a bound"))
        for row, one in zip(rows, shown, strict=True):
            row.append(percent(one.carries))
    left = len(contents.predictors) - len(shown)
    return [
        element("h3", "Through which predictors"),
        element(
            "p",
            "A predictor that the sensitive attributes explain can stand in for them. The model "
            "takes this part out of every predictor before it fits.",
        ),
        table("How much the sensitive attributes explain of each predictor", head, rows),
        remark(f"{left} more are explained less." if left else ""),
    ]
