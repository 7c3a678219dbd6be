"""Models that have predictions instead of coefficients, and their paths."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

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
from fairridge.data import Design, Rows, dense_columns, make_frame
from fairridge.data.groups import Groups
from fairridge.estimators._docstrings import inherit_parameters
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._model import FEWER_FEATURES, Traits, fitted, notebook_html
from fairridge.estimators._outcome import check_features, store_columns
from fairridge.estimators._training import Training, read_training
from fairridge.peers._model import groups_of, require_predictors, response_kind, rows_of
from fairridge.reports import GroupSummary, PathCurves, plot_path

# Names of columns of a path.
SCORES = {"R²": "r_squared", "Accuracy": "accuracy"}


@dataclass(frozen=True)
class GroupedRows:
    """Training rows, the columns that predictions are made of, and the groups."""

    training: Training
    rows: Rows
    Z: Floats
    groups: Groups
    codes: Integers


@dataclass(eq=False, repr=False)
class PredictionModel(BaseEstimator):
    """A fair model around any other, which treats groups of people the same.

    Parameters are fields of dataclasses, as in `LinearModel`.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1].
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`, and to `predict` and `score` if these need S.
        They must be discrete: categories, or numbers with at most 20 distinct values.
        Several together make one group per combination.
    estimator : scikit-learn estimator, optional
        The model that comes first.
    predictor_map : scikit-learn transformer, optional
        Maps the encoded columns of X to features first.
    sensitive_map : None
        Groups have no features; anything else is an error.
    """

    unfairness: float = 0.05
    _: KW_ONLY
    sensitive: ColumnNames | None = None
    unknown: UnknownLevels = "error"
    predictor_map: Any = None
    sensitive_map: Any = None
    missing: MissingValues = "error"
    estimator: Any = None

    # See `FairModel`.
    _unknown_rules: ClassVar[tuple[str, ...]] = ("error", "base", "mean")
    _sums_on_devices: ClassVar[bool] = False
    _takes_sparse: ClassVar[bool] = False
    _response_kind = property(response_kind)
    _fitted = property(fitted)
    _html_repr = notebook_html

    _score_name: ClassVar[str] = "Accuracy"
    # Bounds of a path by default.
    _bounds: ClassVar[Floats] = np.linspace(0.0, 1.0, 101)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        bases = (base for base in cls.__mro__[1:] if issubclass(base, PredictionModel))
        inherit_parameters(cls, next(bases))

    @property
    @abstractmethod
    def _traits(self) -> Traits:
        """What kind of model its parameters make."""

    @abstractmethod
    def _learn(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Any:
        """Read the rows, and find what does not depend on the bound."""

    @abstractmethod
    def _store(self, learned: Any) -> Self:
        """Find the rest, and keep it."""

    @abstractmethod
    def _described(self, settings: Any) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return what stands above and below the groups in a summary of a fit with `settings`."""

    @abstractmethod
    def _fair_predictions(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        """Return predicted numbers, or probabilities of the second class."""

    def _warn(self) -> None:
        """Warn of what a fit did not reach."""

    def fit(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            Predictors, and the sensitive attributes if `sensitive` names them.
        y : array-like of shape (n,)
            Response, or labels of two classes.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, if `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Weights; a row of weight zero is absent. `ReductionsClassifier` needs
            whole numbers.

        Returns
        -------
        self
            The fitted model.
        """
        check_bound(self.unfairness)
        self._store(self._learn(X, y, sensitive_features, sample_weight))
        self._warn()
        return self

    def path(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        unfairness: VectorLike | None = None,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> PredictionPath:
        """Return the models for many bounds.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`.
        unfairness : array-like, optional
            The bounds; by default 0, 0.01, …, 1, and for `ReductionsClassifier`,
            which fits each by itself, 0, 0.05, …, 0.5.

        Returns
        -------
        PredictionPath
            All models; `at` gives one of them.
        """
        bounds = check_bounds(self._bounds if unfairness is None else unfairness)
        learned = self._learn(X, y, sensitive_features, sample_weight)
        models = [clone(self).set_params(unfairness=float(r))._store(learned) for r in bounds]
        first = models[0]
        return PredictionPath(
            unfairness=bounds,
            achieved=np.array([model.unfairness_ for model in models]),
            score=np.array([model.training_score_ for model in models]),
            status=tuple(model.status_ for model in models),
            components={
                name: np.array([model.unfairness_components_[name] for model in models])
                for name in first.unfairness_components_
            },
            models=tuple(models),
            definition=first.definition_,
            score_name=SCORES[self._score_name],
            _backend=first._backend,
        )

    def summary(self) -> GroupSummary:
        """Return what the model does to each group, as an object that prints itself."""
        facts, notes = self._described(self._fitted.settings)
        return GroupSummary(
            type(self).__name__,
            tuple(facts.items()),
            (),
            notes,
            self._backend,
            groups=tuple(self.groups_),
            columns=self._group_columns,
        )

    def _read(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> GroupedRows:
        """Read rows and groups; the columns are those that predictions may use."""
        name, with_sensitive = type(self).__name__, self._traits.needs_sensitive
        training = read_training(self, X, y, sensitive_features, sample_weight, None)
        if not with_sensitive:
            require_predictors(training, name)
        groups, codes = groups_of(training, name)
        rows = rows_of(training.engine, name)
        pieces = (*rows.sensitive, *rows.predictors) if with_sensitive else rows.predictors
        Z = dense_columns(pieces, rows.names[0 if with_sensitive else rows.n_sensitive :])
        if self.estimator is None:
            advice = f"Pass a penalized model as estimator. {FEWER_FEATURES}"
            check_features(Z, training.design, advice)
        return GroupedRows(training, rows, Z, groups, codes)

    def _store_groups(self, rows: GroupedRows) -> None:
        """Keep what does not depend on the model."""
        store_columns(self, rows.training)
        self.family_ = rows.training.response.family
        self.groups_ = np.array(rows.groups.labels, dtype=object)

    def _check_prediction(self, offset: Any) -> tuple[str, Design]:
        """Raise if nothing can be predicted; return the name of the model, and what it reads."""
        reads = self._fitted.reads
        check_option("unknown", self.unknown, self._unknown_rules)
        if offset is not None:
            raise ValueError(f"{type(self).__name__} takes no offset.")
        return type(self).__name__, reads

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        """Return predictions; of classes, by how much the second is more likely than ½."""
        predicted = self._fair_predictions(X, sensitive_features, offset)
        return predicted if self.family_.least_squares else predicted - 0.5


# Both bases have these parameters, and mean the same by them.
inherit_parameters(PredictionModel, LinearModel)


def predict_proba(
    self: PredictionModel,
    X: TableLike,
    *,
    sensitive_features: TableLike | None = None,
    offset: VectorLike | None = None,
) -> Floats:
    """Return the probabilities of both classes."""
    second = self._fair_predictions(X, sensitive_features, offset)
    return np.column_stack([1.0 - second, second])


@dataclass(frozen=True)
class PredictionPath:
    """Fairness and accuracy in training for many bounds."""

    unfairness: Floats  # the bounds r, of shape (m,)
    achieved: Floats  # what the models achieve, of shape (m,)
    score: Floats  # R² or accuracy in training, of shape (m,)
    status: tuple[str, ...]  # how each fit ended
    components: dict[str, Floats]  # what `achieved` is made of
    models: tuple[Any, ...] = field(repr=False)  # the fitted models
    definition: str
    score_name: str
    _backend: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.unfairness)

    def at(self, unfairness: float) -> Any:
        """Return the fitted model for a bound of the path."""
        near = np.flatnonzero(np.isclose(self.unfairness, unfairness, rtol=0.0, atol=1e-12))
        if not near.size:
            raise ValueError(
                f"unfairness={unfairness!r} is not on the path; its bounds are "
                f"{', '.join(f'{r:g}' for r in self.unfairness)}."
            )
        return self.models[int(near[0])]

    def to_frame(self) -> Any:
        """Return one row per bound."""
        columns: dict[str, Any] = {
            "unfairness": self.unfairness,
            "achieved": self.achieved,
            "status": list(self.status),
            self.score_name: self.score,
        }
        return make_frame(columns | self.components, self._backend)

    def plot(self, kind: Any = "constraints", ax: Any = None) -> Any:
        """Draw the path with matplotlib."""
        if kind == "coefficients":
            raise ValueError("this model has no coefficients; use 'constraints' or 'accuracy'.")
        nothing = np.zeros((len(self), 0))
        curves = PathCurves(
            self.unfairness,
            self.achieved,
            nothing,
            nothing,
            self.components,
            self.score,
            (),
            (),
            self.definition,
            self.score_name,
        )
        return plot_path(curves, kind, ax)
