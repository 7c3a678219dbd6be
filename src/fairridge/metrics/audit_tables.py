"""An audit: its tables, and how it prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairridge._notebook import table_html
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
from fairridge.metrics.score_errors import BinErrors
from fairridge.outputs import cut, table_width

NAN = float("nan")


@dataclass(frozen=True)
class Audit(Between):
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

    def columns_shown(self, names: Iterable[str], rows: Sequence[dict[str, Any]]) -> list[str]:
        """Return the columns of a printed table: those that are defined for a row.

        Of probabilities the difference of observed and predicted says what their ratio does.
        """
        numbers = self.kind == "regression"
        return [
            name
            for name in names
            if _defined(row.get(name, NAN) for row in rows) and (numbers or name != TOTALS)
        ]

    def __str__(self) -> str:
        rows = [group.flat() for group in (*self._groups, self.overall)]
        shown = self.columns_shown(_SHOWN, rows)
        headings = "".join(f" {_SHOWN[name]:>{_width(name)}}" for name in shown)
        names = [
            *(part.attribute for part in self.attributes),
            *(f"  {g.group}" for g in self._groups),
        ]
        others = len(headings) + 9
        first = table_width(max(map(len, names)) + others, 24 + others) - others
        lines = [self._title, *self._facts()]
        for part in self.attributes:
            lines += ["", f"{cut(part.attribute, first):<{first}} {'rows':>8}{headings}"]
            lines += [_line(group, shown, first) for group in part.groups]
        lines += [_line(self.overall, shown, first)]
        lines += ["", self._about_small] if self._about_small else []
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the columns that are printed: those of `to_frame()` are too many for a page."""
        groups = (*self._groups, self.overall)
        rows = [group.flat() for group in groups]
        columns: dict[str, list[Any]] = {
            "attribute": [group.attribute for group in groups],
            "group": [f"{group.group}{' *' if group.small else ''}" for group in groups],
            "rows": [group.count for group in groups],
        }
        for name in self.columns_shown(_SHOWN, rows):
            columns[_SHOWN[name]] = [_cell(row, name) for row in rows]
        return table_html(columns, self._title, [*self._facts(), self._about_small])

    @property
    def _about_small(self) -> str:
        """What the asterisk of small groups means, if there are any."""
        if not any(group.small for group in self._groups):
            return ""
        less = f" or {self.minimum_share:.1%} of all rows" if self.minimum_share else ""
        return f"* fewer than {self.small} rows{less}: left out of ratios and differences."

    @property
    def _title(self) -> str:
        return f"Audit of {self.overall.count:,} rows, {self.kind}; {self.favorable}{self._who}"

    @property
    def _who(self) -> str:
        """Who is selected, if a capacity decides."""
        if self.top is None:
            return ""
        share = isinstance(self.top, float)
        return f"; selected: the top {f'{self.top:.1%}' if share else f'{self.top:,}'}"

    def _facts(self) -> list[str]:
        low, high = self.group_means
        strongest = "" if self.strongest is None else f", {self.strongest.column}"
        gap = "gap of decisions between groups (demographic parity difference)"
        smd = Estimate(self.standardized_mean_difference)
        facts = [
            _fact("share of η explained by S (R²)", self.eta_share),
            _fact("share of predicted means explained by S (R²)", self.means_share),
            *(
                f"  of the probability of {label}: {share.words('.4f')}"
                for label, share in self.by_class.items()
            ),
            _fact(
                f"the same given {', '.join(self.controls)} (partial R²)",
                self.partial_r_squared or UNDEFINED,
            ),
            f"what follows is of class {self.positive}, its probability and decisions for it"
            if self.by_class
            else "",
            _fact("share explained by a flexible learner of S (R², new rows)", self.learned_share),
            _fact(gap, self.parity_difference),
            f"largest |correlation| with S: {self.max_correlation:.4f}{strongest}",
            _fact("largest standardized mean difference of a group", smd),
            f"mean predictions of groups: {low:.4g} to {high:.4g}" if low == low else "",
            _fact("largest difference of mean predictions between groups", self.mean_difference)
            if self.kind == "regression" and self.mean_ratio.value != self.mean_ratio.value
            else _fact("lowest ratio of mean predictions between groups", self.mean_ratio),
            _fact("lowest adverse impact ratio (demographic parity ratio)", self.parity_ratio),
            _fact("true positive rate difference (equal opportunity)", self.opportunity_difference),
            _fact("equalized odds difference", self.odds_difference),
            *(
                f"below four fifths: {group.attribute} = {group.group}, "
                f"ratio {group.impact_ratio.words('.2f')}"
                for group in self.flagged
            ),
            *([] if self.score_bins is None else [self.score_bins.words, NOT_LEARNED]),
            f"in parentheses and brackets: {100 * self.confidence:g} % intervals",
        ]
        return [fact for fact in facts if fact]


def _fact(label: str, estimate: Estimate) -> str:
    return f"{label}: {estimate.words('.4f')}" if estimate.value == estimate.value else ""


# What an audit of rows that are not in memory leaves out.
NOT_LEARNED = "no flexible learner of S was tried: that needs the rows in memory"
TOTALS = "predicted_over_observed"
# Columns of the printed tables: name in the frame and heading.
_SHOWN = {
    "mean_prediction": "prediction",
    "mean_response": "response",
    "calibration": "obs − pred",
    TOTALS: "pred / obs",
    "mean_ratio": "of highest",
    "adjusted_difference": "given controls",
    "selection_rate": "selected",
    "adverse_impact_ratio": "ratio",
    "true_positive_rate": "TPR",
    "false_positive_rate": "FPR",
    "auc": "AUC",
    "ks_of_classes": "KS classes",
    "kolmogorov_smirnov": "KS",
    "rmse": "RMSE",
    "brier": "Brier",
}
_RATIO = "adverse_impact_ratio"
# Those with their intervals beside them.
_RATIOS = (_RATIO, "mean_ratio", "adjusted_difference")


def _width(name: str) -> int:
    return 20 if name in _RATIOS else 10


def _line(group: GroupMeasures, shown: Sequence[str], first: int) -> str:
    row = group.flat()
    cells = "".join(f" {_cell(row, name):>{_width(name)}}" for name in shown)
    label = ("  " if group.attribute else "") + group.group
    line = f"{cut(label, first):<{first}} {group.count:>8,}{cells}"
    return f"{line}{' *' if group.small else ''}".rstrip()


def _cell(row: dict[str, Any], name: str) -> str:
    value = row.get(name, NAN)
    if value != value:
        return ""
    low, high = (row.get(f"{name}_{end}", NAN) for end in ("low", "high"))
    if name in _RATIOS and low < high:
        return f"{value:.3f} [{low:.3f}, {high:.3f}]"
    return f"{observed_less_predicted(row):+.4g}" if name == "calibration" else f"{value:.4g}"


def observed_less_predicted(row: dict[str, Any]) -> float:
    """Return the calibration of a group, 0 if it is nothing but rounding."""
    value: float = row["calibration"]
    return value if abs(value) > 1e-12 * row["rmse"] else 0.0


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
    if _RATIO in columns and not _defined(columns[_RATIO]):
        del columns["adverse_impact"]
    return {name: values for name, values in columns.items() if _defined(values)}
