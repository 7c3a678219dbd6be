"""Methods of models whose predictions are classes.

A class takes these methods by assignment, such as ``predict = labels.predict``: so
no class has a method that does not apply, and none inherits from two sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from fairridge._arrays import joined, namespace, to_device, to_host
from fairridge._typing import Floats, TableLike, VectorLike
from fairridge.data.classes import labels_by_code, models_first
from fairridge.data.table import labels
from fairridge.estimators._model import FairModel
from fairridge.estimators._training import read_scored
from fairridge.sources import RowSource


def predict(
    self: FairModel,
    X: TableLike,
    *,
    sensitive_features: TableLike | None = None,
    offset: VectorLike | None = None,
) -> NDArray[Any]:
    """Predict the most likely class."""
    if isinstance(X, RowSource):
        return X.predictions(self, "predict")
    scores = self._linear_predictor(X, sensitive_features, offset)
    codes, classes = self.family_.likeliest(_as_columns(scores)), labels_by_code(self)
    if isinstance(codes, np.ndarray):
        predicted: NDArray[Any] = classes[codes]
    elif classes.dtype.kind in "biuf":
        predicted = namespace(codes).take(to_device(classes, codes), codes, axis=0)
    else:  # labels that only NumPy can hold
        predicted = classes[to_host(codes)]
    return predicted


def predict_proba(
    self: FairModel,
    X: TableLike,
    *,
    sensitive_features: TableLike | None = None,
    offset: VectorLike | None = None,
) -> Floats:
    """Return the probabilities of the classes, one column each, in the order of `classes_`."""
    if isinstance(X, RowSource):
        return X.predictions(self, "predict_proba")
    scores = self._linear_predictor(X, sensitive_features, offset)
    by_code: Floats = self.family_.probabilities(_as_columns(scores))
    return joined([by_code[:, 1:], by_code[:, :1]], axis=1) if models_first(self) else by_code


def decision_function(
    self: FairModel,
    X: TableLike,
    *,
    sensitive_features: TableLike | None = None,
    offset: VectorLike | None = None,
) -> Floats:
    """Return scores of `classes_[1]`, or of several classes one column each.

    Of two classes that is the linear predictor, and minus it where `positive_`, which
    coefficients are about, is `classes_[0]`: so it is positive where `classes_[1]` is
    predicted, as in scikit-learn. (With link="cloglog" the two are equally likely not at 0
    but at log(log 2), or at minus that.)
    """
    if isinstance(X, RowSource):
        return X.predictions(self, "decision_function")
    scores = self._linear_predictor(X, sensitive_features, offset)
    return -scores if models_first(self) else scores


def score(
    self: FairModel,
    X: TableLike,
    y: VectorLike | None = None,
    *,
    sensitive_features: TableLike | None = None,
    sample_weight: VectorLike | None = None,
    offset: VectorLike | None = None,
) -> float:
    """Return the accuracy."""
    inputs, scores = read_scored(self, X, y, sensitive_features, sample_weight, offset)
    codes = self.family_.likeliest(_as_columns(scores))
    truth = labels(y, inputs.n_given, "y", inputs.keep)
    return float(accuracy_score(truth, labels_by_code(self)[codes], sample_weight=inputs.weight))


def _as_columns(scores: Floats) -> Floats:
    """Return linear predictors of shape (n, 1) for two classes, (n, K) for more."""
    return scores if scores.ndim == 2 else scores[:, None]
