"""What groups amount to by their predictions and responses, in tables that add over batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Booleans, Floats
from fairridge.metrics.batches import Sums
from fairridge.metrics.group_measures import CalibrationBin, GroupMeasures
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping
from fairridge.metrics.outcomes import Outcomes


@dataclass(frozen=True)
class GroupSums:
    """Tables of the groups of all partitions; those of other rows add."""

    columns: tuple[tuple[str, bool], ...]  # what has means, and whether these are rates
    rows: GroupTable
    others: Sums  # tables of rates among some of the rows, and of totals

    @classmethod
    def of(cls, partitions: Sequence[Grouping], outcomes: Outcomes, *, brief: bool) -> GroupSums:
        """Sum rows; `brief` sums leave out what a report shows at one bound only."""
        columns = _columns(outcomes)
        rows = GroupTable.of(partitions, outcomes.weight, *columns.values())
        others = {
            name: GroupTable.of(partitions, weight, *values)
            for name, (weight, *values) in _others(outcomes, brief=brief).items()
        }
        named = tuple((name, column.dtype == bool) for name, column in columns.items())
        return cls(named, rows, Sums(others))

    def __add__(self, other: GroupSums) -> GroupSums:
        return GroupSums(self.columns, self.rows + other.rows, self.others + other.others)

    @property
    def occupied(self) -> Booleans:
        """Which groups have rows; of crossed attributes, batches look at those that have none."""
        return np.asarray(self.rows.counts > 0)

    def without_empty_groups(self) -> GroupSums:
        """Return the groups that have rows."""
        chosen = self.occupied
        others = {name: table.groups(chosen) for name, table in self.others.parts.items()}
        return replace(self, rows=self.rows.groups(chosen), others=Sums(others))

    def is_known(self, name: str) -> bool:
        """Whether there are means of this."""
        return name in dict(self.columns)

    def measures(
        self, confidence: float, small: int, minimum_share: float, *, brief: bool
    ) -> list[GroupMeasures]:
        """Measure every group, those of all partitions one after the other."""
        rows = self.rows
        fields: dict[str, Sequence[Any]] = {}
        for k, (name, is_rate) in enumerate(self.columns):
            fields[name] = (rows.rates if is_rate else rows.averages)(k, confidence)
            if name == "calibration" and not brief:
                squares = rows.squares[k] / rows.weights + rows.means[k] ** 2
                fields["rmse"] = np.sqrt(squares).tolist()
        amounts = ("mean_response", False) in self.columns  # in place of classes
        for name, table in self.others.parts.items():
            totals = name == "predicted_over_observed"
            fields[name] = (
                table.totals(0, confidence, amounts=amounts)
                if totals
                else table.rates(0, confidence)
            )
        shares = rows.weights / rows.weights[0]  # the first group is everyone
        fields |= {
            "attribute": [
                name for name, labels in zip(rows.attributes, rows.labels, strict=True)
                for _ in labels
            ],
            "group": [label for labels in rows.labels for label in labels],
            "count": rows.counts.tolist(),
            "share": shares.tolist(),
            "small": ((rows.counts < small) | (shares < minimum_share)).tolist(),
        }  # fmt: skip
        each = zip(*fields.values(), strict=True)
        return [GroupMeasures(**dict(zip(fields, row, strict=True))) for row in each]


def _columns(outcomes: Outcomes) -> dict[str, NDArray[Any]]:
    """Return what groups have means or rates of, by the names of these."""
    columns: dict[str, NDArray[Any]] = {"mean_prediction": outcomes.score}
    if outcomes.response is not None:
        columns["mean_response"] = observed(outcomes)
        columns["calibration"] = outcomes.response - outcomes.score
    if outcomes.selected is not None:
        columns["selection_rate"] = outcomes.selected
    return columns


def _others(outcomes: Outcomes, *, brief: bool) -> dict[str, list[NDArray[Any]]]:
    """Return weights and columns of rates among some of the rows, and of totals."""
    selected, weight, found = outcomes.selected, outcomes.weight, dict[str, list[NDArray[Any]]]()
    if outcomes.response is None:
        return found
    classes = outcomes.kind == "classification"
    if outcomes.amounts or (classes and not brief):  # totals of counts, not of rates
        exposure = 1.0 if outcomes.exposure is None else outcomes.exposure
        total, predicted = observed(outcomes) * exposure, outcomes.score * exposure
        columns = [predicted, total, total - predicted]
        found["predicted_over_observed"] = [outcomes.row_weight, *columns]
    if selected is None or not classes:
        return found
    true = outcomes.wanted
    found["true_positive_rate"] = [weight * true, selected]
    found["false_positive_rate"] = [weight * ~true, selected]
    if not brief:
        found["precision"] = [weight * selected, true]
    return found


def observed(outcomes: Outcomes) -> NDArray[Any]:
    """Return responses: numbers, or whether rows are of the positive class."""
    assert outcomes.response is not None
    classes = outcomes.kind == "classification"
    return outcomes.response > 0.0 if classes else outcomes.response


@dataclass(frozen=True)
class CalibrationSums:
    """Responses against predictions, by group and tenth of the predictions; of batches they add."""

    table: GroupTable
    is_rate: bool
    low: Floats  # smallest score of every cell
    high: Floats  # largest

    @classmethod
    def of(cls, part: Grouping, outcomes: Outcomes, edges: Floats) -> CalibrationSums:
        """Sum rows between the edges; equal predictions stay together."""
        score, response = outcomes.score, observed(outcomes)
        tenths = Grouping("", ("",) * (len(edges) + 1), np.searchsorted(edges, score, side="left"))
        cells = part.within(tenths)
        low, high = np.full((2, len(cells.labels)), np.inf)
        np.minimum.at(low, cells.codes, score)
        np.minimum.at(high, cells.codes, -score)
        table = GroupTable.of([cells], outcomes.weight, score, response)
        return cls(table, response.dtype == bool, low, -high)

    def __add__(self, other: CalibrationSums) -> CalibrationSums:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return CalibrationSums(self.table + other.table, self.is_rate, low, high)

    def bins(self, confidence: float) -> tuple[CalibrationBin, ...]:
        """Compare responses with predictions in every cell that has rows."""
        table = self.table
        responses = (table.rates if self.is_rate else table.averages)(1, confidence)
        columns = (c.tolist() for c in (self.low, self.high, table.counts, table.means[0]))
        rows = zip(table.labels[0], *columns, responses, strict=True)
        found = (CalibrationBin(table.attributes[0], *row) for row in rows)
        return tuple(one for one in found if one.count)
