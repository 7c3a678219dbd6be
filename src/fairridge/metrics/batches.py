"""Rows that functions are summed over: all at once in memory, or batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
