"""Pieces that several sections use."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape, unescape
from itertools import zip_longest
from typing import Any

from fairridge.reports.html.contents import Audited, Curve, ReportContents, Sample
from fairridge.reports.html.markup import Html, element, join
from fairridge.reports.html.numbers import MISSING, bound, count, number, percent, ratio

# Colors of the style sheet, and rows of a table that are shown at first.
COLORS, OPEN_ROWS = 8, 24


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


def remark(text: str) -> Html | None:
    """Make a remark below something; None for no text."""
    return element("p", text, class_="note") if text else None


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


def line_style(color: int) -> str:
    """Return the style of a line: eight colors, then the same ones dashed, then dotted."""
    dash = ("", " dashed", " dotted")[color // COLORS % 3]
    return f"c{color % COLORS}{dash}"


def table(
    caption: str, head: Sequence[Any], rows: Sequence[Html | Sequence[Any]], **attributes: Any
) -> Html:
    """Make a table whose first column names the rows; wide ones scroll, or are lists on phones."""
    labels = [unescape(re.sub(r"<[^>]*>|\u00ad", "", join([cell]))) for cell in head[1:]]
    lines = [row if isinstance(row, Html) else _row(row) for row in rows]
    cells = re.findall(r"<td[^>]*>", lines[0]) if lines else []
    # Headings stand over bars and the numbers at their ends.
    bars = [False, *('class="bar' in cell for cell in cells)]
    headings = [
        element("th", cell, scope="col", class_="bar" if is_bar else None)
        for cell, is_bar in zip_longest(head, bars[: len(head)], fillvalue=False)
    ]
    inner = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", headings)),
        element("tbody", [_labeled(line, labels) for line in lines]),
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
    return "no bound" if position == contents.free else bound(contents.unfairness[position])


def bound_label(contents: ReportContents, position: int) -> str:
    """Write a bound with its name, and whether it was chosen."""
    text = name_of_bound(contents, position)
    text = text if position == contents.free else f"r = {text}"
    return f"{text} (chosen)" if position == contents.chosen else text


def measure_text(curve: Curve, k: int) -> str:
    """Write a measure of accuracy at one bound, on held-out rows if there are any."""
    value = curve.best_known[k]
    if curve.name == "Accuracy":
        return percent(value)
    return number(value, 4) if curve.name in ("RMSE", "Mean deviance") else ratio(value)


def error_text(curve: Curve, k: int) -> str:
    """Write the standard error of a measure of accuracy; "" if there is none."""
    if curve.error is None or not math.isfinite(curve.error[k]):
        return ""
    return percent(curve.error[k]) if curve.name == "Accuracy" else number(curve.error[k], 2)


def measure_with_error(curve: Curve, k: int) -> str:
    """Write a measure of accuracy with its standard error if that is known."""
    error = error_text(curve, k)
    return f"{measure_text(curve, k)} ± {error}" if error else measure_text(curve, k)


def amount(contents: ReportContents, value: float, places: int = 2) -> str:
    """Write an amount of unfairness: a share if bounds end at 1."""
    return percent(value, places) if contents.unfairness[-1] == 1.0 else number(value)


def of_class(contents: Audited) -> str:
    """Name the class that numbers of groups are of; "" if there is only one outcome."""
    return f", for class {contents.main.outcome}" if contents.main.outcome else ""


def bounded_text(contents: Audited) -> str:
    """Name what is bounded, of several bounds each."""
    return "; ".join(measure.words for measure in contents.bounded)


def achieved_text(contents: ReportContents, k: int) -> str:
    """Write what the bound is on, in training; of several bounds what each is on."""
    if not contents.each:
        return amount(contents, contents.achieved[k])
    return each_text(contents, [one.achieved[k] for one in contents.each])


def each_text(contents: ReportContents, values: Sequence[float]) -> str:
    """Write a share for each attribute with a bound of its own: 1.00 % (sex) and 2.00 % (age)."""
    names = [one.attribute for one in contents.each]
    texts = [f"{percent(value, 2)} ({name})" for name, value in zip(names, values, strict=True)]
    return " and ".join(texts) if len(texts) < 3 else ", ".join(texts)


def between(low: float, high: float) -> str:
    """Write an interval of shares inside a sentence."""
    return f"between {percent(low, 2)} and {percent(high, 2)}"


def changed_text(sample: Sample, k: int) -> str:
    """Write how many decisions differ from those of the unconstrained model."""
    return MISSING if sample.decisions is None else count(sample.decisions.changed[k])


def sentence(text: str) -> str:
    """Begin a text with a capital letter, and end it with a period; "" stays."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def joined(sentences: Iterable[str]) -> str:
    """Make one sentence of several."""
    return "; ".join(text.removesuffix(".") for text in sentences) + "."


def enumerated(names: tuple[str, ...], maximum: int = 6) -> str:
    """Write names as a reader says them."""
    shown = list(names[:maximum])
    if len(names) > maximum:
        shown.append(f"{len(names) - maximum} more")
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _labeled(row: Html, labels: Sequence[str]) -> Html:
    """Give every cell its heading, which stands beside it where there is no room for columns."""
    first, *cells = row.split("<td")
    named = zip_longest(labels, cells, fillvalue="")
    text = "".join(f'<td data-label="{escape(label)}"{cell}' for label, cell in named if cell)
    return Html(first + text)


def _row(row: Sequence[Any]) -> Html:
    cells = (
        cell if isinstance(cell, Html) and cell.startswith("<td") else element("td", cell)
        for cell in row[1:]
    )
    return element("tr", element("th", row[0], scope="row"), cells)
