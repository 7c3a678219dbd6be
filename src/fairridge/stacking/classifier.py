"""Classifiers under a bound, whatever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import ClassifierMixin

from fairridge._typing import Floats, TableLike
from fairridge.estimators.classifier import FairRidgeClassifier
from fairridge.stacking._stacking import FairStacking


@dataclass(eq=False, repr=False)
class FairStackingClassifier(ClassifierMixin, FairStacking):
    """Any classifier under a bound that you choose: its scores are the predictors of a fair ridge.

    Learners are fitted to folds. The log-odds that they give to the rows left out are the
    predictors of a `FairRidgeClassifier`, the layer, and S its sensitive attributes.
    For new rows the learners are refitted to all rows. Bound, path, certificate and
    inference are those of the layer, and hold for what it predicts.

    Attributes
    ----------
    layer_ : FairRidgeClassifier
        The fitted layer; `layer_inputs` gives rows as it reads them.
    learners_ : list of list of estimator
        The learners that score new rows, for each entry of `estimators`.
    scores_ : ndarray of shape (n, c)
        Out-of-fold scores, and proxies, that the layer was fitted to.
    layer_rows_ : ndarray of int
        The rows of `fit` that these are of.
    unfairness_, dependence_, status_, converged_, certificate_, family_ : object
        Those of the layer.
    classes_ : ndarray of shape (K,)
        Class labels, sorted.
    positive_ : label or None
        The second of two classes, which the layer is about; None with more classes.

    See Also
    --------
    FairStackingRegressor : The same for numbers, counts and amounts.
    FairRidgeClassifier : The layer.

    Notes
    -----
    The certificate of `confidence` is about a model with fixed features, such as scores that
    were learned on other rows. So a certified fit splits the rows: learners get one half, layer
    and certificate the other. Learners that are fitted to other rows already (prefit=True, not
    blind) are fixed as they are, and all rows are for the layer. certification="out-of-fold"
    uses all rows twice: it takes the out-of-fold scores for those that refitted learners give
    to new rows. Such learners vary less, S explains more of their scores, and in simulations
    r was exceeded in 9 % of samples where 5 % were allowed; more folds (`cv`) bring the two
    closer. Columns that sensitive_map="learned" adds are cross-fitted on the rows of the layer,
    and make a certificate approximate, too.

    References
    ----------
    .. [1] Wolpert (1992), Stacked generalization, Neural Networks 5, 241–259.
    .. [2] "Bounds on predicted means" in docs/model.md.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairridge import FairStackingClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 500)
    >>> skill = rng.normal(size=500) + sex
    >>> hired = skill + sex + rng.normal(size=500) > 1
    >>> model = FairStackingClassifier(
    ...     LogisticRegression(), unfairness=0.02, sensitive=[0], random_state=0
    ... )
    >>> round(model.fit(np.column_stack([sex, skill]), hired).unfairness_, 6)
    0.02
    """

    score = FairStacking.score  # not that of scikit-learn, which does not know S

    def _layer(self) -> FairRidgeClassifier:
        return FairRidgeClassifier(**self._layer_options())

    def predict_proba(self, X: TableLike, *, sensitive_features: TableLike | None = None) -> Floats:
        """Return the probabilities of the classes, one column each."""
        probabilities: Floats = self._layer_predict(X, sensitive_features, "predict_proba")
        return probabilities

    def decision_function(
        self, X: TableLike, *, sensitive_features: TableLike | None = None
    ) -> Floats:
        """Return the linear predictor of the layer."""
        scores: Floats = self._layer_predict(X, sensitive_features, "decision_function")
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A bound may cost accuracy.
        tags.classifier_tags.poor_score = bool(self.unfairness != 1.0)
        return tags
