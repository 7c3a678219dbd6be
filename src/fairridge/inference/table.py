"""A table of coefficients in the layout that statsmodels made familiar."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from fairridge.outputs import TEXT_WIDTH, cut, table_width

# Widths and formats of the columns of numbers.
CELL_WIDTHS = (11, 11, 8, 7, 11, 11)
FORMATS = (".4g", ".4g", ".3f", ".3f", ".4g", ".4g")


def coefficient_table(
    title: str,
    facts: Sequence[tuple[str, str]],
    columns: dict[str, Any],
    notes: Sequence[str],
    *,
    student: bool,
    confidence: float = 0.95,
    heading: str = "coef",
) -> str:
    """Lay out estimates with errors, statistics, p-values and intervals.

    Parameters
    ----------
    title : str
        The first line.
    facts : sequence of (str, str)
        Label and value, two per line.
    columns : dict
        As in `Inference.to_frame`.
    notes : sequence of str
        Remarks below the table.
    student : bool
        Whether statistics are compared with Student's distribution.
    confidence : float
        Of the intervals.
    heading : str
        What the estimates are.
    """
    names = [str(term) for term in columns["term"]]
    width = table_width(max(map(len, names), default=0) + 1 + sum(CELL_WIDTHS))
    name = width - sum(CELL_WIDTHS)
    letter, half = "t" if student else "z", (1.0 - confidence) / 2.0
    head = (heading, "std err", letter, f"P>|{letter}|", f"[{half:.4g}", f"{1.0 - half:.4g}]")
    rule = "=" * width
    lines = [title.center(width).rstrip(), rule]
    lines += [_pair(facts[k : k + 2]) for k in range(0, len(facts), 2)]
    lines += [rule, " " * name + _cells(head), "-" * width]
    for row in zip(*columns.values(), strict=True):
        numbers = zip(row[1:], FORMATS, strict=True)
        cells = ["" if number != number else format(number, form) for number, form in numbers]
        cells[1] = cells[1] or "isolated"  # the one reason to have no standard error
        lines.append(f"{cut(row[0], name):<{name}}" + _cells(cells))
    lines.append(rule)
    for note in notes:
        lines += wrap(note, width)
    return "\n".join(lines)


def _cells(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, CELL_WIDTHS, strict=True))


def _pair(facts: Sequence[tuple[str, str]]) -> str:
    column = TEXT_WIDTH // 2 - 1
    parts = [
        f"{label}:{cut(value, column - len(label) - 2):>{column - len(label) - 1}}"
        for label, value in facts
    ]
    return "  ".join(parts)
