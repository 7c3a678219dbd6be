"""The data every library gets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Problem:
    """Gaussian rows with correlated S and X, as one float64 array [S, X].

    n rows, q sensitive attributes and p predictors.
    """

    name: str
    n: int
    p: int
    q: int

    @cached_property
    def data(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(7)
        Z = rng.standard_normal((self.n, self.q + self.p))
        for j in range(self.p):  # by columns: no second copy of the matrix
            Z[:, self.q + j] += 0.3 * Z[:, j % self.q]
        return Z, Z @ rng.standard_normal(self.q + self.p) + rng.standard_normal(self.n)

    @property
    def size(self) -> str:
        return f"n = {self.n:,}, p = {self.p}, q = {self.q}"

    @property
    def sensitive(self) -> list[int]:
        return list(range(self.q))


PROBLEMS = [
    Problem("small", n=1_000, p=20, q=3),
    Problem("medium", n=100_000, p=50, q=5),
    Problem("large", n=1_000_000, p=100, q=5),
]
