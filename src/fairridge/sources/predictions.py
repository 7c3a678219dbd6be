"""What a model predicts for a batch of rows, as named columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge.data import as_table, require_log_link
from fairridge.sources.batch import Batch
from fairridge.sources.responses import numbers_of
from fairridge.sources.roles import Roles

NAMES = {"predict": "prediction", "predict_proba": "probability", "decision_function": "score"}
# Stands for the predictions and, of classifiers, the probabilities beside them.
BOTH = "predictions and probabilities"


@dataclass(frozen=True)
class BatchPredictor:
    """A fitted model as a function of frames; it travels to where the rows are."""

    model: Any  # the fitted model
    # "predict", "predict_proba", "decision_function", or `BOTH`: predictions and, of
    # classifiers, the probability of the modeled one of two classes, or of each of several.
    method: str
    offset: str | None  # column to add to the linear predictor
    exposure: str | None = None  # column that rates are multiplied by

    @classmethod
    def of(cls, model: Any, method: str, roles: Roles) -> BatchPredictor:
        """Check that the rows have what the model needs."""
        predictor = cls(model, method, roles.offset, roles.exposure)
        inputs = {*predictor.inputs[0], *predictor.inputs[1]}
        for role in roles.offsets:
            name = getattr(roles, role)
            if name in inputs:
                raise ValueError(
                    f"column {name!r} is an input of the model; it cannot be the {role}, too."
                )
        if roles.exposure is not None:
            require_log_link(model.family_.link)
        known = {*roles.columns}
        for name in predictor.columns:
            if name not in known:
                raise ValueError(
                    f"these rows lack column {name!r}, which was there at fit; they have "
                    f"{', '.join(roles.columns)}."
                )
            if name not in roles.kinds:
                raise ValueError(
                    f"column {name!r}, which the model needs, holds neither numbers nor text; "
                    "convert it to what it was at fit."
                )
        return predictor

    @property
    def inputs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns of X, and of sensitive_features if those were separate at fit."""
        design = self.model._fitted.reads
        if design.names is None or (design.separate and design.sensitive_names is None):
            raise ValueError(
                f"this {type(self.model).__name__} was fitted to an array without column names; "
                "fit it to a frame, or to rows with names, to predict for named columns."
            )
        if not design.positions_sensitive:  # the model does not need S
            return tuple(design.names[k] for k in design.positions_predictors), ()
        return design.names, design.sensitive_names if design.separate else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        X, S = self.inputs
        return (*X, *S, *self.offsets.values())

    @property
    def offsets(self) -> dict[str, str]:
        """Columns of the offset and the exposure, as far as there are any."""
        both = {"offset": self.offset, "exposure": self.exposure}
        return {role: name for role, name in both.items() if name is not None}

    def __call__(self, native: Any) -> dict[str, NDArray[Any]]:
        """Predict for the rows of a frame."""
        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        X, S = self.inputs
        options: dict[str, Any] = {
            role: numbers_of(frame, name) for role, name in self.offsets.items()
        }
        if S:
            options["sensitive_features"] = as_table(frame.select(*S).to_native())
        table = as_table(frame.select(*X).to_native())
        return self._gathered(lambda method: getattr(self.model, method)(table, **options))

    def _gathered(self, values_of: Callable[[str], Any]) -> dict[str, NDArray[Any]]:
        """Name the columns of one method, or of both."""
        if self.method != BOTH:
            return self._named(self.method, np.asarray(values_of(self.method)))
        predicted = self._named("predict", np.asarray(values_of("predict")))
        if not hasattr(self.model, "predict_proba"):
            return predicted
        named = self._named("predict_proba", np.asarray(values_of("predict_proba")))
        # Probabilities of two classes say the same twice.
        modeled = f"{NAMES['predict_proba']}_{self.model.positive_}"
        return predicted | ({modeled: named[modeled]} if len(named) == 2 else named)

    def _named(self, method: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        stem = NAMES[method]
        if values.ndim == 1:
            return {stem: values}
        return {f"{stem}_{label}": values[:, k] for k, label in enumerate(self.model.classes_)}

    def example(self) -> dict[str, NDArray[Any]]:
        """Return columns of no rows, with the names and types of all others."""
        return self._gathered(self._no_values)

    def _no_values(self, method: str) -> NDArray[Any]:
        width = len(np.atleast_2d(self.model.coef_))
        if method == "predict":
            kind = self.model.classes_.dtype if hasattr(self.model, "classes_") else np.float64
            return np.empty(0, dtype=kind)
        if method == "predict_proba":
            return np.empty((0, max(width, 2)))
        return np.empty(0) if width == 1 else np.empty((0, width))


@dataclass(frozen=True)
class PredictedRows:
    """Rows of a source with predictions beside them."""

    source: Any
    names: tuple[str, ...]  # columns of the source that hold predictions
    predictor: BatchPredictor | None = None  # what makes them where there are no such columns

    def map_batches(self, work: Callable[..., Any], columns: tuple[str, ...]) -> Any:
        """Add up a function of batches and their predictions, of shape (n,) or (n, K)."""
        beside = self.names if self.predictor is None else self.predictor.columns
        every = tuple(dict.fromkeys((*columns, *beside)))
        shown = partial(_with_predictions, work, self.names, self.predictor)
        return self.source.map_batches(shown, every)


def _with_predictions(
    work: Callable[..., Any],
    names: tuple[str, ...],
    predictor: BatchPredictor | None,
    batch: Batch,
) -> Any:
    """Show a batch and its predictions to a function."""
    if predictor is not None:
        columns = list(predictor(batch.frame).values())
    else:
        frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
        columns = [frame.get_column(name).to_numpy() for name in names]
    return work(batch, columns[0] if len(columns) == 1 else np.column_stack(columns))


def placed_names(count: int) -> tuple[str, ...]:
    """Return names of columns of predictions that no column of the rows has."""
    return tuple(f"(prediction {k})" for k in range(count))


def other_predictions(source: Any, predictions: Any) -> TypeError:
    """Return the error of predictions that are not those of a source."""
    return TypeError(
        f"the predictions of a {type(source).__name__} are what a model returns for it, such as "
        f"model.predict(source), not a {type(predictions).__name__}."
    )
