"""An audit: its tables, and how it prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from fairridge._notebook import frame_html
from fairridge.data import make_frame
from fairridge.metrics.attribution import Attribution
from fairridge.metrics.favorable import Favorable
from fairridge.metrics.group_measures import (
    AttributeAudit,
    Correlation,
    GroupMeasures,
    defined,
)

__all__ = ["Audit"]


@dataclass(frozen=True)
class Audit:
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
    r_squared : float
        R² of the predictions regressed on all sensitive attributes: the share
        of predicted means that S explains, in these rows.
    strongest : Correlation or None
        The column of S with the largest |correlation| with the predictions;
        None where nothing varies.
    attribution : Attribution or None
        `r_squared` split over attributes; None for more than 15.
    share_of_eta : float
        R² of the linear predictor on all sensitive attributes; NaN if the audit
        knows predictions only.
    """

    kind: str
    positive: Any
    threshold: float | None
    favorable: Favorable
    confidence: float
    small: int
    overall: GroupMeasures
    attributes: tuple[AttributeAudit, ...]
    r_squared: float
    strongest: Correlation | None
    attribution: Attribution | None
    share_of_eta: float = float("nan")
    _backend: Any = None

    def __getitem__(self, attribute: str) -> AttributeAudit:
        for found in self.attributes:
            if found.attribute == attribute:
                return found
        names = ", ".join(repr(found.attribute) for found in self.attributes)
        raise KeyError(f"no attribute {attribute!r}; there are {names}.")

    @property
    def max_correlation(self) -> float:
        """Largest |correlation| of the predictions with a column of S."""
        return 0.0 if self.strongest is None else abs(self.strongest.value)

    @property
    def demographic_parity_difference(self) -> float:
        """Largest over attributes."""
        return _worst([a.demographic_parity_difference for a in self.attributes])

    @property
    def demographic_parity_ratio(self) -> float:
        """Smallest over attributes."""
        return -_worst([-a.demographic_parity_ratio for a in self.attributes])

    @property
    def equal_opportunity_difference(self) -> float:
        """Largest over attributes."""
        return _worst([a.equal_opportunity_difference for a in self.attributes])

    @property
    def equalized_odds_difference(self) -> float:
        """Largest over attributes."""
        return _worst([a.equalized_odds_difference for a in self.attributes])

    @property
    def standardized_mean_difference(self) -> float:
        """Largest of a group, as an absolute value; small groups are left out."""
        return _worst(
            [abs(g.distances.standardized_mean_difference) for g in self._compared_groups]
        )

    @property
    def group_means(self) -> tuple[float, float]:
        """Lowest and highest mean prediction of a group; small groups are left out."""
        means = [g.mean_prediction.value for g in self._compared_groups]
        return (min(means), max(means)) if means else (float("nan"), float("nan"))

    @property
    def _compared_groups(self) -> list[GroupMeasures]:
        return [g for part in self.attributes for g in part.groups if not g.small]

    @property
    def flagged(self) -> tuple[GroupMeasures, ...]:
        """Groups whose selection rate is below four fifths of the highest one."""
        return tuple(g for a in self.attributes for g in a.groups if g.adverse_impact)

    def to_frame(self) -> Any:
        """Return one row per group, all rows together last."""
        rows = [group.flat() for part in self.attributes for group in part.groups]
        return make_frame(_columns([*rows, self.overall.flat()]), self._backend)

    def attributes_frame(self) -> Any:
        """Return one row per attribute."""
        names = [f.name for f in fields(AttributeAudit) if f.name not in ("groups", "calibration")]
        rows = [{name: getattr(part, name) for name in names} for part in self.attributes]
        for row in rows:
            row["reference"] = row["reference"] or ""
        return make_frame(_columns(rows), self._backend)

    def calibration_frame(self) -> Any:
        """Return responses against predictions by group and tenth of the predictions."""
        rows = [
            {
                "attribute": b.attribute,
                "group": b.group,
                "low": b.low,
                "high": b.high,
                "count": b.count,
                "mean_prediction": b.mean_prediction,
                "mean_response": b.mean_response.value,
                "mean_response_low": b.mean_response.low,
                "mean_response_high": b.mean_response.high,
                "calibration": b.calibration,
            }
            for part in self.attributes
            for b in part.calibration
        ]
        if not rows:
            raise ValueError("there is no calibration without y_true; pass the responses to audit.")
        return make_frame(_columns(rows, keep_all=True), self._backend)

    def __str__(self) -> str:
        title = f"Audit of {self.overall.count:,} rows, {self.kind}; {self.favorable}"
        lines = [title, *self._facts()]
        shown = [name for name in _SHOWN if _any(self.overall, self.attributes, name)]
        for part in self.attributes:
            lines += ["", f"{part.attribute:<24} {'rows':>8}" + "".join(map(_heading, shown))]
            lines += [_line(group, shown) for group in part.groups]
        lines += [_line(self.overall, shown)]
        if any(group.small for part in self.attributes for group in part.groups):
            lines += ["", f"* fewer than {self.small} rows: left out of ratios and differences."]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = f"Audit of {self.overall.count:,} rows, {self.kind}; {self.favorable}"
        return frame_html(self.to_frame(), title, self._facts())

    def _facts(self) -> list[str]:
        strongest = "" if self.strongest is None else f", {self.strongest.column}"
        facts = [
            f"{label}: {value:.4f}{where}"
            for label, value, where in (
                ("share of η explained by S (R²)", self.share_of_eta, ""),
                ("share of predicted means explained by S (R²)", self.r_squared, ""),
                (
                    "gap of decisions between groups (demographic parity difference)",
                    self.demographic_parity_difference,
                    "",
                ),
                ("largest |correlation| with S", self.max_correlation, strongest),
                (
                    "largest standardized mean difference of a group",
                    self.standardized_mean_difference,
                    "",
                ),
            )
            if value == value
        ]
        low, high = self.group_means
        if low == low:
            facts.append(f"mean predictions of groups: {low:.4g} to {high:.4g}")
        for label, value in (
            (
                "lowest adverse impact ratio (demographic parity ratio)",
                self.demographic_parity_ratio,
            ),
            ("equalized odds difference", self.equalized_odds_difference),
        ):
            if value == value:
                facts.append(f"{label}: {value:.4f}")
        return facts + [
            f"below four fifths: {group.attribute} = {group.group}, "
            f"ratio {group.adverse_impact_ratio:.2f}"
            for group in self.flagged
        ]


# Columns of the printed tables: name in the frame and heading.
_SHOWN = {
    "mean_prediction": "prediction",
    "mean_response": "response",
    "selection_rate": "selected",
    "adverse_impact_ratio": "ratio",
    "true_positive_rate": "TPR",
    "false_positive_rate": "FPR",
    "kolmogorov_smirnov": "KS",
    "rmse": "RMSE",
}


def _heading(name: str) -> str:
    return f" {_SHOWN[name]:>10}"


def _any(overall: GroupMeasures, parts: Sequence[AttributeAudit], name: str) -> bool:
    groups = [overall, *(group for part in parts for group in part.groups)]
    return any(group.flat()[name] == group.flat()[name] for group in groups)


def _line(group: GroupMeasures, shown: Sequence[str]) -> str:
    row = group.flat()
    cells = "".join(
        f" {row[name]:>10.4g}" if row[name] == row[name] else f" {'':>10}" for name in shown
    )
    label = ("  " if group.attribute else "") + group.group
    label = label if len(label) <= 24 else label[:23] + "…"
    return f"{label:<24} {group.count:>8,}{cells}{' *' if group.small else ''}".rstrip()


def _worst(values: Sequence[float]) -> float:
    return max(defined(values), default=float("nan"))


def _columns(rows: Sequence[dict[str, Any]], *, keep_all: bool = False) -> dict[str, Any]:
    """Turn rows into columns, without those that are defined nowhere."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    if keep_all:
        return columns
    if "adverse_impact_ratio" in columns and not defined(columns["adverse_impact_ratio"]):
        del columns["adverse_impact"]
    return {
        name: values
        for name, values in columns.items()
        if not all(isinstance(value, float) and value != value for value in values)
    }
