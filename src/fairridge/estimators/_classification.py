"""What the classifiers share: labels in, classes and probabilities out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets

from fairridge.data import is_missing, one_per_row
from fairridge.estimators._base import FairModel
from fairridge.estimators._training import Inputs, Response
from fairridge.families import Binomial, Multinomial

__all__ = ["Classification"]

Floats = NDArray[np.float64]


class Classification(ClassifierMixin, FairModel):
    """Classes and probabilities from linear predictors."""

    unfairness: Any
    classes_: NDArray[Any]
    family_: Any

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
