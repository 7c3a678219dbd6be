"""Where results are kept, so that a second run goes on where the first one stopped.

A folder holds one file per part (one run of one experiment on one data set),
written at once when the part is done, and a manifest with what they depend on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from fairridge.experiments.settings import Settings
from fairridge.experiments.table import Row, Table, write_whole

__all__ = ["OtherSettingsError", "Part", "Store"]


class OtherSettingsError(ValueError):
    """A folder holds results that may not be mixed with those asked for."""


@dataclass(frozen=True)
class Part:
    """One piece of work: one run of an experiment on one data set.

    Attributes
    ----------
    experiment, case : str
        The experiment, and the data set or example in it.
    run : int
        Number of the run, from 0.
    """

    experiment: str
    case: str
    run: int

    @property
    def file(self) -> Path:
        """Where its results are, within the folder."""
        name = "".join(c if c.isalnum() else "-" for c in self.case.lower())
        return Path("parts", self.experiment, name, f"run-{self.run:03}.csv")


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : Path
        Made where it does not exist.
    settings : Settings
        Those of this reproduction; results of others are not touched.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        manifest = folder / "manifest.json"
        if manifest.exists():
            _require_same(json.loads(manifest.read_text(encoding="utf-8")), settings, folder)
        else:
            write_whole(manifest, json.dumps(settings.identity, indent=2) + "\n")

    def has(self, part: Part) -> bool:
        """Whether a part is done."""
        return (self.folder / part.file).exists()

    def keep(self, part: Part, rows: list[Row], seconds: float) -> None:
        """Keep the results of a part, with the CPU time they took in the first line."""
        known = {"case": part.case, "run": part.run}
        text = Table.of({**known, **row} for row in rows).to_csv()
        write_whole(self.folder / part.file, f"# {seconds:.3f} CPU seconds\n{text}")

    def read(self, part: Part) -> Table:
        """Return the results of a part."""
        _, _, text = self._text(part).partition("\n")
        return Table.parse(text)

    def seconds(self, part: Part) -> float:
        """Return how long a part took."""
        return float(self._text(part).split(maxsplit=2)[1])

    def _text(self, part: Part) -> str:
        return (self.folder / part.file).read_text(encoding="utf-8")


def _require_same(found: dict[str, object], settings: Settings, folder: Path) -> None:
    wanted = settings.identity
    different = [key for key in wanted if found.get(key) != wanted[key]]
    if different:
        listed = "; ".join(f"{key}: {found.get(key)} there, {wanted[key]} now" for key in different)
        raise OtherSettingsError(
            f"{folder} holds results of other settings ({listed}). Choose another folder by --out, "
            "or remove this one."
        )
