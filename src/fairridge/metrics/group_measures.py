"""What an audit measures in groups, and between the groups of an attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fairridge.metrics.distances import Distances
from fairridge.metrics.intervals import Estimate

__all__ = ["AttributeAudit", "CalibrationBin", "Correlation", "GroupMeasures", "defined"]

# The four-fifths rule of the Uniform Guidelines on Employee Selection Procedures (1978).
FOUR_FIFTHS = 0.8
NAN = float("nan")


@dataclass(frozen=True)
class GroupMeasures:
    """What is measured in one group; NaN where it is not defined.

    Attributes
    ----------
    attribute, group : str
        Which group.
    count, share : int and float
        Rows, and share of the total weight.
    small : bool
        Whether there are too few rows to compare.
    mean_prediction, mean_response : Estimate
        Means; for classes, of probabilities and of the positive class.
    selection_rate : Estimate
        Share of rows for which the favorable outcome is predicted.
    true_positive_rate, false_positive_rate, precision : Estimate
        Share selected among those who had the favorable outcome, among the
        others, and share of those who had it among those selected.
    calibration : Estimate
        Mean of observed minus predicted.
    rmse : float
        Root mean squared difference of response and prediction; for
        probabilities the root of the Brier score.
    distances : Distances
        From the rest of the rows, or from the reference group.
    adverse_impact_ratio : float
        Selection rate relative to the highest one, or to the reference group's.
    """

    attribute: str
    group: str
    count: int
    share: float
    small: bool
    mean_prediction: Estimate
    mean_response: Estimate
    selection_rate: Estimate
    true_positive_rate: Estimate
    false_positive_rate: Estimate
    precision: Estimate
    calibration: Estimate
    rmse: float
    distances: Distances
    adverse_impact_ratio: float = NAN

    @property
    def adverse_impact(self) -> bool:
        """Whether the group is not small, and its ratio is below four fifths."""
        return not self.small and self.adverse_impact_ratio < FOUR_FIFTHS

    @property
    def bias(self) -> float:
        """Mean of predicted minus observed."""
        return -self.calibration.value

    def flat(self) -> dict[str, Any]:
        """Return one number per name; estimates become three."""
        row: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Estimate):
                row[field.name] = value.value
                row[f"{field.name}_low"], row[f"{field.name}_high"] = value.low, value.high
            elif isinstance(value, Distances):
                row |= {part.name: getattr(value, part.name) for part in fields(value)}
            else:
                row[field.name] = value
        row["adverse_impact"] = self.adverse_impact
        return row


@dataclass(frozen=True)
class CalibrationBin:
    """Responses and predictions of one group within one tenth of all predictions.

    Attributes
    ----------
    attribute, group : str
        Which group.
    low, high : float
        Smallest and largest prediction here.
    count : int
        Rows.
    mean_prediction : float
        Mean prediction.
    mean_response : Estimate
        Mean response; the share of the positive class.
    """

    attribute: str
    group: str
    low: float
    high: float
    count: int
    mean_prediction: float
    mean_response: Estimate

    @property
    def calibration(self) -> float:
        """Observed minus predicted."""
        return self.mean_response.value - self.mean_prediction


@dataclass(frozen=True)
class Correlation:
    """Correlation of the predictions with one column of S.

    Attributes
    ----------
    column : str
        The column; ``attribute[level]`` is the 0/1 column of a level.
    value : float
        In [−1, 1].
    """

    column: str
    value: float


@dataclass(frozen=True)
class AttributeAudit:
    """All groups of one attribute, and how far they are apart.

    Differences and ratios leave small groups out; they are NaN with fewer
    than two groups, or where nothing is selected.

    Attributes
    ----------
    attribute : str
        Name.
    groups : tuple of GroupMeasures
        One per group.
    reference : str or None
        The group others are compared with, where one was named.
    demographic_parity_difference, demographic_parity_ratio : float
        Largest minus smallest selection rate, and smallest over largest.
    equal_opportunity_difference : float
        The same difference of true positive rates.
    equalized_odds_difference : float
        The larger of the differences of true and of false positive rates.
    mean_prediction_difference : float
        Largest minus smallest mean prediction.
    calibration : tuple of CalibrationBin
        Responses against predictions, by group and tenth of the predictions.
    """

    attribute: str
    groups: tuple[GroupMeasures, ...]
    reference: str | None
    demographic_parity_difference: float
    demographic_parity_ratio: float
    equal_opportunity_difference: float
    equalized_odds_difference: float
    mean_prediction_difference: float
    calibration: tuple[CalibrationBin, ...]

    @classmethod
    def of(
        cls,
        attribute: str,
        groups: tuple[GroupMeasures, ...],
        best: float | None,
        reference: str | None,
        calibration: tuple[CalibrationBin, ...],
    ) -> AttributeAudit:
        """Compare groups; `best` is the selection rate of the reference group, if there is one."""
        compared = [group for group in groups if not group.small]
        rates = defined([group.selection_rate.value for group in compared])
        everywhere = defined([group.selection_rate.value for group in groups])
        if best is None:
            best = max(rates or everywhere, default=NAN)
        true, false = (
            _spread([getattr(group, name).value for group in compared])
            for name in ("true_positive_rate", "false_positive_rate")
        )
        return cls(
            attribute,
            tuple(
                replace(group, adverse_impact_ratio=_ratio(group.selection_rate.value, best))
                for group in groups
            ),
            reference,
            _spread(rates),
            _ratio(min(rates), max(rates)) if len(rates) > 1 else NAN,
            true,
            float(np.nanmax([true, false])) if true == true or false == false else NAN,
            _spread([group.mean_prediction.value for group in compared]),
            calibration,
        )


def defined(values: Sequence[float]) -> list[float]:
    """Leave NaN out."""
    return [value for value in values if value == value]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else NAN


def _spread(values: Sequence[float]) -> float:
    found = defined(values)
    return max(found) - min(found) if len(found) > 1 else NAN
