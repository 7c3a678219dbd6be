"""Rows of a frame in memory, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import reduce
from typing import Any

import narwhals as nw

from fairridge.data import as_native, make_frame
from fairridge.sources.batch import Batch, add, located, rows_per_batch
from fairridge.sources.predictions import (
    BatchPredictor,
    PredictedRows,
    other_predictions,
    placed_names,
)
from fairridge.sources.roles import assign_roles, column_types
from fairridge.sources.source import RowSource


class FrameRows(RowSource):
    """Rows of a frame; see `frame`.

    Attributes
    ----------
    roles : Roles
        Which columns are what.
    ordered : bool
        True: batches come in the order of the rows.

    See Also
    --------
    frame : Makes it.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> from fairridge import sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> rows = sources.frame(people, response="wage", sensitive=["sex"], batch_rows=10)
    >>> print(rows.roles.sensitive)
    ('sex',)
    """

    ordered = True

    def __init__(self, native: Any, batch_rows: int | None, *roles: Any) -> None:
        native = as_native(native)
        self.roles = assign_roles(column_types(native), *roles)
        self._frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        self._batch_rows = batch_rows

    def map_batches(self, work: Callable[[Batch], Any], columns: tuple[str, ...]) -> Any:
        """Add up a function of the batches, one after the other."""
        return reduce(add, (located(work, batch) for batch in self._batches(columns)), None)

    def _batches(self, columns: tuple[str, ...]) -> Iterator[Batch]:
        step, n = self._batch_rows or rows_per_batch(len(columns)), self._frame.shape[0]
        chosen = self._frame.select(columns)
        for start in range(0, n, step):
            stop = min(start + step, n)
            yield Batch(chosen[start:stop, :].to_native(), 0, start, f"rows {start} to {stop - 1}")

    def predictions(self, model: Any, method: str) -> Any:
        """Return predictions as a frame of the same library."""
        predictor = BatchPredictor.of(model, method, self.roles)
        columns = predictor(self._frame.select(predictor.columns).to_native())
        return make_frame(columns, self._frame.implementation)

    def beside(self, predictions: Any) -> PredictedRows:
        """Return the rows with predictions for them."""
        predicted = nw.from_native(as_native(predictions), eager_only=True, allow_series=True)
        if isinstance(predicted, nw.Series):
            predicted = predicted.to_frame()
        if predicted.shape[0] != self._frame.shape[0]:
            raise other_predictions(self, predictions)
        names, rows = placed_names(predicted.shape[1]), copy(self)
        rows._frame = self._frame.with_columns(
            predicted.get_column(column).alias(name)
            for name, column in zip(names, predicted.columns, strict=True)
        )
        return PredictedRows(rows, names)


def frame(
    data: Any,
    *,
    response: Any = None,
    sensitive: Any = None,
    predictors: Any = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    batch_rows: int | None = None,
) -> FrameRows:
    """Take the rows of a frame in memory as one would those of files.

    Small data need no batches; this is for parties of a joint fit that hold
    their rows in a frame, and for trying things out.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame
        The rows.
    response, sensitive, predictors, weight, offset, exposure
        As in `parquet`.
    batch_rows : int, optional
        Rows per batch.

    Returns
    -------
    FrameRows
        What `fit`, `path` and `predict` take instead of (X, y).

    See Also
    --------
    parquet : Rows in files.
    moments : What parties share instead of rows.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> from fairridge import FairRidgeRegressor, sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> rows = sources.frame(people, response="wage", sensitive=["sex"])
    >>> print(FairRidgeRegressor(0.05).fit(rows).coef_names_.tolist())
    ['sex[m]', 'age']
    """
    return FrameRows(data, batch_rows, response, sensitive, predictors, weight, offset, exposure)
