"""What reports on training rows and on new rows show, gathered before anything is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.inference import Certificate, Inference, Interval
from fairridge.metrics.attribution import Attribution, Proxies
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.group_measures import AttributeAudit
from fairridge.metrics.intervals import CONFIDENCE, UNDEFINED, Estimate
from fairridge.metrics.measure import Measure
from fairridge.reports.html.numbers import measure, number, percent


@dataclass(frozen=True)
class Subject:
    """What was modeled, and how."""

    title: str
    model: str  # names of the model, its family and its definition of unfairness
    family: str
    reads: str  # what the family reads
    link: str  # how it links linear predictors to predictions
    definition: str
    response: str  # name of the response
    outcome: str  # the class or event that scores are of; "" for numbers
    n_rows: int  # rows of positive weight
    # Columns as they were given.
    sensitive: tuple[str, ...]
    predictors: tuple[str, ...]
    needs_sensitive: bool  # whether predictions need the sensitive attributes
    rule: str  # in words, who counts as selected
    # Which outcome counts as favorable, and why; "" if each of several classes has
    # its turn.
    favorable: str
    record: tuple[tuple[str, str], ...]  # data, fingerprint and fit, for the record
    # Parameters of the model, and of the software.
    settings: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    # Of a stacked model, what its layer reads of the predictors, such as scores of learners, and
    # what is held out in folds.
    features: tuple[str, ...] = ()
    held_out: str = ""

    @property
    def modeled(self) -> str:
        """The response, and its outcome if there is one."""
        return f"{self.response} = {self.outcome}" if self.outcome else self.response


@dataclass(frozen=True)
class Curve:
    """One measure over the bounds."""

    key: str  # its name in tables
    name: str  # what is measured
    training: Floats  # in the training rows, of shape (m,)
    # Mean over held-out folds, and its standard error, of shape (m,).
    held_out: Floats | None = None
    error: Floats | None = None
    larger_is_better: bool = True  # whether more of it is better

    @property
    def best_known(self) -> Floats:
        """On held-out rows if there are any."""
        return self.training if self.held_out is None else self.held_out

    @property
    def where(self) -> str:
        """Name those rows."""
        return "training" if self.held_out is None else "held-out rows"

    @property
    def on_rows(self) -> str:
        """Name those rows in a sentence."""
        return "in training" if self.held_out is None else "on held-out rows"

    def text(self, k: int) -> str:
        """Write the value at one bound."""
        return measure(self.key, self.best_known[k])

    def error_text(self, k: int) -> str:
        """Write its standard error; "" if there is none."""
        if self.error is None or not np.isfinite(self.error[k]):
            return ""
        return percent(self.error[k]) if self.key == "accuracy" else number(self.error[k], 2)

    def with_error(self, k: int) -> str:
        """Write the value, and its standard error if that is known."""
        error = self.error_text(k)
        return f"{self.text(k)} ± {error}" if error else self.text(k)


@dataclass(frozen=True)
class Refits:
    """How unfair models are that were refitted to resampled rows with the same bound."""

    # The middle 95 % of them, measured on all rows.
    low: float
    high: float
    count: int  # how many refits


@dataclass(frozen=True)
class Decisions:
    """Decisions at every bound, against those of the unconstrained model."""

    selected: Integers  # how many rows are selected, of shape (m,)
    # For every group (all attributes, one after the other), how many are selected only here,
    # and how many only by the unconstrained model, of shape (m, g).
    gained: Integers
    lost: Integers
    # The same for all rows, of shape (m,).
    all_gained: Integers
    all_lost: Integers

    @property
    def changed(self) -> Integers:
        """How many decisions differ, of all rows."""
        return self.all_gained + self.all_lost


@dataclass(frozen=True)
class Sample:
    """Group metrics of one outcome on one kind of rows, at every bound."""

    rows: str  # "held-out" or "training"
    outcome: str  # the class; "" if there is only one outcome
    audits: tuple[Audit, ...]  # one per bound
    decisions: Decisions | None  # None if no decisions are compared


@dataclass(frozen=True)
class Crossed:
    """Groups of two attributes together."""

    # At the chosen bound, and without one.
    chosen: AttributeAudit
    free: AttributeAudit


@dataclass(frozen=True)
class Term:
    """One coefficient over the bounds."""

    # Encoded column, and class for models that have several.
    name: str
    outcome: str
    sensitive: bool  # whether it is in α, not in β
    # Coefficient, and times its column's standard deviation, of shape (m,).
    values: Floats
    standardized: Floats


@dataclass(frozen=True)
class ScoreTerm:
    """One encoded column of a linear predictor."""

    name: str  # the encoded column
    coefficients: Floats  # raw coefficients, one per class, of shape (K,)
    value: float  # the column in a typical row


@dataclass(frozen=True)
class Scoring:
    """How one score is computed by hand, shown for a typical row."""

    # Classes of the columns of coefficients; ("",) for one linear predictor.
    outcomes: tuple[str, ...]
    intercept: Floats  # intercepts; zero for models that have none, of shape (K,)
    terms: tuple[ScoreTerm, ...]  # all encoded columns, in the order of `coef_names_`
    # Categorical columns with the level whose coefficient is zero.
    base_levels: tuple[tuple[str, str], ...]
    # The row as its columns come: medians, and the commonest levels.
    typical: tuple[tuple[str, str | float], ...]
    # Linear predictors of that row, and what they predict.
    eta: Floats
    prediction: Floats


@dataclass(frozen=True)
class Sighted:
    """The model that uses S, at the bound of a blind one."""

    dependence_shares: dict[
        str, Curve
    ]  # the numbers that every model is described by, at this bound only
    accuracy: tuple[Curve, ...]  # measures of accuracy, at this bound only


@dataclass(frozen=True)
class AttributeBound:
    """What is bounded of one attribute alone, if attributes have bounds of their own."""

    measure: Measure
    bounds: Floats  # in proportion to those that are chosen, of shape (m,)
    achieved: Floats  # in training, of shape (m,)

    @property
    def attribute(self) -> str:
        """Its name."""
        return self.measure.attributes[0]


@dataclass(frozen=True, kw_only=True)
class Audited:
    """Groups of rows that one or more models are judged on."""

    subject: Subject  # what was modeled
    # Bounds, increasing, of shape (m,); the largest ones of attributes with bounds of their own.
    unfairness: Floats
    chosen: int  # position of the bound that was chosen
    measure: Measure  # what is bounded; of a model without a bound the share of its predictions
    samples: tuple[Sample, ...]  # group metrics
    # Groups of two attributes together, in the rows of `main`.
    intersections: tuple[Crossed, ...] = ()

    @property
    def main(self) -> Sample:
        """The sample to show first."""
        return self.samples[0]

    @property
    def bounded(self) -> tuple[Measure, ...]:
        """What is bounded: of all of S, or of each attribute with a bound of its own."""
        return (self.measure,)


@dataclass(frozen=True, kw_only=True)
class ReportContents(Audited):
    """Everything that an audit report shows, beside its groups; the last bound is none."""

    # What the bound is on, in training, of shape (m,); if `each` attribute has a bound of its
    # own, what all of them explain together.
    achieved: Floats
    each: tuple[AttributeBound, ...] = ()
    lambda_: Floats  # λ(r), of shape (m,)
    status: tuple[str, ...]  # how each search ended
    dependence: Curve  # what is bounded, as far as it can be measured alike in all rows
    # The numbers that every model is described by; see `metrics.dependence_shares`.
    dependence_shares: dict[str, Curve]
    accuracy: tuple[Curve, ...]  # measures of accuracy, the most informative one first
    folds: int  # held-out folds; 0 for none
    refits: Refits | None  # the bootstrap
    terms: tuple[Term, ...]  # coefficients; none of S if the model does not use it
    left_out: int  # terms that are not shown because there are so many
    # R²_S split over attributes, one per bound; empty if there is none.
    attribution: tuple[Attribution, ...]
    # How S enters the linear predictor of the unconstrained model through the predictors.
    proxies: Proxies
    # Rows by level that the model and its bound are without.
    isolated: dict[str, int] = field(default_factory=dict)
    # Predictors whose sign the bound has changed, with both coefficients and their errors.
    flips: dict[str, dict[str, float]] = field(default_factory=dict)
    separating: tuple[str, ...] = ()  # columns that decide the response in the chosen model
    sighted: Sighted | None = None  # the same model with S, if this one is blind
    inference: Inference | None = None  # standard errors of the chosen model
    no_inference: str = ""  # why there are none; "" if there are
    population: Interval | None = None  # what the bound is on, in the population
    no_population: str = ""  # why there is no such interval; "" if there is one
    certificate: Certificate | None = None  # what the bound promises, if `confidence` was set
    scoring: Scoring | None = None  # how one score is computed
    learned: Estimate = UNDEFINED  # R² of scores on a flexible learner of S, on new rows

    @property
    def bounded(self) -> tuple[Measure, ...]:
        """What is bounded: of all of S, or of each attribute with a bound of its own."""
        return tuple(one.measure for one in self.each) or (self.measure,)

    @property
    def free(self) -> int:
        """Position of the unconstrained model."""
        return len(self.unfairness) - 1

    @property
    def bounds_eta(self) -> bool:
        """Whether `dependence` is the share of scores explained by S."""
        eta = self.dependence_shares["share_of_eta"].training
        return bool(np.allclose(self.dependence.training, eta, rtol=0.0, atol=1e-9))

    @property
    def on_predictions(self) -> Floats | None:
        """Share of means explained by S, unless those are the linear predictors themselves."""
        curve = self.dependence_shares.get("share_of_means")
        return None if curve is None or self.subject.link == "identity" else curve.best_known


@dataclass(frozen=True)
class NewRowsMeasure:
    """One number on the new rows, beside what it was in training."""

    # What is measured, for programs and for readers.
    key: str
    name: str
    training: float  # in training; NaN if the model does not know it
    value: float  # on the new rows
    # Ends of the interval of the value; NaN if there is none.
    low: float = math.nan
    high: float = math.nan
    adjusted: float = math.nan  # the value less what chance alone explains; NaN if there is none

    def verdict(self, r: float) -> str:
        """Compare the interval with a bound: "within" it, "above" it, "undecided" or "unknown"."""
        if not math.isfinite(self.high):
            return "unknown"
        if self.high <= r:
            return "within"
        return "above" if self.low > r else "undecided"


@dataclass(frozen=True)
class BoundOnRows:
    """What a bound is on: of all of S, or of an attribute with a bound of its own."""

    measure: Measure
    r: float  # NaN of a model without a bound
    found: NewRowsMeasure


@dataclass(frozen=True)
class Drift:
    """How the distribution of one column has changed since the fit."""

    name: str  # the input column
    sensitive: bool  # whether it is a sensitive attribute
    # Population stability index, and its mean if nothing has changed.
    psi: float
    by_chance: float
    part: str  # the level, or the tenth of the training rows, that has changed most
    # The share of rows there, in training and now.
    before: float
    now: float


@dataclass(frozen=True, kw_only=True)
class NewRowsContents(Audited):
    """Everything that a report on new rows shows, beside its groups."""

    bounds: tuple[BoundOnRows, ...]  # what each bound is on, on these rows
    # Dependence on S, with that first, and measures of accuracy.
    measures: tuple[NewRowsMeasure, ...]
    accuracy: tuple[NewRowsMeasure, ...]
    drift: tuple[Drift, ...] = ()  # columns, those that changed most first
    no_drift: str = ""  # why columns are missing there; "" if none is
    certificate: Certificate | None = None  # what the bound promised
    called: str = "new rows"  # what the rows are; those of a model without a memory are "rows"
    left_out: str = ""  # what the page lacks, and why; "" if nothing

    @property
    def bounded(self) -> tuple[Measure, ...]:
        """What is bounded: of all of S, or of each attribute with a bound of its own."""
        return tuple(one.measure for one in self.bounds)


# Standard error, NaN for isolated levels, and the ends of the interval.
CoefficientError = tuple[float, float, float]


def coefficient_errors(
    inference: Inference | None, kind: Literal["raw", "fair"]
) -> dict[str, CoefficientError]:
    """Return how exactly each coefficient is known, by name; nothing without standard errors."""
    if inference is None:
        return {}
    estimates = getattr(inference, kind)
    ends = estimates.interval(CONFIDENCE, inference.facts.df)
    values = zip(estimates.standard_errors, *ends.T, strict=True)
    return dict(zip(estimates.names, (tuple(map(float, each)) for each in values), strict=True))
