"""Models known by their predictions only: nothing but fit and predict is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from fairridge._typing import Floats, Integers
from fairridge.data import Levels, Table, as_table, dense_columns, index_of, make_frame
from fairridge.data.classes import models_first
from fairridge.data.columns import MISSING, Missing, encode_columns
from fairridge.data.design import locate_sensitive, sensitive_positions
from fairridge.data.offsets import exposure_of, offset_names, read_offset
from fairridge.data.pipelines import (
    at_bound,
    bound_parameter,
    fit_arguments,
    predicted,
    split_pipeline,
    with_columns_of,
)
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.metrics import (
    Favorable,
    Grouping,
    groupings,
    sensitive_span,
    share_explained,
)
from fairridge.search import of_parts
from fairridge.stacking._stacking import FairStacking
from fairridge.validation import evaluate
from fairridge.validation.decision_rates import DecisionRates, favorable_code
from fairridge.validation.folds import Fold
from fairridge.validation.linear import Scores

# Rows that show whether a model uses S, and the relative change of a prediction that does.
SHUFFLED_ROWS, PREDICTION_TOLERANCE = 1000, 1e-9


@dataclass(frozen=True)
class ForeignData:
    """Data as they were passed, and S as numbers."""

    # As in `fit`; S is None if it is in X.
    X: Any
    y: NDArray[Any]  # of survival models times and events, of shape (n, 2)
    S: Any
    attributes: Table  # sensitive attributes
    columns: Floats  # the same, encoded, of shape (n, q)
    positions: tuple[int, ...]  # of these among the columns of X; none if S came by itself
    sample_weight: Floats | None = None  # positive weights, of shape (n,)
    offset: Floats | None = None  # added to linear predictors: logarithms of exposures, too
    exposed: bool = False  # whether there are exposures, which only the log link takes
    amounts: bool = False  # whether y are numbers, and nowhere negative

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        S: Any,
        sensitive: Any,
        sample_weight: Floats | None = None,
        missing: Missing = "error",
        offset: Any = None,
    ) -> ForeignData:
        """Encode S, from columns of X or by itself; missing values are an error or a level."""
        table = as_table(X)
        separate = None if S is None else as_table(S, argument="sensitive_features")
        source, places, _ = locate_sensitive(table, separate, sensitive)
        encoding = encode_columns(source, places, None, None, missing)
        if S is None:
            _, crossed = sensitive_positions(sensitive, table.names, table.shape[1])
            encoding = encoding.with_intersections(crossed) if crossed else encoding
        columns = dense_columns(encoding.pieces(source, places, "error"), encoding.names)
        names = tuple(map(source.label, places))
        attributes = replace(source.select(places), names=names)
        attributes = attributes if missing == "error" else _filled(attributes)
        positions = places if S is None else ()
        y = np.asarray(y)
        amounts = y.dtype.kind in "iuf" and float(y.min()) >= 0.0
        shift, exposed = read_offset(offset, len(y)), "exposure" in offset_names(offset)
        place = attributes, columns, positions
        return cls(X, y, S, *place, sample_weight, shift, exposed, amounts)

    def take(self, rows: Integers) -> ForeignData:
        """Return these rows only."""
        return replace(
            self,
            X=_safe_indexing(self.X, rows),
            y=self.y[rows],
            S=None if self.S is None else _safe_indexing(self.S, rows),
            attributes=self.attributes.take(rows),
            columns=self.columns[rows],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            offset=None if self.offset is None else self.offset[rows],
        )

    @property
    def of_times(self) -> bool:
        """Whether responses are times and events."""
        return self.y.ndim == 2

    @property
    def weighted(self) -> ForeignData:
        """The rows with a positive weight."""
        if self.sample_weight is None or self.sample_weight.all():
            return self
        return self.take(np.flatnonzero(self.sample_weight))

    @property
    def weights(self) -> Floats:
        """Weights, ones if none were given."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    @cached_property
    def groupings(self) -> tuple[Grouping, ...]:
        """Groups of the rows by each attribute."""
        return groupings(self.attributes, self.weights)

    def fitted(self, model: Any, r: float) -> Any:
        """Return a copy of a model, fitted for one bound; models without a bound ignore it."""
        return at_bound(model, r).fit(self.X, self.y, **self.beside(model))

    def beside(self, model: Any) -> dict[str, Any]:
        """Return what `fit` takes beside X and y."""
        given = fit_arguments(model, sensitive_features=self.S, sample_weight=self.sample_weight)
        last = split_pipeline(model)[1]
        if self.sample_weight is not None and not has_fit_parameter(last, "sample_weight"):
            raise TypeError(f"the fit of a {type(last).__name__} takes no sample_weight")
        return given | self._shift(model)

    def _shift(self, model: Any) -> dict[str, Floats]:
        """Return the argument of `fit` for what is added to linear predictors."""
        if self.offset is None:
            return {}
        takes = (LinearModel, FairStacking) if self.exposed else LinearModel
        if not isinstance(model, takes):
            raise TypeError(
                f"a {type(model).__name__} has no linear predictor that an offset or the logarithm "
                "of an exposure could be added to"
            )
        return {"exposure": np.exp(self.offset)} if self.exposed else {"offset": self.offset}

    def with_attributes_of(self, other: ForeignData) -> ForeignData:
        """Return these rows with the attributes of others, as models read them."""
        if self.S is not None:
            index = index_of(self.S)
            return replace(self, S=other.S if index is None else other.S.set_axis(index))
        return replace(self, X=with_columns_of(self.X, other.X, self.positions))


def _filled(table: Table) -> Table:
    """Return a table whose missing categories are a level of their own."""
    columns = [table.column(k) for k in range(table.shape[1])]
    if not any(isinstance(column, Levels) and (column.codes < 0).any() for column in columns):
        return table
    filled = as_table(like(table, [level_names(column) for column in columns]))
    return replace(filled, names=table.names, prefix=table.prefix)


def level_names(column: NDArray[Any] | Levels) -> NDArray[Any]:
    """Return a column with the names of its levels, or its numbers."""
    if not isinstance(column, Levels):
        return column
    # The code of a missing value, -1, picks the last level.
    return np.array([*column.levels, MISSING], dtype=object)[column.codes]


def like(table: Table, columns: Sequence[NDArray[Any]]) -> Any:
    """Return columns in a frame of the same library and with the same names, or in an array."""
    if table.backend is None:
        return np.column_stack([column.astype(object) for column in columns])
    names = [table.label(k) for k in range(table.shape[1])]
    return make_frame(dict(zip(names, columns, strict=True)), table.backend, index_of(table))


@of_parts()
def foreign_fold(
    model: Any,
    data: ForeignData,
    fold: Fold,
    bounds: Floats,
    favorable: Favorable | None = None,
    threshold: float | None = None,
) -> list[Scores]:
    """Fit to the training rows for every bound, and measure on the validation rows."""
    train, test = (data.take(rows) for rows in fold)
    groups = tuple(group.take(fold[1]) for group in data.groupings)
    by_bound = []
    for fitted in _fitted_each(model, train, bounds):
        of_train = measures(fitted, train, adjusted=False)
        of_test = measures(fitted, test, adjusted=True)
        of_model = {
            "n": len(test.y),
            "train_loss": of_train["loss"],
            "loss": of_test["loss"],
            "train_achieved": of_train["share_of_means"],
            "achieved": of_test["share_of_means"],
            **decision_rates(fitted, test, groups, train, favorable, threshold),
            "status": status_of(fitted),
        }
        by_bound.append(of_model | of_test)
    return by_bound


def _fitted_each(model: Any, train: ForeignData, bounds: Floats) -> Iterator[Any]:
    """Yield models for some bounds; those of a stacked model share one cross-fit."""
    if not isinstance(model, FairStacking) or model.learns_map:
        yield from (train.fitted(model, float(r)) for r in bounds)
        return
    path = clone(model).path(train.X, train.y, unfairness=bounds, **train.beside(model))
    yield from (path.at(float(r)) for r in bounds)


def decision_rates(
    model: Any,
    data: ForeignData,
    groups: tuple[Grouping, ...],
    train: ForeignData,
    favorable: Favorable | None,
    threshold: float | None = None,
) -> dict[str, float]:
    """Compare the decisions of a fitted model between groups of the rows `data`."""
    if data.of_times:
        return {}
    predicted, classes = predictions(model, data), model.classes_ if is_classifier(model) else None
    code = favorable_code(favorable, classes)
    rates = DecisionRates(groups, code, threshold, data.amounts)
    if classes is None:
        y, weight = observed(model, train)
        threshold = rates.threshold_of(y.astype(np.float64), weight)
        return rates.of_numbers(predicted, threshold, observed(model, data)[1])
    codes, decided = _codes(data.y, classes), predicted.argmax(axis=1)
    return rates.of_classes(decided, codes, data.weights, predicted.shape[1])


def status_of(model: Any) -> str:
    """Say how the search for a bound ended; pipelines ask their last step."""
    last = split_pipeline(model)[1]
    return getattr(last, "status_", "converged" if bound_parameter(model) else "no bound")


def uses_sensitive(model: Any, data: ForeignData) -> bool:
    """Whether predictions of a fitted model change with the attributes of a person."""
    rng = np.random.default_rng(0)
    some = rng.permutation(len(data.y))[:SHUFFLED_ROWS]
    rows, others = data.take(some), data.take(rng.permutation(some))
    pair = (rows, rows.with_attributes_of(others))
    before, after = (predictions(model, part) for part in pair)
    return bool(np.abs(after - before).max() > PREDICTION_TOLERANCE * np.abs(before).max())


def predictions(model: Any, data: ForeignData) -> Floats:
    """Return predicted numbers, or the probability of each class, of shape (n,) or (n, K).

    Of models with exposures these are rates.
    """
    shifted = data.offset is not None and not _has_rates(model)
    return predicted(model, data.X, data.S, data.offset if shifted else None)


def _has_rates(model: Any) -> bool:
    """Whether an offset is the logarithm of an exposure, by the link of a fitted model."""
    return isinstance(model, LinearModel | FairStacking) and model.family_.link == "log"


def observed(model: Any, data: ForeignData) -> tuple[NDArray[Any], Floats]:
    """Return responses, and weights of rows; rates and exposures where predictions are rates."""
    exposure = exposure_of("log" if _has_rates(model) else "", data.offset)
    if exposure is None:
        return data.y, data.weights
    return data.y / exposure, data.weights * exposure


def measures(model: Any, data: ForeignData, *, adjusted: bool) -> dict[str, float]:
    """Return the loss, the shares of means and of η (if there is one), and further scores.

    R² is `adjusted` on validation rows.
    """
    predicted, weight = predictions(model, data), observed(model, data)[1]
    columns = predicted.reshape(len(data.y), -1)
    # Probabilities of two classes say the same twice.
    columns = columns[:, 1:] if columns.shape[1] == 2 else columns
    spans = partial(sensitive_span, data.columns)
    if data.of_times:
        if predicted.ndim != 1:
            raise TypeError(f"a {type(model).__name__} predicts no log hazard ratios")
        share = share_explained(columns, spans(weight), weight, adjusted=adjusted)
        undefined = dict.fromkeys(("loss", "share_of_means"), evaluate.NAN)
        concordance = evaluate.concordance(data.y, predicted, weight)
        return undefined | {"share_of_eta": share, "concordance": concordance}
    shares = {"share_of_means": (columns, weight)}
    if isinstance(model, LinearModel):  # rates weigh by exposure, and scores do not
        eta = model._linear_predictor(data.X, data.S, None)
        shares["share_of_eta"] = eta.reshape(len(eta), -1), data.weights
    dependence = {
        name: share_explained(values, spans(of_rows), of_rows, adjusted=adjusted)
        for name, (values, of_rows) in shares.items()
    }
    if predicted.ndim == 1:
        counts = predicted * (weight / data.weights)  # of rates and exposures
        scores = evaluate.regression_scores(data.y, counts, data.weights)
        return dependence | {"loss": scores["rmse"]} | scores
    codes = _codes(data.y, model.classes_)
    scores = _scores(model, codes, predicted, weight)
    return dependence | {"loss": evaluate.log_loss(codes, predicted, weight)} | scores


def _scores(model: Any, codes: Integers, probability: Floats, weight: Floats) -> dict[str, float]:
    """Return accuracy and its like; precision, recall and F1 are of the class that is modeled."""
    decided = probability.argmax(axis=1)
    if models_first(model):
        codes, decided, probability = 1 - codes, 1 - decided, probability[:, ::-1]
    ranks = probability[:, 1:] if probability.shape[1] == 2 else probability
    return evaluate.classification_scores(codes, decided, ranks, weight)


def _codes(y: NDArray[Any], classes: NDArray[Any]) -> Integers:
    """Return the positions of labels among the classes of a model."""
    same = y[:, None] == classes
    unknown = ~same.any(axis=1)
    if unknown.any():
        raise ValueError(
            f"the training rows of a fold have no row of class {str(y[unknown][0])!r}; use "
            "stratified or fewer folds."
        )
    return same.argmax(axis=1)
