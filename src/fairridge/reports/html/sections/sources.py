"""Where dependence on the sensitive attributes comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairridge.arguments import enumerated
from fairridge.markup import Html, element, remark, section
from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.numbers import percent, share
from fairridge.reports.html.sections.parts import OPEN_ROWS, Cell, part, table


def sources_section(contents: ReportContents, board: Board) -> Html:
    """Return the split over attributes, and the predictors that stand in for them."""
    given = contents.measure.given
    among = f", among people of the same {enumerated(given)}" if given else ""
    attributes, predictors = _attributes(contents, board, among), _predictors(contents, among)
    return section("sources", "Where it comes from", attributes, predictors)


def _attributes(contents: ReportContents, board: Board, among: str) -> list[Html]:
    splits = contents.attribution
    if not splits:
        return []
    largest, here = max(100.0 * split.shares.max() for split in splits), splits[contents.chosen]

    def moving(name: str) -> list[Html]:
        values = np.array([getattr(split, name) for split in splits])
        return [board.text(list(map(share, of_one))) for of_one in values.T]

    bars = [
        Cell(text, number=100.0 * its, largest=largest)
        for text, its in zip(moving("shares"), here.shares, strict=True)
    ]
    columns = {
        "Attribute": here.attributes,
        "Its share": bars,
        "Alone": moving("alone"),
        "Added last": moving("last"),
    }
    explained = [
        f"In training{among}{',' if among else ''} the sensitive attributes explain ",
        element("b", board.text([share(split.total) for split in splits])),
        f" of {'what is left of ' if among else ''}the variance of the scores. The shares "
        "split this exactly.",
    ]
    caption = "Variance of the scores explained by each attribute"
    return part("Which attributes", explained, table(caption, columns))


def _predictors(contents: ReportContents, among: str) -> list[Html]:
    proxies = contents.proxies
    order = np.argsort(-proxies.explained, kind="stable")
    shown = order[:OPEN_ROWS].tolist()
    if not shown:
        return []
    largest = 100.0 * float(proxies.explained[shown[0]])
    columns: dict[str, list[Any]] = {
        "Predictor": [proxies.predictors[k] for k in shown],
        "S explains": [
            Cell(percent(part), number=100.0 * part, largest=largest)
            for part in map(float, proxies.explained[shown])
        ],
    }
    # With several classes each has its own shares.
    if len(proxies.labels) == 1:
        columns["Carries without a bound"] = list(map(percent, proxies.remaining[0, shown]))
    comma = "," if among else ""
    stand_in = f"A predictor that the sensitive attributes explain{among}{comma} can stand in"
    taken_out = " The model takes this part out of every predictor before it fits."
    left = len(order) - len(shown)
    return part(
        "Through which predictors",
        f"{stand_in} for them.{taken_out if contents.subject.needs_sensitive else ''}",
        table(f"How much the sensitive attributes explain of each predictor{among}", columns),
        remark(f"{left} more are explained less." if left else ""),
    )
