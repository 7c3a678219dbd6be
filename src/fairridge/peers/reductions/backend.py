"""What is asked of fairlearn, and what it needs."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers

__all__ = ["fairlearn_reductions", "fit_mitigator", "repeated_rows"]


def fairlearn_reductions() -> Any:
    """Import fairlearn's reductions, or say how to install them."""
    try:
        return import_module("fairlearn.reductions")
    except ImportError as error:
        raise ImportError(
            "ReductionsClassifier needs fairlearn: pip install 'fairridge[fairlearn]'"
        ) from error


def fit_mitigator(mitigator: Any, Z: Floats, y: Integers, codes: Integers) -> None:
    """Fit a mitigator of fairlearn, and say in our words what it cannot do."""
    with warnings.catch_warnings():
        # What fairlearn does with pandas does not concern our users.
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        try:
            mitigator.fit(Z, y, sensitive_features=codes)
        except ValueError as error:
            if "sample_weight" not in str(error):
                raise
            raise ValueError(
                "fairlearn cannot weigh these rows: all its weights become zero, which happens "
                "where the groups are the classes of y."
            ) from error


def repeated_rows(weight: Floats | None, n: int) -> Integers:
    """Positions of rows, each as often as its weight says."""
    if weight is None:
        return np.arange(n)
    if (weight != np.round(weight)).any():
        raise ValueError(
            f"sample_weight has {weight[weight != np.round(weight)][0]:g}, but "
            "ReductionsClassifier can only count rows: use whole numbers."
        )
    return np.repeat(np.arange(n), weight.astype(np.intp))
