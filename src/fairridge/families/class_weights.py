"""Weights of classes in the deviance."""

from __future__ import annotations

from math import isfinite
from typing import Any

ClassWeights = tuple[float, ...] | None


def check_class_weights(weights: ClassWeights, n_classes: int) -> None:
    """Raise unless every class has a positive weight."""
    if weights is None:
        return
    if len(weights) != n_classes or not all(isfinite(w) and w > 0.0 for w in weights):
        raise ValueError(
            f"class_weights={weights!r} must be {n_classes} positive numbers, one per class."
        )


def weight_of_two(weights: tuple[float, ...], y: Any) -> Any:
    """Return the weight of rows of classes 0 and 1; of a proportion, what is between."""
    return weights[0] + (weights[1] - weights[0]) * y
