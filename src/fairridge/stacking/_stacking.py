"""The base of stacked models: learners below, a fair ridge on top."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._metadata_requests import _raise_for_params
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, check_random_state

from fairridge._typing import (
    ColumnNames,
    Floats,
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
from fairridge.estimators._training import read_inputs, require_response
from fairridge.inference import CERTIFICATIONS, Certificate, Inference
from fairridge.reports import Summary
from fairridge.stacking.crossfit import Deploy
from fairridge.stacking.features import Features, LayerColumns
from fairridge.stacking.fitting import LEARNED, Crossfit, StackData, crossfit, named_learners
from fairridge.stacking.onnx_graph import stack_graph
from fairridge.stacking.path import StackedPath

OUT_OF_FOLD = "out-of-fold"


@dataclass(eq=False, repr=False)
class FairStacking(BaseEstimator):
    """Any learner under a bound; subclasses read the response.

    Parameters
    ----------
    estimators : estimator, or list of estimators or (name, estimator), optional
        The learners: scikit-learn estimators, pipelines, or those of other libraries such as
        LightGBM, XGBoost and CatBoost. They see classes as 0, 1, … . By default boosted trees
        (HistGradientBoosting), which see categorical columns as categories.
    unfairness : float, default=0.05
        r in [0, 1], the bound on the stacked model; see `FairRidgeRegressor`.
    sensitive : str, int or list of these and of tuples of these, optional
        Columns of X that are sensitive, by name or position; a tuple in the list is an
        intersection, as in ``["sex", "race", ("sex", "race")]``. Alternatively pass
        `sensitive_features` to `fit`, `predict` and `score`.
    definition : str or object, default="mean-parity"
        What is bounded; by default R² of the predicted means, or probabilities, on S.
    blind : bool, default=False
        Whether S is used at fit only. Learners then see X alone, and cross-fitted proxies
        m(x) = E[S | X = x] of every encoded column of S are further predictors of the
        layer: without them a score could not be corrected. If the bound is among the rows of
        a class c, they are of 1(y = c)(S − E[S | y = c]).
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
    certification : str, default="auto"
        How. With "auto" or "split" learners and proxies are fitted to one half of the rows,
        and the layer, with its certificate, to the other; so they are with "held-out", which
        tests the layer on half of these. "out-of-fold" uses all rows for both, and is
        approximate. Without learners to fit there is no such split.
    n_jobs : int, optional
        Learners that are fitted at a time.
    progress : bool, default=False
        Whether to show a progress bar of their fits (needs tqdm).
    random_state : int, RandomState or None, default=None
        Seed of the folds, of the halves of a certified fit, and of the default learners.
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
    progress: bool = False
    random_state: Any = None

    _html_repr = notebook_html

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
        exposure: VectorLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the learners to folds, and the layer to the scores of the rows left out.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, exposure
            As in `FairRidgeRegressor.fit`, for frames and dense arrays. Weights are for learners
            and layer. With an exposure, learners see rates, weighted by it, and the layer has it
            as well.
        **fit_params
            Further metadata for learners that request them (scikit-learn's metadata routing).

        Returns
        -------
        self
            The fitted model.
        """
        if "offset" in fit_params:
            raise TypeError(
                f"{type(self).__name__} takes no offset, as learners have none; with the log link "
                "pass exposure=…, and take an offset off other numbers before the fit."
            )
        _raise_for_params(fit_params, self, "fit")
        routed = process_routing(self, "fit", **fit_params) if fit_params else {}
        learned = self._learn(X, y, sensitive_features, sample_weight, exposure, routed)
        return self._store(learned, self._layer().fit(**learned.inputs))

    def path(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        unfairness: VectorLike | None = None,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        exposure: VectorLike | None = None,
    ) -> StackedPath:
        """Fit the models for many bounds from one cross-fit.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, exposure
            As in `fit`.
        unfairness : array-like, optional
            The bounds; 0, 0.01, …, 1 by default. ``sensitive_map="learned"`` is learned
            once, at the `unfairness` of the model.

        Returns
        -------
        StackedPath
            All models; `at` gives one of them.
        """
        # A copy, not a clone: prefit learners stay fitted.
        model = copy(self)
        learned = model._learn(X, y, sensitive_features, sample_weight, exposure, {})
        path = model._layer().path(**learned.inputs, unfairness=unfairness)
        # The first layer only completes the model that the others take the place in.
        stack = model._store(learned, path.at(float(path.unfairness[0])))
        return StackedPath(**vars(path), _stack=stack)

    def _learn(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any,
        exposure: Any,
        routed: Mapping[str, Any],
    ) -> Crossfit:
        """Read the rows, and cross-fit everything below the layer."""
        self._check_parameters()
        layer = self._layer()
        inputs = read_inputs(X, sensitive_features, sample_weight, layer._shift(None, exposure), y)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        response = layer._response_kind.read(y, inputs)
        # Before learners take their time.
        require_response(response, inputs, () if exposure is None else ("exposure",))
        columns = LayerColumns.learn(
            inputs.table,
            inputs.attributes,
            self.sensitive,
            inputs.weight,
            blind=self.blind,
            missing=self.missing,
            sensitive_map=None if self.learns_map else self.sensitive_map,
            owner=type(self).__name__,
        )
        rows = columns.read(inputs.table, inputs.attributes, "error")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return crossfit(StackData(self, seed, inputs, response, columns, rows, routed))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata the model asks for, and which its learners do."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        for name, learner in named_learners(self.estimators):
            router.add(**{name: learner}, method_mapping=to_fit)
        return router

    def _check_parameters(self) -> None:
        for name in ("blind", "interactions", "passthrough", "prefit", "progress"):
            check_flag(name, getattr(self, name))
        check_option("deploy", self.deploy, ("refit", "average"))
        check_option("certification", self.certification, (*CERTIFICATIONS, "split", OUT_OF_FOLD))
        if self.prefit and self.estimators is None:
            raise ValueError("prefit=True needs estimators: learners that are fitted.")
        if self.learns_map:
            check_option("sensitive_map", self.sensitive_map, (LEARNED,))
        if self._certified_out_of_fold and self.deploy == "average":
            raise ValueError(
                "deploy='average' has no out-of-fold certificate: averages of fold learners vary "
                "less than the scores of the fit, and S explains more of them. Use "
                "certification='split', or deploy='refit'."
            )

    @property
    def learns_map(self) -> bool:
        """Whether columns of S are learned, which depends on the bound."""
        return isinstance(self.sensitive_map, str)

    @property
    def _splits(self) -> bool:
        """Whether learners and layer are fitted to different halves."""
        # Refitted learners vary less than those of folds, and S explains more of their scores than
        # of the scores that would be certified.
        return self.confidence is not None and self.certification != OUT_OF_FOLD

    @property
    def _certified_out_of_fold(self) -> bool:
        """Whether a certificate takes out-of-fold scores for those of new rows."""
        learns = self.blind or not self.prefit
        return self.confidence is not None and learns and not self._splits

    def _layer_options(self) -> dict[str, Any]:
        """Return the parameters of the layer."""
        return {
            "unfairness": self.unfairness,
            "definition": self.definition,
            "blind": self.blind,
            "sensitive_map": None if self.learns_map else self.sensitive_map,
            "unknown": self.unknown,
            "missing": self.missing,
            "confidence": self.confidence,
            "certification": (
                self.certification if self.certification in CERTIFICATIONS else "auto"
            ),
        }

    def _store(self, learned: Crossfit, layer: Any) -> Self:
        """Keep learners and layer, and what the layer was fitted to."""
        fixed = not (self.learns_map or self._certified_out_of_fold)
        return self._restore(
            learned.features, layer, fixed, learned.places, learned.scores, learned.mapped
        )

    def _restore(
        self,
        features: Features,
        layer: Any,
        fixed: bool,
        rows: Any = None,
        scores: Any = None,
        mapped: Any = None,
    ) -> Self:
        """Become a fitted model; one that was saved has no scores of its training rows."""
        # `fixed` says whether features were learned on other rows than the layer.
        columns = features.columns
        self._features, self._fixed = features, fixed
        self.layer_rows_: Any = rows
        self.scores_: Any = scores
        self._mapped: Any = mapped
        self.learners_ = [list(one.learners) for one in features.learners]
        self.n_features_in_ = columns.n_columns
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if columns.names is not None:
            self.feature_names_in_: Any = np.array(columns.names, dtype=object)
        self._store_layer(layer)
        return self

    def _store_layer(self, layer: Any) -> None:
        """Keep the layer, and what it says of itself."""
        self.layer_ = layer
        if hasattr(layer, "classes_"):
            self.classes_, self.positive_ = layer.classes_, layer.positive_
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
        exposure: VectorLike | None = None,
        out_of_fold: bool = False,
    ) -> dict[str, Any]:
        """Return the rows as the layer reads them, for functions on linear models.

        Parameters
        ----------
        X, sensitive_features, exposure
            As in `predict`.
        out_of_fold : bool, default=False
            Whether these are the rows of the fit: then with the scores that the layer was
            fitted to, and without rows that it was not fitted to (see `layer_rows_`).

        Returns
        -------
        dict
            ``X``, a frame of scores and what goes with them, ``sensitive_features``, and
            ``exposure`` if there is one.
        """
        if not check_flag("out_of_fold", out_of_fold):
            return self._read_new(X, sensitive_features, exposure, with_sensitive=True)
        inputs = self._inputs(X, sensitive_features, exposure)
        table, S = inputs.table, inputs.attributes
        if self.layer_rows_ is None:
            raise ValueError(
                "scores of the training rows are not saved with a model; fit it again, or pass "
                "rows that it has not seen."
            )
        if len(self.layer_rows_) and table.shape[0] <= self.layer_rows_[-1]:
            raise ValueError(
                f"X has {table.shape[0]} rows, but the model was fitted to more; pass the rows "
                "of the fit."
            )
        table, S = table.take(self.layer_rows_), None if S is None else S.take(self.layer_rows_)
        rows = self._features.columns.read(table, S, self.unknown)
        given = self._features.layer_inputs(rows, self.scores_, self._mapped)
        return given | _exposure_of(inputs.offset, self.layer_rows_)

    def _inputs(self, X: Any, sensitive_features: Any, exposure: Any) -> Inputs:
        """Read rows of a fitted model."""
        check_is_fitted(self)
        return read_inputs(X, sensitive_features, None, self.layer_._shift(None, exposure))

    def _read_new(
        self,
        X: Any,
        sensitive_features: Any,
        exposure: Any,
        *,
        with_sensitive: bool = False,
        frames: bool = True,
    ) -> dict[str, Any]:
        """Score new rows, as arguments of the layer; blind models leave S out unless told."""
        inputs, features = self._inputs(X, sensitive_features, exposure), self._features
        self.layer_.unknown = self.unknown
        rows = features.columns.read(
            inputs.table, inputs.attributes, self.unknown, with_sensitive=with_sensitive
        )
        make = features.layer_inputs if frames else features.layer_tables
        given = make(rows, features.scores(rows), features.mapped(rows))
        return given | _exposure_of(inputs.offset, slice(None))

    def predict(
        self,
        X: TableLike,
        *,
        sensitive_features: TableLike | None = None,
        exposure: VectorLike | None = None,
    ) -> Any:
        """Predict means, or the most likely class.

        Parameters
        ----------
        X, sensitive_features, exposure
            As in `FairRidgeRegressor.predict`; blind models need no S. Without an exposure,
            predictions are for one unit of it.

        Returns
        -------
        ndarray of shape (n,)
            Predictions.
        """
        return self._layer_predict(X, sensitive_features, "predict", exposure)

    def _layer_predict(
        self, X: Any, sensitive_features: Any, method: str, exposure: Any = None
    ) -> Any:
        """Call a method of the layer on new rows."""
        inputs = self._read_new(X, sensitive_features, exposure, frames=False)
        return getattr(self.layer_, method)(**inputs)

    def score(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        exposure: VectorLike | None = None,
    ) -> float:
        """Return accuracy for classes, R² for gaussian models and D² for others."""
        inputs = self._read_new(X, sensitive_features, exposure)
        return float(self.layer_.score(**inputs, y=y, sample_weight=sample_weight))

    def summary(self, *, details: bool = False) -> Summary:
        """Return the summary of the layer, as an object that prints itself.

        Parameters
        ----------
        details : bool, default=False
            Whether to print every number that is known of the fit.

        Returns
        -------
        Summary
            Prints itself; `to_frame` has the coefficients.
        """
        check_is_fitted(self)
        layer = self.layer_.summary(details=details)
        notes = ["Coefficients are those of the layer."]
        if self.certificate_ is not None:
            notes.append(self._certified_with())
        title = layer.title.replace(type(self.layer_).__name__, type(self).__name__)
        return replace(layer, title=title, notes=(*layer.notes, *notes))

    def _certified_with(self) -> str:
        """Say which rows the certified features were learned on."""
        if self._features.maps:
            return (
                "The certificate takes out-of-fold values of the learned columns of S for those "
                "of new rows, and is approximate."
            )
        if not self._fixed:
            return (
                "The certificate takes out-of-fold scores for those of new rows. Checked by "
                "simulation, it is approximate: r was exceeded in 9 % of samples where 5 % are "
                "allowed. certification='split' needs no such assumption."
            )
        return (
            f"Learners were fitted to other rows than the {self.n_rows_} of the layer and its "
            "certificate."
        )

    def inference(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        exposure: VectorLike | None = None,
        **options: Any,
    ) -> Inference:
        """Return standard errors of the layer, given the scores.

        That learners would differ on another sample is not in them.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, exposure
            As in `fit`, with the same rows.
        **options
            As in `FairRidgeRegressor.inference`.

        Returns
        -------
        Inference
            Coefficients of the layer with standard errors.
        """
        rows = self.training_of_layer(X, y, sensitive_features, sample_weight, exposure)
        result: Inference = self.layer_.inference(**rows, **options)
        return result

    def training_of_layer(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any,
        exposure: Any = None,
    ) -> dict[str, Any]:
        """Return what the layer was fitted to, from the rows of the fit."""
        inputs = self.layer_inputs(
            X, sensitive_features=sensitive_features, exposure=exposure, out_of_fold=True
        )
        inputs["y"] = labels(y, as_table(X).shape[0], "y", self.layer_rows_)
        weight = None if sample_weight is None else np.asarray(sample_weight)[self.layer_rows_]
        return inputs | {"sample_weight": weight}

    def with_layer(self, layer: Any) -> Self:
        """Return a copy of the fitted model with another layer for the same features."""
        model = copy(self).set_params(unfairness=layer.unfairness)
        model._store_layer(layer)
        return model

    def as_onnx(self, X: TableLike | None = None, *, exposure: str | None = None) -> Any:
        """Return the model in ONNX, for `fairridge.export.to_onnx`, which describes it."""
        check_is_fitted(self)
        return stack_graph(self, X, exposure)

    @property
    def fingerprint_(self) -> str:
        """SHA-256 digest of the training data of the layer."""
        check_is_fitted(self)
        return str(self.layer_.fingerprint_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _exposure_of(offset: Floats | None, rows: Any) -> dict[str, Any]:
    """Return the exposure of some rows, as an argument of the layer, from its logarithm."""
    return {} if offset is None else {"exposure": np.exp(offset[rows])}
