"""The order of two classes: sorted where people read them, the modeled one last by code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.data.pipelines import split_pipeline


def by_code(classes: NDArray[Any], positive: Any) -> NDArray[Any]:
    """Return sorted classes in the order of their codes: the modeled one of two is last."""
    first = positive is not None and len(classes) == 2 and bool(classes[0] == positive)
    return classes[::-1].copy() if first else classes


def labels_by_code(model: Any) -> NDArray[Any]:
    """Return the classes of a fitted classifier by code; other libraries model the second."""
    last = split_pipeline(model)[1]
    return by_code(np.asarray(model.classes_), getattr(last, "positive_", None))


def models_first(model: Any) -> bool:
    """Whether the first of the two classes of a fitted classifier is the one that is modeled."""
    return bool(labels_by_code(model)[0] != model.classes_[0])
