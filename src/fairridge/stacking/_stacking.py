"""The base of stacked models: learners below, a fair ridge on top."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from fairridge._typing import (
    ColumnNames,
    MissingValues,
    TableLike,
    UnknownLevels,
    VectorLike,
)
from fairridge.arguments import check_flag, check_option
from fairridge.data import as_table
from fairridge.data.table import labels
from fairridge.estimators._docstrings import inherit_parameters
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._model import notebook_html
from fairridge.estimators._parameters import DefinitionLike, FeatureMap
from fairridge.estimators._responses import Inputs
from fairridge.estimators._training import read_inputs
from fairridge.inference import CERTIFICATIONS, Certificate, Inference
from fairridge.reports import Summary
from fairridge.stacking.crossfit import Deploy
from fairridge.stacking.features import LayerColumns
from fairridge.stacking.fitting import LEARNED, Crossfit, StackData, crossfit
from fairridge.stacking.path import StackedPath


@dataclass(eq=False, repr=False)
class FairStacking(BaseEstimator):
    """Any learner under a bound; subclasses read the response.

    Parameters
    ----------
    estimators : estimator, or list of estimators or (name, estimator), optional
        The learners: scikit-learn estimators, or pipelines. By default boosted trees
        (HistGradientBoosting), which see categorical columns as categories.
    unfairness : float, default=0.05
        r in [0, 1], the bound on the stacked model; see `FairRidgeRegressor`.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`, `predict` and `score`.
    definition : str or object, default="mean-parity"
        What is bounded; by default R² of the predicted means, or probabilities, on S.
    blind : bool, default=False
        Whether S is used at fit only. Learners then see X alone, and cross-fitted proxies
        m(x) = E[S | X = x] of every encoded column of S are further predictors of the
        layer: without them a score could not be corrected.
    proxy : estimator, optional
        The regressor that learns these; boosted trees by default.
    interactions : bool, default=False
        Whether products of S (of the proxies, if blind) with the scores are predictors too.
    passthrough : bool, default=False
        Whether the other columns of X are, as in scikit-learn's stacking.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; a number of them is shuffled, and stratified for classes. Test sets must not
        overlap. Rows that none tests take no part in the layer.
    prefit : bool, default=False
        Whether the learners are fitted already, to other rows, and are used as they are.
    deploy : {"refit", "average"}, default="refit"
        What scores new rows: learners that are refitted to all rows, so that each is fitted
        cv + 1 times, or the average of those of the folds. Averages vary less than the
        scores that the layer is fitted to, so that S explains more of them.
    sensitive_map : scikit-learn transformer or "learned", optional
        Maps the encoded columns of S to features, for dependence that is not linear.
        "learned": a regressor (`proxy`) of the predictions on S alone, cross-fitted, is a
        further column of S, and once more for the model with it.
    unknown, missing : str, default="error"
        As in `FairRidgeRegressor`, for S and for columns that `passthrough` takes.
    confidence : float, optional
        1 − δ: the bound then holds for the population; see `FairRidgeRegressor`, and the notes.
    certification : {"auto", "closed-form", "draws", "held-out", "split"}, default="auto"
        How. "split" fits the learners to one half of the rows, and the layer, with its
        certificate, to the other.
    n_jobs : int, optional
        Learners that are fitted at a time.
    random_state : int, RandomState or None, default=None
        Seed of the folds, of the halves of "split", and of the default learners.
    """

    estimators: Any = None
    unfairness: Any = 0.05
    _: KW_ONLY
    sensitive: ColumnNames | None = None
    definition: DefinitionLike = "mean-parity"
    blind: bool = False
    proxy: Any = None
    interactions: bool = False
    passthrough: bool = False
    cv: Any = 5
    prefit: bool = False
    deploy: Deploy = "refit"
    sensitive_map: FeatureMap | Literal["learned"] = None
    unknown: UnknownLevels = "error"
    missing: MissingValues = "error"
    confidence: float | None = None
    certification: str = "auto"
    n_jobs: int | None = None
    random_state: Any = None

    _repr_html_inner = notebook_html

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherit_parameters(cls, FairStacking)

    @abstractmethod
    def _layer(self) -> FairRidge:
        """Return the unfitted layer."""

    # ------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Fit the learners to folds, and the layer to the scores of the rows left out.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            Predictors, and the sensitive attributes if `sensitive` names them.
        y : array-like of shape (n,)
            Response.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, if `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Weights, for learners and layer; a row of weight zero is absent.
        """
        learned = self._learn(X, y, sensitive_features, sample_weight)
        return self._store(learned, self._layer().fit(**learned.inputs))

    def path(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        unfairness: VectorLike | None = None,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> StackedPath:
        """Fit the models for many bounds from one cross-fit.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`.
        unfairness : array-like, optional
            The bounds; 0, 0.01, …, 1 by default. ``sensitive_map="learned"`` is learned
            once, at the `unfairness` of the model.
        """
        # A copy, not a clone: prefit learners stay fitted.
        model = copy(self)
        learned = model._learn(X, y, sensitive_features, sample_weight)
        path = model._layer().path(**learned.inputs, unfairness=unfairness)
        # The first layer only completes the model that the others take the place in.
        return StackedPath.of(path, model._store(learned, path.at(float(path.unfairness[0]))))

    def _learn(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Crossfit:
        """Read the rows, and cross-fit everything below the layer."""
        self._check_parameters()
        layer, inputs = self._layer(), read_inputs(X, sensitive_features, sample_weight, None)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        response = layer._response_kind.read(y, inputs)
        columns = LayerColumns.learn(
            inputs.table,
            inputs.attributes,
            self.sensitive,
            inputs.weight,
            blind=self.blind,
            missing=self.missing,
            sensitive_map=None if self.sensitive_map == LEARNED else self.sensitive_map,
            owner=type(self).__name__,
        )
        rows = columns.read(inputs.table, inputs.attributes, "error")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return crossfit(self, StackData(inputs, response, columns, rows), seed)

    def _check_parameters(self) -> None:
        for name in ("blind", "interactions", "passthrough", "prefit"):
            check_flag(name, getattr(self, name))
        check_option("deploy", self.deploy, ("refit", "average"))
        check_option("certification", self.certification, (*CERTIFICATIONS, "split"))
        if self.prefit and self.estimators is None:
            raise ValueError("prefit=True needs estimators: learners that are fitted.")
        if isinstance(self.sensitive_map, str):
            check_option("sensitive_map", self.sensitive_map, (LEARNED,))
        if self.confidence is not None and self.deploy == "average" and not self._fixed_scores:
            raise ValueError(
                "deploy='average' has no certificate: averages of fold learners vary less than "
                "the scores of the fit, and S explains more of them. Use deploy='refit', or "
                "certification='split'."
            )

    @property
    def _splits(self) -> bool:
        """Whether learners and layer are fitted to different halves."""
        return self.confidence is not None and self.certification == "split"

    @property
    def _fixed_scores(self) -> bool:
        """Whether all features of the layer were learned on other rows than it is fitted to."""
        learned = self.sensitive_map == LEARNED
        return not learned and (self._splits or (self.prefit and not self.blind))

    def _layer_options(self) -> dict[str, Any]:
        """Return the parameters of the layer."""
        return {
            "unfairness": self.unfairness,
            "definition": self.definition,
            "blind": self.blind,
            "sensitive_map": None if self.sensitive_map == LEARNED else self.sensitive_map,
            "unknown": self.unknown,
            "missing": self.missing,
            "confidence": self.confidence,
            "certification": "auto" if self.certification == "split" else self.certification,
        }

    def _store(self, learned: Crossfit, layer: Any) -> Self:
        """Keep learners and layer, and what the layer says of itself."""
        columns = learned.features.columns
        self._features, self._fixed = learned.features, self._fixed_scores
        self.layer_rows_, self.scores_ = learned.rows, learned.scores
        self._mapped = learned.mapped
        self.learners_ = [list(one.learners) for one in learned.features.learners]
        self.n_features_in_ = columns.n_columns
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if columns.names is not None:
            self.feature_names_in_: Any = np.array(columns.names, dtype=object)
        if learned.response.classes is not None:
            self.classes_ = learned.response.classes
        self._store_layer(layer)
        return self

    def _store_layer(self, layer: Any) -> None:
        """Keep the layer, and what it says of itself."""
        self.layer_ = layer
        self.unfairness_: float = layer.unfairness_
        self.dependence_: dict[str, float] = layer.dependence_
        self.status_: str = layer.status_
        self.converged_: bool = layer.converged_
        self.certificate_: Certificate | None = layer.certificate_
        self.family_, self.n_rows_ = layer.family_, layer.n_rows_

    # -------------------------------------------------------------------------- fitted

    @property
    def _fitted(self) -> Any:
        """What the layer was fitted with."""
        check_is_fitted(self)
        return self.layer_._fitted

    def layer_inputs(
        self,
        X: TableLike,
        *,
        sensitive_features: TableLike | None = None,
        out_of_fold: bool = False,
    ) -> dict[str, Any]:
        """Return the rows as the layer reads them, for functions on linear models.

        Parameters
        ----------
        X, sensitive_features
            As in `predict`.
        out_of_fold : bool, default=False
            Whether these are the rows of the fit: then with the scores that the layer was
            fitted to, and without rows that it was not fitted to (see `layer_rows_`).

        Returns
        -------
        dict
            ``X``, a frame of scores and what goes with them, and ``sensitive_features``.
        """
        check_is_fitted(self)
        inputs = read_inputs(X, sensitive_features, None, None)
        if not check_flag("out_of_fold", out_of_fold):
            return self._read_new(inputs, with_sensitive=True)
        table, S = inputs.table, inputs.attributes
        if len(self.layer_rows_) and table.shape[0] <= self.layer_rows_[-1]:
            raise ValueError(
                f"X has {table.shape[0]} rows, but the model was fitted to more; pass the rows "
                "of the fit."
            )
        table, S = table.take(self.layer_rows_), None if S is None else S.take(self.layer_rows_)
        rows = self._features.columns.read(table, S, self.unknown)
        return self._features.layer_inputs(rows, self.scores_, self._mapped)

    def _read_new(self, inputs: Inputs, *, with_sensitive: bool) -> dict[str, Any]:
        """Score new rows."""
        features = self._features
        rows = features.columns.read(
            inputs.table, inputs.attributes, self.unknown, with_sensitive=with_sensitive
        )
        return features.layer_inputs(rows, features.scores(rows), features.mapped(rows))

    def _predicting(self, X: Any, sensitive_features: Any) -> dict[str, Any]:
        """Return the arguments of the layer's `predict`, and bring `unknown` up to date."""
        check_is_fitted(self)
        self.layer_.unknown = self.unknown
        blind = self._features.columns.blind
        inputs = read_inputs(X, sensitive_features, None, None)
        return self._read_new(inputs, with_sensitive=not blind)

    def predict(self, X: TableLike, *, sensitive_features: TableLike | None = None) -> Any:
        """Predict means, or the most likely class.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            New rows; columns of a frame may be in any order.
        sensitive_features : frame or array, optional
            Required if it was given at fit, unless the model is blind.
        """
        return self._layer_predict(X, sensitive_features, "predict")

    def _layer_predict(self, X: Any, sensitive_features: Any, method: str) -> Any:
        """Call a method of the layer on new rows."""
        inputs = self._predicting(X, sensitive_features)
        return getattr(self.layer_, method)(**inputs)

    def score(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> float:
        """Return accuracy for classes, R² for gaussian models and D² for others."""
        inputs = self._predicting(X, sensitive_features)
        return float(self.layer_.score(**inputs, y=y, sample_weight=sample_weight))

    def summary(self) -> Summary:
        """Return the summary of the layer, as an object that prints itself."""
        check_is_fitted(self)
        layer, notes = self.layer_.summary(), ["Coefficients are those of the layer."]
        if self.certificate_ is not None and not self._fixed:
            notes.append(
                "The certificate takes out-of-fold scores for those of new rows; "
                "certification='split' needs no such assumption."
            )
        return replace(layer, title=type(self).__name__, notes=(*layer.notes, *notes))

    def inference(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        **options: Any,
    ) -> Inference:
        """Return standard errors of the layer, given the scores.

        That learners would differ on another sample is not in them.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`, with the same rows.
        **options
            As in `FairRidgeRegressor.inference`.
        """
        rows = self.training_of_layer(X, y, sensitive_features, sample_weight)
        result: Inference = self.layer_.inference(**rows, **options)
        return result

    def training_of_layer(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> dict[str, Any]:
        """Return what the layer was fitted to, from the rows of the fit."""
        inputs = self.layer_inputs(X, sensitive_features=sensitive_features, out_of_fold=True)
        inputs["y"] = labels(y, as_table(X).shape[0], "y", self.layer_rows_)
        weight = None if sample_weight is None else np.asarray(sample_weight)[self.layer_rows_]
        return inputs | {"sample_weight": weight}

    def with_layer(self, layer: Any) -> Self:
        """Return a copy of the fitted model with another layer for the same features."""
        model = copy(self).set_params(unfairness=layer.unfairness)
        model._store_layer(layer)
        return model

    @property
    def fingerprint_(self) -> str:
        """SHA-256 digest of the training data of the layer."""
        check_is_fitted(self)
        return str(self.layer_.fingerprint_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
