"""The rows of a report: all of them in memory, or batches of a source, as a model scores them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from operator import itemgetter
from typing import Any

import narwhals as nw
import numpy as np

from fairridge.estimators._responses import Inputs
from fairridge.metrics.batches import Alike, Batches, InMemory, Streamed
from fairridge.metrics.comparison import AuditedColumns
from fairridge.metrics.groups import attribute_values, attributes_of, sensitive_table
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.sources import RowSource
from fairridge.sources.batch import Batch, Sums
from fairridge.sources.encoder import kept_rows
from fairridge.sources.responses import labels_of, numbers_of
from fairridge.sources.roles import Roles
from fairridge.validation.report.case import Case, rows_of
from fairridge.validation.scored_model import PassedRows, ScoredModel, read_rows, written


@dataclass(frozen=True)
class ReportSettings:
    """What a user may say about a report; see `report`."""

    title: str | None = None
    response: str = ""  # name of the response; "" if it has none
    cv: int | None = None
    bootstrap: int | None = None
    random_state: int = 0
    threshold: float | None = None
    top: float | int | None = None
    positive: Any = None
    favorable: Any = None
    bins: int = 4
    small: int = 30
    source: str | None = None
    date: str | None = None


# Rows as they were read, and as they were scored.
Read = tuple[Inputs, ScoredRows]


@dataclass(frozen=True)
class ReportRows:
    """Rows as they were read and scored, and what all of them decide."""

    batches: Batches  # of `Read`
    inputs: Inputs | None  # as they came; None if they are not in memory
    rows: ScoredRows  # all rows in memory, or one of them
    n_rows: int
    weighted: bool
    columns: AuditedColumns

    @classmethod
    def of(cls, model: ScoredModel, given: PassedRows, options: ReportSettings) -> ReportRows:
        """Read and score rows that a fitted model was not fitted to."""
        if isinstance(given.X, RowSource):
            return cls._of_source(model, given.X, options)
        return cls._in_memory(*read_rows(model, model.inner_rows(given)), options)

    @classmethod
    def of_training(cls, case: Case, options: ReportSettings) -> ReportRows:
        """Return the rows of a fit, which every bound has scores for."""
        training, inputs = case.training, case.inputs
        rows = replace(
            written(rows_of(training), replace(training.response, family=case.problem.family)),
            offset=inputs.offset,
            attributes=sensitive_table(training.design, inputs.table, inputs.attributes),
        )
        return cls._in_memory(inputs, rows, options)

    @classmethod
    def _in_memory(cls, inputs: Inputs, rows: ScoredRows, options: ReportSettings) -> ReportRows:
        n_rows, weighted = inputs.table.shape[0], inputs.weight is not None
        columns = AuditedColumns.of_rows(rows, options.bins)
        return cls(InMemory((inputs, rows)), inputs, rows, n_rows, weighted, columns)

    @classmethod
    def _of_source(
        cls, model: ScoredModel, source: RowSource, options: ReportSettings
    ) -> ReportRows:
        """Look at all rows of a source once, batch by batch."""
        if options.top is not None:
            raise TypeError("top needs the rows in memory: pass a frame or an array.")
        _require_batches(model, source)
        reader = ModelReader(model, source.roles)
        width = len(model.linear._fitted.design.encoded_names)
        batches = Streamed(source, reader.columns, reader).in_pieces(width)
        seen = batches.sum(partial(_first_look, source.roles))
        columns = AuditedColumns(attributes_of(seen["attributes"], options.bins))
        weighted = source.roles.weight is not None
        return cls(batches, None, seen["row"].value, seen["rows"], weighted, columns)

    @property
    def scored(self) -> Batches:
        """The scored rows alone."""
        return self.batches.map(itemgetter(1))


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


def _first_look(roles: Roles, read: Read) -> Sums:
    """Look at a batch for what all rows decide before they are summed."""
    _, rows = read
    assert rows.attributes is not None
    return Sums({
        "attributes": attribute_values(rows.attributes, rows.mean_weight, roles.kinds),
        "rows": len(rows.weight),
        "row": Alike(_head(rows)),
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
