"""What the engine for rows elsewhere asks of those who know where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fairridge.data import Rows

__all__ = ["Encoder", "Placed", "Source"]


@dataclass(frozen=True)
class Placed:
    """Encoded rows of one batch, and where they stand.

    Attributes
    ----------
    rows : Rows
        The rows of positive weight.
    part : int
        Number of the file or partition.
    positions : ndarray of int
        Where in it the rows stand.
    """

    rows: Rows
    part: int
    positions: NDArray[np.intp]


class Encoder(Protocol):
    """How a batch becomes rows; it travels to where the batches are."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        ...

    def __call__(self, batch: Any) -> Placed | None:
        """Encode a batch; None where no row of it has a positive weight."""
        ...

    def only(self, *, sensitive: bool) -> Self:
        """Return an encoder of the response, with S or without it."""
        ...


class Source(Protocol):
    """Batches of rows somewhere."""

    def fold(self, work: Callable[[Any], Any], columns: tuple[str, ...]) -> Any:
        """Add up what `work` returns for every batch; None where there is nothing to add."""
        ...

    def scan(self, step: Callable[[Any], None], columns: tuple[str, ...]) -> None:
        """Show every batch to `step`, one after the other, in the order of the rows."""
        ...
