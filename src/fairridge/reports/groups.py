"""The printed summary of a model that has groups instead of coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fairridge.data import make_frame
from fairridge.reports.summary import WIDTH, Summary

__all__ = ["GroupSummary"]


@dataclass(frozen=True)
class GroupSummary(Summary):
    """What a model does to each group; print it, or take the table with `to_frame`.

    Attributes
    ----------
    groups : tuple of str
        Labels of the groups.
    columns : dict of str to sequence of float
        One value per group for every measure.
    """

    groups: tuple[str, ...] = ()
    columns: dict[str, Sequence[float]] = field(default_factory=dict)

    def to_frame(self) -> Any:
        """Return the table as a frame, one row per group."""
        columns = {name: list(values) for name, values in self.columns.items()}
        return make_frame({"group": list(self.groups)} | columns, self.backend)

    def __str__(self) -> str:
        first = min(max([5, *map(len, self.groups)]), WIDTH - 15 * len(self.columns))
        names = "".join(f"{name.replace('_', ' '):>15}" for name in self.columns)
        lines = [self.title.center(WIDTH), "=" * WIDTH, *self._fact_lines(), "=" * WIDTH]
        lines += [f"{'group':<{first}}{names}", "-" * WIDTH]
        for k, group in enumerate(self.groups):
            cells = "".join(f"{values[k]:>15.5g}" for values in self.columns.values())
            cut = group if len(group) <= first else group[: first - 1] + "…"
            lines.append(f"{cut:<{first}}{cells}")
        return "\n".join([*lines, "=" * WIDTH, *self.notes])

    __repr__ = __str__
