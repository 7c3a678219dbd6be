"""Folds of a model that is no linear model of ours: only fit and predict are known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from fairridge.data import Table, as_table, dense_columns, learn_design
from fairridge.estimators._folds import FoldScores
from fairridge.metrics import explained_by_sensitive, scatter_of

__all__ = ["AnyData", "any_fold", "measures", "outcomes"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Fold = tuple[Integers, Integers]


@dataclass(frozen=True)
class AnyData:
    """Data as they were passed, and S as numbers.

    Attributes
    ----------
    X, y, S : object
        As in `fit`; S is None where it is in X.
    attributes : Table
        Sensitive attributes.
    columns : ndarray of shape (n, q)
        The same, encoded.
    """

    X: Any
    y: NDArray[Any]
    S: Any
    attributes: Table
    columns: Floats

    @classmethod
    def of(cls, X: Any, y: Any, S: Any, sensitive: Any) -> AnyData:
        """Encode S, from columns of X or by itself."""
        table = as_table(X)
        separate = None if S is None else as_table(S, argument="sensitive_features")
        design = learn_design(table, separate, sensitive)
        pieces, _ = design.encode(table, separate, "error", owner="this model")
        attributes = table.select(design.positions_sensitive) if separate is None else separate
        columns = dense_columns(pieces, design.sensitive.names)
        return cls(X, np.asarray(y), S, attributes, columns)

    def take(self, rows: Integers) -> AnyData:
        """Return these rows only."""
        S = None if self.S is None else _safe_indexing(self.S, rows)
        return AnyData(
            _safe_indexing(self.X, rows),
            self.y[rows],
            S,
            self.attributes.take(rows),
            self.columns[rows],
        )

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `fit` and `predict` beside X and y."""
        return {} if self.S is None else {"sensitive_features": self.S}


def any_fold(model: Any, data: AnyData, fold: Fold, bounds: Floats) -> list[FoldScores]:
    """Fit on the training rows for every bound, and measure on the validation rows."""
    train, test = (data.take(rows) for rows in fold)
    out = []
    for r in bounds:
        fitted = clone(model).set_params(unfairness=float(r))
        fitted.fit(train.X, train.y, **train.options)
        of_train, of_test = (measures(fitted, part) for part in (train, test))
        out.append(
            FoldScores(
                float(r),
                {
                    "n": len(test.y),
                    "train_loss": of_train["loss"],
                    "loss": of_test["loss"],
                    "train_unfairness": of_train["unfairness"],
                    "achieved_unfairness": of_test["unfairness"],
                    "status": getattr(fitted, "status_", "converged"),
                }
                | {k: v for k, v in of_test.items() if k not in ("loss", "unfairness")},
            )
        )
    return out


def outcomes(model: Any, data: AnyData) -> Floats:
    """Return predicted numbers, or the probability of each class, of shape (n,) or (n, K)."""
    if is_classifier(model):
        return np.asarray(model.predict_proba(data.X, **data.options), dtype=np.float64)
    return np.asarray(model.predict(data.X, **data.options), dtype=np.float64)


def measures(model: Any, data: AnyData) -> dict[str, float]:
    """Loss, unfairness as R² of the predictions on S, and further scores."""
    predicted = outcomes(model, data)
    columns = predicted.reshape(len(data.y), -1)
    # Probabilities of two classes say the same twice.
    columns = columns[:, 1:] if columns.shape[1] == 2 else columns
    joint = scatter_of(np.hstack([data.columns, columns]))
    unfairness = explained_by_sensitive(joint, data.columns.shape[1], columns.shape[1])
    if predicted.ndim == 1:
        rmse = float(np.sqrt(np.mean((predicted - data.y) ** 2)))
        scores = {"loss": rmse, "rmse": rmse, "r_squared": metrics.r2_score(data.y, predicted)}
    else:
        scores = _of_classes(data.y, predicted, model.classes_)
    return {"unfairness": unfairness} | {name: float(value) for name, value in scores.items()}


def _of_classes(y: NDArray[Any], probability: Floats, classes: NDArray[Any]) -> dict[str, float]:
    binary = len(classes) == 2
    labels = classes[probability.argmax(axis=1)]
    options: dict[str, Any] = {"zero_division": 0.0}
    options |= {"pos_label": classes[1]} if binary else {"average": "macro"}
    scores = {
        # Randomized classifiers may give an outcome no chance at all: clipped, as log_loss does.
        "loss": 2.0 * metrics.log_loss(y, probability, labels=classes),
        "accuracy": metrics.accuracy_score(y, labels),
        "f1": metrics.f1_score(y, labels, **options),
        "precision": metrics.precision_score(y, labels, **options),
        "recall": metrics.recall_score(y, labels, **options),
    }
    if len(np.unique(y)) == len(classes):
        scores["auc"] = metrics.roc_auc_score(
            y, probability[:, 1] if binary else probability, multi_class="ovr"
        )
    return scores
