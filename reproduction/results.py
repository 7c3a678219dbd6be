"""What the experiments found, as frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from reproduction.settings import Settings


class SkippedError(LookupError):
    """Results that are not there, with the reason."""


def pick(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the rows that have these values."""
    for name, value in values.items():
        table = table[table[name] == value]
    return table


@dataclass(frozen=True)
class Results:
    """All results of a reproduction.

    `tables` holds one frame per experiment. `seconds` of CPU time and the
    reasons why something was `skipped` are by experiment and data set. `wall`
    are the seconds that every command took for what it computed.
    """

    settings: Settings
    tables: dict[str, pd.DataFrame]
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    skipped: dict[tuple[str, str], str] = field(default_factory=dict)
    wall: tuple[dict[str, Any], ...] = ()

    def __getitem__(self, experiment: str) -> pd.DataFrame:
        """Return the results of an experiment; raise SkippedError if there are none."""
        table = self.tables.get(experiment)
        if table is None or table.empty:
            reasons = {why for (name, _), why in self.skipped.items() if name == experiment}
            raise SkippedError("; ".join(sorted(reasons)) or f"{experiment!r} was not asked for")
        return table

    def of(self, experiment: str, *cases: str) -> pd.DataFrame:
        """Return the results on some data sets; raise SkippedError if any are not there."""
        table = self[experiment]
        missing = [case for case in cases if case not in set(table["case"])]
        if missing:
            found = [self.skipped.get((experiment, case), "not asked for") for case in missing]
            raise SkippedError("; ".join(dict.fromkeys(found)))
        return table[table["case"].isin(cases)]

    def without(self, *experiments: str) -> str:
        """Say which data sets of experiments were skipped, if any."""
        cases = [case for name, case in self.skipped if name in experiments]
        return f" Skipped: {', '.join(cases)}." if cases else ""

    def wall_text(self) -> str:
        """Say how long it took, if it was measured."""
        if not self.wall:
            return ""
        minutes = sum(one["seconds"] for one in self.wall) / 60.0
        alone = [one["seconds"] for one in self.wall if one["names"] == ["linear"]]
        linear = f" (the linear part: {sum(alone):.0f} s)" if alone else ""
        jobs = max(one["jobs"] for one in self.wall)
        return f"{minutes:.1f} minutes of wall time in {jobs} processes{linear}. "
