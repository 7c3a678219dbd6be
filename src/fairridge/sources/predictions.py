"""What a model predicts for a batch of rows, as named columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge.data import as_table
from fairridge.sources.responses import numbers_of
from fairridge.sources.roles import Roles

__all__ = ["Predictor"]

NAMES = {"predict": "prediction", "predict_proba": "probability", "decision_function": "score"}


@dataclass(frozen=True)
class Predictor:
    """A fitted model as a function of frames; it travels to where the rows are.

    Attributes
    ----------
    model : estimator
        The fitted model.
    method : str
        "predict", "predict_proba" or "decision_function".
    offset : str or None
        Column to add to the linear predictor.
    """

    model: Any
    method: str
    offset: str | None

    @classmethod
    def of(cls, model: Any, method: str, roles: Roles) -> Predictor:
        """Check that the rows have what the model needs."""
        predictor = cls(model, method, roles.offset)
        if roles.offset in (*predictor._inputs[0], *predictor._inputs[1]):
            raise ValueError(
                f"column {roles.offset!r} is an input of the model; it cannot be the offset, too."
            )
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
    def _inputs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns of X, and of sensitive_features if those were separate at fit."""
        design = self.model._reads
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
        X, S = self._inputs
        return (*X, *S, *(() if self.offset is None else (self.offset,)))

    def __call__(self, native: Any) -> dict[str, NDArray[Any]]:
        """Predict for the rows of a frame."""
        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        X, S = self._inputs
        options: dict[str, Any] = {}
        if self.offset is not None:
            options["offset"] = numbers_of(frame, self.offset)
        if S:
            options["sensitive_features"] = as_table(frame.select(*S).to_native())
        values = getattr(self.model, self.method)(as_table(frame.select(*X).to_native()), **options)
        return self._named(np.asarray(values))

    def _named(self, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        stem = NAMES[self.method]
        if values.ndim == 1:
            return {stem: values}
        return {f"{stem}_{label}": values[:, k] for k, label in enumerate(self.model.classes_)}

    def example(self) -> dict[str, NDArray[Any]]:
        """Return columns of no rows, with the names and types of all others."""
        width = len(np.atleast_2d(self.model.coef_))
        if self.method == "predict":
            kind = self.model.classes_.dtype if hasattr(self.model, "classes_") else np.float64
            return self._named(np.empty(0, dtype=kind))
        if self.method == "predict_proba":
            return self._named(np.empty((0, max(width, 2))))
        return self._named(np.empty(0) if width == 1 else np.empty((0, width)))
