"""From what a user passes to rows an engine can sum over."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fairridge._typing import Floats, Integers
from fairridge.data import Design, Rows, as_table, learn_design, numeric_vector, weights
from fairridge.engines import Engine, MemoryEngine, threads_for_blocks
from fairridge.estimators._model import FairModel
from fairridge.estimators._responses import Inputs, Response
from fairridge.families import Family
from fairridge.sources import RowMoments, RowSource

__all__ = ["Training", "engine_of", "read_inputs", "read_rows", "read_scored"]


@dataclass(frozen=True)
class Training:
    """Training data, ready to be summed over.

    Attributes
    ----------
    design : Design
        What the model remembers of its columns.
    engine : Engine
        Where the rows are.
    response : Response
        The family and its classes.
    n_rows : int
        Rows with a positive weight.
    backend : object
        The frame library of the input; None for arrays.
    unmapped : Rows or None
        The rows before feature maps, if there are any: a training set of
        cross-validation fits them anew.
    """

    design: Design
    engine: Engine
    response: Response
    n_rows: int
    backend: Any
    unmapped: Rows | None = None

    def threads(self) -> AbstractContextManager[None]:
        """Share the cores: a gaussian model is all matrices, the others are passes over rows."""
        if self.response.family.least_squares:
            return nullcontext()
        return threads_for_blocks(len(self.engine.names))

    def engine_on(self, positions: NDArray[np.intp]) -> MemoryEngine:
        """Return an engine for some of the rows."""
        if not isinstance(self.engine, MemoryEngine):
            raise TypeError("cross-validation needs the rows in memory.")
        return engine_of(self.engine.rows.take(positions), self.response.family)

    def fold(self, train: Integers, test: Integers) -> tuple[MemoryEngine, MemoryEngine]:
        """Return engines for training and validation rows, with maps fitted to the first."""
        if self.unmapped is None:
            return self.engine_on(train), self.engine_on(test)
        parts = [self.unmapped.take(positions) for positions in (train, test)]
        design = self.design.refitted((parts[0].sensitive, parts[0].predictors), parts[0].weight)
        first, second = (
            engine_of(
                part.with_columns(
                    *design.map((part.sensitive, part.predictors)), design.encoded_names
                ),
                self.response.family,
            )
            for part in parts
        )
        return first, second


def read_inputs(X: Any, sensitive_features: Any, sample_weight: Any, offset: Any) -> Inputs:
    """Validate what comes with a response, and leave out rows of zero weight."""
    table = as_table(X)
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
    weight = weights(sample_weight, n)
    keep: Any = slice(None)
    if weight is not None and not weight.all():
        keep = np.flatnonzero(weight)
        table, weight = table.take(keep), weight[keep]
        attributes = None if attributes is None else attributes.take(keep)
    shift = None if offset is None else numeric_vector(offset, n, "offset", keep)
    return Inputs(table, attributes, n, keep, weight, shift)


def read_rows(
    model: FairModel, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, offset: Any
) -> Training:
    """Read rows in memory: learn the columns, encode them, and map them to features if asked."""
    name = type(model).__name__
    inputs = read_inputs(X, sensitive_features, sample_weight, offset)
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    response = model._response_kind.read(y, inputs)
    n = len(response.values)
    if n < 2:
        raise ValueError(f"n_samples={n}: {name} needs at least two rows with positive weight.")
    design = learn_design(inputs.table, inputs.attributes, model.sensitive)
    pieces = design.encode(inputs.table, inputs.attributes, model.unknown, estimator_name=name)
    rows = Rows(
        *pieces,
        design.encoded_names,
        response.values,
        response.targets,
        inputs.weight,
        inputs.offset if _has_offset(response.family) else None,
    )
    unmapped = None
    if model.sensitive_map is not None or model.predictor_map is not None:
        unmapped = rows
        design = design.with_maps(pieces, inputs.weight, model.sensitive_map, model.predictor_map)
        rows = rows.with_columns(*design.map(pieces), design.encoded_names)
    engine = engine_of(rows, response.family)
    return Training(design, engine, response, n, inputs.table.backend, unmapped)


def _has_offset(family: Family) -> bool:
    """Whether an offset is for the passes over the rows.

    A gaussian response is read less its offset; of classes, what is added to
    the linear predictors of all of them cancels.
    """
    return not family.least_squares and family.n_predictors == 1


def engine_of(rows: Rows, family: Family) -> MemoryEngine:
    """Sum over rows as a family needs it."""
    return MemoryEngine(rows, separable=family.separable, many_passes=not family.least_squares)


def read_scored(
    model: FairModel, X: Any, sensitive_features: Any, sample_weight: Any, offset: Any
) -> tuple[Inputs, Floats]:
    """Return the rows of positive weight, and their linear predictors."""
    check_is_fitted(model)
    if isinstance(X, RowSource | RowMoments):
        raise TypeError(
            "score needs rows in memory: pass a frame and its response, or write predictions "
            "of these rows and compare them."
        )
    attributes = None
    if model._traits.needs_sensitive:
        attributes = model._design.attributes(
            sensitive_features, estimator_name=type(model).__name__
        )
    inputs = read_inputs(X, attributes, sample_weight, offset)
    return inputs, model._linear_predictor(inputs.table, inputs.attributes, inputs.offset)
