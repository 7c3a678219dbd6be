"""The base class of all sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from fairridge.sources.batch import Batch
from fairridge.sources.level_counts import LevelCounts, count_batch
from fairridge.sources.predictions import PredictedRows
from fairridge.sources.roles import Roles


class RowSource(ABC):
    """Rows in files or on a cluster, which `fit`, `path` and `predict` take instead of (X, y).

    A subclass says how a function is mapped over its batches and the results
    are added up; everything else follows from that.

    Attributes
    ----------
    roles : Roles
        Which columns are what.
    ordered : bool
        Whether `map_batches` goes through the rows one batch after the other, in their order.

    See Also
    --------
    frame : The shortest source to read before you write your own.
    parquet : Rows in files.

    References
    ----------
    .. [1] docs/larger-than-memory.md.

    Examples
    --------
    >>> from fairridge.sources import FrameRows, ParquetRows, RowSource
    >>> print(issubclass(FrameRows, RowSource), ParquetRows.ordered)
    True True
    """

    roles: Roles
    ordered = False

    @abstractmethod
    def map_batches(self, work: Callable[[Batch], Any], columns: tuple[str, ...]) -> Any:
        """Map a function over the batches and add up the results; None if there are none.

        Parameters
        ----------
        work : callable
            A pure function; it may travel to other processes and machines.
        columns : tuple of str
            The only columns that it looks at.

        Returns
        -------
        object
            The sum of the results.
        """

    def require_order(self) -> None:
        """Raise unless the rows come in an order that means something."""
        if not self.ordered:
            raise ValueError(
                "a Cox model compares each event with all rows still at risk, and needs rows in "
                "order of decreasing time. Sort them by time, descending, write them to Parquet "
                "files and use fairridge.sources.parquet."
            )

    @abstractmethod
    def predictions(self, model: Any, method: str) -> Any:
        """Return what a fitted model predicts for the rows, as something lazy.

        Parameters
        ----------
        model : estimator
            A fitted model.
        method : {"predict", "predict_proba", "decision_function"}
            What to ask it.

        Returns
        -------
        object
            Lazy predictions of the source's own kind.
        """

    def beside(self, predictions: Any) -> PredictedRows:
        """Return the rows with predictions for them, which `predictions` returned.

        A source of your own needs this to be audited.

        Parameters
        ----------
        predictions : object
            Lazy predictions of the source's own kind.

        Returns
        -------
        PredictedRows
            Both, which functions of batches and their predictions are summed over.
        """
        raise TypeError(f"a {type(self).__name__} cannot be audited: it has no method beside.")

    def count_levels(self, *, labels: bool = False) -> LevelCounts:
        """Count the levels of columns that are not numbers, and the labels of the response."""
        roles = self.roles
        roles.require_training()
        columns = (*roles.with_levels, *(roles.response if labels else ()))
        counts = None
        if columns:
            read = columns if roles.weight is None else (*columns, roles.weight)
            counts = self.map_batches(partial(count_batch, roles, labels), read)
        nothing: dict[str, dict[Any, float]] = {name: {} for name in roles.with_levels}
        return counts or LevelCounts(roles, nothing, {} if labels else None)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} is not in memory: fit, path, predict, audit, report of "
            "new rows and, for gaussian models, cross_validate take it. Pass a frame or an array "
            "here."
        )
