"""A fitted model on rows that it was not fitted to: what is bounded, groups, calibration, drift."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge.data import name_of
from fairridge.engines import one_blas_thread
from fairridge.metrics.dependence_shares import WORDS
from fairridge.metrics.intervals import CONFIDENCE, Estimate
from fairridge.metrics.measure import Measure, of_predictions
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.metrics.share_interval import explained_share
from fairridge.reports.html import BoundOnRows, NewRowsContents, NewRowsMeasure, Sample
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.read_rows import read_rows
from fairridge.validation.report.case import ReportSettings
from fairridge.validation.report.drift import drift_of
from fairridge.validation.report.groups import Comparison, audited, decision_gaps
from fairridge.validation.report.record import subject_of
from fairridge.validation.report.rows import accuracy_of, measures_of
from fairridge.validation.scored_model import ScoredModel

NAN = float("nan")
PREDICTIONS_ONLY = (
    "This model is known by its predictions only. What needs a fair ridge model is left out: the "
    "price of other bounds, coefficients, the sources of unfairness, certificates, and the drift "
    "of columns."
)


def gather_new_rows(
    model: ScoredModel, given: PassedRows, options: ReportSettings
) -> NewRowsContents:
    """Score rows, measure what the model bounds, and compare groups.

    Without a bound S is compared with the predictions, which are all that is known of the model.
    """
    check_is_fitted(model.given)
    inputs, rows = read_rows(model, given)
    name, n = options.response or name_of(given.y), len(rows.weight)
    case = Comparison.of(rows, name, options)
    with one_blas_thread():
        samples = audited(case, [rows], "new" if model.fair else "these", 0, lambda: None)
    what, n_rows = "Fairness audit", {"Rows": n}
    known: dict[str, Any] = {"called": "rows", "left_out": PREDICTIONS_ONLY}
    if model.fair:
        what, n_rows = "Validation", {"New rows": n, "Training rows": model.linear.n_rows_}
        drift, no_drift = drift_of(model.linear, inputs)
        certificate = getattr(model.linear, "certificate_", None)
        known = {"drift": drift, "no_drift": no_drift, "certificate": certificate}
    subject = subject_of(
        model, inputs, rows, case.rule, options, name=name, what=what, n_rows=n_rows
    )
    measure = model.measure or of_predictions(rows.family, subject.sensitive)
    bounds = tuple(
        BoundOnRows(each, r, _bounded(model.linear, each, rows))
        for each, r in model.bounds or ((measure, NAN),)
    )
    measures = _of_every_model(model, rows, samples)
    known_keys = {one.key for one in measures}
    measures = (*(b.found for b in bounds if b.found.key not in known_keys), *measures)
    return NewRowsContents(
        subject=subject,
        unfairness=np.array([max(one.r for one in bounds)]),
        chosen=0,
        measure=measure,
        samples=samples,
        bounds=bounds,
        measures=measures,
        accuracy=_accuracy(model, rows),
        **known,
    )


def _of_every_model(
    model: ScoredModel, rows: ScoredRows, samples: tuple[Sample, ...]
) -> tuple[NewRowsMeasure, ...]:
    """Measure dependence on S as `audit` does, and adjusted for chance beside it."""
    training, nothing = getattr(model.linear, "dependence_", {}), rows.controls[:, :0]
    found = {
        key: explained_share([judged], rows.sensitive, nothing, CONFIDENCE)
        for key, judged in rows.explainable.items()
        # Of log hazards of other models this is what is bounded, which stands by itself.
        if model.fair or key != "share_of_eta"
    }
    for gap in decision_gaps(samples):
        found["decision_gap"] = gap, NAN
    return tuple(
        _measured(key, WORDS[key], training.get(key, NAN), *each) for key, each in found.items()
    )


def _measured(
    key: str, name: str, training: float, found: Estimate, adjusted: float = NAN
) -> NewRowsMeasure:
    """Put a share on new rows beside the one in training."""
    ends = found.value, found.low, found.high
    return NewRowsMeasure(key, name, float(training), *ends, True, adjusted)


def _bounded(linear: Any, measure: Measure, rows: ScoredRows) -> NewRowsMeasure:
    """Measure what a model bounds on rows that it was not fitted to."""
    reached: Any = getattr(linear, "unfairness_", NAN)
    key = "bounded"
    if measure.columns is not None:  # an attribute with a bound of its own
        key, reached = f"bounded[{measure.attributes[0]}]", reached[measure.attributes[0]]
    elif not measure.given and not measure.among:
        key = {"scores": "share_of_eta", "means": "share_of_means"}.get(measure.whole, key)
    name, found = (
        f"{measure.words[0].upper()}{measure.words[1:]}",
        measure.interval(rows, CONFIDENCE),
    )
    return _measured(key, name, reached, found, measure.adjusted(rows))


def _accuracy(model: ScoredModel, rows: ScoredRows) -> tuple[NewRowsMeasure, ...]:
    """Measure how well predictions meet the responses."""
    baseline = None
    if model.family.reads == "times":
        baseline = model.linear.event_times_, np.log(model.linear.cumulative_hazard_)
    measures = accuracy_of(rows, baseline)
    return tuple(
        NewRowsMeasure(key, name, NAN, measures[key], NAN, NAN, is_share=key == "accuracy")
        for key, name, _ in measures_of(model.family)
        if key in measures
    )
