"""An audit: its tables, and how it prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairridge.data import columns_of, make_frame
from fairridge.metrics.attribution import Attribution
from fairridge.metrics.favorable import Favorable
from fairridge.metrics.group_measures import (
    AttributeAudit,
    Between,
    CalibrationBin,
    Correlation,
    GroupMeasures,
)
from fairridge.metrics.intervals import UNDEFINED, Estimate
from fairridge.metrics.sorted_scores import BinErrors
from fairridge.tables import Column, Table, Tabular, estimate, number, numbers

NAN = float("nan")


@dataclass(frozen=True, repr=False)
class Audit(Tabular, Between):
    """Group metrics of a model's predictions; print it, or take the tables.

    Attributes
    ----------
    kind : {"regression", "classification"}
        What was predicted.
    positive, threshold : object
        The class that predictions are of, and what they are compared with.
    favorable : Favorable
        The outcome that people want: those for whom it is predicted are selected.
    confidence, small : float and int
        Level of the intervals; rows below which a group is small.
    overall : GroupMeasures
        All rows together.
    attributes : tuple of AttributeAudit
        One per sensitive attribute, and one for all crossed if asked for.
    means_share : Estimate
        R² of the predictions regressed on all sensitive attributes: the share
        of predicted means that S explains; NaN for times, of which a model predicts none.
    tenths : tuple of CalibrationBin
        Responses against predictions of all rows, by tenth of the predictions.
    strongest : Correlation or None
        The column of S with the largest |correlation| with the predictions;
        None if nothing varies.
    attribution : Attribution or None
        `r_squared` split over attributes; None for more than 15.
    eta_share : Estimate
        R² of the linear predictor on all sensitive attributes; NaN if the audit
        knows predictions only.
    top : float, int or None
        The share or number of rows that is selected; None if a threshold decides.
    minimum_share : float
        The share of all rows below which a group is small, too.
    learned_share : Estimate
        The share of the predictions that a flexible learner of S explains, on rows that it has
        not seen: S explains at least this. Far above `means_share`, predictions depend on S in
        ways that are not linear.
    partial_r_squared : Estimate or None
        R² of the predictions on S among people with equal controls; None without controls.
    by_class : dict of str to Estimate
        Of several classes, R² of the probability of each; `means_share` is of all together.
    controls : tuple of str
        Names of the controls.
    score_bins : BinErrors or None
        Of rows that are not in memory, how far measures of sorted scores (AUC, distances between
        distributions), which come from bins, may be from those of the scores themselves.

    See Also
    --------
    fairridge.audit : Makes it.

    References
    ----------
    .. [1] docs/audit.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import audit
    >>> rng = np.random.default_rng(0)
    >>> group = rng.choice(["a", "b"], 200)
    >>> found = audit(rng.random(200) < 0.5, np.full(200, 0.5), sensitive_features=group)
    >>> print(found.kind, found.confidence)
    classification 0.95
    """

    kind: str
    positive: Any
    threshold: float | None
    favorable: Favorable
    confidence: float
    small: int
    overall: GroupMeasures
    attributes: tuple[AttributeAudit, ...]
    tenths: tuple[CalibrationBin, ...]
    strongest: Correlation | None
    attribution: Attribution | None
    means_share: Estimate = UNDEFINED
    eta_share: Estimate = UNDEFINED
    top: float | int | None = None
    minimum_share: float = 0.0
    learned_share: Estimate = UNDEFINED
    partial_r_squared: Estimate | None = None
    by_class: dict[str, Estimate] = field(default_factory=dict)
    controls: tuple[str, ...] = ()
    score_bins: BinErrors | None = None
    _backend: Any = None

    def __getitem__(self, attribute: str) -> AttributeAudit:
        for part in self.attributes:
            if part.attribute == attribute:
                return part
        names = ", ".join(repr(part.attribute) for part in self.attributes)
        raise KeyError(f"no attribute {attribute!r}; there are {names}.")

    @property
    def r_squared(self) -> float:
        """R² of the predictions on S, in these rows; of log hazards, if they are of times."""
        known = self.means_share.value == self.means_share.value
        return (self.means_share if known else self.eta_share).value

    @property
    def share_of_eta(self) -> float:
        """R² of the linear predictor on S, in these rows."""
        return self.eta_share.value

    @property
    def max_correlation(self) -> float:
        """Largest |correlation| of the predictions with a column of S."""
        return 0.0 if self.strongest is None else abs(self.strongest.value)

    @property
    def parity_difference(self) -> Estimate:
        """Largest minus smallest selection rate, of the attribute with the largest difference."""
        return _extreme([a.parity_difference for a in self.attributes])

    @property
    def parity_ratio(self) -> Estimate:
        """Smallest selection rate over the largest, of the attribute with the smallest ratio."""
        return _extreme([a.parity_ratio for a in self.attributes], sign=-1.0)

    @property
    def opportunity_difference(self) -> Estimate:
        """Difference of true positive rates, of the attribute with the largest."""
        return _extreme([a.opportunity_difference for a in self.attributes])

    @property
    def odds_difference(self) -> Estimate:
        """Equalized odds difference, of the attribute with the largest."""
        return _extreme([a.odds_difference for a in self.attributes])

    @property
    def mean_difference(self) -> Estimate:
        """Largest minus smallest mean prediction, of the attribute with the largest difference."""
        return _extreme([a.mean_difference for a in self.attributes])

    @property
    def mean_ratio(self) -> Estimate:
        """Smallest mean prediction over the largest, of the attribute with the smallest ratio."""
        return _extreme([a.mean_ratio for a in self.attributes], sign=-1.0)

    @property
    def standardized_mean_difference(self) -> float:
        """Largest of a group, as an absolute value; small groups are left out."""
        differences = (g.distances.standardized_mean_difference for g in self._compared_groups)
        return max(map(abs, _defined(differences)), default=NAN)

    @property
    def group_means(self) -> tuple[float, float]:
        """Lowest and highest mean prediction of a group; small groups are left out."""
        means = [g.mean_prediction.value for g in self._compared_groups]
        return min(means, default=NAN), max(means, default=NAN)

    @property
    def _groups(self) -> list[GroupMeasures]:
        return [group for part in self.attributes for group in part.groups]

    @property
    def _compared_groups(self) -> list[GroupMeasures]:
        return [group for group in self._groups if not group.small]

    @property
    def flagged(self) -> tuple[GroupMeasures, ...]:
        """Groups whose selection rate is below four fifths of the highest one."""
        return tuple(group for group in self._groups if group.adverse_impact)

    def to_frame(self) -> Any:
        """Return one row per group, all rows together last."""
        rows = [group.flat() for group in (*self._groups, self.overall)]
        return self._frame(_defined_columns(rows))

    def _frame(self, columns: dict[str, Any]) -> Any:
        """Return a frame; of several classes it has a column with the one that it is about."""
        if self.by_class:
            n_rows = len(next(iter(columns.values())))
            columns["class"] = [str(self.positive)] * n_rows
        return make_frame(columns, self._backend)

    def attributes_frame(self) -> Any:
        """Return one row per attribute."""
        return self._frame(_defined_columns([part.flat() for part in self.attributes]))

    def calibration_frame(self) -> Any:
        """Return responses against predictions by group and tenth of the predictions."""
        rows = [tenth.flat() for part in self.attributes for tenth in part.calibration]
        if not rows:
            raise ValueError("there is no calibration without y_true; pass the responses to audit.")
        return self._frame(columns_of(rows))

    def _tables(self) -> list[Table]:
        notes = [] if self.score_bins is None else [self.score_bins.words, NOT_LEARNED]
        notes.append(f"In parentheses and brackets: {100 * self.confidence:g} % intervals.")
        if any(group.small for group in self._groups):
            less = f" or {self.minimum_share:.1%} of all rows" if self.minimum_share else ""
            notes.append(
                f"* fewer than {self.small} rows{less}: left out of ratios and differences."
            )
        title = f"Audit of {self.overall.count:,} rows, {self.kind}"
        return [Table(title, self._columns(), self._facts(), notes, listed=True)]

    def _columns(self) -> dict[str, Column]:
        """Return one row per group below a row with its attribute, all rows together last."""
        rows: list[dict[str, Any]] = []
        for part in self.attributes:
            rows.append({"group": part.attribute})
            rows += [
                group.flat() | {"group": f"  {group.group}{' *' if group.small else ''}"}
                for group in part.groups
            ]
        rows.append(self.overall.flat())
        # Of probabilities the difference of observed and predicted says what their ratio does.
        left_out = () if self.kind == "regression" else ("predicted_over_observed",)
        columns = {"group": Column([row["group"] for row in rows], "")}
        for name, (head, style) in COLUMNS.items():
            values = [row.get(name, NAN) for row in rows]
            texts = [_with_interval(row, name) for row in rows] if name in _INTERVALS else None
            # What is observed differs from predictions by rounding if that is all there is.
            scale = 10.0 * self.overall.flat().get("rmse", 0.0) if name == "calibration" else 0.0
            if name not in left_out:
                columns[name] = Column(values, head, style, scale=scale, texts=texts)
        return columns

    def _facts(self) -> list[tuple[str, str]]:
        style = ".1%" if isinstance(self.top, float) else ","
        selected = "" if self.top is None else f"the top {self.top:{style}}"
        facts = [
            ("favorable outcome", self.favorable.with_reason),
            ("selected", selected),
            *self._explained(),
            *self._between_groups(),
        ]
        return [(label, text) for label, text in facts if text]

    def _explained(self) -> list[tuple[str, str]]:
        """Say what S explains."""
        given = self.partial_r_squared or UNDEFINED
        about = f"{self.positive}, its probability and decisions for it" if self.by_class else ""
        learned = "share explained by a flexible learner of S (R², new rows)"
        return [
            ("share of scores explained by S (R²)", _share(self.eta_share)),
            ("share of predicted means explained by S (R²)", _share(self.means_share)),
            *(
                (f"  of the probability of {label}", _share(share))
                for label, share in self.by_class.items()
            ),
            (f"the same given {', '.join(self.controls)} (partial R²)", _share(given)),
            ("what follows is of class", about),
            (learned, _share(self.learned_share)),
        ]

    def _between_groups(self) -> list[tuple[str, str]]:
        """Say how far groups are apart."""
        strongest = "" if self.strongest is None else f", {self.strongest.column}"
        smd = Estimate(self.standardized_mean_difference)
        ratio, difference = self.mean_ratio, UNDEFINED
        if self.kind == "regression" and ratio.value != ratio.value:
            difference = self.mean_difference
        gap = "gap of decisions between groups (demographic parity difference)"
        opportunity = "true positive rate difference (equal opportunity)"
        return [
            (gap, _share(self.parity_difference)),
            ("largest |correlation| with S", f"{number(self.max_correlation, 3)}{strongest}"),
            ("largest standardized mean difference of a group", _share(smd)),
            ("mean predictions of groups", " to ".join(filter(None, numbers(self.group_means)))),
            ("largest difference of mean predictions between groups", difference.words()),
            ("lowest ratio of mean predictions between groups", _share(ratio)),
            ("lowest adverse impact ratio (demographic parity ratio)", _share(self.parity_ratio)),
            (opportunity, _share(self.opportunity_difference)),
            ("equalized odds difference", _share(self.odds_difference)),
            *(
                (
                    "below four fifths",
                    f"{group.attribute} = {group.group}, ratio {_share(group.impact_ratio)}",
                )
                for group in self.flagged
            ),
        ]


def _share(found: Estimate) -> str:
    """Write a share or a ratio with its interval; nothing if it is not defined."""
    return found.words(scale=1.0)


# What an audit of rows that are not in memory leaves out.
NOT_LEARNED = "no flexible learner of S was tried: that needs the rows in memory"
# Columns of the printed table: heading and format, by name in the frame.
COLUMNS = {
    "count": ("rows", ",.0f"),
    "mean_prediction": ("prediction", ""),
    "mean_response": ("response", ""),
    "calibration": ("obs − pred", ""),
    "predicted_over_observed": ("pred / obs", ".3f"),
    "mean_ratio": ("of highest", ""),
    "adjusted_difference": ("given controls", ""),
    "selection_rate": ("selected", ".1%"),
    "adverse_impact_ratio": ("ratio", ""),
    "true_positive_rate": ("TPR", ".1%"),
    "false_positive_rate": ("FPR", ".1%"),
    "auc": ("AUC", ".3f"),
    "gini": ("Gini", ".3f"),
    "ks_of_classes": ("KS classes", ".3f"),
    "standardized_mean_difference": ("SMD", ".2f"),
    "kolmogorov_smirnov": ("KS", ".3f"),
    "wasserstein": ("Wasserstein", ""),
    "rmse": ("RMSE", ""),
    "brier": ("Brier", ""),
}
# Those with their intervals beside them.
_INTERVALS = ("adverse_impact_ratio", "mean_ratio", "adjusted_difference")


def _with_interval(row: dict[str, Any], name: str) -> str:
    value, low, high = (row.get(f"{name}{end}", NAN) for end in ("", "_low", "_high"))
    text, *ends = estimate(value, low, high, 3)
    return f"{text} [{', '.join(ends)}]" if low < high else text


def _extreme(estimates: Sequence[Estimate], sign: float = 1.0) -> Estimate:
    """Return the estimate with the largest value, or the smallest if the sign is negative."""
    known = [estimate for estimate in estimates if estimate.value == estimate.value]
    return max(known, key=lambda estimate: sign * estimate.value, default=UNDEFINED)


def _defined(values: Iterable[Any]) -> list[Any]:
    """Leave NaN out."""
    return [value for value in values if value == value]


def _defined_columns(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Turn rows into columns, without those that are defined nowhere."""
    columns = columns_of(rows)
    if not _defined(columns.get("adverse_impact_ratio", [0.0])):
        del columns["adverse_impact"]
    return {name: values for name, values in columns.items() if _defined(values)}
