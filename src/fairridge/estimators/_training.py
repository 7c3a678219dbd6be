"""From what a user passes to `fit` to rows an engine can sum over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.data import (
    Design,
    Rows,
    Unknown,
    as_table,
    learn_design,
    numeric_vector,
    weights,
)
from fairridge.engines import Engine, MemoryEngine

__all__ = ["Training", "read_training"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """Training data, ready to be summed over.

    Attributes
    ----------
    design : Design
        What the model remembers of its columns.
    engine : Engine
        Where the rows are.
    n_rows : int
        Rows with a positive weight.
    backend : object
        The frame library of the input; None for arrays.
    """

    design: Design
    engine: Engine
    n_rows: int
    backend: Any


def read_training(
    X: Any,
    y: Any,
    *,
    sensitive: Any,
    sensitive_features: Any,
    sample_weight: Any,
    offset: Any,
    absorb_offset: bool,
    unknown: Unknown,
    owner: str,
) -> Training:
    """Validate and encode training data; rows of zero weight are absent from here on.

    With `absorb_offset` the response is y − offset, which is all an offset
    means to a gaussian model.
    """
    table = as_table(X)
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    n = table.shape[0]
    attributes = (
        None
        if sensitive_features is None
        else as_table(sensitive_features, argument="sensitive_features")
    )
    if attributes is not None and attributes.shape[0] != n:
        raise ValueError(
            f"X has {n} rows but sensitive_features has {attributes.shape[0]}; "
            "pass one row of each per observation."
        )
    response = numeric_vector(y, n, "y")
    weight = weights(sample_weight, n)
    shift = None if offset is None else numeric_vector(offset, n, "offset")
    if weight is not None and not weight.all():
        keep = np.flatnonzero(weight)
        table = table.take(keep)
        attributes = None if attributes is None else attributes.take(keep)
        response, weight = response[keep], weight[keep]
        shift = None if shift is None else shift[keep]
    if len(response) < 2:
        raise ValueError(
            f"n_samples={len(response)}: {owner} needs at least two rows with positive weight."
        )
    if shift is not None and absorb_offset:
        response, shift = response - shift, None
    design = learn_design(table, attributes, sensitive)
    pieces = design.encode(table, attributes, unknown, owner=owner)
    rows = Rows(*pieces, design.encoded_names, response[:, None], weight, shift)
    return Training(design, MemoryEngine(rows), len(response), table.backend)
