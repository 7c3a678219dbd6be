"""The rows of a report: all of them in memory, or batches of a source, as a model scores them."""

from __future__ import annotations

from collections.abc import Mapping
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
            batches, kinds = _batches(model, given.X, options), given.X.roles.kinds
            return cls._of_batches(batches, None, options, kinds)
        inputs, rows = read_rows(model, model.inner_rows(given))
        return cls._of_batches(InMemory((inputs, rows)), inputs, options)

    @classmethod
    def of_training(cls, case: Case, options: ReportSettings) -> ReportRows:
        """Return the rows of a fit, which every bound has scores for."""
        training, inputs = case.training, case.inputs
        rows = replace(
            written(rows_of(training), replace(training.response, family=case.problem.family)),
            offset=inputs.offset,
            attributes=sensitive_table(training.design, inputs.table, inputs.attributes),
        )
        return cls._of_batches(InMemory((inputs, rows)), inputs, options)

    @classmethod
    def _of_batches(
        cls,
        batches: Batches,
        inputs: Inputs | None,
        options: ReportSettings,
        kinds: Mapping[str, str] | None = None,
    ) -> ReportRows:
        """Look at all rows once; those in memory are one batch."""
        seen = batches.sum(partial(_first_look, kinds))
        row = seen["row"].value
        backend = None if inputs is None else row.attributes.backend
        columns = AuditedColumns(attributes_of(seen["attributes"], options.bins), backend=backend)
        return cls(batches, inputs, row, seen["rows"], seen["weighted"].value, columns)

    @property
    def scored(self) -> Batches:
        """The scored rows alone."""
        return self.batches.map(itemgetter(1))


def _batches(model: ScoredModel, source: RowSource, options: ReportSettings) -> Batches:
    """Return batches of a source, read and scored; raise unless they have what the model needs."""
    if options.top is not None:
        raise TypeError("top needs the rows in memory: pass a frame or an array.")
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
    reader = ModelReader(model, source.roles)
    width = len(model.linear._fitted.design.encoded_names)
    return Streamed(source, reader.columns, reader).in_pieces(width)


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


def _first_look(kinds: Mapping[str, str] | None, read: Read) -> Sums:
    """Look at rows for what all of them decide before they are summed; batches have `kinds`."""
    inputs, rows = read
    assert rows.attributes is not None
    return Sums({
        "attributes": attribute_values(rows.attributes, rows.mean_weight, kinds),
        "rows": len(rows.weight),
        "weighted": Alike(inputs.weight is not None),
        "row": Alike(rows if kinds is None else _head(rows)),
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
