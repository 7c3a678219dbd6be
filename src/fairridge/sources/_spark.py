"""Rows of a Spark DataFrame."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from math import ceil, sqrt
from typing import Any

from fairridge.sources.batch import Batch, add, located, rows_per_batch
from fairridge.sources.predictions import BatchPredictor, PredictedRows, other_predictions
from fairridge.sources.roles import assign_roles, column_types
from fairridge.sources.source import RowSource

# Sums that the driver adds up by itself; more are added on the cluster first.
DRIVER_SUMS = 16


class SparkRows(RowSource):
    """Rows of a Spark DataFrame; see `spark`.

    Attributes
    ----------
    roles : Roles
        Which columns are what.
    ordered : bool
        False: partitions come in any order.

    See Also
    --------
    spark : Makes it.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from fairridge import sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> session = SparkSession.builder.master("local[1]").getOrCreate()
    >>> rows = sources.spark(session.createDataFrame(people), response="wage", sensitive="sex")
    >>> print(type(rows).__name__, rows.ordered)
    SparkRows False
    """

    def __init__(self, data: Any, *roles: Any) -> None:
        self.roles = assign_roles(column_types(data.limit(0).toArrow()), *roles)
        self._data = data

    def map_batches(self, work: Callable[[Batch], Any], columns: tuple[str, ...]) -> Any:
        """Add up a function of the partitions where they are; only sums travel."""
        sums = _numbered(self._data, columns).mapInArrow(_mapper(work, columns), "sums binary")
        parts = self._n_partitions
        if parts is None or parts > DRIVER_SUMS:
            fewer = 2 * DRIVER_SUMS if parts is None else ceil(sqrt(parts))
            sums = sums.repartition(fewer).mapInArrow(_merger, "sums binary")
        return reduce(add, (_unpacked(row[0]) for row in sums.collect()), None)

    @cached_property
    def _n_partitions(self) -> int | None:
        """Return the number of partitions; None if Spark Connect does not say."""
        try:
            return int(self._data.rdd.getNumPartitions())
        except Exception:  # Connect has its own kinds of errors for what it lacks
            return None

    def predictions(self, model: Any, method: str) -> Any:
        """Return the rows with the predictions beside them, as a lazy DataFrame."""
        from pyspark.sql import types

        predictor = BatchPredictor.of(model, method, self.roles)
        schema = types.StructType(list(self._data.schema.fields))
        kinds = {"f": "DoubleType", "i": "LongType", "u": "LongType", "b": "BooleanType"}
        for name, values in predictor.example().items():
            kind = getattr(types, kinds.get(values.dtype.kind, "StringType"))
            schema = schema.add(name, kind())
        names = tuple(self._data.columns)
        return _numbered(self._data, names).mapInArrow(_predicting(predictor, names), schema)

    def beside(self, predictions: Any) -> PredictedRows:
        """Return the rows with predictions for them, which stand beside the rows already."""
        known = self._data.columns
        columns = getattr(predictions, "columns", [])
        names = tuple(columns[len(known) :])
        if list(columns[: len(known)]) != known or not names or {*names} & {*known}:
            raise other_predictions(self, predictions)
        rows = copy(self)
        rows._data = predictions
        return PredictedRows(rows, names)


def _numbered(data: Any, names: tuple[str, ...]) -> Any:
    """Choose columns and call them c0, c1, …: mapInArrow takes a dot in a name for a field."""
    from pyspark.sql import functions

    quoted = (name.replace("`", "``") for name in names)
    return data.select(
        *(functions.col(f"`{name}`").alias(f"c{k}") for k, name in enumerate(quoted))
    )


def _mapper(
    work: Callable[[Batch], Any], names: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function of a partition's record batches that yields one sum."""

    def summed(records: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else int(context.partitionId())
        total, start = None, 0
        try:
            for table in _joined(records, rows_per_batch(len(names))):
                named = table.rename_columns(list(names))
                batch = Batch(named, number, start, f"partition {number}")
                total = add(total, located(work, batch))
                start += table.num_rows
        except ValueError as error:  # as a value: Spark would bury it in a stack of traces
            total = _Failure(str(error))
        yield _packed(total)

    return summed


@dataclass(frozen=True)
class _Failure:
    """What was wrong with the data; it takes the place of a sum."""

    message: str


def _merger(records: Iterator[Any]) -> Iterator[Any]:
    blobs = (value.as_py() for batch in records for value in batch.column(0))
    yield _packed(reduce(_first_failure, map(pickle.loads, blobs), None))


def _first_failure(a: Any, b: Any) -> Any:
    return a if isinstance(a, _Failure) else b if isinstance(b, _Failure) else add(a, b)


def _packed(total: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"sums": pa.array([pickle.dumps(total)], pa.binary())})


def _unpacked(blob: Any) -> Any:
    total = pickle.loads(bytes(blob))
    if isinstance(total, _Failure):
        raise ValueError(total.message)
    return total


def _joined(records: Iterator[Any], size: int) -> Iterator[Any]:
    """Join Spark's small record batches to tables of about `size` rows."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in records:
        waiting.append(batch)
        if sum(record.num_rows for record in waiting) >= size:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    table = pa.Table.from_batches(waiting).combine_chunks() if waiting else None
    if table is not None and table.num_rows:
        yield table


def _predicting(
    predictor: BatchPredictor, names: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def predicted(records: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in records:
            if batch.num_rows:
                table = pa.Table.from_batches([batch]).rename_columns(list(names))
                for name, values in predictor(table).items():
                    table = table.append_column(name, pa.array(values))
                yield from table.combine_chunks().to_batches()

    return predicted


def spark(
    data: Any,
    *,
    response: Any = None,
    sensitive: Any = None,
    predictors: Any = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
) -> SparkRows:
    """Take rows from a Spark DataFrame.

    Each pass is one `mapInArrow` over the partitions; their sums are added on
    the cluster first if they are many, and the rest on the driver. The
    workers need this library. ``data.cache()`` keeps the rows in the cluster's
    memory between passes.

    Parameters
    ----------
    data : pyspark.sql.DataFrame
        The rows.
    response, sensitive, predictors, weight, offset, exposure
        As in `parquet`.

    Returns
    -------
    SparkRows
        What `fit`, `path` and `predict` take instead of (X, y).

    See Also
    --------
    parquet : Rows in files.
    dask : Rows on a Dask cluster.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from fairridge import FairRidgeRegressor, sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> session = SparkSession.builder.master("local[1]").getOrCreate()
    >>> rows = sources.spark(session.createDataFrame(people), response="wage", sensitive="sex")
    >>> print(FairRidgeRegressor(0.05).fit(rows).status_)
    inactive
    """
    if not hasattr(data, "mapInArrow"):
        raise TypeError(
            "sources.spark takes a Spark DataFrame (pyspark 4 or later), not a "
            f"{type(data).__name__}."
        )
    return SparkRows(data, response, sensitive, predictors, weight, offset, exposure)
