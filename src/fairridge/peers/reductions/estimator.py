"""The reductions approach to fair classification, through fairlearn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from fairridge._typing import Floats, Integers
from fairridge._warnings import warn_user
from fairridge.arguments import check_count, check_option
from fairridge.data import as_table, dense_columns
from fairridge.estimators import _labels
from fairridge.estimators._model import Traits
from fairridge.exceptions import BoundWarning
from fairridge.peers import _predictions
from fairridge.peers._model import costly, on_original_scale, plain_logistic
from fairridge.peers._predictions import GroupedRows, PredictionModel
from fairridge.search import Status

CONSTRAINTS = {"demographic-parity": "DemographicParity", "equalized-odds": "EqualizedOdds"}
# fairlearn's `eps`, its default: by how much a solution may exceed the bound.
SLACK = 0.01


@dataclass(eq=False, repr=False, kw_only=True)
class ReductionsClassifier(ClassifierMixin, PredictionModel):
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
    predictors, and S is not needed after fit.

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
        Maximum number of rounds of the exponentiated gradient.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted class labels.
    positive_ : label
        The class whose rates are constrained, ``classes_[1]``.
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

    See Also
    --------
    FairRidgeClassifier : A bound on shares, for any S.
    BarycenterClassifier : Equal distributions by post-processing.

    Notes
    -----
    fairlearn has no sample weights. Whole numbers are taken as repeated rows;
    other weights are an error.

    References
    ----------
    .. [1] Agarwal, Beygelzimer, Dudík, Langford and Wallach (2018), A reductions approach
        to fair classification, ICML.
    .. [2] docs/peers.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import ReductionsClassifier
    >>> rng = np.random.default_rng(0)
    >>> group, x, noise = rng.choice(["a", "b"], 200), *rng.normal(size=(2, 200))
    >>> y = x + (group == "a") + noise > 0
    >>> model = ReductionsClassifier(0.05).fit(x[:, None], y, sensitive_features=group)
    >>> print(model.predict_proba(x[:2, None]).shape)
    (2, 2)
    """

    constraint: Literal["demographic-parity", "equalized-odds"] = "demographic-parity"
    max_iter: int = 50

    _bounds: ClassVar[Floats] = np.linspace(0.0, 0.5, 11)

    predict = _labels.predict
    decision_function = _labels.decision_function
    score = _labels.score
    predict_proba = _predictions.predict_proba

    def __sklearn_tags__(self) -> Any:
        return costly(self, super().__sklearn_tags__())

    @property
    def _traits(self) -> Traits:
        return Traits(needs_sensitive=False, needs_groups=True)

    def _described(self, settings: Any) -> tuple[dict[str, str], tuple[str, ...]]:
        facts = {
            "Classifiers": f"{len(self.weights_)}",
            "Rounds": f"{self.n_iter_}",
            "Rows": f"{self.n_rows_:,}",
            "Accuracy in training": f"{self.training_score_:.4f}",
            "Constraint": str(settings.constraint),
            "Bound r": f"{float(settings.unfairness):g}",
            "Achieved": f"{self.unfairness_:.6g}",
            "… by predict": f"{self.unfairness_components_['predicted']:.6g}",
            "Status": self.status_,
        }
        notes = (
            f"rate: share of {self.classes_[1]} in y; expected, predicted: the same for the",
            "randomized classifier and for predict, in training.",
        )
        return facts, notes

    # --------------------------------------------------------------- learning

    def _learn(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[GroupedRows, Any]:
        reductions = _fairlearn_reductions()
        check_option("constraint", self.constraint, tuple(CONSTRAINTS))
        return self._read(X, y, sensitive_features, sample_weight), reductions

    def _store(self, learned: tuple[GroupedRows, Any]) -> Self:
        read, reductions = learned
        y = read.rows.response[:, 0].astype(np.intp)
        repeated = _repeated_rows(read.rows.weight, len(y))
        Z, y, codes = read.Z[repeated], y[repeated], read.codes[repeated]
        scaler = StandardScaler().fit(Z) if self.estimator is None else None
        moment = getattr(reductions, CONSTRAINTS[self.constraint])
        mitigator = reductions.ExponentiatedGradient(
            plain_logistic() if self.estimator is None else clone(self.estimator),
            moment(difference_bound=float(self.unfairness)),
            eps=SLACK,
            max_iter=check_count("max_iter", self.max_iter),
        )
        _fit_mitigator(mitigator, Z if scaler is None else scaler.transform(Z), y, codes)
        self._store_groups(read)
        self._keep(mitigator, scaler)
        self._measure(Z, y, codes)
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
        # fairlearn stops at a gap that is small against the error's own noise. Without any error
        # that is a gap of zero, which rounding does not allow.
        self.converged_ = bool(self.gap_ < max(mitigator.nu, 1e-8))

    def _measure(self, Z: Floats, y: Integers, codes: Integers) -> None:
        """Measure fairness and accuracy in training."""
        expected = self._mixture(Z)
        predicted = (expected > 0.5).astype(np.float64)
        events = y if self.constraint == "equalized-odds" else np.zeros_like(y)
        self.unfairness_components_ = {
            "randomized": _largest_gap(expected, codes, events),
            "predicted": _largest_gap(predicted, codes, events),
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

    def _warn(self) -> None:
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

    # ------------------------------------------------------------- predicting

    def _mixture(self, Z: Floats) -> Floats:
        """Probability of the second class."""
        votes = [w * h.predict(Z) for w, h in zip(self.weights_, self.estimators_, strict=True)]
        return np.clip(np.sum(votes, axis=0), 0.0, 1.0)

    def _fair_predictions(self, X: Any, sensitive_features: Any, offset: Any) -> Floats:
        name, design = self._check_prediction(offset)
        _, pieces = design.encode(as_table(X), None, self.unknown, estimator_name=name)
        return self._mixture(dense_columns(pieces, design.predictors.names))


def _fairlearn_reductions() -> Any:
    """Import fairlearn's reductions; the error names the extra to install."""
    try:
        return import_module("fairlearn.reductions")
    except ImportError as error:
        raise ImportError(
            "ReductionsClassifier needs fairlearn: pip install 'fairridge[fairlearn]'"
        ) from error


def _fit_mitigator(mitigator: Any, Z: Floats, y: Integers, codes: Integers) -> None:
    """Fit a mitigator of fairlearn, with clearer errors."""
    with warnings.catch_warnings():
        # Warnings about fairlearn's use of pandas are not for our users.
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        try:
            mitigator.fit(Z, y, sensitive_features=codes)
        except ValueError as error:
            if "sample_weight" not in str(error):
                raise
            raise ValueError(
                "fairlearn cannot weight these rows: all its weights become zero, which happens "
                "if the groups are the classes of y."
            ) from error


def _repeated_rows(weight: Floats | None, n: int) -> Integers:
    """Positions of rows, each as often as its weight."""
    if weight is None:
        return np.arange(n)
    if (weight != np.round(weight)).any():
        raise ValueError(
            f"sample_weight has {weight[weight != np.round(weight)][0]:g}, but "
            "ReductionsClassifier can only count rows: use whole numbers."
        )
    return np.repeat(np.arange(n), weight.astype(np.intp))


def _largest_gap(rates: Floats, codes: Integers, events: Integers) -> float:
    """Largest distance between the mean in a group and the mean in all rows, within events."""
    gaps = [0.0]
    for event in np.unique(events):
        inside = events == event
        overall = rates[inside].mean()
        gaps += [
            abs(float(rates[inside & (codes == code)].mean() - overall))
            for code in np.unique(codes[inside])
        ]
    return max(gaps)
