"""The printed summary of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from textwrap import wrap
from typing import Any

from fairridge._notebook import facts_html, frame_html
from fairridge.data import make_frame
from fairridge.outputs import TEXT_WIDTH, cut, table_width

# Variance inflation factors that are worth a remark.
INFLATION_REMARK = 10.0
# Columns beside the names of coefficients.
NUMBERS_WIDTH = 45


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
        Coefficient in the raw columns; the two may differ.
    explained : float
        Share of the predictor's variance that S explains; NaN elsewhere.
    inflation : float
        Variance inflation factor of a predictor, 1/(1 − R²) on S and the other predictors; NaN
        elsewhere.
    """

    term: str
    role: str
    coefficient: float
    raw: float
    explained: float
    inflation: float = float("nan")


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
        columns = {
            column.name: [getattr(row, column.name) for row in self.coefficients]
            for column in fields(CoefficientRow)
        }
        columns["explained_by_sensitive"] = columns.pop("explained")
        columns["variance_inflation"] = columns.pop("inflation")
        return make_frame(columns, self.backend)

    def __str__(self) -> str:
        below = [line for note in self.notes for line in wrap(note, TEXT_WIDTH)]
        table = self._table_lines()
        rule = "=" * len(table[1])
        above = [self.title.center(TEXT_WIDTH), rule, *self._fact_lines(), rule]
        return "\n".join([*above, *table, rule, *below])

    def _table_lines(self) -> list[str]:
        longest = max([12, *(len(row.term) for row in self.coefficients)])
        width = table_width(longest + NUMBERS_WIDTH)
        name = min(longest, width - NUMBERS_WIDTH)
        head = f"{'':<{name}} {'coef':>12} {'raw coef':>12}  {'role':<10} {'S explains':>6}"
        lines = [head, "-" * width]
        for row in self.coefficients:
            explained = "" if row.explained != row.explained else f"{row.explained:9.1%}"
            factor = f"  VIF {row.inflation:.3g}" if row.inflation >= INFLATION_REMARK else ""
            lines.append(
                f"{cut(row.term, name):<{name}} {row.coefficient:>12.5g} {row.raw:>12.5g}"
                f"  {row.role:<10} {explained}{factor}".rstrip()
            )
        return lines

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return facts_html(self.facts, self.title) + frame_html(self.to_frame(), "", self.notes)

    def _fact_lines(self) -> list[str]:
        """Two facts a line, as statsmodels does."""
        half = (len(self.facts) + 1) // 2
        column = TEXT_WIDTH // 2 - 1
        left, right = list(self.facts[:half]), list(self.facts[half:])
        right += [("", "")] * (half - len(right))
        return [
            f"{_fact(a, column)}  {_fact(b, column)}".rstrip()
            for a, b in zip(left, right, strict=True)
        ]


@dataclass(frozen=True, repr=False)
class GroupSummary(Summary):
    """What a model does to each group; print it, or take the table with `to_frame`.

    Attributes
    ----------
    groups : tuple of str
        Labels of the groups.
    columns : dict of str to sequence of float
        One value per group for every measure.
    """

    groups: tuple[str, ...] = ()
    columns: dict[str, Sequence[float]] = field(default_factory=dict)

    def to_frame(self) -> Any:
        """Return the table as a frame, one row per group."""
        columns = {name: list(values) for name, values in self.columns.items()}
        return make_frame({"group": list(self.groups)} | columns, self.backend)

    def _table_lines(self) -> list[str]:
        numbers, longest = 15 * len(self.columns), max([5, *map(len, self.groups)])
        width = table_width(longest + numbers)
        first = min(longest, width - numbers)
        names = "".join(f"{name.replace('_', ' '):>15}" for name in self.columns)
        lines = [f"{'group':<{first}}{names}", "-" * width]
        for k, group in enumerate(self.groups):
            cells = "".join(f"{values[k]:>15.5g}" for values in self.columns.values())
            lines.append(f"{cut(group, first):<{first}}{cells}")
        return lines


def _fact(fact: tuple[str, str], width: int) -> str:
    label, value = fact
    if not label:
        return ""
    room = max(1, width - len(label) - 1)
    return f"{label}:{cut(value, room):>{room}}"
