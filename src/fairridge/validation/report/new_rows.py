"""A fitted model on rows that it was not fitted to: bound, groups, calibration, and drift."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data import Design, Rows, name_of, require_offsets
from fairridge.data.classes import labels_by_code
from fairridge.data.table import labels, require_known
from fairridge.engines import one_blas_thread
from fairridge.estimators._each import require_one_bound
from fairridge.estimators._model import bounded_measure
from fairridge.estimators._responses import Inputs, Response
from fairridge.estimators._training import engine_of, read_inputs
from fairridge.metrics import WORDS, Measure, ScoredRows
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
    measure = bounded_measure(model)
    bounded = bounded_on(model, measure, scored_rows(model, measure, rows, eta))
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
        measure=measure,
        samples=samples,
        bounded=bounded.key,
        measures=with_bounded(bounded, measures_on(model, rows, eta, samples)),
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
    """Read the response; classes are those of the fit, though some may be missing here.

    Codes are those of the fit: of two classes the modeled one is 1.
    """
    if y is None:
        raise ValueError("new_rows=True compares predictions with responses: pass y.")
    if not hasattr(model, "classes_"):
        return replace(model._fitted.read_response(y, inputs), family=model.family_)
    classes = labels_by_code(model)
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


def scored_rows(model: Any, measure: Measure, rows: DenseRows, eta: Floats) -> ScoredRows:
    """Put together what a measure reads of rows that a model was not fitted to."""
    family, design, q = model.family_, model._fitted.design, rows.engine.n_sensitive
    controls, C = getattr(model._fitted.settings, "controls", None), rows.columns[:, :0]
    if controls is not None:
        C = rows.columns[:, q + np.array(design.control_columns(controls), dtype=np.intp)]
    weight = rows.engine.weights
    means = (None, weight) if family.reads == "times" else rows.judged(family, eta)
    response = rows.engine.response[:, 0]
    return ScoredRows(
        eta,
        means[0],
        weight,
        means[1],
        rows.columns[:, :q],
        C,
        response.astype(np.intp) if family.reads == "classes" else None,
        losses_of(model, rows, eta) if measure.whole == "model" else None,
        rows.engine.rows.targets,
    )


def losses_of(model: Any, rows: DenseRows, eta: Floats) -> Floats:
    """Return deviances of rows: of a model, without what S adds, and without predictors."""
    family, form = model.family_, model._description
    center = form.training.center[: rows.columns.shape[1]]
    of_sensitive, of_controls = form.training.terms(np.atleast_2d(model.alpha_))
    columns = rows.columns + (rows.center - center)
    level = form.intercept + form.coefficients @ center
    places = eta, eta - columns @ of_sensitive.T, level + columns @ of_controls.T
    weights, y = getattr(family, "class_weights", None), rows.engine.response
    each = [row_deviances(family, y, rows.with_offset(place)) for place in places]
    losses = np.column_stack(each)
    return losses if weights is None else losses * np.array(weights)[y[:, 0].astype(np.intp), None]


def row_deviances(family: Any, y: Floats, eta: Floats) -> Floats:
    """Return the deviance of each row, of weight 1."""
    if family.n_predictors == 1:
        return np.asarray(family.unit_deviance(y[:, 0], eta[:, 0]))
    shares = family.probabilities(eta)[np.arange(len(y)), y[:, 0].astype(np.intp)]
    return np.asarray(-2.0 * np.log(shares))


def bounded_on(model: Any, measure: Measure, scored: ScoredRows) -> NewRowsMeasure:
    """Measure what a model bounds on rows that it was not fitted to."""
    key = "bounded"
    if not measure.given and not measure.among:
        key = {"scores": "share_of_eta", "means": "share_of_means"}.get(measure.whole, key)
    found = measure.interval(scored, CONFIDENCE)
    return NewRowsMeasure(
        key,
        f"{measure.words[0].upper()}{measure.words[1:]}",
        float(model.unfairness_),
        found.value,
        found.low,
        found.high,
        True,
        measure.adjusted(scored),
    )


def with_bounded(
    bounded: NewRowsMeasure, measures: tuple[NewRowsMeasure, ...]
) -> tuple[NewRowsMeasure, ...]:
    """Put what is bounded first, unless it is among the measures of every model."""
    known = any(one.key == bounded.key for one in measures)
    return measures if known else (bounded, *measures)


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
