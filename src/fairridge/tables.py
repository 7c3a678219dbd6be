"""One table: printed as text, shown in notebooks, and returned as a frame."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from textwrap import wrap
from typing import Any, Self

from fairridge.data import make_frame
from fairridge.markup import Html, element, join

# Columns of text that a printed table usually has, and the least that numbers get beside names.
TEXT_WIDTH = 78
PAGE_WIDTH = 120  # of a notebook, in characters
LEAST_WIDTH = 40
# Rows of a long table that a notebook shows.
SHOWN_ROWS = 20
# Relative to the largest number of a column, what is smaller is rounding.
ROUNDING = 1e-13

CELL = "padding:2px 7px;text-align:right"
LEFT = "padding:2px 7px;text-align:left;white-space:pre-wrap"


def number(value: float, digits: int = 4, places: int = 0) -> str:
    """Write a number with significant digits, at least some decimals, and rarely an exponent."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    if value == 0.0:
        return "0"
    scientific = f"{value:.{digits - 1}e}"
    if not 1e-4 <= abs(value) < 1e6:
        return scientific
    exponent = int(scientific.partition("e")[2])  # 0.99996 is written as 1.000
    return f"{value:,.{min(max(places, digits - 1 - exponent, 0), 8)}f}"


def numbers(values: Iterable[float], digits: int = 4, scale: float = 0.0) -> list[str]:
    """Write numbers that are compared: their differences can be seen, and rounding is 0."""
    # Rounding is relative to the largest of them, or to their scale, such as 1 of shares.
    values = list(values)
    places = decimals(values)
    rounding = ROUNDING * max(scale, *(abs(value) for value in values if math.isfinite(value)), 0.0)
    return [number(0.0 if abs(value) <= rounding else value, digits, places) for value in values]


def decimals(values: Iterable[float]) -> int:
    """Return how many decimals show the differences of numbers."""
    known = [value for value in values if math.isfinite(value)]
    spread = max(known, default=0.0) - min(known, default=0.0)
    seen = spread > 1e-9 * max(map(abs, known), default=0.0)
    return max(1 - math.floor(math.log10(spread)), 0) if seen else 0


def estimate(
    value: float, low: float, high: float, digits: int = 3, scale: float = 0.0
) -> list[str]:
    """Write an estimate and the ends of its interval, with places enough to tell them apart."""
    known = [each for each in (value, low, high) if math.isfinite(each)]
    largest, width = max(map(abs, known), default=0.0), high - low
    if not 1e-4 <= largest < 1e6:
        return numbers((value, low, high), digits, scale)
    size = abs(value) if 2.0 * abs(value) > largest else largest
    places = digits - 1 - math.floor(math.log10(size))
    if width > 1e-9 * largest:
        places = max(places, -math.floor(math.log10(width)))
    return [
        f"{each:,.{max(places, 0)}f}" if math.isfinite(each) else number(each)
        for each in (value, low, high)
    ]


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    values: Any  # a sequence or an array
    head: str | None  # above the column in print; None if only frames have it
    style: str = ""  # how a value is written, such as ".1%"; numbers have significant digits
    digits: int = 4
    scale: float = 0.0  # relative to which numbers may be rounding
    texts: Sequence[str] | None = None  # what is printed in place of the values

    @cached_property
    def cells(self) -> list[str]:
        """What is printed, row by row; nothing for missing values."""
        if self.texts is not None:
            return list(self.texts)
        if not self.style and all(isinstance(value, float) for value in self.values):
            return numbers(self.values, self.digits, self.scale)
        return [_written(value, self.style) for value in self.values]

    @property
    def left(self) -> bool:
        """Whether the column is text."""
        return any(isinstance(value, str) for value in self.values)

    @property
    def shown(self) -> bool:
        """Whether print has the column: one that is empty in all rows says nothing."""
        return self.head is not None and any(self.cells)


@dataclass(frozen=True)
class Table:
    """Columns by their names in frames, with a title, facts above and notes below."""

    title: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)
    facts: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    backend: Any = None  # the frame library
    listed: bool = False  # whether every fact has a line of its own
    brief: bool = False  # whether print shows the first rows only, as notebooks do

    @classmethod
    def of(cls, columns: Mapping[str, Any], title: str, *notes: str, **options: Any) -> Self:
        """Make a table of values under their names; bounds are written as they were given."""
        named = {
            name: Column(values, name, ".4g" if name == "unfairness" else "")
            for name, values in columns.items()
        }
        return cls(title, named, notes=notes, **options)

    def frame(self) -> Any:
        """Return the values as a frame."""
        columns = {name: column.values for name, column in self.columns.items()}
        return make_frame(columns, self.backend)

    def text(self) -> str:
        """Return what `print` shows: columns that do not fit beside others stand below them."""
        terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        room = max(TEXT_WIDTH, terminal)
        lines = [self.title] if self.title else []
        lines += _fact_lines(self.facts, self.listed)
        for block in self._blocks(room, whole=not terminal):
            lines += ["", *block] if lines else block
        notes = [*self.notes, *(self._more() if self.brief else [])]
        lines += ["" for _ in notes[:1]]
        return "\n".join(lines + [line for note in notes for line in wrap(note, TEXT_WIDTH)])

    def html(self) -> str:
        """Return what a notebook shows: the first rows, if there are many."""
        parts = []
        if self.facts:
            parts.append(_html(self.title, [("td", fact) for fact in self.facts], [True, False]))
        title = "" if self.facts else self.title
        for columns in self._beside(PAGE_WIDTH, SHOWN_ROWS):
            lines = zip(*(column.cells[:SHOWN_ROWS] for column in columns), strict=True)
            head = "th", [str(column.head) for column in columns]
            rows = [head, *(("td", line) for line in lines)]
            parts.append(_html(title, rows, [column.left for column in columns]))
            title = ""
        notes = [*self.notes, *self._more()]
        return join([*parts, *(element("div", element("small", note)) for note in notes)])

    @property
    def _shown(self) -> list[Column]:
        return [column for column in self.columns.values() if column.shown]

    def _more(self) -> list[str]:
        """Say how many rows are not shown, if not all are."""
        hidden = len(self._shown[0].cells) - SHOWN_ROWS if self._shown else 0
        return [f"… and {hidden:,} more rows"] if hidden > 0 else []

    def _blocks(self, room: int, whole: bool) -> Iterator[list[str]]:
        """Yield lines of the columns that stand beside each other, the first in each block."""
        rows = SHOWN_ROWS if self.brief else None
        keys, most = _keys(self._shown), room - LEAST_WIDTH
        for columns in self._beside(room, rows, None if whole else most):
            texts = [_padded(column, rows) for column in columns]
            first = ["  ".join(cells) for cells in zip(*texts[:keys], strict=True)]
            if not whole and len(first[0]) > most:
                first = [cut(cell, most) for cell in first]
            cells = zip(first, *texts[keys:], strict=True)
            head, *lines = ("  ".join(line).rstrip() for line in cells)
            yield [head, "-" * max(map(len, [head, *lines])), *lines]

    def _beside(
        self, room: int, rows: int | None, most: int | None = None
    ) -> Iterator[list[Column]]:
        """Yield columns that fit beside each other, each time after those that name the rows."""
        keys = _keys(self._shown)
        widths = [len(_padded(column, rows)[0]) + 2 for column in self._shown]
        first, others = self._shown[:keys], list(zip(self._shown, widths, strict=True))[keys:]
        start = sum(widths[:keys])
        start = start if most is None else min(start, most + 2)
        room = max(room + 2, start + LEAST_WIDTH)
        block, used = list(first), start
        for column, width in others:
            if used + width > room and len(block) > keys:
                yield block
                block, used = list(first), start
            block.append(column)
            used += width
        if block:
            yield block


class Tabular:
    """Results that are tables: printed, shown in notebooks, and returned as a frame."""

    def _tables(self) -> Sequence[Table]:
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the table as a frame."""
        return self._tables()[0].frame()

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self._tables())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self._tables())


def cut(text: str, width: int) -> str:
    """Return a text that is not longer than this."""
    return text if len(text) <= width else text[: width - 1] + "…"


def _written(value: Any, style: str) -> str:
    if value is None or value != value:
        return ""
    return str(value) if isinstance(value, str | bool) else format(value, style)


def _keys(columns: Sequence[Column]) -> int:
    """Return how many of the first columns tell rows apart; 1 if none do."""
    for count in range(1, len(columns)):
        rows = list(zip(*(column.cells for column in columns[:count]), strict=True))
        if len(set(rows)) == len(rows):
            return count
    return 1


def _padded(column: Column, rows: int | None) -> list[str]:
    """Return the head and the first cells of a column, all of one width."""
    texts = [str(column.head), *column.cells[:rows]]
    width = max(map(len, texts))
    return [text.ljust(width) if column.left else text.rjust(width) for text in texts]


def _fact_lines(facts: Sequence[tuple[str, str]], listed: bool) -> list[str]:
    """Lay out facts in two columns; what is too long for one has a line of its own."""
    half = TEXT_WIDTH // 2 - 1
    short = [fact for fact in facts if sum(map(len, fact)) + 2 <= half and not listed]
    texts = [f"{label}:{value:>{half - len(label) - 1}}" for label, value in short]
    rows = (len(texts) + 1) // 2
    pairs = zip_longest(texts[:rows], texts[rows:], fillvalue="")
    long = [f"{label}: {value}" for label, value in (fact for fact in facts if fact not in short)]
    return [
        *(f"{left}  {right}".rstrip() for left, right in pairs),
        *(line for text in long for line in wrap(text, TEXT_WIDTH, subsequent_indent="  ")),
    ]


def _html(title: str, rows: Iterable[tuple[str, Sequence[str]]], left: Sequence[bool]) -> Html:
    """Return rows of cells with their tag as a table; columns of text are aligned to the left."""
    styles, lines = [LEFT if of_text else CELL for of_text in left], []
    for tag, cells in rows:
        pairs = zip(cells, styles, strict=True)
        lines.append(element("tr", [element(tag, cell, style=style) for cell, style in pairs]))
    caption = element("caption", element("b", title), style="text-align:left") if title else None
    return element("table", caption, element("tbody", lines))
