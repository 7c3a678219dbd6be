"""Pieces that several sections use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairridge.reports.html.contents import ReportContents
from fairridge.reports.html.markup import Html, element
from fairridge.reports.html.numbers import bound, number, percent, ratio

__all__ = [
    "amount",
    "bar",
    "error_text",
    "figure",
    "legend",
    "measure_text",
    "name_of_bound",
    "section",
    "table",
]


def section(identity: str, title: str, *children: Any) -> Html:
    """Make a section with a heading that links can point to."""
    heading = f"{identity}-title"
    return element(
        "section",
        element("h2", title, id=heading),
        children,
        id=identity,
        aria_labelledby=heading,
    )


def figure(caption: Any, *children: Any) -> Html:
    """Make a figure with its caption above it."""
    return element("figure", element("figcaption", caption), children)


def legend(entries: Sequence[tuple[str, Any]]) -> Html:
    """Make a legend: styles of lines, and what they are."""
    return element(
        "ul",
        [
            element("li", element("i", class_=f"swatch {style}", aria_hidden="true"), " ", label)
            for style, label in entries
        ],
        class_="legend",
    )


def table(
    caption: str, head: Sequence[Any], rows: Sequence[Sequence[Any]], **attributes: Any
) -> Html:
    """Make a table whose first column names the rows; wide ones scroll."""
    header = element("tr", [_head(cell) for cell in head])
    body = [
        element("tr", element("th", row[0], scope="row"), [_cell(cell) for cell in row[1:]])
        for row in rows
    ]
    inner = element(
        "table",
        element("caption", caption),
        element("thead", header),
        element("tbody", body),
        **attributes,
    )
    return element("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption)


def bar(child: Html, largest: float, shown: float, *, both_ways: bool = False) -> Html:
    """Make a cell with a bar as long as its number, which the script may change."""
    width = 0.0 if not (largest > 0.0 and shown == shown) else shown / largest
    return element(
        "td",
        child,
        class_="bar both" if both_ways else "bar",
        data_bar=f"{largest:.6g}",
        style=f"--v:{max(-1.0, min(1.0, width)):.4f}",
    )


def name_of_bound(contents: ReportContents, position: int) -> str:
    """Write a bound; the last one is none."""
    if position == contents.free:
        return "no bound"
    return bound(float(contents.unfairness[position]))


def measure_text(name: str, value: float) -> str:
    """Write a measure of accuracy."""
    if name == "Accuracy":
        return percent(value)
    return number(value, 4) if name in ("RMSE", "Mean deviance") else ratio(value)


def amount(contents: ReportContents, value: float, places: int = 2) -> str:
    """Write an amount of unfairness: a share where bounds end at 1."""
    if contents.unfairness[-1] == 1.0:
        return percent(float(value), places)
    return number(float(value))


def error_text(name: str, value: float) -> str:
    """Write the standard error of a measure of accuracy."""
    return percent(value) if name == "Accuracy" else number(value, 2)


def _head(cell: Any) -> Html:
    return element("th", cell, scope="col")


def _cell(cell: Any) -> Html:
    if isinstance(cell, Html) and cell.startswith("<td"):
        return cell
    return element("td", cell)
