"""The fair logistic and multinomial models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets

from fairridge.data import is_missing, one_per_row
from fairridge.estimators._fair_ridge import FairRidge
from fairridge.estimators._training import Inputs, Response
from fairridge.families import Binomial, Multinomial

__all__ = ["FairRidgeClassifier"]

Floats = NDArray[np.float64]


class FairRidgeClassifier(ClassifierMixin, FairRidge):
    """Logistic regression whose unfairness is bounded by a number you choose.

    Binomial for two classes; for K > 2 the symmetric multinomial model, with
    one row of coefficients per class that sum to zero over classes. See
    `FairRidgeRegressor` for the model and the attributes.

    Parameters
    ----------
    unfairness : float, default=0.05
        r in [0, 1]: 0 is fair, 1 unconstrained.
    sensitive : str, int or list of these, optional
        Columns of X that are sensitive, by name or position. Alternatively
        pass `sensitive_features` to `fit`, `predict` and `score`.
    definition : str, object or callable, default="statistical-parity"
        What unfairness means; by default the share of the explained deviance
        that the sensitive attributes explain.
    penalty : {"ridge", "radial", "lasso", "elastic-net"} or object, default="ridge"
        Penalty on α.
    predictor_penalty : float, default=0.0
        λ₂ in −2 log-likelihood + λ₂‖β‖², for standardized U.
    standardize : bool, default=True
        Whether the penalties see standardized columns.
    unknown : {"error", "base"}, default="error"
        What a level that was not there at fit does at predict.
    tol : float, default=1e-10
        How closely an active bound is met.
    max_iter : int, default=100
        Steps of the search for λ(r) at most, and passes over the data for each λ.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels, sorted. With two, the model is of the second.
    """

    def predict(
        self, X: Any, *, sensitive_features: Any = None, offset: Any = None
    ) -> NDArray[Any]:
        """Predict the most likely class."""
        scores = self.decision_function(X, sensitive_features=sensitive_features, offset=offset)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(
        self, X: Any, *, sensitive_features: Any = None, offset: Any = None
    ) -> Floats:
        """Return the probabilities of the classes, one column each."""
        scores = self.decision_function(X, sensitive_features=sensitive_features, offset=offset)
        if scores.ndim == 1:
            one = Binomial().mean(scores)
            return np.column_stack([Binomial().mean(-scores), one])
        return self.family_.mean(scores @ self.family_.contrasts)

    def decision_function(
        self, X: Any, *, sensitive_features: Any = None, offset: Any = None
    ) -> Floats:
        """Return the linear predictor: of the second class, or one column per class."""
        return self._linear_predictor(X, sensitive_features, offset)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> float:
        """Return the accuracy."""
        inputs, scores = self._scored(X, sensitive_features, sample_weight, offset)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels = _labels(y, inputs)
        return float(accuracy_score(labels, self.classes_[codes], sample_weight=inputs.weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A bound may cost accuracy.
        tags.classifier_tags.poor_score = bool(self.unfairness < 1.0)
        return tags

    def _response(self, y: Any, inputs: Inputs) -> Response:
        labels = _labels(y, inputs)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes[0]!r}; a classifier needs at least two classes."
            )
        values = codes.astype(np.float64)[:, None]
        if len(classes) == 2:
            return Response(Binomial(), values, values, classes)
        indicators = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
        return Response(Multinomial(len(classes)), values, indicators, classes)


def _labels(y: Any, inputs: Inputs) -> NDArray[Any]:
    """Read one label per row of positive weight."""
    labels = one_per_row(y, inputs.n_given, "y")[inputs.keep]
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity; drop those rows first.")
    if labels.dtype.kind == "O":
        if any(is_missing(label) for label in labels.tolist()):
            raise ValueError("Input y contains NaN or missing labels; drop those rows first.")
        labels = np.array(labels.tolist())  # objects that are all numbers are numbers
    return labels
