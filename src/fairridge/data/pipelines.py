"""Estimators of any library: the steps before a model, its bound, and what it reads.

Nothing is asked of them but scikit-learn's conventions. A `Pipeline` is the steps
that make columns, and the model that reads them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fairridge._typing import Floats
from fairridge.arguments import with_largest


def split_pipeline(model: Any) -> tuple[Pipeline | None, Any]:
    """Return the steps before the last one, None if there are none, and the last."""
    if not isinstance(model, Pipeline):
        return None, model
    last = model.steps[-1][1]
    return (model[:-1] if len(model.steps) > 1 else None), last


def with_last(model: Pipeline, steps: Pipeline | None, last: Any) -> Pipeline:
    """Return a pipeline of these steps and this model, with the names of another pipeline."""
    before = [] if steps is None else steps.steps
    return Pipeline([*before, (model.steps[-1][0], last)])


def bound_parameter(model: Any) -> str | None:
    """Return the parameter that bounds unfairness, also of the last step of a pipeline."""
    name = _of_last(model, "unfairness")
    return name if name in model.get_params() else None


def at_bound(model: Any, r: float) -> Any:
    """Return an unfitted copy with this bound; a model without one stays as it is."""
    # Of a model with a bound per attribute this is the largest, and the others are in proportion.
    copy, name = clone(model), bound_parameter(model)
    if name is None:
        return copy
    return copy.set_params(**{name: with_largest(copy.get_params()[name], r)})


def fit_arguments(model: Any, **given: Any) -> dict[str, Any]:
    """Return the arguments beside X and y that `fit` takes, for the last step of a pipeline."""
    _, last = split_pipeline(model)
    return {
        _of_last(model, name): value
        for name, value in given.items()
        if value is not None and has_fit_parameter(last, name)
    }


def takes_sensitive(model: Any) -> bool:
    """Whether predictions can be given S beside X."""
    _, last = split_pipeline(model)
    return "sensitive_features" in inspect.signature(last.predict).parameters


def predicted(model: Any, X: Any, S: Any = None, offset: Any = None) -> Floats:
    """Return predicted numbers of shape (n,), or probabilities of shape (n, K)."""
    # A classifier without probabilities is certain of what it predicts.
    given = {"sensitive_features": S} if S is not None and takes_sensitive(model) else {}
    if offset is not None:
        given["offset"] = offset
    if not is_classifier(model):
        return np.asarray(model.predict(X, **given), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X, **given), dtype=np.float64)
    labels = np.asarray(model.predict(X, **given))
    return (labels[:, None] == np.asarray(model.classes_)).astype(np.float64)


def with_columns_of(X: Any, other: Any, positions: Sequence[int]) -> Any:
    """Return rows in which the columns at these positions are those of other rows."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        changed = np.array(X)
        changed[:, list(positions)] = np.asarray(other)[:, list(positions)]
        return changed
    source = nw.from_native(other, eager_only=True)
    names = [frame.columns[k] for k in positions]
    return frame.with_columns(*(source[name] for name in names)).to_native()


def _of_last(model: Any, parameter: str) -> str:
    """Return what a parameter of the last step is called in a pipeline."""
    return f"{model.steps[-1][0]}__{parameter}" if isinstance(model, Pipeline) else parameter
