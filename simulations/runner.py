"""Samples in chunks, on all cores; chunks that are written are not drawn again."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from fairridge.exceptions import BoundWarning
from fairridge.outputs import writing
from simulations import NAMES

EXPERIMENTS: dict[str, ModuleType] = {name: import_module(f"simulations.{name}") for name in NAMES}
CHUNK = 20


@dataclass(frozen=True)
class Chunk:
    """Some samples of one setting.

    Attributes
    ----------
    experiment : str
        Its name.
    setting : dict
        Arguments of its `sample`.
    start, stop : int
        Seeds.
    """

    experiment: str
    setting: dict[str, Any]
    start: int
    stop: int

    def path(self, folder: Path) -> Path:
        """Return where the samples are kept."""
        name = "-".join(f"{key}={value}" for key, value in self.setting.items())
        safe = "".join(c if c.isalnum() or c in "=-._" else "_" for c in name)
        return folder / self.experiment / f"{safe}-{self.start}-{self.stop}.csv"


def run(names: list[str], folder: Path, *, quick: bool, jobs: int) -> dict[str, pd.DataFrame]:
    """Draw all samples that are not there yet, and return all of them by experiment."""
    chunks = [chunk for name in names for chunk in chunks_of(name, quick)]
    left = [chunk for chunk in chunks if not chunk.path(folder).exists()]
    # The longest first, so that no core waits for one at the end.
    left.sort(key=lambda chunk: -float(chunk.setting.get("n", 0)))
    Parallel(n_jobs=jobs)(delayed(_write)(chunk, folder) for chunk in left)
    return {
        name: pd.concat(
            [pd.read_csv(chunk.path(folder)) for chunk in chunks if chunk.experiment == name],
            ignore_index=True,
        )
        for name in names
    }


def chunks_of(name: str, quick: bool) -> list[Chunk]:
    """Divide the samples of an experiment."""
    module = EXPERIMENTS[name]

    def count(setting: dict[str, Any]) -> int:
        repeats = getattr(module, "repeats", lambda _: module.REPEATS)
        return int(module.QUICK if quick else repeats(setting))

    return [
        Chunk(name, setting, k, min(k + CHUNK, count(setting)))
        for setting in module.SETTINGS
        for k in range(0, count(setting), CHUNK)
    ]


def _write(chunk: Chunk, folder: Path) -> None:
    module, rows = EXPERIMENTS[chunk.experiment], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundWarning)  # bounds that are not granted are counted
        for seed in range(chunk.start, chunk.stop):
            rows += [
                {"seed": seed} | chunk.setting | row for row in module.sample(seed, **chunk.setting)
            ]
    path = chunk.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        file.write(pd.DataFrame(rows).to_csv(index=False).encode())
