"""Batches of rows: where they come from, how they are made ahead of time, and keys of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Integers
from fairridge.engines.samples import BATCH_BYTES

Item = TypeVar("Item")
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Batch:
    """Some rows as a native frame."""

    frame: Any  # the rows (pyarrow, pandas or polars frame)
    part: int  # number of the file or partition they belong to
    start: int  # position of the first of them in it
    where: str  # how to call the place in a message


def rows_per_batch(n_columns: int) -> int:
    """Return how many rows of numbers make a batch of about `BATCH_BYTES`."""
    return max(1024, BATCH_BYTES // (8 * max(n_columns, 1)))


def located(work: Callable[[Batch], Any], batch: Batch) -> Any:
    """Run `work`; an error about the data says where they are."""
    try:
        return work(batch)
    except ValueError as error:
        raise ValueError(f"{batch.where}: {error}") from error


def add(a: Any, b: Any) -> Any:
    """Add two sums; None is the sum of no rows."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def merged(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    """Add two sums for every key; new keys come after those that are known."""
    return {key: add(a.get(key), b.get(key)) for key in {**a, **b}}


@dataclass(frozen=True)
class Sums:
    """Sums by name; those of other rows add, and new names come after those that are known."""

    parts: dict[Any, Any]

    def __add__(self, other: Sums) -> Sums:
        return Sums(merged(self.parts, other.parts))

    def __getitem__(self, name: Any) -> Any:
        return self.parts[name]


def prefetched(items: Iterable[Item]) -> Iterator[Item]:
    """Make the next item in a thread of its own while this one is used."""
    iterator = iter(items)
    done: Any = object()
    pool = ThreadPoolExecutor(1)
    try:
        coming = pool.submit(next, iterator, done)
        while (item := coming.result()) is not done:
            coming = pool.submit(next, iterator, done)
            yield item
    finally:
        # Without waiting: after an error the garbage collector ends this generator, perhaps in a
        # thread that is just starting, and there a join would wait for itself.
        pool.shutdown(wait=False, cancel_futures=True)


def row_keys(seed: int, part: int, positions: Integers) -> Keys:
    """Return 64 random bits per row."""
    # The mixing function of Steele, Lea and Flood ("Fast splittable
    # pseudorandom number generators", 2014), over seed, part and position: the
    # same rows get the same numbers in every pass, on every worker.
    start = _mixed(_mixed(np.array([seed], dtype=np.uint64)) + np.uint64(part))
    return _mixed(start + positions.astype(np.uint64))


def _mixed(x: Keys) -> Keys:
    with np.errstate(over="ignore"):  # arithmetic is modulo 2⁶⁴
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
