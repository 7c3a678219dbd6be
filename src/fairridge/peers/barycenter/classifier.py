"""Any classifier, with its probabilities moved to the Wasserstein barycenter of the groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import StandardScaler

from fairridge._typing import Floats
from fairridge.data import Rows
from fairridge.estimators import _labels
from fairridge.peers import _predictions
from fairridge.peers._model import costly, on_original_scale, plain_logistic
from fairridge.peers.barycenter._base import Barycenter


class BarycenterClassifier(ClassifierMixin, Barycenter):
    """Classifier whose probabilities have the same distribution in every group.

    The post-processor of `BarycenterRegressor`, applied to the probability
    that a classifier gives to ``classes_[1]``. At r = 0 the probabilities are
    independent of the group, so that any threshold selects the same share of
    every group: statistical parity of decisions, for a forest or gradient
    boosting as well as for a linear model.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1]: 0 is the barycenter, 1 the classifier itself. In between
        probabilities are √r p + (1 − √r) T_s(p), which keeps the share r of
        Σ_g p_g W₂²(p | g, barycenter).
    estimator : scikit-learn classifier, optional
        Fitted to the encoded columns [S, X]; it needs `predict_proba`. The
        default is a logistic regression with hardly any penalty.
    split : float, optional
        Share of the rows, within each group, for the classifier; the others
        serve the maps. By default all rows serve both; a classifier that fits
        its training rows closely, such as a forest, needs a split.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted class labels.
    positive_ : label
        The class whose probabilities are transported, ``classes_[1]``.
    estimator_ : estimator
        The fitted classifier.
    groups_ : ndarray of str
        Labels of the groups.
    maps_ : tuple of Transport
        T of each group, with `support` and `image`.
    unfairness_ : float
        Share of the unfairness of the classifier that is left in training: r,
        or 0 if the groups do not differ.
    unfairness_components_ : dict of str to float
        The unfairness that is left, that of the classifier, and the share of
        the variance of probabilities that the groups explain.
    training_score_ : float
        Accuracy in training.
    status_ : str
        "inactive" if the probabilities are those of the classifier, else "converged".

    See Also
    --------
    BarycenterRegressor : The same for numbers, with the formulas.

    References
    ----------
    .. [1] Chzhen, Denis, Hebiri, Oneto and Pontil (2020), Fair regression with Wasserstein
        barycenters, NeurIPS.
    .. [2] docs/peers.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import BarycenterClassifier
    >>> rng = np.random.default_rng(0)
    >>> group, x = rng.choice(["a", "b"], 200), rng.normal(size=200)
    >>> y = x + (group == "a") + rng.normal(size=200) > 0
    >>> model = BarycenterClassifier(0).fit(x[:, None], y, sensitive_features=group)
    >>> fitted = model.predict_proba(x[:, None], sensitive_features=group)[:, 1]
    >>> print(abs(fitted[group == "a"].mean() - fitted[group == "b"].mean()) < 0.02)
    True
    """

    predict = _labels.predict
    decision_function = _labels.decision_function
    score = _labels.score
    predict_proba = _predictions.predict_proba

    def __sklearn_tags__(self) -> Any:
        return costly(self, super().__sklearn_tags__())

    def _default(self, rows: Rows, Z: Floats) -> Any:
        scaler = StandardScaler().fit(Z, sample_weight=rows.weight)
        model = plain_logistic()
        model.fit(scaler.transform(Z), rows.response[:, 0].astype(int), sample_weight=rows.weight)
        return on_original_scale(model, scaler)

    def _predicted(self, estimator: Any, Z: Floats) -> Floats:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"estimator {type(estimator).__name__} has no predict_proba; use a classifier "
                "that has, or put CalibratedClassifierCV around it."
            )
        both = np.asarray(estimator.predict_proba(Z), dtype=np.float64)
        # With a split, the rows of a classifier may have a single class.
        return both[:, -1] if both.shape[1] == 2 else np.full(len(Z), float(estimator.classes_[0]))

    def _scored(self, y: Floats, predicted: Floats, weight: Floats) -> float:
        return float(np.average((predicted > 0.5) == (y > 0.5), weights=weight))
