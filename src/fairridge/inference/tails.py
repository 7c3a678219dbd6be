"""Sensitive attributes whose tails are too heavy for certificates.

How exactly rows show the variance of an attribute s depends on the variance of its square
a = (s − E[s])². If the tail index of a is below 2 there is none: the variance of s is that of a few
rows, most samples understate it, and so they do what S explains of scores in the population.

The logarithms of the k largest a, less that of a value just below them, have about an
exponential distribution whose mean is 1/index (Hill 1975), so that their sum tests whether the
index is 2 or more. Larger k find more of the heavy tails, and fail more of the lighter ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import gamma

from fairridge._typing import Floats
from fairridge.engines import Engine

LEAST_INDEX = 2.0
# Level of the test, and the largest k relative to the rows. Of t distributions with 2.5 degrees of
# freedom about three quarters of 800 to 4,000 rows fail, and of exponential ones up to 9 %.
LEVEL, LARGEST_SHARE = 0.1, 0.02


@dataclass(frozen=True)
class _Largest:
    """The largest numbers of some columns; with those of other rows they are one list."""

    values: Floats  # of shape (at most count, c)
    count: int

    def __add__(self, other: _Largest) -> _Largest:
        return largest(np.vstack([self.values, other.values]), self.count)


def largest(values: Floats, count: int) -> _Largest:
    """Return the largest numbers of every column, in falling order."""
    return _Largest(-np.sort(-values, axis=0)[:count], count)


def too_heavy(engine: Engine, center: Floats) -> str | None:
    """Say which sensitive attribute has too heavy a tail, and what to do; None if none has."""
    n, q = engine.n_rows, engine.n_sensitive
    numbers = np.flatnonzero(~np.asarray(engine.moments().binary[:q]))
    count = int(min(np.sqrt(n / 3.0), LARGEST_SHARE * n))
    if not numbers.size or count < 2:
        return None

    # The columns alone, and one of the offset, leave the device of the rows.
    raw = np.vstack([np.eye(len(center))[numbers], np.zeros(len(center))])

    def squares(y: Floats, columns: Floats, weight: Floats) -> Any:
        return largest((columns[:, :-1] - columns[:, -1:]) ** 2, count + 1)

    sums: Any = engine.sum_over_rows(squares, center, np.zeros(len(raw)), raw)
    indexes = [tail_index(column) for column in sums.values.T]
    least = int(np.argmin(indexes))
    if indexes[least] >= LEAST_INDEX * count / gamma.isf(LEVEL, count):
        return None
    return (
        f"the largest values of {engine.names[numbers[least]]!r} decide its variance (the tail "
        f"index of its square is {indexes[least]:.1f}, and {LEAST_INDEX:g} is needed), so other "
        "rows may have a much larger one; give the logarithm of this attribute or bands of its "
        "values"
    )


def tail_index(values: Floats) -> float:
    """Return Hill's estimate from numbers in falling order, the last one below the tail."""
    # The tail begins halfway to the next larger number: of counts many are equal.
    above = values[values > values[-1]]
    if not above.size:
        return np.inf
    start = (np.sqrt(above[-1]) + np.sqrt(values[-1])) ** 2 / 4.0
    excess = np.log(np.maximum(values[:-1] / start, 1.0)).sum()
    return (len(values) - 1) / float(excess)
