"""Where results are kept, so that a second run goes on where the first one stopped.

A folder holds one file per part (one run of one experiment on one data set),
written at once when the part is done, and a manifest with what they depend on.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from fairridge.experiments.settings import Settings
from fairridge.experiments.table import Row, Table, write_whole

__all__ = ["FolderError", "Part", "Store"]

# Older files have no checksum.
_FIRST = re.compile(r"# ([0-9.]+) CPU seconds(?:, CRC-32 ([0-9a-f]{8}))?\n")


class FolderError(ValueError):
    """A folder cannot be used, or holds results that may not be mixed with those asked for."""


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
        self._known: dict[Part, tuple[Table, float]] = {}
        manifest = folder / "manifest.json"
        try:
            if manifest.exists():
                _require_same(_manifest(manifest), settings, folder)
            else:
                write_whole(manifest, json.dumps(settings.identity, indent=2) + "\n")
        except OSError as error:
            raise FolderError(
                f"{folder} cannot hold results ({error.strerror}). Choose another folder by --out."
            ) from error

    def has(self, part: Part) -> bool:
        """Whether a part is done and can be read."""
        try:
            self._load(part)
        except (OSError, ValueError):
            return False
        return True

    def damaged(self, part: Part) -> bool:
        """Whether there is a file of a part that cannot be read."""
        return (self.folder / part.file).exists() and not self.has(part)

    def keep(self, part: Part, rows: list[Row], seconds: float) -> None:
        """Keep the results of a part; the first line has their CPU time and a checksum."""
        known = {"case": part.case, "run": part.run}
        text = Table.of({**known, **row} for row in rows).to_csv()
        first = f"# {seconds:.3f} CPU seconds, CRC-32 {_checksum(text)}\n"
        try:
            write_whole(self.folder / part.file, first + text)
        except OSError as error:
            raise FolderError(
                f"{self.folder / part.file} cannot be written ({error.strerror}). Mend that, and "
                "run the same command again."
            ) from error
        self._known.pop(part, None)

    def read(self, part: Part) -> Table:
        """Return the results of a part."""
        return self._load(part)[0]

    def seconds(self, part: Part) -> float:
        """Return how long a part took."""
        return self._load(part)[1]

    def _load(self, part: Part) -> tuple[Table, float]:
        """Read a part once; raise ValueError if it is not whole."""
        if part not in self._known:
            self._known[part] = _parse((self.folder / part.file).read_bytes().decode())
        return self._known[part]


def _parse(text: str) -> tuple[Table, float]:
    first = _FIRST.match(text)
    if first is None or not text.endswith("\n"):
        raise ValueError("not a whole file of results")
    rest = text[first.end() :]
    if first[2] is not None and first[2] != _checksum(rest):
        raise ValueError("the checksum is another one")
    table = Table.parse(rest)
    if not len(table):
        raise ValueError("no results")
    return table, float(first[1])


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _manifest(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise FolderError(
            f"{path} is damaged, so nobody knows what the results next to it are. Choose another "
            "folder by --out, or remove this one."
        )
    return found


def _require_same(found: dict[str, object], settings: Settings, folder: Path) -> None:
    wanted = settings.identity
    different = [key for key in wanted if found.get(key) != wanted[key]]
    if different:
        listed = "; ".join(f"{key}: {found.get(key)} there, {wanted[key]} now" for key in different)
        raise FolderError(
            f"{folder} holds results of other settings ({listed}). Choose another folder by --out, "
            "or remove this one."
        )
