"""The printed summary of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from fairridge._notebook import facts_html, frame_html
from fairridge.data import make_frame

__all__ = ["CoefficientRow", "Summary"]

WIDTH = 78


@dataclass(frozen=True)
class CoefficientRow:
    """One line of the coefficient table.

    Attributes
    ----------
    term : str
        Encoded column name.
    role : str
        "sensitive" or "predictor"; "" for the intercept.
    coefficient : float
        α or β, original scale.
    raw : float
        Coefficient in the raw columns, where the two differ.
    explained : float
        Share of the predictor's variance that S explains; NaN elsewhere.
    """

    term: str
    role: str
    coefficient: float
    raw: float
    explained: float


@dataclass(frozen=True)
class Summary:
    """What a model is and how fair it is; print it, or take the table with `to_frame`.

    Attributes
    ----------
    title : str
        The model's name.
    facts : tuple of (str, str)
        Label and value, in reading order.
    coefficients : tuple of CoefficientRow
        The table.
    notes : tuple of str
        Remarks below the table.
    backend : object
        The frame library of the input.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    coefficients: tuple[CoefficientRow, ...]
    notes: tuple[str, ...]
    backend: Any = None

    def to_frame(self) -> Any:
        """Return the coefficient table as a frame."""
        fields = ("term", "role", "coefficient", "raw", "explained")
        columns = {
            "explained_by_sensitive" if field == "explained" else field: [
                getattr(row, field) for row in self.coefficients
            ]
            for field in fields
        }
        return make_frame(columns, self.backend)

    def __str__(self) -> str:
        lines = [self.title.center(WIDTH), "=" * WIDTH, *self._fact_lines(), "=" * WIDTH]
        name = max([12, *(len(row.term) for row in self.coefficients)])
        name = min(name, WIDTH - 45)
        lines.append(f"{'':<{name}} {'coef':>12} {'raw coef':>12}  {'role':<10} {'S explains':>6}")
        lines.append("-" * WIDTH)
        for row in self.coefficients:
            explained = "" if row.explained != row.explained else f"{row.explained:9.1%}"
            lines.append(
                f"{_cut(row.term, name):<{name}} {row.coefficient:>12.5g} {row.raw:>12.5g}"
                f"  {row.role:<10} {explained}".rstrip()
            )
        lines.append("=" * WIDTH)
        lines += [line for note in self.notes for line in wrap(note, WIDTH)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return facts_html(self.facts, self.title) + frame_html(self.to_frame(), "", self.notes)

    def _fact_lines(self) -> list[str]:
        """Two facts a line, as statsmodels does."""
        half = (len(self.facts) + 1) // 2
        column = WIDTH // 2 - 1
        left, right = list(self.facts[:half]), list(self.facts[half:])
        right += [("", "")] * (half - len(right))
        return [
            f"{_fact(a, column)}  {_fact(b, column)}".rstrip()
            for a, b in zip(left, right, strict=True)
        ]


def _fact(fact: tuple[str, str], width: int) -> str:
    label, value = fact
    if not label:
        return ""
    room = max(1, width - len(label) - 1)
    return f"{label}:{_cut(value, room):>{room}}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
