"""Rows of a dask.dataframe, on threads, processes or a cluster."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial, reduce
from typing import Any

from fairridge.engines import one_blas_thread
from fairridge.sources.batch import Batch, add, located
from fairridge.sources.predictions import (
    BatchPredictor,
    PredictedRows,
    other_predictions,
    placed_names,
)
from fairridge.sources.roles import assign_roles, column_types
from fairridge.sources.source import RowSource

# Sums that one task of the reduction adds up.
FAN_IN = 8


class DaskRows(RowSource):
    """Rows of a dask.dataframe; see `dask`.

    Attributes
    ----------
    roles : Roles
        Which columns are what.
    ordered : bool
        False: partitions come in any order.

    See Also
    --------
    dask : Makes it.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from fairridge import sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> rows = sources.dask(dd.from_pandas(people, npartitions=2), response="wage", sensitive="sex")
    >>> print(type(rows).__name__, rows.ordered)
    DaskRows False
    """

    def __init__(self, collection: Any, *roles: Any) -> None:
        self.roles = assign_roles(column_types(collection._meta), *roles)
        self._collection = collection

    def __repr__(self) -> str:
        return f"DaskRows({self._collection.npartitions} partition(s))"

    def map_batches(self, work: Callable[[Batch], Any], columns: tuple[str, ...]) -> Any:
        """Add up a function of the partitions where they are; only sums travel."""
        from dask import delayed

        summed = delayed(partial(_summed, work), pure=False)
        merged = delayed(partial(reduce, add), pure=False)
        parts = self._collection[list(columns)].to_delayed()
        sums = [summed(part, number) for number, part in enumerate(parts)]
        while len(sums) > 1:
            sums = [merged(sums[k : k + FAN_IN]) for k in range(0, len(sums), FAN_IN)]
        with one_blas_thread():  # partitions are what runs side by side
            return sums[0].compute()

    def predictions(self, model: Any, method: str) -> Any:
        """Return predictions as a lazy series, or a frame if there is one column per class."""
        predictor = BatchPredictor.of(model, method, self.roles)
        chosen = self._collection[list(predictor.columns)]
        predicted = chosen.map_partitions(
            partial(_predicted, predictor), meta=_predicted(predictor, chosen._meta)
        )
        return predicted[predicted.columns[0]] if len(predicted.columns) == 1 else predicted

    def beside(self, predictions: Any) -> PredictedRows:
        """Return the rows with predictions for them, partition by partition."""
        if getattr(predictions, "npartitions", None) != self._collection.npartitions:
            raise other_predictions(self, predictions)
        frame = predictions.to_frame() if predictions.ndim == 1 else predictions
        names, rows = placed_names(len(frame.columns)), copy(self)
        columns = {name: frame.iloc[:, k] for k, name in enumerate(names)}
        rows._collection = self._collection.assign(**columns)
        return PredictedRows(rows, names)


def _summed(work: Callable[[Batch], Any], frame: Any, number: int) -> Any:
    batch = Batch(frame, number, 0, f"partition {number}")
    return located(work, batch) if len(frame) else None


def _predicted(predictor: BatchPredictor, frame: Any) -> Any:
    import pandas as pd

    columns = predictor(frame) if len(frame) else predictor.example()
    return pd.DataFrame(columns, index=frame.index)


def dask(
    collection: Any,
    *,
    response: Any = None,
    sensitive: Any = None,
    predictors: Any = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
) -> DaskRows:
    """Take rows from a dask.dataframe, wherever its partitions are.

    Each pass is one task per partition and a tree of additions, run by the
    scheduler that is active: threads, or the cluster of a
    ``distributed.Client``. What a lost worker was summing is summed elsewhere.
    ``collection.persist()`` keeps the rows of a cluster in its memory between
    passes.

    Parameters
    ----------
    collection : dask.dataframe.DataFrame
        The rows.
    response, sensitive, predictors, weight, offset, exposure
        As in `parquet`.

    Returns
    -------
    DaskRows
        What `fit`, `path` and `predict` take instead of (X, y).

    See Also
    --------
    parquet : Rows in files.
    spark : Rows on a Spark cluster.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from fairridge import FairRidgeRegressor, sources
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(40)})
    >>> people["wage"] = people["age"] % 7 + people["age"]
    >>> rows = sources.dask(dd.from_pandas(people, npartitions=2), response="wage", sensitive="sex")
    >>> print(FairRidgeRegressor(0.05).fit(rows).status_)
    inactive
    """
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise ImportError(
            "fairridge.sources.dask needs Dask: pip install 'fairridge[dask]'"
        ) from error
    if not isinstance(collection, dd.DataFrame):
        raise TypeError(
            f"sources.dask takes a dask.dataframe, not a {type(collection).__name__}; use "
            "sources.frame for frames in memory."
        )
    return DaskRows(collection, response, sensitive, predictors, weight, offset, exposure)
