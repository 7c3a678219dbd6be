"""Rows that a fitted model is judged on: in memory, or batches of a source."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import narwhals as nw
import numpy as np

from fairridge.data import name_of
from fairridge.estimators._responses import Inputs
from fairridge.metrics.batches import Alike, Batches, InMemory, Streamed, Sums
from fairridge.metrics.comparison import AuditedColumns
from fairridge.metrics.groups import attribute_values, attributes_of
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.sources import RowSource
from fairridge.sources.batch import Batch
from fairridge.sources.encoder import kept_rows
from fairridge.sources.responses import labels_of, numbers_of
from fairridge.sources.roles import Roles
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.read_rows import read_rows
from fairridge.validation.scored_model import ScoredModel

# A row of rows that are not in memory, from which a report takes what they have.
Read = tuple[Inputs, ScoredRows]


@dataclass(frozen=True)
class ReportRows:
    """Rows as they were read and scored, and what all of them decide."""

    batches: Batches  # of `Read`
    example: Read  # all rows in memory, or one of them
    n_rows: int
    columns: AuditedColumns
    name: str  # of the response

    @classmethod
    def in_memory(cls, model: ScoredModel, given: PassedRows, bins: int) -> ReportRows:
        """Read rows at once."""
        read = inputs, rows = read_rows(model, given)
        columns = AuditedColumns.of_rows(rows, bins)
        return cls(InMemory(read), read, inputs.table.shape[0], columns, name_of(given.y))

    @classmethod
    def elsewhere(cls, model: ScoredModel, source: RowSource, bins: int) -> ReportRows:
        """Read rows batch by batch, and look at all of them once."""
        _require_batches(model, source)
        reader = ModelReader(model, source.roles)
        batches = Streamed(source, reader.columns, reader)
        seen = batches.sum(_FirstLook(source.roles, bins))
        columns = AuditedColumns(attributes_of(seen["attributes"], bins))
        name = "".join(source.roles.response)
        return cls(batches, seen["example"].value, seen["rows"], columns, name)

    @property
    def scored(self) -> Batches:
        """The scored rows alone."""
        return self.batches.map(_scored)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the rows are not in memory."""
        return not isinstance(self.batches, InMemory)


def _scored(read: Read) -> ScoredRows:
    return read[1]


def _require_batches(model: ScoredModel, source: RowSource) -> None:
    """Raise unless the model scores batches of rows, and these have what it needs."""
    if model.kind != "linear" or model.steps is not None:
        raise TypeError(
            "a report on rows that are not in memory takes a linear model of fairridge; use "
            "audit(source, predictions), or pass a frame or an array."
        )
    if model.family.reads == "times":
        raise ValueError(
            "a report on times needs the rows in memory: pass a frame or an array, or use "
            "audit(source, predictions)."
        )
    source.roles.require_training()


@dataclass(frozen=True)
class ModelReader:
    """Reads a batch as a fitted model does, and scores it; it travels."""

    model: ScoredModel
    roles: Roles

    @property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns of X, and of S if these came separately at fit."""
        design = self.model.linear._fitted.design
        if design.names is None or (design.separate and design.sensitive_names is None):
            raise ValueError(
                f"this {self.model.name} was fitted to an array without column names; fit it to a "
                "frame, or to rows with names, to report on named columns."
            )
        return design.names, design.sensitive_names if design.separate else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        X, S = self._names
        roles = self.roles
        for name in (*X, *S):
            if name not in roles.columns:
                raise ValueError(
                    f"these rows lack column {name!r}, which was there at fit; they have "
                    f"{', '.join(roles.columns)}."
                )
        return (*X, *S, *roles.response, *roles.extras)

    def __call__(self, batch: Batch) -> Read | None:
        """Read the rows of positive weight; None if there are none."""
        frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
        roles, (X, S) = self.roles, self._names
        keep, weight = kept_rows(frame, roles.weight)
        if not len(np.arange(frame.shape[0])[keep]):
            return None
        if not isinstance(keep, slice):
            frame = frame[keep.tolist(), :]
        (response,) = roles.response
        read = numbers_of if self.model.classes is None else labels_of
        given = PassedRows(
            frame.select(X).to_native(),
            read(frame, response),
            frame.select(S).to_native() if S else None,
            weight,
            None if roles.offset is None else numbers_of(frame, roles.offset),
            None if roles.exposure is None else numbers_of(frame, roles.exposure),
        )
        return read_rows(self.model, given, batch=True)


@dataclass(frozen=True)
class _FirstLook:
    """What all rows decide before they are summed; it travels."""

    roles: Roles
    bins: int

    def __call__(self, read: Read) -> Sums:
        """Look at a batch."""
        inputs, rows = read
        assert rows.attributes is not None
        first = np.array([0])
        example = replace(
            inputs,
            table=inputs.table.take(first),
            attributes=inputs.attributes and inputs.attributes.take(first),
            weight=None if inputs.weight is None else inputs.weight[:1],
            offset=None if inputs.offset is None else inputs.offset[:1],
            keep=slice(None),
        )
        return Sums({
            "attributes": attribute_values(
                rows.attributes, rows.mean_weight, self.bins, self.roles.kinds
            ),
            "rows": len(rows.weight),
            "example": Alike((example, _head(rows))),
        })  # fmt: skip


def _head(rows: ScoredRows) -> ScoredRows:
    """Return the first row."""
    n = len(rows.weight)
    known = {field.name: getattr(rows, field.name) for field in fields(rows)}
    kept: dict[str, Any] = {
        name: values[:1]
        for name, values in known.items()
        if name != "classes" and isinstance(values, np.ndarray) and len(values) == n
    }
    assert rows.attributes is not None
    return replace(rows, attributes=rows.attributes.take(np.array([0])), **kept)
