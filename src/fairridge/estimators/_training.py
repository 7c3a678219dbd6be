"""From what a user passes to rows an engine can sum over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.data import (
    Design,
    Rows,
    Table,
    Unknown,
    as_table,
    learn_design,
    numeric_vector,
    weights,
)
from fairridge.engines import Engine, MemoryEngine
from fairridge.families import Family

__all__ = ["Inputs", "Response", "Training", "read_inputs", "training_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """Everything but the response, without the rows of zero weight.

    Attributes
    ----------
    table, attributes : Table
        X, and S where it came separately.
    n_given : int
        Rows as they were passed.
    keep : ndarray of int or slice
        Which of those have a positive weight.
    weight, offset : ndarray or None
        Of the rows kept.
    """

    table: Table
    attributes: Table | None
    n_given: int
    keep: Any
    weight: Floats | None
    offset: Floats | None

    @property
    def weights(self) -> Floats:
        """Weights, ones where none were given."""
        return np.ones(self.table.shape[0]) if self.weight is None else self.weight


@dataclass(frozen=True)
class Response:
    """A response as a family reads it.

    Attributes
    ----------
    family : Family
        The family, chosen or confirmed by the response.
    values : ndarray of shape (n, c)
        What the family reads.
    targets : ndarray of shape (n, m)
        The response as numbers whose moments mean something.
    classes : ndarray or None
        Labels, for classifiers.
    """

    family: Family
    values: Floats
    targets: Floats
    classes: NDArray[Any] | None = None


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
        The rows before feature maps, where there are any: a training set of
        cross-validation fits them anew.
    """

    design: Design
    engine: Engine
    response: Response
    n_rows: int
    backend: Any
    unmapped: Rows | None = None

    def engine_on(self, positions: NDArray[np.intp]) -> MemoryEngine:
        """Return an engine for some of the rows."""
        if not isinstance(self.engine, MemoryEngine):
            raise TypeError("cross-validation needs the rows in memory.")
        return engine_of(self.engine.rows.take(positions), self.response.family)

    def fold(
        self, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> tuple[MemoryEngine, MemoryEngine]:
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


def training_of(
    inputs: Inputs,
    response: Response,
    *,
    sensitive: Any,
    unknown: Unknown,
    owner: str,
    sensitive_map: Any = None,
    predictor_map: Any = None,
) -> Training:
    """Learn the columns, encode the rows, and map them to features where asked."""
    n = len(response.values)
    if n < 2:
        raise ValueError(f"n_samples={n}: {owner} needs at least two rows with positive weight.")
    design = learn_design(inputs.table, inputs.attributes, sensitive)
    pieces = design.encode(inputs.table, inputs.attributes, unknown, owner=owner)
    rows = Rows(
        *pieces,
        design.encoded_names,
        response.values,
        response.targets,
        inputs.weight,
        inputs.offset if _has_offset(response.family) else None,
    )
    unmapped = None
    if sensitive_map is not None or predictor_map is not None:
        unmapped = rows
        design = design.with_maps(pieces, inputs.weight, sensitive_map, predictor_map)
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
