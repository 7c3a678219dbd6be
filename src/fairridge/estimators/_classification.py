"""What the classifiers share: labels in, classes and probabilities out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets

from fairridge.data.vectors import labels
from fairridge.estimators._base import FairModel
from fairridge.estimators._training import Inputs, Response
from fairridge.families import Binomial, Multinomial
from fairridge.rows import RowSource
from fairridge.rows.responses import Labels, ResponseReader

__all__ = ["Classification"]

Floats = NDArray[np.float64]


class Classification(ClassifierMixin, FairModel):
    """Classes and probabilities from linear predictors."""

    unfairness: Any
    link: Any = "logit"
    classes_: NDArray[Any]
    family_: Any

    def predict(
        self, X: Any, *, sensitive_features: Any = None, offset: Any = None
    ) -> NDArray[Any]:
        """Predict the most likely class."""
        if isinstance(X, RowSource):
            return X.predictions(self, "predict")
        scores = self.decision_function(X, sensitive_features=sensitive_features, offset=offset)
        return self.classes_[self.family_.likeliest(_by_column(scores))]

    def predict_proba(
        self, X: Any, *, sensitive_features: Any = None, offset: Any = None
    ) -> Floats:
        """Return the probabilities of the classes, one column each."""
        if isinstance(X, RowSource):
            return X.predictions(self, "predict_proba")
        scores = self.decision_function(X, sensitive_features=sensitive_features, offset=offset)
        probabilities: Floats = self.family_.probabilities(_by_column(scores))
        return probabilities

    def decision_function(
        self, X: Any, *, sensitive_features: Any = None, offset: Any = None
    ) -> Floats:
        """Return the linear predictor: of the second class, or one column per class."""
        if isinstance(X, RowSource):
            return X.predictions(self, "decision_function")
        return self._linear_predictor(X, sensitive_features, offset)

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> float:
        """Return the accuracy."""
        inputs, scores = self._scored(X, sensitive_features, sample_weight, offset)
        codes = self.family_.likeliest(_by_column(scores))
        truth = labels(y, inputs.n_given, "y", inputs.keep)
        return float(accuracy_score(truth, self.classes_[codes], sample_weight=inputs.weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A bound may cost accuracy.
        tags.classifier_tags.poor_score = bool(self.unfairness < 1.0)
        return tags

    def _response(self, y: Any, inputs: Inputs) -> Response:
        truth = labels(y, inputs.n_given, "y", inputs.keep)
        check_classification_targets(truth)
        classes, codes = np.unique(truth, return_inverse=True)
        _require_two(classes)
        values = codes.astype(np.float64)[:, None]
        if len(classes) == 2:
            return Response(Binomial(self.link), values, values, classes)
        self._require_softmax(classes)
        indicators = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
        return Response(Multinomial(len(classes)), values, indicators, classes)

    def _require_softmax(self, classes: NDArray[Any]) -> None:
        Binomial(self.link)  # refuses what is no link at all
        if self.link != "logit":
            raise ValueError(
                f"link={self.link!r} is for two classes, and y has {len(classes)}; use "
                "link='logit'."
            )

    _reads_labels = True

    def _streamed_response(self, classes: NDArray[Any]) -> tuple[Response, ResponseReader]:
        # Several of each, because a label per row would look like numbers.
        check_classification_targets(np.repeat(classes, 4))
        _require_two(classes)
        nothing, reader = np.empty((0, 1)), Labels(classes)
        if len(classes) == 2:
            return Response(Binomial(self.link), nothing, nothing, classes), reader
        self._require_softmax(classes)
        indicators = np.empty((0, len(classes)))
        return Response(Multinomial(len(classes)), nothing, indicators, classes), reader


def _by_column(scores: Floats) -> Floats:
    """Return linear predictors of shape (n, 1) for two classes, (n, K) for more."""
    return scores.reshape(len(scores), -1)


def _require_two(classes: NDArray[Any]) -> None:
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {np.asarray(classes[0]).item()!r}; a classifier needs at "
            "least two classes."
        )
