"""Numbers cut into groups: single values if there are few, intervals of equal weight otherwise."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers

# Groups of a numeric attribute.
BINS = 4
# Rows that are looked at first.
FIRST_LOOK_ROWS = 1000
# Distinct values that are kept apart; of more, neighbors share a cell.
MAX_DISTINCT_VALUES = 1 << 16
# Binary digits of numbers, and how many fewer are tried next to form cells.
DIGITS: int = np.finfo(np.float64).nmant
DIGIT_STEP = 4


@dataclass(frozen=True)
class Bands:
    """Groups of numbers: names, and the largest value of every group but the last."""

    labels: tuple[str, ...]
    edges: NDArray[Any]

    @classmethod
    def of(cls, column: NDArray[Any], weight: Floats, bins: int = BINS) -> Bands:
        """Cut numbers, none of which is missing, at their values or at weighted quantiles."""
        values = _few_values(column, max(bins, 2))
        if values is not None:
            return cls(tuple(_texts(values.tolist()).values()), values[:-1])
        numbers = column.astype(np.float64)
        edges = quantile_edges(numbers, weight, bins)
        ends = [float(numbers.min()), *edges.tolist(), float(numbers.max())]
        text = _texts(ends)
        labels = tuple(
            f"{'(' if j else '['}{text[a]}, {text[b]}]" for j, (a, b) in enumerate(pairwise(ends))
        )
        return cls(labels, edges)

    def codes(self, column: NDArray[Any]) -> Integers:
        """Return the group of every number; edges are few, so to compare is faster than to find."""
        codes = np.zeros(len(column), dtype=np.intp)
        for edge in self.edges:
            codes += column > edge
        return codes


@dataclass(frozen=True)
class ValueWeights:
    """Values of a column in order, and their weights; with those of other rows they add.

    Of more than 65,536 values, those that agree in their leading digits count
    as the largest of them. So memory has a limit, and the result does not
    depend on the order in which rows are added: rounding up to some digits and
    then to fewer is rounding up to fewer.
    """

    values: Floats
    weights: Floats
    digits: int = DIGITS

    @classmethod
    def of(cls, values: Floats, weights: Floats, digits: int = DIGITS) -> ValueWeights:
        """Add up the weights of values that agree in so many binary digits, or in fewer."""
        if (weights == weights[0]).all():  # to sort values alone is many times faster
            values = np.sort(values)
        else:
            order = np.argsort(values, kind="stable")
            values, weights = values[order], weights[order]
        # Rounding up keeps the order, so values are sorted only once.
        starts = _starts(rounded := _rounded_up(values, digits))
        if len(starts) > MAX_DISTINCT_VALUES and digits > 0:
            fewer = range(digits - DIGIT_STEP, -1, -DIGIT_STEP)
            # The fewer the digits, the fewer values are left: halving finds how many suffice.
            place = bisect(fewer, False, key=lambda each: _is_few(values, each))
            digits = fewer[min(place, len(fewer) - 1)]
            starts = _starts(rounded := _rounded_up(values, digits))
        return cls(rounded[starts], np.add.reduceat(weights, starts), digits)

    def __add__(self, other: ValueWeights) -> ValueWeights:
        values = np.concatenate([self.values, other.values])
        weights = np.concatenate([self.weights, other.weights])
        return ValueWeights.of(values, weights, min(self.digits, other.digits))

    def bands(self, bins: int = BINS) -> Bands:
        """Cut the values as `Bands.of` does."""
        return Bands.of(self.values, self.weights, bins)


def _starts(values: Floats) -> Integers:
    """Return where the distinct ones of sorted values begin."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1]))


def _is_few(values: Floats, digits: int) -> bool:
    """Whether so many digits leave few distinct ones of sorted values."""
    return len(_starts(_rounded_up(values, digits))) <= MAX_DISTINCT_VALUES


def _rounded_up(values: Floats, digits: int) -> Floats:
    """Round up to so many binary digits."""
    if digits == DIGITS:
        return values
    if digits > 0:
        # The last bits of a number are its last digits, of its size if it is negative.
        last = (1 << (DIGITS + 1 - digits)) - 1
        bits = np.ascontiguousarray(values).view(np.int64)
        return ((bits + np.where(bits < 0, 0, last)) & ~last).view(np.float64)
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.ceil(np.ldexp(fraction, digits)), exponent - digits)


def weighted_quantiles(values: Floats, weight: Floats, levels: Sequence[float] | Floats) -> Floats:
    """Return the smallest values whose weighted distribution function reaches the levels."""
    n = len(values)
    if (weight == weight[:1]).all():  # to find a few of n values is faster than to sort them
        places = np.ceil(np.asarray(levels) * n * (1.0 - 1e-12)).astype(np.intp) - 1
        places = np.clip(places, 0, n - 1)
        return np.partition(values, places)[places]
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    # A level that is met exactly must be found in spite of rounding.
    wanted = np.asarray(levels) * reached[-1] * (1.0 - 1e-12)
    return values[order][np.minimum(np.searchsorted(reached, wanted), len(values) - 1)]


def quantile_edges(values: Floats, weight: Floats, bins: int) -> Floats:
    """Return the largest value of every group but the last, if numbers are cut at quantiles."""
    inner = weighted_quantiles(values, weight, np.arange(1, bins) / bins)
    # Many equal values make quantiles coincide, or reach the end: fewer groups then.
    largest = values.max()
    if inner[-1] == largest:
        inner = np.minimum(inner, values[values < largest].max())
    return np.array(sorted(set(inner.tolist())))


def _few_values(column: NDArray[Any], most: int) -> NDArray[Any] | None:
    """Return the values of a column in order; None if they are many.

    Values of the first rows are mostly all there are: to compare is faster than to sort.
    """
    values = np.unique(column[:FIRST_LOOK_ROWS])
    if len(values) > most:
        return None
    if not np.isin(column, values).all():
        values = np.unique(column)
    return values if len(values) <= most else None


def _texts(numbers: Sequence[float]) -> dict[float, str]:
    """Write numbers with as few digits as keep them apart."""
    if not any(isinstance(number, float) for number in numbers):
        return {number: str(number) for number in numbers}
    for digits in range(3, 18):
        text = {number: f"{number:.{digits}g}" for number in numbers}
        if len(set(text.values())) == len(text):
            return text
    return text
