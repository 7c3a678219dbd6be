"""What `class_weight` means: one weight per class in the deviance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.arguments import check_number
from fairridge.families.class_weights import ClassWeights
from fairridge.metrics import find_label


def balanced(sizes: Floats) -> ClassWeights:
    """Return W/(K·W_k), with which all classes weigh the same."""
    return tuple((sizes.sum() / (len(sizes) * sizes)).tolist())


def class_weights(given: Any, classes: list[Any], sizes: Floats | None) -> ClassWeights:
    """Return the weight of every class; None if all have the same.

    Parameters
    ----------
    given : dict, "balanced" or None
        Weights by label, others 1; or W/(K·W_k), with W_k the sample weight of
        class k of K, as in scikit-learn.
    classes : list
        The labels, in order.
    sizes : ndarray of shape (K,) or None
        W_k; None if the rows are not counted yet.
    """
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        if sizes is None:
            raise ValueError(
                "class_weight='balanced' needs the rows in main memory, to count the classes; "
                "pass a dict of weights."
            )
        return balanced(sizes)
    if not isinstance(given, Mapping):
        raise ValueError(
            f"class_weight={given!r} is not known; use 'balanced', or a dict of weights by label."
        )
    weights = np.ones(len(classes))
    for label, value in given.items():
        known_label = find_label(label, classes)
        if known_label is None:
            known = ", ".join(map(repr, classes))
            raise ValueError(f"class_weight names {label!r}, which is not a class of y: {known}.")
        number = check_number(f"class_weight[{label!r}]", value, minimum=0.0, strict=True)
        weights[classes.index(known_label)] = number
    return tuple(weights.tolist())
