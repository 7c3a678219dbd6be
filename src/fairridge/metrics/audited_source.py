"""An audit of rows that are not in memory, from sums over their batches in three passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge.data import Table, as_table, log_exposure
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.batches import Streamed, Sums
from fairridge.metrics.comparison import Asked, AuditedColumns, ComparedRows, compare
from fairridge.metrics.groups import Attribute, AttributeValues, written_out
from fairridge.metrics.outcomes import (
    Reading,
    Representatives,
    decide_of_times,
    vector_of,
)
from fairridge.sources import RowSource
from fairridge.sources.batch import Batch
from fairridge.sources.encoder import kept_rows
from fairridge.sources.roles import Roles


@dataclass(frozen=True)
class SourceOptions:
    """What an audit of a source may be asked for; see `audit`."""

    threshold: float | None
    positive: Any
    favorable: Any
    kind: Any
    confidence: float
    bins: int
    small: int
    minimum_share: float
    intersections: bool
    reference: Any
    controls: tuple[str, ...]


@dataclass(frozen=True)
class ReadRows:
    """The rows of positive weight of a batch, as an audit reads them."""

    attributes: Table
    controls: Table | None
    response: NDArray[Any] | None  # None of times, too
    predicted: NDArray[Any]  # of shape (n,) or (n, K)
    weight: Floats
    exposure: Floats | None

    @property
    def columns(self) -> list[NDArray[Any]]:
        """Every column of predictions."""
        return list(np.atleast_2d(self.predicted.T))


@dataclass(frozen=True)
class RowReader:
    """Reads a batch and the predictions for it; a pure function that travels."""

    roles: Roles
    controls: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        roles = self.roles
        extras = [name for name in (roles.weight, roles.exposure) if name is not None]
        names = (*roles.sensitive, *self.controls, *roles.response, *extras)
        return tuple(dict.fromkeys(names))

    def __call__(self, batch: Batch, predicted: NDArray[Any]) -> ReadRows | None:
        """Read the rows of positive weight; None if there are none."""
        roles = self.roles
        frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
        n = frame.shape[0]
        keep, weight = kept_rows(frame, roles.weight)
        response = exposure = None
        if not len(np.arange(n)[keep]):
            return None
        if len(roles.response) == 1:
            (name,) = roles.response
            response = vector_of(frame.get_column(name), n, f"column {name!r}", keep)
        if roles.exposure is not None:
            column, name = frame.get_column(roles.exposure), f"exposure column {roles.exposure!r}"
            exposure = np.exp(log_exposure(column, n, name, keep))
        several = predicted.ndim > 1
        return ReadRows(
            self._table(frame, roles.sensitive, keep),
            self._table(frame, self.controls, keep) if self.controls else None,
            response,
            predicted[keep] if several else vector_of(predicted, n, "the prediction", keep),
            np.ones(n) if weight is None else weight,
            exposure,
        )

    def _table(self, frame: nw.DataFrame[Any], names: Sequence[str], keep: Any) -> Table:
        table = as_table(frame.select(*names).to_native())
        return table if isinstance(keep, slice) else table.take(keep)


@dataclass(frozen=True)
class _FirstLook:
    """What all rows decide before they are summed."""

    roles: Roles
    bins: int

    def __call__(self, rows: ReadRows) -> Sums:
        """Look at a batch."""
        response = None if rows.response is None else Representatives.of(rows.response)
        weight = rows.weight if rows.exposure is None else rows.weight * rows.exposure
        return Sums({
            "attributes": values_of(rows.attributes, weight, self.roles, self.bins),
            "controls": (
                None
                if rows.controls is None
                else values_of(rows.controls, weight, self.roles, self.bins)
            ),
            "response": response,
            "predicted": Sums(dict(enumerate(map(Representatives.of, rows.columns)))),
        })  # fmt: skip


def values_of(table: Table, weight: Floats, roles: Roles, bins: int) -> Sums:
    """Return what a batch knows of its attributes."""
    return Sums({
        k: AttributeValues.of(
            table, k, weight, bins, is_sorted=roles.kinds[table.label(k)] == "text"
        )
        for k in range(table.shape[1])
    })  # fmt: skip


@dataclass(frozen=True)
class _Compared:
    """Makes `ComparedRows` of a batch."""

    columns: AuditedColumns
    controls: tuple[Attribute, ...]
    reading: Reading

    def __call__(self, rows: ReadRows) -> ComparedRows:
        """Group rows and read their predictions."""
        return ComparedRows(
            self.columns.rows(rows.attributes, every_cell=True),
            self.reading.outcomes(rows.response, rows.predicted, rows.weight, rows.exposure),
            classes=self.reading.classes(rows.predicted),
            controls=None if rows.controls is None else written_out(self.controls, rows.controls),
        )


def audit_source(source: RowSource, predictions: Any, options: SourceOptions) -> Audit:
    """Compare the predictions for rows of a source between groups; see `audit`."""
    roles = source.roles
    if not roles.sensitive:
        raise ValueError("name the sensitive column(s): sensitive=… in fairridge.sources.")
    for name in options.controls:
        if name not in roles.names:
            raise ValueError(f"controls names {name!r}; the columns are {', '.join(roles.names)}.")
    reader = RowReader(roles, options.controls)
    batches = Streamed(source.beside(predictions), reader.columns, reader)
    seen = batches.sum(_FirstLook(roles, options.bins))
    attributes = attributes_seen(seen["attributes"], options.bins)
    controls = attributes_seen(seen["controls"], options.bins)
    columns = AuditedColumns.of(attributes, intersections=options.intersections)
    reading = _reading(roles, seen, options)
    asked = Asked(
        columns,
        reading.decided,
        options.confidence,
        options.small,
        options.minimum_share,
        options.reference,
        options.controls,
    )
    return compare(batches.map(_Compared(columns, controls, reading)), asked)


def attributes_seen(seen: Sums | None, bins: int) -> tuple[Attribute, ...]:
    """Say how attributes, or controls, become columns."""
    return () if seen is None else tuple(one.attribute(bins) for one in seen.parts.values())


def _reading(roles: Roles, seen: Sums, options: SourceOptions) -> Reading:
    """Decide how responses and predictions are read."""
    rules = {"threshold": options.threshold, "favorable": options.favorable}
    if len(roles.response) > 1:
        return Reading(decide_of_times(**rules, top=None), None, ())
    response = seen["response"]
    return Reading.of(
        None if response is None else response.values,
        [column.values for column in seen["predicted"].parts.values()],
        "".join(roles.response),
        options.positive,
        kind=options.kind,
        rates=roles.exposure is not None,
        **rules,
    )
