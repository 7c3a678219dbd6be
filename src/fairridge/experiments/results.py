"""What the experiments found."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairridge.experiments.settings import Settings
from fairridge.experiments.table import Table

__all__ = ["Results", "SkippedError"]


class SkippedError(LookupError):
    """Results that are not there, with the reason."""


@dataclass(frozen=True)
class Results:
    """All tables of a reproduction.

    Attributes
    ----------
    settings : Settings
        Of these results.
    tables : dict of str to Table
        By experiment: all parts, one after the other.
    seconds : dict of (str, str) to float
        CPU time by experiment and data set.
    skipped : dict of (str, str) to str
        What was skipped, by experiment and data set, and why.
    """

    settings: Settings
    tables: dict[str, Table]
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    skipped: dict[tuple[str, str], str] = field(default_factory=dict)

    def __getitem__(self, experiment: str) -> Table:
        """Return the results of an experiment; raise where there are none."""
        table = self.tables.get(experiment)
        if table is None or not len(table):
            reasons = {why for (name, _), why in self.skipped.items() if name == experiment}
            raise SkippedError("; ".join(sorted(reasons)) or f"{experiment!r} was not asked for")
        return table

    def of(self, experiment: str, *cases: str) -> Table:
        """Return the results on some data sets; raise where there are none on any of them."""
        table = self[experiment].where(lambda row: row["case"] in cases)
        if not len(table):
            found = [self.skipped.get((experiment, case), "not asked for") for case in cases]
            raise SkippedError("; ".join(dict.fromkeys(found)))
        return table

    def without(self, *experiments: str) -> str:
        """Say which data sets of experiments were skipped, if any."""
        cases = [case for name, case in self.skipped if name in experiments]
        return f" Skipped: {', '.join(cases)}." if cases else ""
