"""Tables and phrases that several sections use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairridge.markup import Html, element
from fairridge.reports.html.numbers import MISSING
from fairridge.reports.html.sections.words import heading

# Rows of a table that are shown at first.
OPEN_ROWS = 24


@dataclass(frozen=True)
class Cell:
    """A cell with more than a text."""

    text: Any
    below: Any = None  # in small print
    style: str = ""
    # A bar as long as a number, which the script may change, among those up to the largest.
    number: float = math.nan
    largest: float = math.nan

    @property
    def is_bar(self) -> bool:
        """Whether there is a bar."""
        return not math.isnan(self.largest)

    def html(self, label: str) -> Html:
        """Return the cell, with its heading for where there is no room for columns."""
        small = None if self.below is None else element("small", self.below)
        classes = {"bar": self.is_bar, self.style: self.style, "missing": self.text == MISSING}
        style = " ".join(name for name, holds in classes.items() if holds) or None
        attributes: dict[str, Any] = {"data_label": label, "class_": style}
        if self.is_bar:
            known = self.largest > 0.0 and not math.isnan(self.number)
            length = max(-1.0, min(1.0, self.number / self.largest)) if known else 0.0
            attributes |= {"data_bar": f"{self.largest:.6g}", "style": f"--v:{length:.4f}"}
        return element("td", self.text, small, **attributes)


def table(
    caption: str,
    columns: Mapping[str, Sequence[Any]],
    style: str = "",
    first_term: int | None = None,
) -> Html:
    """Make a table of columns by heading, the first of which names the rows."""
    # Columns without any value are left out. `first_term` is what the script calls the first row,
    # if it looks for rows.
    shown = {
        head: [cell if isinstance(cell, Cell) else Cell(cell) for cell in cells]
        for head, cells in columns.items()
        if not cells or set(cells) != {MISSING}
    }
    labels = [head.replace("\u00ad", "") for head in shown]
    lines = []
    for k, (name, *cells) in enumerate(zip(*shown.values(), strict=True)):
        texts = [cell.html(label) for cell, label in zip(cells, labels[1:], strict=True)]
        term = None if first_term is None else first_term + k
        lines.append(element("tr", element("th", name.text, scope="row"), texts, data_term=term))
    # Headings stand over bars and the numbers at their ends.
    head = [
        element(
            "th",
            heading(name),
            scope="col",
            class_="bar" if cells[:1] and cells[0].is_bar else None,
        )
        for name, cells in shown.items()
    ]
    inner = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head)),
        element("tbody", lines),
        class_=style or None,
    )
    return element("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption)


def part(title: str, text: Any, *children: Any) -> list[Any]:
    """Begin a part of a section, with its title and a paragraph if there is one."""
    return [element("h3", title), element("p", text) if text else None, *children]


def sentence(text: str) -> str:
    """Begin a text with a capital letter, and end it with a period; "" stays."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def joined(sentences: Iterable[str]) -> str:
    """Make one sentence of several."""
    return "; ".join(text.removesuffix(".") for text in sentences) + "."
