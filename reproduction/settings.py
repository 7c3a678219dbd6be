"""What a reproduction depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

import fairridge

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
QUICK_ROWS = 2000


@dataclass(frozen=True)
class Settings:
    """The paper's protocol (section 5.1), unless told otherwise.

    `runs` counts runs of cross-validation, and samples of the synthetic
    examples. `rows` is the size of the random sample that is taken of larger
    data sets, None for all rows. `data_home` is the folder of fairml's files.
    """

    runs: int = 50
    folds: int = 10
    bounds: tuple[float, ...] = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    seed: int = 2022
    rows: int | None = None
    data_home: str | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What two results must share to be put together."""
        return {
            "version": fairridge.__version__,
            "folds": self.folds,
            "bounds": list(self.bounds),
            "seed": self.seed,
            "rows": self.rows,
        }

    def generator(self, run: int, purpose: int = 0) -> np.random.Generator:
        """Return the random numbers of a run, which do not depend on how many runs there are."""
        return np.random.default_rng([self.seed, run, purpose])

    def cut(self, n: int, run: int) -> list[tuple[Positions, Positions]]:
        """Cut n rows into the folds of a run, the same for all models."""
        state = int(self.generator(run, purpose=1).integers(2**31))
        splitter = KFold(self.folds, shuffle=True, random_state=state)
        return list(splitter.split(np.zeros((n, 1))))
