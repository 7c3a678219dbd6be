"""Where dependence on the sensitive attributes comes from."""

from __future__ import annotations

import numpy as np

from fairridge.reports.html.board import Board
from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import percent
from fairridge.reports.html.sections.parts import OPEN_ROWS, bar, enumerated, remark, section, table
from fairridge.reports.html.sections.words import term


def sources_section(contents: ReportContents, board: Board) -> Html:
    """Return the split over attributes, and the predictors that stand in for them."""
    return section(
        "sources",
        "Where it comes from",
        _attributes(contents, board),
        _predictors(contents),
    )


def _attributes(contents: ReportContents, board: Board) -> list[Html]:
    splits = contents.attribution
    if not splits:
        return []
    total = board.text([percent(split.total, 2) for split in splits])
    largest = max(100.0 * split.shares.max() for split in splits)
    rows = []
    for j, name in enumerate(splits[0].attributes):
        shares = board.text([percent(split.shares[j], 2) for split in splits])
        rows.append(
            [
                name,
                bar(shares, largest, 100.0 * splits[contents.chosen].shares[j]),
                board.text([percent(split.alone[j], 2) for split in splits]),
                board.text([percent(split.last[j], 2) for split in splits]),
            ]
        )
    head, among = (
        ["Attribute", term("Its share"), term("Alone"), term("Added last")],
        _among(contents),
    )
    return [
        element("h3", "Which attributes"),
        element(
            "p",
            f"In training{f', {among},' if among else ''} the sensitive attributes explain ",
            element("b", total),
            f" of {'what is left of ' if among else ''}the variance of the scores. The shares "
            "split this exactly.",
        ),
        table("Variance of the scores explained by each attribute", head, rows),
    ]


def _among(contents: ReportContents) -> str:
    """Say among whom, if there are controls."""
    given = contents.measure.given
    return f"among people of the same {enumerated(given)}" if given else ""


def _predictors(contents: ReportContents) -> list[Html | None]:
    proxies = contents.proxies
    order = np.argsort(-proxies.explained, kind="stable")
    shown = order[:OPEN_ROWS].tolist()
    if not shown:
        return []
    head = ["Predictor", term("S explains")]
    largest = 100.0 * float(proxies.explained[shown[0]])
    rows: list[list[Html | str]] = []
    for k in shown:
        share = float(proxies.explained[k])
        text = element("span", percent(share))
        rows.append([proxies.predictors[k], bar(text, largest, 100.0 * share)])
    # With several classes each has its own shares.
    if len(proxies.labels) == 1 and np.isfinite(proxies.shares[0, shown]).any():
        head.append(term("Carries without a bound"))
        for row, k in zip(rows, shown, strict=True):
            row.append(percent(float(proxies.shares[0, k])))
    left, among = len(order) - len(shown), _among(contents)
    return [
        element("h3", "Through which predictors"),
        element(
            "p",
            f"A predictor that the sensitive attributes explain{f', {among},' if among else ''} "
            "can stand in for them.",
            " The model takes this part out of every predictor before it fits."
            if contents.subject.needs_sensitive
            else "",
        ),
        table(
            f"How much the sensitive attributes explain of each predictor{among and f', {among}'}",
            head,
            rows,
        ),
        remark(f"{left} more are explained less." if left else ""),
    ]
