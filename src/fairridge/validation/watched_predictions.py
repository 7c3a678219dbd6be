"""What a monitor watches of a model of any library: its predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats
from fairridge.data import Encoding, Table, as_table, dense_columns
from fairridge.data.columns import CategoricalColumn, encode_columns
from fairridge.data.pipelines import predicted
from fairridge.validation.betting import StreamColumns
from fairridge.validation.watched import refuse_unusual


@dataclass(frozen=True)
class WatchedPredictions:
    """Predicted numbers or probabilities whose R² on S is watched."""

    model: Any
    encoding: Encoding  # how S becomes numbers, as in earlier rows
    names: tuple[str, ...] | None  # of the columns of S; None for an array
    center: Floats  # of S and the score in earlier rows; 0 for levels and probabilities
    unit: Floats  # standard deviations; 1 for levels and probabilities
    fingerprint: str  # of the predictions for earlier rows

    def __str__(self) -> str:
        score = "predicted probabilities" if is_classifier(self.model) else "predictions"
        return f"R² of {score} on S"

    @property
    def bound(self) -> float:
        """Raise: such a model has no bound."""
        raise ValueError(
            f"{type(self.model).__name__} bounds nothing; give the bound to watch as unfairness=…"
        )

    @property
    def columns(self) -> StreamColumns:
        """What the columns of the stream are, and how far apart two rows can be."""
        reach: list[float] = []
        attributes = []
        for column in self.encoding.columns:
            width = column.width
            attributes.append(slice(len(reach), len(reach) + width))
            reach += [1.0 if isinstance(column, CategoricalColumn) else np.inf] * width
        reach.append(1.0 if is_classifier(self.model) else np.inf)
        return StreamColumns(0, tuple(attributes), np.array(reach))

    def rows(self, y: Any, n_rows: int) -> None:
        """Say that all rows are looked at."""

    def shift(self, offset: Any, exposure: Any, n_rows: int) -> None:
        """Refuse what is added to a linear predictor: there is none."""
        for name, values in (("offset", offset), ("exposure", exposure)):
            if values is not None:
                raise TypeError(
                    f"{type(self.model).__name__} has no linear predictor that an {name} could "
                    f"be added to; leave the {name} out."
                )

    def weights(self, weight: Floats, shift: Floats | None) -> Floats:
        """Return the weights of rows, as they were given."""
        return weight

    def values(self, X: Any, sensitive_features: Any, shift: Floats | None) -> Floats:
        """Return S and the score, in units of their spread in earlier rows."""
        if sensitive_features is None:
            raise ValueError("the monitor of this model needs sensitive_features=…")
        S = as_table(sensitive_features, argument="sensitive_features")
        found = np.column_stack([self._encoded(S), _score(self.model, X, sensitive_features)])
        return refuse_unusual((found - self.center) / self.unit)

    def _encoded(self, S: Table) -> Floats:
        places = list(range(len(self.encoding.columns)))
        if self.names is not None and S.names is not None:
            missing = [name for name in self.names if name not in S.names]
            if missing:
                raise ValueError(f"sensitive_features lacks the column {missing[0]!r}.")
            places = [S.names.index(name) for name in self.names]
        elif S.shape[1] != len(places):
            raise ValueError(
                f"sensitive_features has {S.shape[1]} columns, and had {len(places)} before."
            )
        return dense_columns(self.encoding.pieces(S, places, "error"), self.encoding.names)


def watched_predictions(model: Any, X: Any, sensitive_features: Any) -> WatchedPredictions:
    """Watch the predictions of any fitted classifier or regressor.

    Levels of S and units of numbers are those of earlier rows, X and `sensitive_features`.
    """
    check_is_fitted(model)
    if X is None or sensitive_features is None:
        raise ValueError(
            f"the monitor of a {type(model).__name__} takes levels of S and units of numbers from "
            "earlier rows; pass some as X and sensitive_features."
        )
    S = as_table(sensitive_features, argument="sensitive_features")
    encoding = encode_columns(S, range(S.shape[1]), missing="level")
    encoded = dense_columns(encoding.pieces(S, range(S.shape[1]), "error"), encoding.names)
    found = np.column_stack([encoded, _score(model, X, sensitive_features)])
    ends, spread = np.zeros(found.shape[1]), found.std(axis=0)
    digest = sha256(np.ascontiguousarray(found, dtype="<f8").tobytes()).hexdigest()
    plain = WatchedPredictions(model, encoding, S.names, ends, ends + 1.0, digest)
    whole = np.isfinite(plain.columns.reach)  # levels and probabilities stay as they are
    return replace(
        plain,
        center=np.where(whole, 0.0, found.mean(axis=0)),
        unit=np.where(whole | (spread == 0.0), 1.0, spread),
    )


def _score(model: Any, X: Any, S: Any) -> Floats:
    """Return predicted numbers, or probabilities of the second of two classes."""
    scores = predicted(model, X, S)
    if scores.ndim == 1:
        return scores
    if scores.shape[1] != 2:
        raise TypeError("Monitor watches one score; this model has several classes.")
    return scores[:, 1]
