"""A fitted model on rows that it was not fitted to: bound, groups, calibration, and drift."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data import Rows, Table, name_of
from fairridge.data.vectors import labels
from fairridge.engines import one_blas_thread
from fairridge.estimators._each import require_one_bound
from fairridge.estimators._responses import Inputs, Response
from fairridge.estimators._training import engine_of, read_inputs
from fairridge.fairness import is_variance_share
from fairridge.families import Family
from fairridge.metrics import WORDS, share_explained
from fairridge.reports.html import Measure, NewRowsContents, Sample, Subject
from fairridge.validation import evaluate
from fairridge.validation.linear import WrittenRows
from fairridge.validation.report.case import ReportOptions
from fairridge.validation.report.drift import drift_of
from fairridge.validation.report.fingerprint import fingerprint
from fairridge.validation.report.gather import LOSS, MEASURES, RMSE
from fairridge.validation.report.groups import Audience, Rule, audited, decision_rule
from fairridge.validation.report.record import settings_of, versions

__all__ = ["gather_new_rows"]

NAN = float("nan")
# Resamplings of the rows, and multiplications that they may take together.
DRAWS, WORK = 200, 2e10


def gather_new_rows(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    offset: Any,
    options: ReportOptions,
) -> NewRowsContents:
    """Score new rows, measure the bound on them, compare groups, and compare columns."""
    check_is_fitted(model)
    require_one_bound(model, "a report")
    name, design = type(model).__name__, model._design
    inputs = read_inputs(X, sensitive_features, sample_weight, offset)
    # Columns as they came are compared with those at fit; the model reads what maps make of them.
    unmapped = replace(design, sensitive=design.sensitive.inner, predictors=design.predictors.inner)
    pieces = unmapped.encode(inputs.table, inputs.attributes, model.unknown, estimator_name=name)
    response = _response(model, y, inputs)
    S, Z = design.map(pieces)
    family = response.family
    linear = not family.least_squares and family.n_predictors == 1
    rows = WrittenRows.of(
        engine_of(
            Rows(
                S,
                Z,
                design.encoded_names,
                response.values,
                response.targets,
                inputs.weight,
                inputs.offset if linear else None,
            ),
            family,
        )
    )
    own = inputs.attributes if model._traits.needs_sensitive else None
    eta = np.asarray(model._linear_predictor(inputs.table, own, None)).reshape(len(rows.span), -1)
    audience = _audience(model, inputs, response)
    answer = options.response or name_of(y) or "the response"
    rule = decision_rule(audience, options.threshold, options.positive, options.favorable, answer)
    samples = _samples(audience, rule, rows.with_offset(eta), options)
    draws = _draws(options.bootstrap, rows)
    drift, no_drift = drift_of(model, (*pieces[0], *pieces[1]), len(eta), inputs.weight)
    return NewRowsContents(
        subject=_subject(model, inputs, response, options, rule, answer, audience),
        unfairness=np.array([float(model.unfairness)]),
        chosen=0,
        samples=samples,
        bounded=_bounded(model),
        measures=_measures(model, rows, eta, samples, draws, options.random_state),
        accuracy=_accuracy(family, rows, eta),
        refits=draws,
        drift=drift,
        no_drift=no_drift,
        certificate=getattr(model, "certificate_", None),
    )


def _response(model: Any, y: Any, inputs: Inputs) -> Response:
    """Read the response; classes are those of the fit, though some may be missing here."""
    if y is None:
        raise ValueError("new_rows=True compares predictions with responses: pass y.")
    classes = getattr(model, "classes_", None)
    if classes is None:
        found: Response = model._response_kind.read(y, inputs)
        return replace(found, family=model.family_)
    truth = labels(y, inputs.n_given, "y", inputs.keep)
    places = {label: k for k, label in enumerate(classes.tolist())}
    for label in np.unique(truth).tolist():
        if label not in places:
            known = ", ".join(map(repr, classes.tolist()))
            raise ValueError(
                f"y has the class {label!r}, which was not there at fit; the classes are {known}."
            )
    codes = np.array([places[label] for label in truth.tolist()], dtype=np.float64)
    targets = codes[:, None]
    if len(classes) > 2:
        targets = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
    return Response(model.family_, codes[:, None], targets, classes)


def _audience(model: Any, inputs: Inputs, response: Response) -> Audience:
    design, family = model._design, response.family
    table = inputs.table if inputs.attributes is None else inputs.attributes
    expected = design.sensitive_names if design.separate else design.names
    return Audience(
        table.select(_positions(table, expected, design.positions_sensitive)),
        inputs.weight,
        None if family.reads == "times" else response.values[:, 0],
        family,
        () if response.classes is None else tuple(map(str, response.classes)),
        inputs.offset if family.least_squares else None,
    )


def _positions(
    table: Table, expected: tuple[str, ...] | None, positions: tuple[int, ...]
) -> tuple[int, ...]:
    """Find columns by name; other rows may have them in another order."""
    if expected is None or table.names is None:
        return positions
    return tuple(table.names.index(expected[k]) for k in positions)


def _samples(
    audience: Audience, rule: Rule, eta: Floats, options: ReportOptions
) -> tuple[Sample, ...]:
    with one_blas_thread():
        found = audited(
            audience, rule, eta[None], "new",
            bins=options.bins, small=options.small, step=lambda: None,
        )  # fmt: skip
    # There is no other model whose decisions these could differ from.
    return tuple(replace(one, decisions=None) for one in found)


def _bounded(model: Any) -> str:
    """Return which of the measures the bound is on, if it is on one of them."""
    definition, family = model._traits.definition, model.family_
    name = str(definition.name)
    if name == "mean-parity":
        return "share_of_means"
    variances = is_variance_share(definition, family) and name.startswith("statistical-parity")
    return "share_of_eta" if variances else ""


def _measures(
    model: Any,
    rows: WrittenRows,
    eta: Floats,
    samples: tuple[Sample, ...],
    draws: int,
    seed: int,
) -> tuple[Measure, ...]:
    family, training = model.family_, getattr(model, "dependence_", {})
    ends = _intervals(rows, family, eta, draws, seed)
    values = rows.yardstick(family, eta)
    gaps = [audit.demographic_parity_difference for one in samples for audit in one.audits]
    values["decision_gap"] = max((gap for gap in gaps if gap == gap), default=NAN)
    return tuple(
        Measure(key, name, float(training.get(key, NAN)), values[key], *ends.get(key, (NAN, NAN)),
                is_share=True)
        for key, name in WORDS.items()
        if np.isfinite(values.get(key, NAN))
    )  # fmt: skip


def _intervals(
    rows: WrittenRows, family: Family, eta: Floats, draws: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Resample the rows: the model is given, only its measures vary."""
    columns = {"share_of_eta": eta}
    if family.reads != "times":
        columns["share_of_means"] = evaluate.outcomes(family, rows.with_offset(eta))
    rng, n, weight = np.random.default_rng(seed), len(eta), rows.engine.weights
    found: dict[str, list[float]] = {key: [] for key in columns}
    for _ in range(draws):
        drawn = weight * rng.multinomial(n, np.full(n, 1.0 / n))
        for key, values in columns.items():
            found[key].append(share_explained(values, rows.span, drawn))
    return {
        key: (float(low), float(high))
        for key, own in found.items()
        if own
        for low, high in [np.nanpercentile(own, (2.5, 97.5))]
    }


def _draws(wanted: int | None, rows: WrittenRows) -> int:
    if wanted is not None:
        return int(wanted)
    work = rows.span.shape[0] * (rows.span.shape[1] + 2) ** 2
    return int(np.clip(WORK / work, 20, DRAWS))


def _accuracy(family: Family, rows: WrittenRows, eta: Floats) -> tuple[Measure, ...]:
    found = rows.accuracy(family, eta)
    wanted = MEASURES["several classes" if family.n_predictors > 1 else family.reads]
    wanted += (RMSE,) if family.least_squares else (LOSS,)
    return tuple(
        Measure(key, name, NAN, found[key], NAN, NAN, is_share=key == "accuracy")
        for key, name, _ in wanted
        if key in found
    )


def _subject(
    model: Any,
    inputs: Inputs,
    response: Response,
    options: ReportOptions,
    rule: Rule,
    name: str,
    audience: Audience,
) -> Subject:
    design, family = model._design, response.family
    record = {
        "Source": options.source,
        "Date": options.date,
        "New rows": f"{inputs.table.shape[0]:,}",
        "Training rows": f"{model.n_rows_:,}",
        "Weights": "given" if inputs.weight is not None else "none",
        "Offset": "given" if inputs.offset is not None else None,
        "Fingerprint of the new rows (SHA-256)": fingerprint(
            (inputs.table, inputs.attributes), (response.values, inputs.weight, inputs.offset)
        ),
        "Fingerprint in the model file": str(model.fingerprint_),
    }
    labels_ = audience.labels
    predictors = design.names or tuple(inputs.table.label(k) for k in range(design.n_columns))
    return Subject(
        title=options.title or f"Validation of a model for {name}",
        model=type(model).__name__,
        family=family.name,
        reads=family.reads,
        link=family.link,
        definition=str(model._traits.definition.name),
        response=name,
        outcome=labels_[rule.outcomes[0]] if len(labels_) == 2 else "",
        n_rows=inputs.table.shape[0],
        sensitive=tuple(audience.attributes.label(k) for k in range(audience.attributes.shape[1])),
        predictors=tuple(predictors[k] for k in design.positions_predictors),
        needs_sensitive=bool(model._traits.needs_sensitive),
        rule=rule.words,
        favorable="" if rule.favorable is None else str(rule.favorable),
        record=tuple((label, value) for label, value in record.items() if value is not None),
        settings=settings_of(model),
        versions=versions(),
    )
