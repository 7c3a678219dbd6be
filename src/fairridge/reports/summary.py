"""The printed summary of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fairridge.tables import Column, Table, Tabular

# Variance inflation factors that are worth a remark.
INFLATION_REMARK = 10.0


@dataclass(frozen=True)
class CoefficientRow:
    """One line of the coefficient table."""

    term: str  # encoded column name
    role: str  # "sensitive" or "predictor"; "" for the intercept
    coefficient: float  # α or β, original scale
    raw: float  # coefficient in the raw columns; the two may differ
    explained: float  # share of the predictor's variance that S explains; NaN elsewhere
    # Variance inflation factor of a predictor, 1/(1 − R²) on S and the other predictors; NaN
    # elsewhere.
    inflation: float = float("nan")


@dataclass(frozen=True)
class Reached:
    """What a model reached."""

    what: str  # what was measured in the training rows, in words
    limit: str  # its bound; "" if it has none
    value: str  # what was reached


@dataclass(frozen=True, repr=False)
class Summary(Tabular):
    """What a model is and how fair it is; print it, or take the table with `to_frame`."""

    title: str  # the model's name, and what it models
    # Label and value of every detail, in reading order; empty without details.
    facts: tuple[tuple[str, str], ...]
    coefficients: tuple[CoefficientRow, ...]  # the table
    notes: tuple[str, ...]  # remarks below the table
    backend: Any = None  # the frame library of the input
    fairness: tuple[Reached, ...] = ()
    fit: tuple[Reached, ...] = ()

    def _tables(self) -> list[Table]:
        """Return what is bounded and reached, the fit, and coefficients, which frames have."""
        reached = [
            _reached("Fairness in the training rows", self.fairness),
            _reached("Fit", self.fit),
        ]
        first = [table for table in reached if table.columns]
        if not first:
            return [Table(self.title, self._columns(), self.facts, self.notes, self.backend)]
        first[0] = replace(first[0], title=self.title)
        return [*first, Table("", self._columns(), self.facts, self.notes, self.backend)]

    def to_frame(self) -> Any:
        """Return the coefficients as a frame."""
        return self._tables()[-1].frame()

    def _columns(self) -> dict[str, Column]:
        """Return the coefficients; large variance inflation is a remark beside them."""
        read = {
            each.name: [getattr(row, each.name) for row in self.coefficients]
            for each in fields(CoefficientRow)
        }
        inflation = read["inflation"]
        # A model of the columns as given has one coefficient for each.
        one_head = None if read["coefficient"] == read["raw"] else "in the model"
        remarks = [f"{value:.3g}" if value >= INFLATION_REMARK else "" for value in inflation]
        return {
            "term": Column(read["term"], ""),
            "role": Column(read["role"], "role"),
            "coefficient": Column(read["coefficient"], one_head, digits=5),
            "raw": Column(read["raw"], "as you use it", digits=5),
            "explained_by_sensitive": Column(read["explained"], "S explains", ".1%"),
            "variance_inflation": Column(inflation, "VIF", texts=remarks),
        }


@dataclass(frozen=True, repr=False)
class GroupSummary(Summary):
    """What a model does to each group; print it, or take the table with `to_frame`."""

    groups: tuple[str, ...] = ()  # labels of the groups
    # One value per group for every measure.
    columns: dict[str, Sequence[float]] = field(default_factory=dict)

    def _columns(self) -> dict[str, Column]:
        groups = {"group": Column(list(self.groups), "group")}
        return groups | {
            name: Column(list(values), name.replace("_", " "), digits=5)
            for name, values in self.columns.items()
        }


def _reached(head: str, lines: Sequence[Reached]) -> Table:
    """Return the table of what was reached; without columns if there is nothing to say."""
    if not lines:
        return Table()
    return Table(
        columns={
            "what": Column([line.what for line in lines], head),
            "limit": Column([line.limit for line in lines], "limit"),
            "reached": Column([line.value for line in lines], "reached"),
        }
    )
