"""Rows that functions are summed over: all at once in memory, or batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from fairridge.sources.batch import add


@dataclass(frozen=True)
class Sums:
    """Sums by name; those of other rows add. None is the sum of no rows."""

    parts: dict[Any, Any]

    def __add__(self, other: Sums) -> Sums:
        return Sums({name: add(part, other.parts[name]) for name, part in self.parts.items()})

    def __getitem__(self, name: Any) -> Any:
        return self.parts[name]


@dataclass(frozen=True)
class Alike:
    """What all batches have alike, or of which any will do: the first is kept."""

    value: Any

    def __add__(self, other: Alike) -> Alike:
        return self


class Batches(Protocol):
    """Rows, or what was made of them, batch by batch."""

    def sum(self, function: Callable[[Any], Any]) -> Any:
        """Add up a function of the batches; it may travel to other processes."""

    def map(self, function: Callable[[Any], Any]) -> Batches:
        """Return what a function makes of every batch."""


@dataclass(frozen=True)
class InMemory:
    """All rows at once."""

    rows: Any

    def sum(self, function: Callable[[Any], Any]) -> Any:
        """Return a function of the rows."""
        return function(self.rows)

    def map(self, function: Callable[[Any], Any]) -> InMemory:
        """Apply a function once."""
        return InMemory(function(self.rows))


@dataclass(frozen=True)
class Streamed:
    """Rows of a source, which are read again for every sum."""

    source: Any  # what has `map_batches`
    columns: tuple[str, ...]  # that batches are read of
    work: Callable[..., Any]  # what is made of a batch; None if it has no rows

    def sum(self, function: Callable[[Any], Any]) -> Any:
        """Add up a function of the batches, where they are."""
        total = self.source.map_batches(partial(_then, self.work, function), self.columns)
        if total is None:
            raise ValueError("there are no rows with a positive weight.")
        return total

    def map(self, function: Callable[[Any], Any]) -> Streamed:
        """Apply a function to every batch, as it is read."""
        return Streamed(self.source, self.columns, partial(_then, self.work, function))


def _then(first: Callable[..., Any], then: Callable[[Any], Any], *batch: Any) -> Any:
    """Call two functions, one after the other; nothing stays nothing."""
    made = first(*batch)
    return None if made is None else then(made)
