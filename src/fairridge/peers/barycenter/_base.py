"""What both models share: predictions that move to the Wasserstein barycenter of the groups."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fairridge._typing import (
    ColumnNames,
    Floats,
    Integers,
    MissingValues,
    TableLike,
    UnknownLevels,
    VectorLike,
)
from fairridge.arguments import check_bound, check_bounds, check_option
from fairridge.data import Rows, as_table, dense_columns
from fairridge.data.groups import Groups, attribute_values
from fairridge.estimators._checks import check_features
from fairridge.estimators._model import FEWER_FEATURES, FairModel, Traits
from fairridge.estimators._storing import store_columns
from fairridge.estimators._training import Training, read_training
from fairridge.peers._groups import groups_of, rows_of
from fairridge.peers._predictions import PredictionPath, prediction_path
from fairridge.peers.barycenter.transport import Transport, barycenter_maps
from fairridge.reports.groups import GroupSummary
from fairridge.search import Status

__all__ = ["Barycenter"]


# What a column of a path is called.
SCORES = {"R²": "r_squared", "Accuracy": "accuracy"}
# Squared distance of predictions from their map, relative to their size, that is rounding.
ROUNDING_OF_DISTANCE = 1e-24


@dataclass(frozen=True)
class _Learned:
    """What does not depend on the bound: a model, and the maps of its predictions."""

    training: Training
    estimator: Any
    groups: Groups
    codes: Integers
    maps: tuple[Transport, ...]
    plain: Floats
    fair: Floats


class Barycenter(FairModel):
    """Any model, with its predictions moved to the barycenter of the groups."""

    _score_name: ClassVar[str]
    # People of a new group are in one of the groups, or nothing is known of them.
    _unknown_rules = ("error", "base")

    def __init__(
        self,
        unfairness: float = 0.05,
        *,
        sensitive: ColumnNames | None = None,
        estimator: Any = None,
        split: float | None = None,
        random_state: Any = None,
        unknown: UnknownLevels = "error",
        predictor_map: Any = None,
        sensitive_map: Any = None,
        missing: MissingValues = "error",
    ) -> None:
        self.unfairness = unfairness
        self.sensitive = sensitive
        self.estimator = estimator
        self.split = split
        self.random_state = random_state
        self.unknown = unknown
        self.predictor_map = predictor_map
        self.sensitive_map = sensitive_map
        self.missing = missing

    @property
    def _traits(self) -> Traits:
        return Traits(needs_groups=True)

    @abstractmethod
    def _default(self, rows: Rows, Z: Floats) -> Any:
        """Fit the model that comes first if none was given."""

    @abstractmethod
    def _predicted(self, estimator: Any, Z: Floats) -> Floats:
        """Return what a fitted model predicts, as numbers of shape (n,)."""

    @abstractmethod
    def _scored(self, y: Floats, predicted: Floats, weight: Floats) -> float:
        """Return R² or accuracy."""

    def fit(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Fit the model, and the maps of its predictions.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            Predictors, and the sensitive attributes where `sensitive` names them.
        y : array-like of shape (n,)
            Response, or labels of two classes.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, where `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Weights; a row of weight zero is absent.
        """
        check_bound(self.unfairness)
        return self._store(self._learn(X, y, sensitive_features, sample_weight))

    def path(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        unfairness: VectorLike | None = None,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> PredictionPath:
        """Return the models for many bounds, all from one fit.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`.
        unfairness : array-like, optional
            The bounds; 0, 0.01, …, 1 by default.
        """
        bounds = check_bounds(np.linspace(0.0, 1.0, 101) if unfairness is None else unfairness)
        learned = self._learn(X, y, sensitive_features, sample_weight)
        models = [clone(self).set_params(unfairness=float(r))._store(learned) for r in bounds]
        return prediction_path(models, SCORES[self._score_name], learned.training.backend)

    def summary(self) -> GroupSummary:
        """Return what the model does to each group, as an object that prints itself."""
        check_is_fitted(self)
        facts = {
            "Model": type(self.estimator_).__name__,
            "Rows": f"{self.n_rows_:,}",
            f"{self._score_name} in training": f"{self.training_score_:.4f}",
            "Bound r": f"{float(self.unfairness):g}",
            "To the barycenter": f"{self.unfairness_components_['wasserstein']:.6g}",
            "… unconstrained": f"{self.unfairness_components_['wasserstein_unconstrained']:.6g}",
            "Status": self.status_,
        }
        notes = ("plain mean, mean: of predictions in training, without and with the bound.",)
        return GroupSummary(
            type(self).__name__,
            tuple(facts.items()),
            (),
            notes,
            self._backend,
            tuple(self.groups_),
            self._group_columns,
        )

    # --------------------------------------------------------------- learning

    def _learn(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> _Learned:
        training = read_training(self, X, y, sensitive_features, sample_weight, None)
        rows = rows_of(training.engine, type(self).__name__)
        Z = dense_columns((*rows.sensitive, *rows.predictors), rows.names)
        groups, codes = groups_of(training, type(self).__name__)
        first, second = self._parts(codes)
        if self.estimator is None:
            check_features(
                Z, training.design, f"Pass a penalized model as estimator. {FEWER_FEATURES}"
            )
        estimator = self._fitted(Z[first], rows.take(first))
        plain = self._predicted(estimator, Z)
        weight = training.engine.weights
        maps = barycenter_maps(plain[second], codes[second], weight[second], len(groups.labels))
        return _Learned(training, estimator, groups, codes, maps, plain, _moved(plain, codes, maps))

    def _parts(self, codes: Integers) -> tuple[Integers, Integers]:
        """Rows for the model, and rows for the maps."""
        everything = np.arange(len(codes))
        if self.split is None:
            return everything, everything
        split = self.split
        if isinstance(split, bool) or not isinstance(split, int | float) or not 0.0 < split < 1.0:
            raise ValueError(f"split={split!r} must be None or a share between 0 and 1.")
        order = check_random_state(self.random_state).permutation(len(codes))
        first = np.zeros(len(codes), dtype=bool)
        for code in np.unique(codes):
            inside = order[codes[order] == code]
            # A group of one row is needed for its map.
            first[inside[: min(round(split * len(inside)), len(inside) - 1)]] = True
        if not first.any():
            raise ValueError(f"split={split!r} leaves no rows for the model; use split=None.")
        return np.flatnonzero(first), np.flatnonzero(~first)

    def _fitted(self, Z: Floats, rows: Rows) -> Any:
        if self.estimator is None:
            return self._default(rows, Z)
        estimator, y = clone(self.estimator), rows.response[:, 0]
        if rows.weight is None:
            return estimator.fit(Z, y)
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"estimator {type(estimator).__name__} takes no sample_weight; leave it out, or "
                "use another model."
            )
        return estimator.fit(Z, y, sample_weight=rows.weight)

    def _store(self, learned: _Learned) -> Self:
        store_columns(self, learned.training)
        self.family_ = learned.training.response.family
        self.definition_ = "wasserstein"
        self.estimator_, self.maps_ = learned.estimator, learned.maps
        self._groups = learned.groups
        self._root = float(np.sqrt(self.unfairness))
        self.groups_ = np.array(learned.groups.labels, dtype=object)
        y, weight = learned.training.engine.response[:, 0], learned.training.engine.weights
        predicted = self._between(learned.plain, learned.fair)
        before, after = (
            float(np.average((values - learned.fair) ** 2, weights=weight))
            for values in (learned.plain, predicted)
        )
        count = np.bincount(learned.codes)
        size = np.bincount(learned.codes, weights=weight)
        means = [
            np.bincount(learned.codes, weights=weight * v) / size
            for v in (learned.plain, predicted)
        ]
        # Predictions and their map agree to rounding where groups do not differ.
        differ = before > ROUNDING_OF_DISTANCE * float(np.average(learned.plain**2, weights=weight))
        self.unfairness_ = after / before if differ else 0.0
        self.unfairness_components_ = {
            "wasserstein": after,
            "wasserstein_unconstrained": before,
            "explained_by_groups": r_squared(predicted, means[1][learned.codes], weight),
        }
        self.training_score_ = self._scored(y, predicted, weight)
        self.status_: Status = "inactive" if self.unfairness == 1.0 or not differ else "converged"
        self.bound_active_, self.converged_ = self.status_ == "converged", True
        self._group_columns = {
            "rows": count.tolist(),
            "share": (size / size.sum()).tolist(),
            "plain_mean": means[0].tolist(),
            "mean": means[1].tolist(),
        }
        return self

    def _between(self, plain: Floats, fair: Floats) -> Floats:
        return self._root * plain + (1.0 - self._root) * fair

    # ------------------------------------------------------------- predicting

    def _moved_predictions(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        check_is_fitted(self)
        check_option("unknown", self.unknown, self._unknown_rules)
        if offset is not None:
            raise ValueError(f"{type(self).__name__} takes no offset.")
        design = self._design
        pieces = design.encode(
            as_table(X),
            design.attributes(sensitive_features, estimator_name=type(self).__name__),
            self.unknown,
            estimator_name=type(self).__name__,
            groups=True,
        )
        Z = dense_columns((*pieces[0], *pieces[1]), design.encoded_names)
        codes = self._groups.codes(attribute_values(pieces[0]), self.unknown)
        plain = self._predicted(self.estimator_, Z)
        return self._between(plain, _moved(plain, codes, self.maps_))


def _moved(values: Floats, codes: Integers, maps: tuple[Transport, ...]) -> Floats:
    """Move predictions by the map of their group."""
    moved = np.empty_like(values)
    for code, transport in enumerate(maps):
        inside = codes == code
        moved[inside] = transport(values[inside])
    return moved


def r_squared(values: Floats, fitted: Floats, weight: Floats) -> float:
    total = float(weight @ (values - np.average(values, weights=weight)) ** 2)
    return 1.0 - float(weight @ (values - fitted) ** 2) / total if total > 0.0 else 0.0
