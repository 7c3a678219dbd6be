"""The reductions approach to fair classification, through fairlearn."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import (
    ColumnNames,
    Floats,
    Integers,
    MissingValues,
    TableLike,
    UnknownLevels,
    VectorLike,
)
from fairridge._warnings import warn_user
from fairridge.arguments import check_bound, check_bounds, check_count, check_option
from fairridge.data import as_table, dense_columns
from fairridge.data.groups import Groups
from fairridge.estimators import _labels
from fairridge.estimators._checks import check_features
from fairridge.estimators._model import FEWER_FEATURES, FairModel, Traits
from fairridge.estimators._responses import Classes
from fairridge.estimators._storing import store_columns
from fairridge.estimators._training import Training, read_training
from fairridge.exceptions import BoundWarning
from fairridge.families import Binomial
from fairridge.metrics.distances import largest_gap
from fairridge.peers._groups import groups_of, require_predictors, rows_of
from fairridge.peers._predictions import PredictionPath, prediction_path
from fairridge.peers._scaling import on_original_scale
from fairridge.peers.reductions.backend import fairlearn_reductions, fit_mitigator, repeated_rows
from fairridge.reports.groups import GroupSummary
from fairridge.search import Status

__all__ = ["ReductionsClassifier"]


CONSTRAINTS = {"demographic-parity": "DemographicParity", "equalized-odds": "EqualizedOdds"}
# fairlearn's `eps`, its default: by how much a solution may exceed the bound.
SLACK = 0.01


class ReductionsClassifier(ClassifierMixin, FairModel):
    """Fair classification by a mixture of reweighted classifiers.

    The exponentiated-gradient reduction of Agarwal, Beygelzimer, Dudík,
    Langford and Wallach (2018, "A Reductions Approach to Fair Classification"),
    as fairlearn implements it (``pip install 'fairridge[fairlearn]'``). Its
    result is a randomized classifier: classifiers h_t with weights w_t, one of
    which is drawn for every prediction. Nothing is drawn here:
    `predict_proba` has the probability Σ w_t h_t(x) with which the randomized
    classifier predicts the second class, and `predict` the more likely class.

    The bound holds for the randomized classifier, that is, for the group means
    of `predict_proba`. What it comes to for `predict` is in `unfairness_components_`.

    The classifiers use X alone. Sensitive columns of X are taken out of the
    predictors, and S is neither needed nor looked at after fit.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1], fairlearn's `difference_bound`: how far P(ŷ = 1) in a group
        may be from P(ŷ = 1) in all rows. fairlearn may exceed it by 0.01.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`. They must be discrete: categories,
        or numbers with at most 20 distinct values. Several together make one
        group per combination.
    constraint : {"demographic-parity", "equalized-odds"}, default="demographic-parity"
        The second compares groups within each of the two classes of y.
    estimator : scikit-learn classifier, optional
        Fitted to the encoded columns of X with 0/1 labels and sample weights.
        The default is a logistic regression with next to no penalty (C=1e4 on
        standardized columns), which does not depend on the units of the columns.
    max_iter : int, default=50
        Rounds of the exponentiated gradient at most.
    unknown : {"error", "base", "mean"}, default="error"
        How to handle a category at prediction time that was absent when fitting;
        see `FairRidgeRegressor`.
    predictor_map : scikit-learn transformer, optional
        Maps the encoded columns of X to features first.
    sensitive_map : None
        Groups have no features; anything else is an error.
    missing : {"error", "level"}, default="error"
        How to handle missing values of S and X; see `FairRidgeRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, sorted.
    estimators_, weights_ : list of estimator, and ndarray
        h_t and w_t, without those of weight zero.
    groups_ : ndarray of str
        Labels of the groups.
    unfairness_ : float
        What the randomized classifier achieves in training.
    unfairness_components_ : dict of str to float
        The same for the randomized classifier, and for `predict`.
    gap_ : float
        Duality gap: how far the solution is from optimal, at most.
    training_score_ : float
        Accuracy of `predict` in training.
    status_ : str
        "inactive" (the bound is not reached), "converged", "infeasible" (it is
        exceeded by more than 0.01) or "not-converged".
    n_iter_ : int
        Rounds of the exponentiated gradient.

    Notes
    -----
    fairlearn has no sample weights. Whole numbers are taken as repeated rows;
    other weights are an error.
    """

    def __init__(
        self,
        unfairness: float = 0.05,
        *,
        sensitive: ColumnNames | None = None,
        constraint: Literal["demographic-parity", "equalized-odds"] = "demographic-parity",
        estimator: Any = None,
        max_iter: int = 50,
        unknown: UnknownLevels = "error",
        predictor_map: Any = None,
        sensitive_map: Any = None,
        missing: MissingValues = "error",
    ) -> None:
        self.unfairness = unfairness
        self.sensitive = sensitive
        self.constraint = constraint
        self.estimator = estimator
        self.max_iter = max_iter
        self.unknown = unknown
        self.predictor_map = predictor_map
        self.sensitive_map = sensitive_map
        self.missing = missing

    predict = _labels.predict
    decision_function = _labels.decision_function
    score = _labels.score

    @property
    def _traits(self) -> Traits:
        return Traits(needs_sensitive=False, needs_groups=True)

    @property
    def _response_kind(self) -> Classes:
        return Classes(only_two=True)

    def fit(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : frame or array of shape (n, k)
            Predictors, and the sensitive attributes where `sensitive` names them.
        y : array-like of shape (n,)
            Labels of two classes.
        sensitive_features : frame or array of shape (n, q), optional
            Sensitive attributes, where `sensitive` is None.
        sample_weight : array-like of shape (n,), optional
            Whole numbers: how often a row counts.
        """
        check_bound(self.unfairness)
        reductions = fairlearn_reductions()
        training = self._read_two(X, y, sensitive_features, sample_weight)
        return self._fit_to(training, groups_of(training, type(self).__name__), reductions)._warn()

    def path(
        self,
        X: TableLike,
        y: VectorLike | None = None,
        *,
        unfairness: VectorLike | None = None,
        sensitive_features: TableLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> PredictionPath:
        """Fit the models for many bounds, each by itself.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`.
        unfairness : array-like, optional
            The bounds; 0, 0.05, …, 0.5 by default.
        """
        bounds = check_bounds(np.linspace(0.0, 0.5, 11) if unfairness is None else unfairness)
        reductions = fairlearn_reductions()
        training = self._read_two(X, y, sensitive_features, sample_weight)
        grouped = groups_of(training, type(self).__name__)
        models = [
            clone(self).set_params(unfairness=float(r))._fit_to(training, grouped, reductions)
            for r in bounds
        ]
        return prediction_path(models, "accuracy", training.backend)

    def predict_proba(
        self,
        X: TableLike,
        *,
        sensitive_features: TableLike | None = None,
        offset: VectorLike | None = None,
    ) -> Floats:
        """Return the probabilities with which the randomized classifier predicts each class."""
        second = self._linear_predictor(X, sensitive_features, offset) + 0.5
        return np.column_stack([1.0 - second, second])

    def summary(self) -> GroupSummary:
        """Return what the model does to each group, as an object that prints itself."""
        check_is_fitted(self)
        facts = {
            "Classifiers": f"{len(self.weights_)}",
            "Rounds": f"{self.n_iter_}",
            "Rows": f"{self.n_rows_:,}",
            "Accuracy in training": f"{self.training_score_:.4f}",
            "Constraint": str(self.constraint),
            "Bound r": f"{float(self.unfairness):g}",
            "Achieved": f"{self.unfairness_:.6g}",
            "… by predict": f"{self.unfairness_components_['predicted']:.6g}",
            "Status": self.status_,
        }
        notes = (
            f"rate: share of {self.classes_[1]} in y; expected, predicted: the same for the",
            "randomized classifier and for predict, in training.",
        )
        return GroupSummary(
            type(self).__name__,
            tuple(facts.items()),
            (),
            notes,
            self._backend,
            tuple(self.groups_),
            self._group_columns,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # A bound may cost accuracy.
        tags.classifier_tags.poor_score = bool(self.unfairness < 1.0)
        return tags

    # --------------------------------------------------------------- learning

    def _read_two(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Training:
        check_option("constraint", self.constraint, tuple(CONSTRAINTS))
        training = read_training(self, X, y, sensitive_features, sample_weight, None)
        require_predictors(training, type(self).__name__)
        return training

    def _fit_to(
        self, training: Training, grouped: tuple[Groups, Integers], reductions: Any
    ) -> Self:
        rows = rows_of(training.engine, type(self).__name__)
        groups, codes = grouped
        Z = dense_columns(rows.predictors, rows.names[rows.n_sensitive :])
        if self.estimator is None:
            check_features(
                Z, training.design, f"Pass a penalized classifier as estimator. {FEWER_FEATURES}"
            )
        y = rows.response[:, 0].astype(np.intp)
        repeated = repeated_rows(rows.weight, len(y))
        scaler = None if self.estimator is not None else StandardScaler().fit(Z[repeated])
        base = (
            LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=1000)
            if self.estimator is None
            else clone(self.estimator)
        )
        moment = getattr(reductions, CONSTRAINTS[self.constraint])
        mitigator = reductions.ExponentiatedGradient(
            base,
            moment(difference_bound=float(self.unfairness)),
            eps=SLACK,
            max_iter=check_count("max_iter", self.max_iter),
        )
        columns = Z if scaler is None else scaler.transform(Z)
        fit_mitigator(mitigator, columns[repeated], y[repeated], codes[repeated])
        store_columns(self, training)
        self.family_ = Binomial()
        self.groups_ = np.array(groups.labels, dtype=object)
        self._keep(mitigator, scaler)
        self._measure(Z, y, codes, repeated)
        return self

    def _keep(self, mitigator: Any, scaler: StandardScaler | None) -> None:
        """Keep the mixture, not fairlearn's object: that one holds the training rows."""
        kept = [t for t in mitigator.weights_.index if mitigator.weights_[t] > 0.0]
        weights = np.array([float(mitigator.weights_[t]) for t in kept])
        self.weights_ = weights / weights.sum()
        self.estimators_ = [mitigator.predictors_[t] for t in kept]
        if scaler is not None:
            self.estimators_ = [on_original_scale(h, scaler) for h in self.estimators_]
        self.gap_ = float(mitigator.best_gap_)
        self.n_iter_ = int(mitigator.last_iter_) + 1
        # fairlearn stops at a gap that is small against the error's own noise; without any error
        # that is no gap at all, which rounding does not allow.
        self.converged_ = bool(self.gap_ < max(mitigator.nu, 1e-8))

    def _measure(self, Z: Floats, y: Integers, codes: Integers, repeated: Integers) -> None:
        """Measure fairness and accuracy in training."""
        Z, y, codes = Z[repeated], y[repeated], codes[repeated]
        expected = self._mixture(Z)
        predicted = (expected > 0.5).astype(np.float64)
        events = y if self.constraint == "equalized-odds" else np.zeros_like(y)
        self.unfairness_components_ = {
            "randomized": largest_gap(expected, codes, events),
            "predicted": largest_gap(predicted, codes, events),
        }
        self.unfairness_ = self.unfairness_components_["randomized"]
        self.definition_ = str(self.constraint)
        self.training_score_ = float(np.mean(predicted == y))
        self.status_ = self._status(self.unfairness_ - float(self.unfairness))
        self.bound_active_ = self.status_ != "inactive"
        size = np.bincount(codes)
        rates = {"rate": y, "expected": expected, "predicted": predicted}
        self._group_columns: dict[str, Any] = {"rows": size.tolist()} | {
            name: (np.bincount(codes, weights=values) / size).tolist()
            for name, values in rates.items()
        }

    def _status(self, excess: float) -> Status:
        if not self.converged_:
            return "not-converged"
        if excess > SLACK:
            return "infeasible"
        return "converged" if excess > -1e-9 else "inactive"

    def _warn(self) -> Self:
        if self.status_ == "not-converged":
            warn_user(
                f"the exponentiated gradient did not converge in max_iter={self.max_iter} rounds "
                f"(duality gap {self.gap_:.3g}); raise max_iter.",
                ConvergenceWarning,
            )
        elif self.status_ == "infeasible":
            warn_user(
                f"no mixture was found that meets unfairness={float(self.unfairness):g}: the one "
                f"returned has {self.unfairness_:.4g}.",
                BoundWarning,
            )
        return self

    # ------------------------------------------------------------- predicting

    def _mixture(self, Z: Floats) -> Floats:
        """Probability of the second class."""
        votes = [w * h.predict(Z) for w, h in zip(self.weights_, self.estimators_, strict=True)]
        return np.clip(np.sum(votes, axis=0), 0.0, 1.0)

    def _linear_predictor(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        """Return by how much the second class is more likely than ½."""
        check_is_fitted(self)
        if offset is not None:
            raise ValueError(f"{type(self).__name__} takes no offset.")
        check_option("unknown", self.unknown, self._unknown_rules)
        design, name = self._design.without_sensitive(), type(self).__name__
        _, pieces = design.encode(as_table(X), None, self.unknown, estimator_name=name)
        return self._mixture(dense_columns(pieces, design.predictors.names)) - 0.5
