"""What an audit measures in groups, and between the groups of an attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from fairridge.metrics.contrasts import (
    largest_mean_difference,
    largest_rate_difference,
    rate_ratio,
    smallest_rate_ratio,
)
from fairridge.metrics.distances import Distances
from fairridge.metrics.intervals import Estimate
from fairridge.metrics.ranking import Ranking

__all__ = ["AttributeAudit", "CalibrationBin", "Correlation", "GroupMeasures", "defined"]

# The four-fifths rule of the Uniform Guidelines on Employee Selection Procedures (1978).
FOUR_FIFTHS = 0.8
UNDEFINED = Estimate.undefined()


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
    ranking : Ranking
        How well scores tell the classes apart here.
    impact_ratio : Estimate
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
    ranking: Ranking
    impact_ratio: Estimate = UNDEFINED

    @property
    def adverse_impact_ratio(self) -> float:
        """The value of `impact_ratio`."""
        return self.impact_ratio.value

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
            if isinstance(value, Ranking):
                row |= value.auc.flat("auc") | value.gini.flat("gini")
                row["ks_of_classes"] = value.ks_of_classes
            elif isinstance(value, Estimate):
                name = "adverse_impact_ratio" if field.name == "impact_ratio" else field.name
                row |= value.flat(name)
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
    than two groups, or if nobody is selected. Their intervals hold for the
    extremes over all pairs of groups; see `contrasts`.

    Attributes
    ----------
    attribute : str
        Name.
    groups : tuple of GroupMeasures
        One per group.
    reference : str or None
        The group others are compared with, if one was named.
    parity_difference, parity_ratio : Estimate
        Largest minus smallest selection rate, and smallest over largest.
    opportunity_difference : Estimate
        The same difference of true positive rates.
    odds_difference : Estimate
        The larger of the differences of true and of false positive rates.
    mean_difference : Estimate
        Largest minus smallest mean prediction.
    calibration : tuple of CalibrationBin
        Responses against predictions, by group and tenth of the predictions.
    """

    attribute: str
    groups: tuple[GroupMeasures, ...]
    reference: str | None
    parity_difference: Estimate
    parity_ratio: Estimate
    opportunity_difference: Estimate
    odds_difference: Estimate
    mean_difference: Estimate
    calibration: tuple[CalibrationBin, ...]

    @classmethod
    def of(
        cls,
        attribute: str,
        groups: tuple[GroupMeasures, ...],
        reference: int | None,
        calibration: tuple[CalibrationBin, ...],
        confidence: float,
    ) -> AttributeAudit:
        """Compare groups; `reference` is the position of the reference group, if there is one."""
        compared = [group for group in groups if not group.small]
        rates, true, false, means = (
            [getattr(group, name) for group in compared]
            for name in (
                "selection_rate",
                "true_positive_rate",
                "false_positive_rate",
                "mean_prediction",
            )
        )
        best = _best(groups, compared) if reference is None else groups[reference]
        return cls(
            attribute,
            tuple(
                replace(group, impact_ratio=_impact_ratio(group, best, confidence))
                for group in groups
            ),
            None if reference is None else groups[reference].group,
            largest_rate_difference([rates], confidence),
            smallest_rate_ratio(rates, confidence),
            largest_rate_difference([true], confidence),
            largest_rate_difference([true, false], confidence),
            largest_mean_difference(means, confidence),
            calibration,
        )

    @property
    def demographic_parity_difference(self) -> float:
        """Largest minus smallest selection rate."""
        return self.parity_difference.value

    @property
    def demographic_parity_ratio(self) -> float:
        """Smallest selection rate over the largest."""
        return self.parity_ratio.value

    @property
    def equal_opportunity_difference(self) -> float:
        """Largest minus smallest true positive rate."""
        return self.opportunity_difference.value

    @property
    def equalized_odds_difference(self) -> float:
        """The larger of the differences of true and of false positive rates."""
        return self.odds_difference.value

    @property
    def mean_prediction_difference(self) -> float:
        """Largest minus smallest mean prediction."""
        return self.mean_difference.value

    def flat(self) -> dict[str, Any]:
        """Return one number per name; estimates become three."""
        row: dict[str, Any] = {"attribute": self.attribute, "reference": self.reference or ""}
        for name, found in (
            ("demographic_parity_difference", self.parity_difference),
            ("demographic_parity_ratio", self.parity_ratio),
            ("equal_opportunity_difference", self.opportunity_difference),
            ("equalized_odds_difference", self.odds_difference),
            ("mean_prediction_difference", self.mean_difference),
        ):
            row |= found.flat(name)
        return row


def defined(values: Sequence[float]) -> list[float]:
    """Leave NaN out."""
    return [value for value in values if value == value]


def _best(groups: Sequence[GroupMeasures], compared: Sequence[GroupMeasures]) -> GroupMeasures:
    """Return the group with the highest selection rate, small ones only if there are no others."""
    known = [g for g in compared if g.selection_rate.value == g.selection_rate.value]
    return max(known or groups, key=lambda group: group.selection_rate.value)


def _impact_ratio(group: GroupMeasures, best: GroupMeasures, confidence: float) -> Estimate:
    if group is best:  # a ratio of a group to itself does not vary
        return Estimate(1.0, 1.0, 1.0) if best.selection_rate.value > 0.0 else UNDEFINED
    return rate_ratio(group.selection_rate, best.selection_rate, confidence)
