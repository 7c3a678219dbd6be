"""What an audit sums by group: means and rates, totals, and responses against predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Booleans, Floats
from fairridge.metrics.group_measures import CalibrationBin, GroupMeasures
from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping
from fairridge.metrics.outcomes import Outcomes
from fairridge.metrics.sorted_scores import extremes
from fairridge.sources.batch import Sums


@dataclass(frozen=True)
class GroupSums:
    """Tables of the groups of all partitions; those of other rows add."""

    columns: tuple[str, ...]  # what has means
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
        return cls(tuple(columns), rows, Sums(others))

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

    @property
    def has_responses(self) -> bool:
        """Whether predictions are compared with responses."""
        return "mean_response" in self.columns

    def measures(
        self, confidence: float, small: int, minimum_share: float, *, brief: bool
    ) -> list[GroupMeasures]:
        """Measure every group, those of all partitions one after the other."""
        rows = self.rows
        fields: dict[str, Sequence[Any]] = {}
        for k, name in enumerate(self.columns):
            fields[name] = rows.estimates(k, confidence)
            if name == "calibration" and not brief:
                squares = rows.squares[k] / rows.weights + rows.means[k] ** 2
                fields["rmse"] = np.sqrt(squares).tolist()
        # Responses are amounts, or classes.
        amounts = self.has_responses and not rows.of_rates[self.columns.index("mean_response")]
        for name, table in self.others.parts.items():
            totals = name == "predicted_over_observed"
            fields[name] = (
                table.totals(0, confidence, amounts=amounts)
                if totals
                else table.estimates(0, confidence)
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
        columns["mean_response"] = outcomes.observed
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
        total, predicted = outcomes.observed * exposure, outcomes.score * exposure
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


@dataclass(frozen=True)
class CalibrationSums:
    """Responses against predictions, by group and tenth of the predictions; of batches they add."""

    table: GroupTable
    low: Floats  # smallest score of every cell
    high: Floats  # largest

    @classmethod
    def of(cls, part: Grouping, outcomes: Outcomes, edges: Floats) -> CalibrationSums:
        """Sum rows between the edges; equal predictions stay together."""
        score, response = outcomes.score, outcomes.observed
        tenths = Grouping("", ("",) * (len(edges) + 1), np.searchsorted(edges, score, side="left"))
        cells = part.within(tenths)
        table = GroupTable.of([cells], outcomes.weight, score, response)
        ends = extremes(score, cells.codes, len(cells.labels))
        return cls(table, *ends)

    def __add__(self, other: CalibrationSums) -> CalibrationSums:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return CalibrationSums(self.table + other.table, low, high)

    def bins(self, confidence: float) -> tuple[CalibrationBin, ...]:
        """Compare responses with predictions in every cell that has rows."""
        table = self.table
        responses = table.estimates(1, confidence)
        columns = (c.tolist() for c in (self.low, self.high, table.counts, table.means[0]))
        rows = zip(table.labels[0], *columns, responses, strict=True)
        found = (CalibrationBin(table.attributes[0], *row) for row in rows)
        return tuple(one for one in found if one.count)
