"""Any model, as what it predicts of rows is judged; and rows, read and scored for it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fairridge._typing import Floats, Integers
from fairridge.data import (
    Rows,
    as_table,
    exposure_of,
    joined_offsets,
    numeric_vector,
    require_offsets,
    weights,
)
from fairridge.data.classes import labels_by_code
from fairridge.data.pipelines import (
    at_bound,
    bound_parameter,
    fit_arguments,
    predicted,
    split_pipeline,
    takes_sensitive,
    with_last,
)
from fairridge.data.table import known_codes, labels
from fairridge.engines import MemoryEngine
from fairridge.engines.blocks import dense
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import bounded_measure, bounds_of
from fairridge.estimators._responses import Inputs, Response, SurvivalTimes
from fairridge.estimators._training import engine_of, read_inputs
from fairridge.families import Cox, Family
from fairridge.families.base import with_class_weights
from fairridge.metrics.groups import SensitiveColumns, sensitive_table
from fairridge.metrics.measure import Measure
from fairridge.metrics.outcomes import counts
from fairridge.metrics.scored_rows import ScoredRows, family_of_predictions
from fairridge.search import worst_status
from fairridge.stacking._stacking import FairStacking


@dataclass(frozen=True)
class PassedRows:
    """Rows as `fit` takes them."""

    X: Any
    y: Any
    sensitive_features: Any = None
    sample_weight: Any = None
    offset: Any = None
    exposure: Any = None

    def read(self, offset: Any = None) -> Inputs:
        """Return the rows with a positive weight; offset and exposure are joined."""
        # Of the response only the order of its row labels is looked at.
        given = self.X, self.sensitive_features, self.sample_weight, offset, self.y
        return read_inputs(*given)

    def take(self, rows: Integers) -> PassedRows:
        """Return these rows only."""
        given = {
            name: _safe_indexing(values, rows)
            for name, values in vars(self).items()
            if values is not None and not isinstance(values, Real)
        }
        return replace(self, **given)

    @property
    def present(self) -> PassedRows:
        """The rows with a positive weight."""
        n = as_table(self.X, sparse=True).shape[0]
        weight = weights(self.sample_weight, n)
        rows = replace(self, sample_weight=weight)
        return rows if weight is None or weight.all() else rows.take(np.flatnonzero(weight))


# Probabilities of 0 and 1 have no logarithm: they are clipped, as scikit-learn does.
SMALLEST_PROBABILITY = np.finfo(np.float64).eps
# Why models cannot be fitted to rows that have more than X, y and S.
REASONS = {
    "sample_weight": "whose fit takes no sample_weight",
    "offset": "which has no linear predictor that an offset could be added to",
    "exposure": "which has no linear predictor with the log link",
}


@dataclass(frozen=True)
class ScoredModel:
    """A model of any library; its properties but `fair` and `name` are those of a fitted one."""

    given: Any  # the model as it was passed
    steps: Pipeline | None  # what makes the columns of a fair model; None if nothing does
    last: Any  # the fair model behind these; of other models the last step
    kind: Literal["linear", "stacked", "other"]  # others are known by their predictions only

    @property
    def fair(self) -> bool:
        """Whether it is a model of this library with a bound and coefficients."""
        return self.kind != "other"

    @property
    def bare(self) -> bool:
        """Whether it is a fair model by itself, and not the last step of a pipeline."""
        return self.fair and self.last is self.given

    @property
    def name(self) -> str:
        """The class of the model."""
        return type(self.last).__name__

    @property
    def linear(self) -> Any:
        """The fair ridge model with coefficients: the layer of a stack; None of other models."""
        if self.kind == "stacked":
            check_is_fitted(self.last)
            return self.last.layer_
        return self.last if self.kind == "linear" else None

    @cached_property
    def classes(self) -> NDArray[Any] | None:
        """Labels by code: of two the modeled one is last; None of numbers and times."""
        return labels_by_code(self.given) if is_classifier(self.given) else None

    @cached_property
    def family(self) -> Family:
        """The family of the response; of other models one whose means are the predictions."""
        if self.fair:
            known: Family = self.last.family_
            return known
        return family_of_predictions(self.classes)

    @property
    def reads_sensitive(self) -> bool:
        """Whether predictions are made from S."""
        if self.fair:
            return bool(self.last._fitted.traits.needs_sensitive)
        return takes_sensitive(self.given)

    @cached_property
    def measure(self) -> Measure | None:
        """What it bounds of all of S; None of other models."""
        return bounded_measure(self.linear) if self.fair else None

    @property
    def bounds(self) -> tuple[tuple[Measure, float], ...]:
        """What it bounds, with the bound: once, or for each attribute; nothing of other models."""
        return bounds_of(self.linear) if self.fair else ()

    @property
    def status(self) -> str:
        """How the search for a bound ended, of several bounds the worst."""
        known = "converged" if bound_parameter(self.given) else "no bound"
        status = getattr(self.last, "status_", known)
        return status if isinstance(status, str) else worst_status(status.values())

    # ------------------------------------------------------------------ fits

    def lacking(self, rows: PassedRows) -> tuple[str, str] | None:
        """Return an argument that `fit` does not take, and why it does not."""
        for name, reason in REASONS.items():
            if getattr(rows, name) is not None and not has_fit_parameter(self.last, name):
                return name, f"a {self.name}, {reason}"
        return None

    def beside(self, rows: PassedRows) -> dict[str, Any]:
        """Return the arguments of `fit` beside X and y."""
        lacking = self.lacking(rows)
        if lacking is not None:
            raise TypeError(lacking[1])
        given = {name: getattr(rows, name) for name in ("sensitive_features", *REASONS)}
        return fit_arguments(self.given, **given)

    def fitted(self, rows: PassedRows, r: float) -> ScoredModel:
        """Return a copy that is fitted for one bound; models without a bound ignore it."""
        model = at_bound(self.given, r).fit(rows.X, rows.y, **self.beside(rows))
        return scored_model(model)

    def refuse_offsets(self, *, offset: Any, exposure: Any) -> None:
        """Raise if it has no linear predictor for an offset, or no rates beside an exposure."""
        if offset is not None and self.kind != "linear":
            raise TypeError(
                f"{self.name} has no linear predictor that an offset could be added to; leave the "
                "offset out."
            )
        if exposure is not None and not self.fair and is_classifier(self.given):
            raise TypeError("exposure is for counts and amounts, not for classes; leave it out.")

    def shift(self, offset: Any, exposure: Any) -> Any:
        """Return what is added to η; raise if rows have less than those of the fit, or too much."""
        # What other models predict are rates, beside an exposure.
        self.refuse_offsets(offset=offset, exposure=exposure)
        if not self.fair:
            return joined_offsets("log", None, exposure)
        linear = self.linear
        joined = linear._shift(offset, exposure)
        require_offsets(linear._fitted.offsets, joined, type(linear).__name__)
        return joined

    def with_steps_fitted(self, rows: PassedRows) -> ScoredModel:
        """Return the same model, with the steps before a fair one fitted to rows."""
        if self.steps is None:
            return self
        return replace(self, steps=clone(self.steps).fit(rows.X, rows.y))

    def with_learners_fitted(self, rows: PassedRows) -> ScoredModel:
        """Return the same model, with the learners below a layer fitted to rows past the steps."""
        if self.kind != "stacked":
            return self
        # A copy, not a clone: prefit learners stay fitted.
        given = scored_model(self.last).beside(rows)
        return replace(self, last=copy(self.last).fit(rows.X, rows.y, **given))

    def with_linear(self, linear: Any) -> Any:
        """Return the whole model, of these steps and learners, with another linear model in it."""
        last = self.last.with_layer(linear) if self.kind == "stacked" else linear
        in_pipeline = self.fair and isinstance(self.given, Pipeline)
        return with_last(self.given, self.steps, last) if in_pipeline else last

    def after_steps(self, rows: PassedRows) -> PassedRows:
        """Return rows as a fair model reads them; other models read them as they came."""
        return rows if self.steps is None else replace(rows, X=self.steps.transform(rows.X))

    # ------------------------------------------------------------------ rows

    def inner_rows(self, rows: PassedRows) -> PassedRows:
        """Return new rows as `linear` reads them; other models read them as they came."""
        rows = self.after_steps(rows)
        if self.kind != "stacked":
            return rows
        given = self.last.layer_inputs(
            rows.X, sensitive_features=rows.sensitive_features, exposure=rows.exposure
        )
        beside = {"sample_weight": rows.sample_weight, "offset": rows.offset}
        return PassedRows(y=rows.y, **beside, **given)

    def training_rows(self, rows: PassedRows) -> tuple[Any, PassedRows]:
        """Return the linear model, which need not be fitted, and the rows of its fit."""
        # Other models are returned as they were passed.
        rows = self.after_steps(rows)
        if self.kind != "stacked":
            return (self.last if self.fair else self.given), rows
        given = rows.X, rows.y, rows.sensitive_features, rows.sample_weight, rows.exposure
        return self.linear, PassedRows(**self.last.training_of_layer(*given))

    def scores(self, X: Any, sensitive_features: Any) -> Floats:
        """Return linear predictors of shape (n, K), without any offset, whose means it predicts."""
        if self.fair:
            S = sensitive_features if self.reads_sensitive else None
            eta = np.asarray(self.linear._linear_predictor(X, S, None))
            return eta.reshape(len(eta), -1)
        found = predicted(self.given, X, sensitive_features)
        if self.classes is None and found.ndim != 1:
            raise TypeError(f"a {type(self.given).__name__} predicts several numbers for a row")
        if self.classes is None:
            return found[:, None]
        order = np.searchsorted(np.asarray(self.given.classes_), self.classes)
        inside = np.clip(found[:, order], SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
        return logit(inside[:, 1:]) if inside.shape[1] == 2 else np.log(inside)


def scored_model(model: Any) -> ScoredModel:
    """Say what a model is: the one place that looks into pipelines, and at the kind of a model."""
    steps, last = split_pipeline(model)
    if isinstance(last, LinearModel):
        return ScoredModel(model, steps, last, "linear")
    if isinstance(last, FairStacking):
        return ScoredModel(model, steps, last, "stacked")
    return ScoredModel(model, None, last, "other")


def read_rows(
    model: ScoredModel,
    given: PassedRows,
    on: SensitiveColumns | None = None,
    *,
    compared: bool = True,
    batch: bool = False,
) -> tuple[Inputs, ScoredRows]:
    """Read and score rows of positive weight; `linear` of the model, if any, reads them."""
    # All models are measured `on` sensitive columns, or else on those that they read. Without
    # responses, scores alone may be asked for, which are not `compared` with any. Of a `batch`,
    # which is some of the rows, what all of them must have is not required.
    if given.y is None and compared:
        raise ValueError("predictions are compared with responses: pass y.")
    inputs = given.read(model.shift(given.offset, given.exposure))
    response = _response(model, given.y, inputs, batch=batch)
    if not model.fair:
        return inputs, _read_others(model, given.present, inputs, response, on)
    explains = model.measure is not None and model.measure.whole == "model" and given.y is not None
    found = _read_fair(model, inputs, response, with_losses=explains)
    if on is None:
        return inputs, found
    return inputs, replace(found, sensitive=on.columns, attributes=on.attributes)


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
    model: ScoredModel,
    given: PassedRows,
    inputs: Inputs,
    response: Response,
    on: SensitiveColumns | None,
) -> ScoredRows:
    """Read rows of a model that is known by its predictions, which gets them as they came."""
    sensitive, S = getattr(model.last, "sensitive", None), given.sensitive_features
    if on is None and S is None and sensitive is None:
        raise ValueError(
            f"{model.name} does not say which columns are sensitive; pass sensitive_features."
        )
    on, per = on or SensitiveColumns.of(given.X, S, sensitive), exposure_of("log", inputs.offset)
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
