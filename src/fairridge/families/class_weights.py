"""Weights of classes in the deviance."""

from __future__ import annotations

from dataclasses import replace
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


def with_class_weights(family: Any, weights: ClassWeights) -> Any:
    """Return a family with other weights of classes; families that have none stay as they are."""
    if getattr(family, "class_weights", None) == weights:
        return family
    return replace(family, class_weights=weights)


def weight_of_two(weights: tuple[float, ...], y: Any) -> Any:
    """Return the weight of rows of classes 0 and 1; of a proportion, what is between."""
    return weights[0] + (weights[1] - weights[0]) * y
