"""Rows that are not in memory, whatever holds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn

from fairridge.rows.batch import Batch
from fairridge.rows.roles import Roles
from fairridge.rows.surveys import Survey, Surveyor

__all__ = ["RowSource"]


class RowSource(ABC):
    """Rows in files or on a cluster, which `fit`, `path` and `predict` take instead of (X, y).

    A subclass says how a function is mapped over its batches and the results
    are added up; everything else follows from that.

    Attributes
    ----------
    roles : Roles
        Which columns are what.
    """

    roles: Roles

    @abstractmethod
    def fold(self, work: Callable[[Batch], Any], columns: tuple[str, ...]) -> Any:
        """Add up what `work` returns for every batch; None where there is nothing to add.

        Parameters
        ----------
        work : callable
            A pure function; it may travel to other processes and machines.
        columns : tuple of str
            The only columns that it looks at.
        """

    def scan(self, step: Callable[[Batch], None], columns: tuple[str, ...]) -> None:
        """Show every batch to `step`, one after the other, in the order of the rows."""
        self.require_order()
        self.fold(step, columns)

    def require_order(self) -> None:
        """Raise unless the rows come in an order that means something."""
        raise ValueError(
            "a Cox model compares each event with all rows still at risk, and needs rows in order "
            "of decreasing time. Sort them by time, descending, write them to Parquet files and "
            "use fairridge.rows.parquet."
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
        """

    def survey(self, *, labels: bool = False) -> Survey:
        """Find the levels of columns that are not numbers, and the labels of the response."""
        self.roles.require_training()
        surveyor = Surveyor(self.roles, labels)
        found: Survey | None = None
        if surveyor.columns:
            found = self.fold(surveyor, surveyor.columns)
        return surveyor.nothing() if found is None else found

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} is not in memory: fit, path, predict and, for gaussian "
            "models, cross_validate take it. Pass a frame or an array here."
        )
