"""A fitted model of any library on rows: groups, calibration, and dependence on S."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data import Rows, Table, name_of, numeric_vector
from fairridge.data.columns import encode_columns
from fairridge.data.pipelines import predicted, split_pipeline, takes_sensitive
from fairridge.estimators._responses import Response
from fairridge.estimators._training import engine_of
from fairridge.families import Binomial, Gaussian, Multinomial
from fairridge.reports.html import NewRowsContents, Subject
from fairridge.validation.given_rows import ScoredRows
from fairridge.validation.linear import DenseRows
from fairridge.validation.report.case import ReportSettings
from fairridge.validation.report.groups import DecisionRule, ReportRows, decision_rule
from fairridge.validation.report.new_rows import (
    accuracy_on,
    measures_on,
    read_response,
    samples_of,
)
from fairridge.validation.report.record import record_of, shown, versions

# Probabilities that are 0 or 1 have no logarithm.
SMALLEST_PROBABILITY = 1e-15
LEFT_OUT = (
    "This model is known by its predictions only. What needs a fair ridge model is left out: the "
    "price of other bounds, coefficients, the sources of unfairness, certificates, and the drift "
    "of columns."
)


def gather_predictions(
    model: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, options: ReportSettings
) -> NewRowsContents:
    """Predict rows, and compare groups; nothing else is asked of a model."""
    check_is_fitted(model)
    last = split_pipeline(model)[1]
    given = ScoredRows.of(last, X, y, sensitive_features, sample_weight)
    table, response = given.attributes(last), _response(model, given)
    eta = _linear_predictor(model, given, response)
    rows = _written(table, response, given)
    audience = ReportRows(table, None, given.inputs, response, options, given.inputs, None)
    name = options.response or name_of(y) or "the response"
    rule = decision_rule(audience, name)
    samples = samples_of(audience, rule, eta, "these")
    known = SimpleNamespace(family_=response.family)
    measures = measures_on(known, rows, eta, samples)
    return NewRowsContents(
        subject=_subject(model, audience, rule, name),
        unfairness=np.full(1, np.nan),
        chosen=0,
        measure=None,
        samples=samples,
        bounded="",
        # The linear predictor is made of the predictions, and no part of the model.
        measures=tuple(each for each in measures if each.key != "share_of_eta"),
        accuracy=accuracy_on(known, rows, eta),
        drift=(),
        called="rows",
        left_out=LEFT_OUT,
    )


def _response(model: Any, given: ScoredRows) -> Response:
    """Read classes of the model, or numbers."""
    y, inputs = given.y, given.inputs
    if y is None:
        raise ValueError("a report compares predictions with responses: pass y.")
    if not is_classifier(model):
        values = numeric_vector(y, inputs.n_given, "y", inputs.keep)[:, None]
        return Response(Gaussian(), values, values)
    k = len(model.classes_)
    family = Binomial() if k == 2 else Multinomial(k)
    return read_response(SimpleNamespace(classes_=model.classes_, family_=family), y, inputs)


def _linear_predictor(model: Any, given: ScoredRows, response: Response) -> Floats:
    """Return η of shape (n, K) whose means are the predictions."""
    scores = predicted(model, given.X, given.S)
    if response.classes is None:
        return scores.reshape(len(scores), 1)
    inside = np.clip(scores, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
    return logit(inside[:, 1:]) if inside.shape[1] == 2 else np.log(inside)


def _written(table: Table, response: Response, given: ScoredRows) -> DenseRows:
    """Write S out, with the responses."""
    places = range(table.shape[1])
    encoding = encode_columns(table, places, missing="level")
    pieces = encoding.pieces(table, places, "error")
    values = response.values, response.targets
    rows = Rows(pieces, (), encoding.names, *values, given.inputs.weight)
    return DenseRows.of(engine_of(rows, response.family))


def _subject(model: Any, audience: ReportRows, rule: DecisionRule, name: str) -> Subject:
    """Describe the model by its name and its parameters."""
    last, attributes, table = split_pipeline(model)[1], audience.attributes, audience.inputs.table
    title, classes = type(last).__name__, audience.labels
    if isinstance(model, Pipeline):
        title = f"Pipeline of {len(model.steps)} steps, with {title}"
    sensitive = tuple(map(attributes.label, range(attributes.shape[1])))
    record = record_of(model, audience, {"Rows": table.shape[0]})
    return Subject(
        title=audience.options.title or f"Fairness audit of a model for {name}",
        model=title,
        family="classes" if classes else "numbers",
        reads=audience.family.reads,
        link="logit" if classes else "identity",
        definition="",
        response=name,
        outcome=classes[rule.outcomes[0]] if len(classes) == 2 else "",
        n_rows=table.shape[0],
        sensitive=sensitive,
        predictors=tuple(
            name for name in map(table.label, range(table.shape[1])) if name not in sensitive
        ),
        needs_sensitive=takes_sensitive(model),
        rule=rule.words,
        favorable="" if rule.favorable is None else str(rule.favorable),
        record=tuple((label, value) for label, value in record.items() if value is not None),
        settings=tuple((k, shown(v)) for k, v in sorted(model.get_params(False).items())),
        versions=versions(),
    )
