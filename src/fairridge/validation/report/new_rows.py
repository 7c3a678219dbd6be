"""A fitted model on rows that it was not fitted to: bound, groups, calibration, and drift."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data import Design, Rows, name_of, require_offsets
from fairridge.data.table import labels, require_known
from fairridge.engines import one_blas_thread
from fairridge.estimators._each import require_one_bound
from fairridge.estimators._responses import Inputs, Response
from fairridge.estimators._training import engine_of, read_inputs
from fairridge.metrics import WORDS
from fairridge.metrics.dependence_shares import sensitive_span
from fairridge.metrics.intervals import CONFIDENCE
from fairridge.metrics.share_interval import share_interval
from fairridge.reports.html import NewRowsContents, NewRowsMeasure, Sample
from fairridge.validation.linear import DenseRows
from fairridge.validation.report.case import ReportSettings
from fairridge.validation.report.drift import drift_of
from fairridge.validation.report.gather import measures_of
from fairridge.validation.report.groups import DecisionRule, ReportRows, audited, decision_rule
from fairridge.validation.report.record import subject_of

NAN = float("nan")


def gather_new_rows(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    offset: Any,
    options: ReportSettings,
) -> NewRowsContents:
    """Score new rows, measure the bound on them, compare groups, and compare columns."""
    check_is_fitted(model)
    facts = model._fitted
    require_one_bound(facts.settings, "a report")
    inputs = read_inputs(X, sensitive_features, sample_weight, offset, y)
    require_offsets(facts.offsets, offset, type(model).__name__)
    design, needs_sensitive = facts.design, bool(facts.traits.needs_sensitive)
    # Columns as they came are compared with those at fit; the model reads what maps make of them.
    unmapped = replace(design, sensitive=design.sensitive.inner, predictors=design.predictors.inner)
    pieces = unmapped.encode(
        inputs.table, inputs.attributes, model.unknown, estimator_name=type(model).__name__
    )
    response = read_response(model, y, inputs)
    rows = _written(design, design.map(pieces), response, inputs)
    S = inputs.attributes if needs_sensitive else None
    eta = np.asarray(model._linear_predictor(inputs.table, S, None)).reshape(len(rows.span), -1)
    audience = ReportRows.of(design, inputs, response, options)
    name = options.response or name_of(y) or "the response"
    rule = decision_rule(audience, name)
    samples = samples_of(audience, rule, rows.with_offset(eta))
    drift, no_drift = drift_of(model, (*pieces[0], *pieces[1]), len(eta), inputs.weight)
    return NewRowsContents(
        subject=subject_of(
            model,
            audience,
            rule,
            title=f"Validation of a model for {name}",
            name=name,
            needs_sensitive=needs_sensitive,
            rows={"New rows": len(eta), "Training rows": model.n_rows_},
        ),
        unfairness=np.array([float(facts.bound)]),
        chosen=0,
        samples=samples,
        bounded=model._fitted.traits.definition.measured_as(model.family_),
        measures=measures_on(model, rows, eta, samples),
        accuracy=accuracy_on(model, rows, eta),
        drift=drift,
        no_drift=no_drift,
        certificate=getattr(model, "certificate_", None),
    )


def _written(design: Design, pieces: Any, response: Response, inputs: Inputs) -> DenseRows:
    """Write rows out as the model reads them."""
    family = response.family
    linear = not family.least_squares and family.n_predictors == 1
    offset, (S, Z) = inputs.offset if linear else None, pieces
    rows = Rows(
        S, Z, design.encoded_names, response.values, response.targets, inputs.weight, offset
    )
    return DenseRows.of(engine_of(rows, family))


def read_response(model: Any, y: Any, inputs: Inputs) -> Response:
    """Read the response; classes are those of the fit, though some may be missing here."""
    if y is None:
        raise ValueError("new_rows=True compares predictions with responses: pass y.")
    classes = getattr(model, "classes_", None)
    if classes is None:
        return replace(model._fitted.read_response(y, inputs), family=model.family_)
    truth = labels(y, inputs.n_given, "y", inputs.keep)
    require_known(truth, classes.tolist())
    places = {label: k for k, label in enumerate(classes.tolist())}
    codes = np.array([[float(places[label])] for label in truth.tolist()])
    several = (codes == np.arange(len(classes))).astype(np.float64)
    return Response(model.family_, codes, several if len(classes) > 2 else codes, classes)


def samples_of(
    audience: ReportRows, rule: DecisionRule, eta: Floats, called: str = "new"
) -> tuple[Sample, ...]:
    """Compare groups of the rows."""
    with one_blas_thread():
        samples = audited(audience, rule, eta[None], called, 0, step=lambda: None)
    # There is no other model whose decisions these could differ from.
    return tuple(replace(sample, decisions=None) for sample in samples)


def measures_on(
    model: Any, rows: DenseRows, eta: Floats, samples: tuple[Sample, ...]
) -> tuple[NewRowsMeasure, ...]:
    """Measure dependence on S as `audit` does, and adjusted for chance beside it."""
    family, training = model.family_, getattr(model, "dependence_", {})
    adjusted = rows.yardstick(family, eta)
    found = {
        key: share_interval(values, sensitive_span(rows.span, weight), weight, CONFIDENCE)
        for key, (values, weight) in rows.predicted(family, eta).items()
    }
    gaps = [audit.parity_difference for sample in samples for audit in sample.audits]
    known = [gap for gap in gaps if gap.value == gap.value]
    if known:
        found["decision_gap"] = max(known, key=lambda gap: gap.value)
    return tuple(
        NewRowsMeasure(
            key,
            WORDS[key],
            float(training.get(key, NAN)),
            estimate.value,
            estimate.low,
            estimate.high,
            True,
            adjusted.get(key, NAN),
        )
        for key, estimate in found.items()
    )


def accuracy_on(model: Any, rows: DenseRows, eta: Floats) -> tuple[NewRowsMeasure, ...]:
    """Measure how well predictions meet the responses."""
    family, baseline = model.family_, None
    if family.reads == "times":
        baseline = model.event_times_, np.log(model.cumulative_hazard_)
    measures = rows.accuracy(family, eta) | rows.explained(family, eta, baseline)
    return tuple(
        NewRowsMeasure(key, name, NAN, measures[key], NAN, NAN, is_share=key == "accuracy")
        for key, name, _ in measures_of(family)
        if key in measures
    )
