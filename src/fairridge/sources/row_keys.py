"""A random number for every row that depends on nothing but its place and a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Integers

__all__ = ["row_keys"]

Keys = NDArray[np.uint64]


def row_keys(seed: int, part: int, positions: Integers) -> Keys:
    """Return 64 random bits per row.

    The mixing function of Steele, Lea and Flood ("Fast splittable
    pseudorandom number generators", 2014), over seed, part and position: the
    same rows get the same numbers in every pass, on every worker.

    Parameters
    ----------
    seed : int
        Another seed, other numbers.
    part : int
        Number of the file or partition.
    positions : ndarray of int
        Where in it the rows stand.
    """
    start = _mixed(_mixed(np.array([seed], dtype=np.uint64)) + np.uint64(part))
    return _mixed(start + positions.astype(np.uint64))


def _mixed(x: Keys) -> Keys:
    with np.errstate(over="ignore"):  # arithmetic is modulo 2⁶⁴
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
