"""Ranges of what comes with the columns: the response, the offset and the weights."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge._arrays import as_float64, namespace, to_host
from fairridge._typing import Floats


@dataclass(frozen=True)
class Extent:
    """Ranges of response and offset, and numbers of rows by the size of their weight."""

    # Those of disjoint rows add.

    # Smallest and largest response, of shape (c,).
    low: Floats
    high: Floats
    offset: tuple[float, float]  # smallest and largest; zeros if there is none
    weights: Counter[int]  # rows by the binary exponent of their weight

    @classmethod
    def of(cls, y: Any, weight: Any, offset: Any) -> Extent:
        """Read rows in arrays of any library: y of shape (n, c), weights and offsets or None."""
        xp = namespace(y)
        low, high = (to_host(extreme(y, axis=0)) for extreme in (xp.min, xp.max))
        shift = (0.0, 0.0) if offset is None else (float(xp.min(offset)), float(xp.max(offset)))
        return cls(low, high, shift, _exponents(weight, int(y.shape[0])))

    def rows_above(self, part: float) -> int:
        """Count rows with more than a part of the largest weight, and with a quarter of it."""
        # Only exponents of weights are known: to a factor of two, as that of the largest is.
        least = max(self.weights) + math.floor(math.log2(part))
        return sum(count for exponent, count in self.weights.items() if exponent >= least)

    def __add__(self, other: Extent) -> Extent:
        return Extent(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            (min(self.offset[0], other.offset[0]), max(self.offset[1], other.offset[1])),
            self.weights + other.weights,
        )


@dataclass(frozen=True)
class ResponseSums:
    """What the first pass over rows finds besides moments; those of disjoint rows add."""

    n_rows: int
    extent: Extent
    offset: float  # Σ w offset
    log_sums: Floats  # logarithms of sums from which a family with the log link starts

    @classmethod
    def of(cls, family: Any, y: Any, weight: Any, weights: Any, offset: Any) -> ResponseSums:
        """Read rows in arrays of any library; `weights` are ones where `weight` is None."""
        ask = getattr(family, "log_sums", None)
        return cls(
            int(y.shape[0]),
            Extent.of(y, weight, offset),
            0.0 if offset is None else float(weights @ offset),
            np.empty(0) if ask is None else ask(y, weights, offset),
        )

    def __add__(self, other: ResponseSums) -> ResponseSums:
        return ResponseSums(
            self.n_rows + other.n_rows,
            self.extent + other.extent,
            self.offset + other.offset,
            np.logaddexp(self.log_sums, other.log_sums),
        )


def _exponents(weight: Any, n_rows: int) -> Counter[int]:
    """Count rows by the exponent of 2 in their weight, which is positive."""
    if weight is None:
        return Counter({0: n_rows})
    xp = namespace(weight)
    exponents = xp.floor(xp.log2(weight))
    if xp is np:
        first = int(exponents.min())
        counts = np.bincount((exponents - first).astype(np.intp))
        return Counter({first + k: int(count) for k, count in enumerate(counts) if count})
    # Few sums on the device: weights of a survey have some ten exponents.
    found: Counter[int] = Counter()
    while found.total() < n_rows:
        largest = xp.max(exponents)
        same = exponents == largest
        found[int(float(largest))] = int(float(xp.sum(as_float64(same))))
        exponents = xp.where(same, xp.full_like(exponents, -math.inf), exponents)
    return found
