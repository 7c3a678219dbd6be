"""What an audit report shows, gathered before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.inference import Certificate, Inference, Interval
from fairridge.metrics import AttributeAudit, Attribution, Audit, Proxies
from fairridge.reports.html.evidence import Scoring


@dataclass(frozen=True)
class Subject:
    """What was modeled, and how.

    Attributes
    ----------
    title, model, family, definition, response : str
        Names.
    reads, link : str
        What the family reads, and how it links linear predictors to predictions.
    outcome : str
        The class or event that scores are of; "" for numbers.
    n_rows : int
        Rows of positive weight.
    sensitive, predictors : tuple of str
        Columns as they were given.
    needs_sensitive : bool
        Whether predictions need the sensitive attributes.
    rule : str
        In words, who counts as selected.
    favorable : str
        Which outcome counts as favorable, and who says so; "" if each of several
        classes has its turn.
    record : tuple of (str, str)
        Data, fingerprint and fit, for the record.
    settings, versions : tuple of (str, str)
        Parameters of the model, and of the software.
    """

    title: str
    model: str
    family: str
    reads: str
    link: str
    definition: str
    response: str
    outcome: str
    n_rows: int
    sensitive: tuple[str, ...]
    predictors: tuple[str, ...]
    needs_sensitive: bool
    rule: str
    favorable: str
    record: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]

    @property
    def modeled(self) -> str:
        """The response, and its outcome if there is one."""
        return f"{self.response} = {self.outcome}" if self.outcome else self.response


@dataclass(frozen=True)
class Curve:
    """One measure over the bounds.

    Attributes
    ----------
    name : str
        What is measured.
    training : ndarray of shape (m,)
        In the training rows.
    held_out, error : ndarray of shape (m,) or None
        Mean over held-out folds, and its standard error.
    larger_is_better : bool
        Whether more of it is better.
    """

    name: str
    training: Floats
    held_out: Floats | None = None
    error: Floats | None = None
    larger_is_better: bool = True

    @property
    def best_known(self) -> Floats:
        """On held-out rows if there are any."""
        return self.training if self.held_out is None else self.held_out


@dataclass(frozen=True)
class Refits:
    """How unfair models are that were refitted to resampled rows with the same bound.

    Attributes
    ----------
    low, high : float
        The middle 95 % of them, measured on all rows.
    count : int
        How many refits.
    """

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Decisions:
    """Decisions at every bound, against those of the unconstrained model.

    Attributes
    ----------
    selected : ndarray of shape (m,)
        How many rows are selected.
    gained, lost : ndarray of shape (m, g)
        For every group (all attributes, one after the other), how many are
        selected only here, and how many only by the unconstrained model.
    all_gained, all_lost : ndarray of shape (m,)
        The same for all rows.
    """

    selected: Integers
    gained: Integers
    lost: Integers
    all_gained: Integers
    all_lost: Integers

    @property
    def changed(self) -> Integers:
        """How many decisions differ, of all rows."""
        return self.all_gained + self.all_lost


@dataclass(frozen=True)
class Sample:
    """Group metrics of one outcome on one kind of rows, at every bound.

    Attributes
    ----------
    rows : str
        "held-out" or "training".
    outcome : str
        The class; "" if there is only one outcome.
    audits : tuple of Audit
        One per bound.
    decisions : Decisions or None
        None if no decisions are compared.
    """

    rows: str
    outcome: str
    audits: tuple[Audit, ...]
    decisions: Decisions | None


@dataclass(frozen=True)
class Crossed:
    """Groups of two attributes together.

    Attributes
    ----------
    chosen, free : AttributeAudit
        At the chosen bound, and without one.
    """

    chosen: AttributeAudit
    free: AttributeAudit


@dataclass(frozen=True)
class Term:
    """One coefficient over the bounds.

    Attributes
    ----------
    name, outcome : str
        Encoded column, and class for models that have several.
    sensitive : bool
        Whether it is in α, not in β.
    values, standardized : ndarray of shape (m,)
        Coefficient, and times its column's standard deviation.
    """

    name: str
    outcome: str
    sensitive: bool
    values: Floats
    standardized: Floats


@dataclass(frozen=True)
class Sighted:
    """The model that uses S, at the bound of a blind one.

    Attributes
    ----------
    yardstick : dict of str to Curve
        The numbers that every model is described by, at this bound only.
    accuracy : tuple of Curve
        Measures of accuracy, at this bound only.
    """

    yardstick: dict[str, Curve]
    accuracy: tuple[Curve, ...]


@dataclass(frozen=True, kw_only=True)
class Audited:
    """Groups of rows that one or more models are judged on.

    Attributes
    ----------
    subject : Subject
        What was modeled.
    unfairness : ndarray of shape (m,)
        Bounds, increasing.
    chosen : int
        Position of the bound that was chosen.
    samples : tuple of Sample
        Group metrics.
    intersections : tuple of Crossed
        Groups of two attributes together, in the rows of `main`.
    """

    subject: Subject
    unfairness: Floats
    chosen: int
    samples: tuple[Sample, ...]
    intersections: tuple[Crossed, ...] = ()

    @property
    def main(self) -> Sample:
        """The sample to show first."""
        return self.samples[0]


@dataclass(frozen=True, kw_only=True)
class ReportContents(Audited):
    """Everything that an audit report shows, beside its groups; the last bound is none.

    Attributes
    ----------
    achieved : ndarray of shape (m,)
        What the bound is on, in training.
    lambda_ : ndarray of shape (m,)
        λ(r).
    status : tuple of str
        How each search ended.
    dependence : Curve
        The dependence of scores on S, measured alike in all rows.
    dependence_name : str
        What that is, in words.
    yardstick : dict of str to Curve
        The numbers that every model is described by; see `metrics.yardstick`.
    accuracy : tuple of Curve
        Measures of accuracy, the most informative one first.
    folds : int
        Held-out folds; 0 for none.
    refits : Refits or None
        The bootstrap.
    terms : tuple of Term
        Coefficients.
    left_out : int
        Terms that are not shown because there are so many.
    attribution : tuple of Attribution
        R²_S split over attributes, one per bound; empty if there is none.
    proxies : Proxies
        How S enters the linear predictor of the unconstrained model through the predictors.
    isolated : dict of str to int
        Rows by level that the model and its bound are without.
    separating : tuple of str
        Columns that decide the response in the chosen model.
    sighted : Sighted or None
        The same model with S, if this one is blind.
    inference : Inference or None
        Standard errors of the chosen model.
    no_inference : str
        Why there are none; "" if there are.
    population : Interval or None
        R² of the linear predictor on S in the population.
    no_population : str
        Why there is no such interval; "" if there is one.
    certificate : Certificate or None
        What the bound promises, if `confidence` was set.
    scoring : Scoring or None
        How one score is computed.
    """

    achieved: Floats
    lambda_: Floats
    status: tuple[str, ...]
    dependence: Curve
    dependence_name: str
    yardstick: dict[str, Curve]
    accuracy: tuple[Curve, ...]
    folds: int
    refits: Refits | None
    terms: tuple[Term, ...]
    left_out: int
    attribution: tuple[Attribution, ...]
    proxies: Proxies
    isolated: dict[str, int] = field(default_factory=dict)
    separating: tuple[str, ...] = ()
    sighted: Sighted | None = None
    inference: Inference | None = None
    no_inference: str = ""
    population: Interval | None = None
    no_population: str = ""
    certificate: Certificate | None = None
    scoring: Scoring | None = None

    @property
    def free(self) -> int:
        """Position of the unconstrained model."""
        return len(self.unfairness) - 1

    @property
    def bounds_eta(self) -> bool:
        """Whether `dependence` is the share of η explained by S."""
        eta = self.yardstick["share_of_eta"].training
        return bool(np.allclose(self.dependence.training, eta, rtol=0.0, atol=1e-9))

    @property
    def on_predictions(self) -> Floats | None:
        """Share of means explained by S, unless those are the linear predictors themselves."""
        curve = self.yardstick.get("share_of_means")
        return None if curve is None or self.subject.link == "identity" else curve.best_known
