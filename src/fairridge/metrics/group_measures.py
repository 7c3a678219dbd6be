"""What an audit measures in groups, and between the groups of an attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairridge.metrics.intervals import UNDEFINED, Estimate
from fairridge.metrics.sorted_scores import INCOMPARABLE, UNRANKED, Distances, Ranking

# The four-fifths rule of the Uniform Guidelines on Employee Selection Procedures (1978).
FOUR_FIFTHS = 0.8


# Names in tables that differ from those of the attributes.
_FLAT = {"impact_ratio": "adverse_impact_ratio"}


@dataclass(frozen=True)
class GroupMeasures:
    """What is measured in one group; NaN where it is not defined."""

    attribute: str
    group: str
    # Rows, and share of the total weight.
    count: int
    share: float
    small: bool  # whether there are too few rows to compare
    # Means; for classes, of probabilities and of the positive class.
    mean_prediction: Estimate
    mean_response: Estimate = UNDEFINED
    # Share of rows for which the favorable outcome is predicted.
    selection_rate: Estimate = UNDEFINED
    # Share selected among those who had the favorable outcome, among the others, and share of those
    # who had it among those selected.
    true_positive_rate: Estimate = UNDEFINED
    false_positive_rate: Estimate = UNDEFINED
    precision: Estimate = UNDEFINED
    calibration: Estimate = UNDEFINED  # mean of observed minus predicted
    # Root mean squared difference of response and prediction; for probabilities the root of the
    # Brier score.
    rmse: float = float("nan")
    distances: Distances = INCOMPARABLE  # from the rest of the rows, or from the reference group
    ranking: Ranking = UNRANKED  # how well scores separate the classes here
    brier: Estimate = UNDEFINED  # integrated Brier score of predicted survival; 0 is perfect
    # Selection rate relative to the highest one, or to the reference group's.
    impact_ratio: Estimate = UNDEFINED
    # Mean prediction relative to the highest one, or to the reference group's; of counts and
    # amounts, numbers that are positive by their nature.
    mean_ratio: Estimate = UNDEFINED
    # Mean prediction over mean response, of probabilities, counts and amounts (calibration in the
    # large): 1 is calibrated.
    predicted_over_observed: Estimate = UNDEFINED
    # Mean prediction less that of all others with equal controls; None without controls.
    adjusted_difference: Estimate | None = None

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
        for name, value in vars(self).items():
            if isinstance(value, Ranking):
                row |= value.auc.flat("auc") | value.gini.flat("gini")
                row["ks_of_classes"] = value.ks_of_classes
            elif isinstance(value, Estimate):
                row |= value.flat(_FLAT.get(name, name))
            elif isinstance(value, Distances):
                row |= vars(value)
            elif value is not None:
                row[name] = value
        return row | {"adverse_impact": self.adverse_impact}


@dataclass(frozen=True)
class CalibrationBin:
    """Responses and predictions of one group within one tenth of all predictions."""

    attribute: str
    group: str
    # Smallest and largest prediction here.
    low: float
    high: float
    count: int
    mean_prediction: float
    mean_response: Estimate  # mean response; the share of the positive class

    @property
    def calibration(self) -> float:
        """Observed minus predicted."""
        return self.mean_response.value - self.mean_prediction

    @property
    def predicted_over_observed(self) -> float:
        """Predicted over observed; NaN unless both are of counts or amounts."""
        known = self.low >= 0.0 and self.mean_response.value > 0.0
        return self.mean_prediction / self.mean_response.value if known else float("nan")

    def flat(self) -> dict[str, Any]:
        """Return one number per name; the estimate becomes three."""
        row = vars(self) | self.mean_response.flat("mean_response")
        return row | {"calibration": self.calibration}


@dataclass(frozen=True)
class Correlation:
    """Correlation of the predictions with one column of S."""

    column: str  # the column; ``attribute[level]`` is the 0/1 column of a level
    value: float  # in [−1, 1]


class Between:
    """What lies between groups as plain numbers, by the names that they have elsewhere."""

    @property
    def demographic_parity_difference(self: Any) -> float:
        """Largest minus smallest selection rate; the largest over attributes."""
        return self.parity_difference.value

    @property
    def demographic_parity_ratio(self: Any) -> float:
        """Smallest selection rate over the largest; the smallest over attributes."""
        return self.parity_ratio.value

    @property
    def equal_opportunity_difference(self: Any) -> float:
        """Largest minus smallest true positive rate; the largest over attributes."""
        return self.opportunity_difference.value

    @property
    def equalized_odds_difference(self: Any) -> float:
        """The larger of the differences of true and of false positive rates, over attributes."""
        return self.odds_difference.value


@dataclass(frozen=True)
class AttributeAudit(Between):
    """All groups of one attribute, and how far they are apart."""

    # Differences and ratios leave small groups out; they are NaN with fewer than two groups, or if
    # no row is selected. Their intervals hold for the extremes over all pairs of groups; see
    # `contrasts`.

    attribute: str  # name
    groups: tuple[GroupMeasures, ...]  # one per group
    reference: str | None  # the group others are compared with, if one was named
    # Largest minus smallest selection rate, and smallest over largest.
    parity_difference: Estimate
    parity_ratio: Estimate
    opportunity_difference: Estimate  # the same difference of true positive rates
    odds_difference: Estimate  # the larger of the differences of true and of false positive rates
    mean_difference: Estimate  # largest minus smallest mean prediction
    mean_ratio: Estimate  # smallest mean prediction over the largest, of counts and amounts
    # Responses against predictions, by group and tenth of the predictions.
    calibration: tuple[CalibrationBin, ...]

    @property
    def mean_prediction_difference(self) -> float:
        """Largest minus smallest mean prediction."""
        return self.mean_difference.value

    def flat(self) -> dict[str, Any]:
        """Return one number per name; estimates become three."""
        return {
            "attribute": self.attribute,
            "reference": self.reference or "",
            **self.parity_difference.flat("demographic_parity_difference"),
            **self.parity_ratio.flat("demographic_parity_ratio"),
            **self.opportunity_difference.flat("equal_opportunity_difference"),
            **self.odds_difference.flat("equalized_odds_difference"),
            **self.mean_difference.flat("mean_prediction_difference"),
            **self.mean_ratio.flat("mean_prediction_ratio"),
        }
