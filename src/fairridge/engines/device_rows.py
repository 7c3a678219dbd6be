"""Rows in arrays of torch, CuPy, JAX or another library of the array API, read block by block.

Nothing of the size of the rows is ever made: types are converted, labels coded
and columns shifted in one block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge._arrays import (
    as_float64,
    has_views,
    joined,
    namespace,
    side_by_side,
    taken,
    to_device,
    to_host,
)
from fairridge._typing import Floats, Integers
from fairridge.data import RowLevel, Rows, Slab
from fairridge.engines.device_products import MATRIX_TILE, products, times

# Products of columns up to which each is made by itself.
MAX_SEPARATE_PRODUCTS = 9


@dataclass(frozen=True)
class Pending:
    """Sums that a device has yet to finish; those of other rows add up there."""

    # To bring numbers to main memory is to wait for the device, and while one block is waited for
    # the device has nothing to do: once is enough.

    values: Any  # all sums, one after the other, on the device, of shape (k,)
    shapes: tuple[tuple[int, ...], ...]  # what they are
    finish: Callable[..., Any]  # maps them, in main memory, to the result

    @classmethod
    def of(cls, arrays: Sequence[Any], finish: Callable[..., Any]) -> Pending:
        """Put arrays into one."""
        xp = namespace(arrays[0])
        flat = joined([xp.reshape(array, (-1,)) for array in arrays], axis=0)
        return cls(flat, tuple(tuple(array.shape) for array in arrays), finish)

    def __add__(self, other: Pending) -> Pending:
        return replace(self, values=self.values + other.values)

    def result(self) -> Any:
        """Wait, and return the result."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = np.split(to_host(self.values), ends)
        return self.finish(
            *(part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True))
        )


def _numbers(like: Any, deviance: Any) -> list[Any]:
    """Return a deviance as an array; zero if there is none."""
    xp = namespace(like)
    return [xp.zeros_like(like[0, :1]) if deviance is None else xp.reshape(deviance, (-1,))]


def _rows_of(vectors: Any) -> Any:
    """Return vectors one below the other, as a GPU multiplies few of them fastest."""
    xp = namespace(vectors)
    return xp.stack([vectors[:, j] for j in range(vectors.shape[1])], axis=0)


def _products_of_few(left: Any, right: Any) -> Any:
    """Return leftᵀ·right: column by column if they are few, which a GPU does faster."""
    if left.shape[1] * right.shape[1] > MAX_SEPARATE_PRODUCTS:
        return left.T @ right
    rows: list[list[Any]] = []
    for i in range(left.shape[1]):
        known = [row[i] for row in rows] if left is right else []  # of a symmetric product
        more = [left[:, i] @ right[:, j] for j in range(len(known), right.shape[1])]
        rows.append([*known, *more])
    return namespace(left).stack([stacked(row) for row in rows], axis=0)


def _upper_half(left: Any, right: Any) -> tuple[Any, Any]:
    """Return the first rows of leftᵀ·right, and the corner below them, if the rest is symmetric."""
    # Without the rest, products of 105 columns took 94 % of the time on an H200.
    k = left.shape[1]
    tiles = k // MATRIX_TILE
    last = k // 2 // MATRIX_TILE * MATRIX_TILE if tiles >= 4 and has_views(left) else 0
    return left[:, : k - last].T @ right, left[:, k - last :].T @ right[:, k - last :]


def _some(columns: Any, places: Integers) -> Any:
    """Return some columns, as a view if they stand side by side."""
    first, last = int(places[0]), int(places[-1])
    if len(places) == last - first + 1 and (np.diff(places) == 1).all():
        return columns[:, first : last + 1]
    return taken(columns, places, axis=1)


def stacked(numbers: Sequence[Any]) -> Any:
    """Return numbers on a device as one array."""
    xp = namespace(numbers[0])
    return joined([xp.reshape(number, (1,)) for number in numbers], axis=0)


class DeviceBlock:
    """Some rows of [1, z − shift]: a `MatrixBlock` whose sums come back as NumPy arrays."""

    # The widest array stays as it is, because on a GPU a copy takes as long as a product; all other
    # columns, 1 among them, stand beside it.
    # Narrow columns are float64; `order` says where columns stand in [1, z].

    def __init__(self, columns: Any, shift: Floats, narrow: Any, order: Integers) -> None:
        self.columns, self.shift, self.narrow, self.order = columns, shift, narrow, order

    @cached_property
    def wide(self) -> Any:
        """The widest array in float64, shifted."""
        return _less(self.columns, self.shift)

    @cached_property
    def _placed_shift(self) -> Any:
        """The shift on the device; None if it is zero."""
        return to_device(self.shift, self.narrow) if self.shift.any() else None

    def _products_with_wide(self, vectors: Any) -> Any:
        """Return vectorsᵀ·wide."""
        found = products(self.columns, self._placed_shift, vectors)
        return _rows_of(vectors) @ self.wide if found is None else found

    def gram(self, weight: Any) -> Floats:
        """Σ w zzᵀ for weights of any sign; None means 1."""
        gram: Floats = self.sums(weight).result()[0]
        return gram

    def sums(self, weight: Any, vectors: Any = None, deviance: Any = None) -> Pending:
        """Start on Σ w zzᵀ and vectorsᵀZ, in few products; a deviance comes with them."""
        wide, beside = self.wide, self.narrow
        if weight is not None:
            wide, beside = wide * weight[:, None], beside * weight[:, None]
        if vectors is not None:
            beside = side_by_side([beside, vectors])
        order, b = self.order, self.narrow.shape[1]

        def ordered(
            upper: Floats, corner: Floats, mixed: Floats, small: Floats, number: Floats
        ) -> Any:
            gram, products = np.empty((len(order),) * 2), np.empty((mixed.shape[1] - b, len(order)))
            lower = np.hstack([upper[:, len(upper) :].T, corner])
            mixed_gram = np.vstack([mixed[:, :b], small[:, :b]])
            square = np.hstack([np.vstack([upper, lower, mixed[:, :b].T]), mixed_gram])
            gram[np.ix_(order, order)] = square
            products[:, order] = np.hstack([mixed[:, b:].T, small[:, b:].T])
            return gram, products, number

        upper, corner = _upper_half(self.wide, wide)
        mixed = self._products_with_wide(beside).T
        small = _products_of_few(self.narrow, beside)
        return Pending.of([upper, corner, mixed, small, *_numbers(upper, deviance)], ordered)

    def leading(self, weights: Any, count: int, width: int | None = None) -> Floats:
        xp, first = namespace(weights), self._together(count)
        n, m = weights.shape
        weighted = xp.reshape(weights[:, :, None] * first[:, None, :], (n, m * count))
        return self.products(weighted, width).reshape(m, count, -1)

    def _together(self, count: int) -> Any:
        """Return the first columns of [1, z − shift] as one array."""
        parts = self._first(count)
        order = np.argsort(np.concatenate([at for at, _ in parts]))
        return taken(joined([columns for _, columns in parts], axis=1), order, axis=1)

    def _first(self, count: int) -> list[tuple[Integers, Any]]:
        """Return the first columns of [1, z − shift] in two parts, each with its places there."""
        a, places = self.columns.shape[1], np.argsort(self.order)[:count]
        beside = places >= a
        return [
            (np.flatnonzero(own), _some(columns, places[own] - first))
            for own, columns, first in ((~beside, self.wide, 0), (beside, self.narrow, a))
            if own.any()
        ]

    def times(self, coefficients: Floats) -> Any:
        """Z·coefficients; missing rows of coefficients are zero."""
        return self.times_placed(self.placed(coefficients))

    def placed(self, coefficients: Floats) -> tuple[Any, ...]:
        """Bring coefficients to the device, in the order of its columns: wide ones, 1, others."""
        # The device is waited for, so that blocks of the same rows had better share them.
        full = np.zeros((len(self.order), coefficients.shape[1]))
        full[: len(coefficients)] = coefficients
        full, a = full[self.order], self.columns.shape[1]
        return tuple(to_device(part, self.narrow) for part in np.split(full, [a, a + 1]))

    def times_placed(self, coefficients: tuple[Any, ...]) -> Any:
        """Z·coefficients."""
        wide, level, narrow = coefficients
        eta = times(self.columns, self._placed_shift, wide)
        eta = (self.wide @ wide if eta is None else eta) + level
        return eta + self.narrow[:, 1:] @ narrow if self.narrow.shape[1] > 1 else eta

    def products(self, vectors: Any, count: int | None = None) -> Floats:
        if count is not None:
            rows, found = _rows_of(vectors), np.empty((vectors.shape[1], count))
            for at, columns in self._first(count):
                found[:, at] = to_host(rows @ columns)
            return found
        products: Floats = self.products_on_device(vectors).result()[0]
        return products

    def products_on_device(self, vectors: Any, deviance: Any = None) -> Pending:
        """Start on vectorsᵀZ; a deviance comes with it."""
        order = self.order

        def ordered(wide: Floats, narrow: Floats, number: Floats) -> Any:
            products = np.empty((wide.shape[0], len(order)))
            products[:, order] = np.hstack([wide, narrow])
            return products, number

        wide, narrow = self._products_with_wide(vectors), _rows_of(vectors) @ self.narrow
        return Pending.of([wide, narrow, *_numbers(wide, deviance)], ordered)

    def all_columns(self) -> Any:
        """Return z − shift as one array on the device."""
        columns = joined([self.wide, self.narrow], axis=1)
        return taken(columns, np.argsort(self.order)[1:], axis=1)

    def dense(self) -> Floats:
        """Bring the rows to main memory."""
        columns = to_host(self.all_columns())
        return np.hstack([np.ones((len(columns), 1)), columns])


@dataclass(frozen=True)
class RowBlock:
    """Some rows, in float64 on their device."""

    arrays: tuple[Any, ...]  # the columns of S and of X, of any real type, of shape (n, k)
    places: tuple[Integers, ...]  # where their columns stand among those of S and X, of shape (k,)
    # What the family reads, and the response as numbers, of shape (n, 1) and (n, m).
    y: Any
    targets: Any
    # As in `Rows`, of shape (n,).
    weight: Any
    offset: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.y.shape[0])

    @property
    def weights(self) -> Any:
        """Weights, ones if there are none."""
        if self.weight is not None:
            return self.weight
        return namespace(self.y).ones_like(self.y[:, 0])

    def column(self, k: int) -> Any:
        """Return one column of [S, X, targets]."""
        first = sum(map(len, self.places))
        return self.targets[:, k - first] if k >= first else _column(self.arrays, self.places, k)

    def constant(self, intercept: Floats) -> Any:
        """Return the same linear predictors in every row."""
        eta = to_device(intercept[None, :], self.y) + 0.0 * self.y
        return eta if self.offset is None else eta + self.offset[:, None]

    def shifted(self, shift: Floats, *, targets: bool = False) -> DeviceBlock:
        """Return [1, z − shift], or [1, z − shift, targets − shift]."""
        columns = list(zip(self.arrays, self.places, strict=True))
        wide, at = columns.pop(int(np.argmax([len(places) for places in self.places])))
        if targets:
            k = sum(map(len, self.places))
            columns.append((self.targets, k + np.arange(self.targets.shape[1])))
        ones = namespace(self.y).ones_like(self.y)
        narrow = side_by_side([ones, *(_less(a, shift[places]) for a, places in columns)])
        order = np.concatenate([1 + at, [0], *(1 + places for _, places in columns)])
        return DeviceBlock(wide, shift[at], narrow, order)


def _less(values: Any, shift: Floats) -> Any:
    numbers = as_float64(values)
    return numbers - to_device(shift, numbers) if shift.any() else numbers


@dataclass(frozen=True)
class DeviceRows:
    """Rows [S, X, y] in arrays on one device."""

    # The columns of S and of X, of any real type, as they were passed, of shape (n, k).
    arrays: tuple[Any, ...]
    places: tuple[Integers, ...]  # where their columns stand in [S, X], of shape (k,)
    n_sensitive: int  # number of sensitive columns, q
    names: tuple[str, ...]  # encoded names of S, then of X
    y: Any  # numbers, or labels, of shape (n,)
    # Labels in the order of their codes; None for a numeric response.
    classes: NDArray[Any] | None = None
    # Weights of zero leave a row out, of shape (n,).
    weight: Any = None
    offset: Any = None
    less_offset: bool = False  # whether the response is y less the offset, rather than η with it
    isolated: tuple[RowLevel, ...] = ()  # rows that have one of these are left out

    @property
    def length(self) -> int:
        """Number of rows, with those that are left out."""
        return int(self.y.shape[0])

    @property
    def n_targets(self) -> int:
        """Columns of the response as numbers, m."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    @cached_property
    def bytes(self) -> int:
        """Size of the input."""
        sizes = [getattr(array, "itemsize", None) or 8 for array in self.arrays]
        widths = [array.shape[1] for array in self.arrays]
        return self.length * int(np.dot(widths, sizes))

    @property
    def copied(self) -> bool:
        """Whether blocks are copies, converted ones or others, rather than views."""
        arrays = self.arrays
        return not all(a.dtype == namespace(a).float64 and has_views(a) for a in arrays)

    def without(self, levels: tuple[RowLevel, ...]) -> DeviceRows:
        """Return the rows that have none of some levels."""
        return replace(self, isolated=(*self.isolated, *levels))

    def read(self, rows: slice) -> RowBlock:
        """Read some rows, less those of zero weight or of an isolated level."""
        arrays = tuple(array[rows, :] for array in self.arrays)
        y, weight, offset = (
            None if a is None else a[rows] for a in (self.y, self.weight, self.offset)
        )
        keep = self._kept(arrays, weight)
        if keep is not None:
            xp = namespace(keep)
            (places,) = xp.nonzero(keep)
            arrays = tuple(xp.take(array, places, axis=0) for array in arrays)
            y, weight, offset = (
                None if a is None else xp.take(a, places, axis=0) for a in (y, weight, offset)
            )
        weight, offset = (None if a is None else as_float64(a) for a in (weight, offset))
        values = self._coded(y)[:, None]
        if self.less_offset and offset is not None:
            values, offset = values - offset[:, None], None
        targets = values
        if self.n_targets > 1:
            codes = to_device(np.arange(float(self.n_targets))[None, :], values)
            targets = as_float64(values == codes)
        return RowBlock(arrays, self.places, values, targets, weight, offset)

    def _kept(self, arrays: tuple[Any, ...], weight: Any) -> Any:
        """Return which rows count; None if all do."""
        keep = None if weight is None else weight > 0
        if keep is not None and bool(namespace(keep).all(keep)):
            keep = None
        for level in self.isolated:
            outside = _column(arrays, self.places, self.n_sensitive + level.columns[0])
            outside = outside != level.value  # of numbers a level has one column
            keep = outside if keep is None else keep & outside
        return keep

    def _coded(self, y: Any) -> Any:
        """Return numbers as they are, or codes of labels."""
        if self.classes is None or self._are_codes:
            return as_float64(y)
        parts = (k * as_float64(y == label) for k, label in enumerate(self.classes.tolist()) if k)
        return sum(parts, 0.0)

    @cached_property
    def _are_codes(self) -> bool:
        """Whether the labels are 0, 1, … already."""
        labels = np.asarray(self.classes)
        return labels.dtype.kind in "iuf" and bool((labels == np.arange(len(labels))).all())

    def on_host(self, rows: slice) -> Rows:
        """Bring some rows to main memory."""
        block, q = self.read(rows), self.n_sensitive
        columns = np.empty((block.n_rows, len(self.names)))
        for array, places in zip(block.arrays, self.places, strict=True):
            columns[:, places] = to_host(as_float64(array))
        vectors = (None if a is None else to_host(a) for a in (block.weight, block.offset))
        slabs = (Slab(columns[:, :q]),), (Slab(columns[:, q:]),)
        return Rows(*slabs, self.names, to_host(block.y), to_host(block.targets), *vectors)

    def _taken(self, rows: Integers) -> DeviceRows:
        """Return these rows only."""
        y, weight, offset = (
            None if array is None else taken(array, rows, axis=0)
            for array in (self.y, self.weight, self.offset)
        )
        arrays = tuple(taken(array, rows, axis=0) for array in self.arrays)
        return replace(self, arrays=arrays, y=y, weight=weight, offset=offset)

    def sampled(self, rows: Integers, total: float) -> DeviceRows:
        """Return these rows only, with weights that sum up to those of all rows."""
        few = self._taken(rows)
        block = few.read(slice(0, len(rows)))  # less those that do not count
        xp = namespace(block.y)
        if few.weight is None:
            weight = xp.ones_like(as_float64(few.y == few.y))
        else:
            weight = as_float64(few.weight)
        return replace(few, weight=weight * (total / float(xp.sum(block.weights))))

    def sample(self, rows: Integers) -> Floats:
        """Bring single rows of [S, X, targets] to main memory."""
        block = replace(self._taken(rows), isolated=()).read(slice(0, len(rows)))
        return to_host(
            block.shifted(np.zeros(len(self.names) + self.n_targets), targets=True).all_columns()
        )


def _column(arrays: tuple[Any, ...], places: tuple[Integers, ...], k: int) -> Any:
    """Return one column of [S, X]."""
    for array, where in zip(arrays, places, strict=True):
        if k in where:
            return array[:, int(np.flatnonzero(where == k)[0])]
    raise IndexError(f"there is no column {k}.")
