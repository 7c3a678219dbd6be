"""What both models share: predictions that move to the Wasserstein barycenter of the groups."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from fairridge._typing import Floats, Integers
from fairridge.arguments import is_number
from fairridge.data import Rows, as_table, dense_columns
from fairridge.data.groups import attribute_values
from fairridge.estimators._model import Traits
from fairridge.peers._predictions import GroupedRows, PredictionModel
from fairridge.peers.barycenter.transport import Transport, barycenter_maps
from fairridge.search import Status
from fairridge.solvers.spectrum import LENGTH_TOLERANCE


@dataclass(frozen=True)
class _Learned:
    """What does not depend on the bound: a model, and the maps of its predictions."""

    read: GroupedRows
    estimator: Any
    maps: tuple[Transport, ...]
    plain: Floats
    fair: Floats


@dataclass(eq=False, repr=False, kw_only=True)
class Barycenter(PredictionModel):
    """Any model, with its predictions moved to the barycenter of the groups.

    Parameters
    ----------
    split : float, optional
        Share of the rows, within each group, for the model; the others serve the
        maps. By default all rows serve both.
    random_state : int, RandomState or None
        Draws the rows of the split.
    unknown : {"error", "base"}, default="error"
        How to handle a category, or a group, at prediction time that was absent when
        fitting: "base" treats it as the base level, or as the first of `groups_`.
    """

    split: float | None = None
    random_state: Any = None

    # A new group counts as one of the groups, or is an error.
    _unknown_rules: ClassVar[tuple[str, ...]] = ("error", "base")

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

    def _described(self, settings: Any) -> tuple[dict[str, str], tuple[str, ...]]:
        parts = self.unfairness_components_
        facts = {
            "Model": type(self.estimator_).__name__,
            "Rows": f"{self.n_rows_:,}",
            f"{self._score_name} in training": f"{self.training_score_:.4f}",
            "Bound r": f"{float(settings.unfairness):g}",
            "To the barycenter": f"{parts['wasserstein']:.6g}",
            "… unconstrained": f"{parts['wasserstein_unconstrained']:.6g}",
            "Status": self.status_,
        }
        return facts, ("plain mean, mean: of predictions in training, without and with the bound.",)

    # --------------------------------------------------------------- learning

    def _learn(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> _Learned:
        read = self._read(X, y, sensitive_features, sample_weight)
        codes, weight = read.codes, read.training.engine.weights
        first, second = self._parts(codes)
        estimator = self._fit_estimator(read.Z[first], read.rows.take(first))
        plain = self._predicted(estimator, read.Z)
        n_groups = len(read.groups.labels)
        maps = barycenter_maps(plain[second], codes[second], weight[second], n_groups)
        return _Learned(read, estimator, maps, plain, _moved(plain, codes, maps))

    def _parts(self, codes: Integers) -> tuple[Integers, Integers]:
        """Rows for the model, and rows for the maps."""
        everything = np.arange(len(codes))
        if self.split is None:
            return everything, everything
        split = self.split
        if not (is_number(split) and 0.0 < split < 1.0):
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

    def _fit_estimator(self, Z: Floats, rows: Rows) -> Any:
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
        read, plain, fair = learned.read, learned.plain, learned.fair
        codes, engine = read.codes, read.training.engine
        weight = engine.weights
        self._store_groups(read)
        self._groups = read.groups
        self.definition_ = "wasserstein"
        self.estimator_, self.maps_ = learned.estimator, learned.maps
        self._root = float(np.sqrt(self.unfairness))
        predicted = self._between(plain, fair)
        before, after = (
            float(np.average((values - fair) ** 2, weights=weight)) for values in (plain, predicted)
        )
        size = np.bincount(codes, weights=weight)
        plain_mean, mean = (
            np.bincount(codes, weights=weight * values) / size for values in (plain, predicted)
        )
        # Predictions and their map agree to rounding if groups do not differ.
        differ = before > LENGTH_TOLERANCE**2 * float(np.average(plain**2, weights=weight))
        self.unfairness_ = after / before if differ else 0.0
        self.unfairness_components_ = {
            "wasserstein": after,
            "wasserstein_unconstrained": before,
            "explained_by_groups": r_squared(predicted, mean[codes], weight),
        }
        self.training_score_ = self._scored(engine.response[:, 0], predicted, weight)
        self.status_: Status = "inactive" if self.unfairness == 1.0 or not differ else "converged"
        self.bound_active_, self.converged_ = self.status_ == "converged", True
        columns = {"share": size / size.sum(), "plain_mean": plain_mean, "mean": mean}
        self._group_columns = {"rows": np.bincount(codes).tolist()} | {
            name: values.tolist() for name, values in columns.items()
        }
        return self

    def _between(self, plain: Floats, fair: Floats) -> Floats:
        return self._root * plain + (1.0 - self._root) * fair

    # ------------------------------------------------------------- predicting

    def _fair_predictions(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        name, design = self._check_prediction(offset)
        attributes = design.attributes(sensitive_features, estimator_name=name)
        sensitive, predictors = design.encode(
            as_table(X), attributes, self.unknown, estimator_name=name, groups=True
        )
        Z = dense_columns((*sensitive, *predictors), design.encoded_names)
        codes = self._groups.codes(attribute_values(sensitive), self.unknown)
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
    """Return R² of fitted values; 0 for a constant."""
    total = float(weight @ (values - np.average(values, weights=weight)) ** 2)
    return 1.0 - float(weight @ (values - fitted) ** 2) / total if total > 0.0 else 0.0
