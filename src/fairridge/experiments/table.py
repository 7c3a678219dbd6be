"""Results as plain rows, in memory and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.outputs import writing

__all__ = ["Row", "Table", "write_whole"]

Floats = NDArray[np.float64]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows with the same columns: numbers and short texts.

    Attributes
    ----------
    rows : tuple of dict
        The rows.
    """

    rows: tuple[Row, ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Table:
        """Collect rows."""
        return cls(tuple(rows))

    @classmethod
    def parse(cls, text: str) -> Table:
        """Read CSV; what looks like a number is one. Raise ValueError where cells are missing."""
        lines = csv.reader(io.StringIO(text))
        names = next(lines, [])
        return cls(
            tuple(
                {name: _value(cell) for name, cell in zip(names, line, strict=True)}
                for line in lines
            )
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __add__(self, other: Table) -> Table:
        return Table(self.rows + other.rows)

    def where(self, test: Callable[[Row], bool] | None = None, **values: Any) -> Table:
        """Return the rows that have these values, and pass the test."""
        return Table(
            tuple(
                row
                for row in self.rows
                if all(row.get(key) == value for key, value in values.items())
                and (test is None or test(row))
            )
        )

    def column(self, name: str) -> Floats:
        """Return a column of numbers."""
        return np.array([row[name] for row in self.rows], dtype=np.float64)

    def distinct(self, name: str) -> list[Any]:
        """Return the values of a column, in order of appearance."""
        return list(dict.fromkeys(row[name] for row in self.rows))

    def groups(self, *names: str) -> dict[tuple[Any, ...], Table]:
        """Return the rows by their values in some columns, in order of appearance."""
        found: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            found.setdefault(tuple(row[name] for name in names), []).append(row)
        return {key: Table(tuple(rows)) for key, rows in found.items()}

    def to_csv(self) -> str:
        """Write CSV; numbers keep all their digits."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in self.rows)
        return text.getvalue()


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file at once, so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _cell(value: Any) -> Any:
    return float(value) if isinstance(value, np.floating) else value


def _value(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell
