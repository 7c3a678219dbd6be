"""Rows read for a model: S and controls written out, the response, and the model's scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Rows, exposure_of, numeric_vector
from fairridge.data.table import known_codes, labels
from fairridge.engines import MemoryEngine
from fairridge.engines.blocks import dense
from fairridge.estimators._responses import Inputs, Response, SurvivalTimes
from fairridge.estimators._training import engine_of
from fairridge.families import Cox
from fairridge.families.base import with_class_weights
from fairridge.metrics.groups import sensitive_table
from fairridge.metrics.outcomes import counts
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.metrics.sensitive_columns import SensitiveColumns
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.scored_model import ScoredModel


def read_rows(
    model: ScoredModel,
    given: PassedRows,
    sensitive: Any = None,
    *,
    compared: bool = True,
    batch: bool = False,
) -> tuple[Inputs, ScoredRows]:
    """Read and score rows of positive weight; `linear` of the model, if any, reads them."""
    # `sensitive` are the columns of X that are sensitive, for other models that do not say. Without
    # responses, scores alone may be asked for, which are not `compared` with any. Of a `batch`,
    # which is some of the rows, what all of them must have is not required.
    if given.y is None and compared:
        raise ValueError("predictions are compared with responses: pass y.")
    inputs = given.read(model.shift(given.offset, given.exposure))
    response = _response(model, given.y, inputs, batch=batch)
    if not model.fair:
        return inputs, _read_others(model, given.present, inputs, response, sensitive)
    explains = model.measure is not None and model.measure.whole == "model" and given.y is not None
    return inputs, _read_fair(model, inputs, response, with_losses=explains)


def _read_fair(
    model: ScoredModel, inputs: Inputs, response: Response, *, with_losses: bool
) -> ScoredRows:
    """Read rows as a fair model does."""
    linear, facts = model.linear, model.linear._fitted
    design, table, attributes = facts.design, inputs.table, inputs.attributes
    S, X = design.encode(table, attributes, linear.unknown, estimator_name=type(linear).__name__)
    names = design.encoded_names
    rows = Rows(S, X, names, response.values, response.targets, inputs.weight)
    engine = engine_of(rows, model.family)
    controls = getattr(facts.settings, "controls", None)
    places = () if controls is None else design.control_columns(controls)
    found = replace(
        written(engine, replace(response, controls=places)),
        scores=model.scores(table, attributes),
        offset=inputs.offset,
        attributes=sensitive_table(design, table, attributes),
    )
    return replace(found, losses=losses_of(linear, engine, found)) if with_losses else found


def _read_others(
    model: ScoredModel, given: PassedRows, inputs: Inputs, response: Response, sensitive: Any
) -> ScoredRows:
    """Read rows of a model that is known by its predictions, which gets them as they came."""
    sensitive, S = getattr(model.last, "sensitive", sensitive), given.sensitive_features
    if S is None and sensitive is None:
        raise ValueError(
            f"{model.name} does not say which columns are sensitive; pass sensitive_features."
        )
    on, per = SensitiveColumns.of(given.X, S, sensitive), exposure_of("log", inputs.offset)
    rows = ScoredRows(
        family=response.family,
        scores=model.scores(given.X, S),
        response=response.values,
        weight=inputs.weights,
        sensitive=on.columns,
        controls=np.empty((len(on.columns), 0)),
        per=per,
        targets=response.targets,
        attributes=on.attributes,
        classes=response.classes,
        has_eta=False,
    )
    amounts = rows.family.least_squares and (per is not None or counts(rows.numbers))
    return replace(rows, amounts=amounts)


def _response(model: ScoredModel, y: Any, inputs: Inputs, *, batch: bool) -> Response:
    """Read the response; classes are those of the fit, though some may be missing here."""
    if y is None:
        nothing = np.zeros((inputs.table.shape[0], 1))
        return Response(model.family, nothing, nothing, model.classes)
    if model.classes is None:
        return _numbers_or_times(model, y, inputs, batch=batch)
    truth, classes = labels(y, inputs.n_given, "y", inputs.keep), model.classes.tolist()
    codes = known_codes(truth, classes)[:, None].astype(np.float64)
    several = (codes == np.arange(len(classes))).astype(np.float64)
    targets = several if len(classes) > 2 else codes
    return Response(model.family, codes, targets, model.classes)


def _numbers_or_times(model: ScoredModel, y: Any, inputs: Inputs, *, batch: bool) -> Response:
    """Read a response without classes, which may be 0 in all rows of a batch."""
    if model.fair and not batch:
        found: Response = model.linear._fitted.read_response(y, inputs)
        return replace(found, family=model.family)
    if np.ndim(y) == 2 and np.shape(y)[1] == 2:
        times = SurvivalTimes.times_and_events(y, inputs)
        return Response(Cox(), times, -np.log(times[:, :1]))
    family, values = model.family, numeric_vector(y, inputs.n_given, "y", inputs.keep)
    if batch and hasattr(family, "check_values"):
        family.check_values(values)
    if batch and family.least_squares and inputs.offset is not None:
        values = values - inputs.offset
    return Response(family, values[:, None], values[:, None])


# ------------------------------------------------------------------------ rows of an engine


def written(engine: MemoryEngine, response: Response) -> ScoredRows:
    """Write the rows of an engine out, without scores, which `replace` gives them."""
    rows, n, C = engine.rows, engine.n_rows, list(response.controls)
    S = dense(rows.sensitive, n)
    return ScoredRows(
        # Weights of classes are for fits alone, as in scikit-learn: a row counts by its own here.
        family=with_class_weights(response.family, None),
        scores=np.empty((n, 0)),
        response=engine.response,
        weight=engine.weights,
        sensitive=S,
        controls=dense(rows.predictors, n)[:, C] if C else np.empty((n, 0)),
        offset=engine.offset,
        targets=rows.targets,
        classes=response.classes,
        amounts=response.family.link == "log",
    )


def losses_of(linear: Any, engine: MemoryEngine, rows: ScoredRows) -> Floats:
    """Return deviances of rows: of a model, without what S adds, and without predictors."""
    family, form = linear.family_, linear._description
    center = form.training.center[: len(engine.names)]
    of_sensitive, of_controls = form.training.terms(np.atleast_2d(linear.alpha_))
    level = form.intercept + form.coefficients @ center
    added, of_control = (engine.scores(raw) - raw @ center for raw in (of_sensitive, of_controls))
    places = rows.scores, rows.scores - added, level + of_control
    weights, y = getattr(family, "class_weights", None), rows.response
    each = [_row_deviances(family, y, replace(rows, scores=place).eta) for place in places]
    losses = np.column_stack(each)
    return losses if weights is None else losses * np.array(weights)[rows.codes, None]


def _row_deviances(family: Any, y: Floats, eta: Floats) -> Floats:
    """Return the deviance of each row, of weight 1."""
    if family.n_predictors == 1:
        return np.asarray(family.unit_deviance(y[:, 0], eta[:, 0]))
    shares = family.probabilities(eta)[np.arange(len(y)), y[:, 0].astype(np.intp)]
    return np.asarray(-2.0 * np.log(shares))
