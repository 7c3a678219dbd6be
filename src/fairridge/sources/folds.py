"""Folds of rows that are not in memory: sums of all folds in one pass.

The fold of a row follows from a seed and from the place of the row, so every
pass, on every worker, finds the same folds without anyone keeping a list.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import MemoryEngine, Moments, Triangle, triangular_factor
from fairridge.sources.batch import Sums, row_keys
from fairridge.sources.encoder import BatchEncoder, EncodedBatch, on_rows
from fairridge.sources.source import RowSource

Summed = Callable[[MemoryEngine, int, int], Any]


def fold_numbers(seed: int, n_folds: int, part: int, positions: Integers) -> Integers:
    """Return the fold, 0 to n_folds − 1, of rows of one file or partition."""
    return (row_keys(seed, part, positions) % np.uint64(n_folds)).astype(np.intp)


def _per_fold(placed: EncodedBatch, seeds: Sequence[int], n_folds: int, function: Summed) -> Sums:
    """Sum up some rows by repeat and fold, as far as a row has been met."""
    sums = {}
    for repeat, seed in enumerate(seeds):
        numbers = fold_numbers(seed, n_folds, placed.part, placed.positions)
        for fold in np.unique(numbers).tolist():
            engine = MemoryEngine(placed.rows.take(np.flatnonzero(numbers == fold)))
            sums[repeat, fold] = function(engine, repeat, fold)
    return Sums(sums)


def _moments(engine: MemoryEngine, repeat: int, fold: int) -> Moments:
    return engine.moments()


def _triangle(engine: MemoryEngine, repeat: int, fold: int, centers: Any) -> Triangle:
    """R of the rows of a fold, centered at the fold's own means."""
    center = centers[repeat][fold]
    return Triangle(engine.qr_factor(center, np.ones(len(center))))


class StreamedFolds:
    """Moments, and if needed triangular roots, of all folds and their complements."""

    def __init__(
        self, source: RowSource, encode: BatchEncoder, seeds: Sequence[int], n_folds: int
    ) -> None:
        self._source = source
        self._encode = encode
        self._seeds = seeds
        self._n_folds = n_folds

    def _sums(self, function: Summed) -> tuple[tuple[Any, ...], ...]:
        sums = partial(_per_fold, seeds=self._seeds, n_folds=self._n_folds, function=function)
        task = partial(on_rows, self._encode, sums)
        total: Sums | None = self._source.map_batches(task, self._encode.columns)
        n_repeats, n_folds = len(self._seeds), self._n_folds
        if total is None or len(total.parts) < n_repeats * n_folds:
            raise ValueError(
                f"cv={n_folds} leaves a fold without rows: use fewer folds, or rows in memory."
            )
        return tuple(tuple(total[r, fold] for fold in range(n_folds)) for r in range(n_repeats))

    @cached_property
    def moments(self) -> tuple[tuple[Moments, ...], ...]:
        """Moments of every fold, from one pass."""
        return self._sums(_moments)

    @cached_property
    def _roots(self) -> tuple[tuple[Triangle, ...], ...]:
        centers = tuple(tuple(part.mean for part in parts) for parts in self.moments)
        return self._sums(partial(_triangle, centers=centers))

    def root(self, repeat: int, fold: int) -> Floats:
        """Return R with RᵀR the scatter of a fold, by orthogonal steps: one more pass for all."""
        return self._roots[repeat][fold].R

    def rest(self, repeat: int, fold: int) -> Moments:
        """Return the moments of all other folds: a sum, which unlike a difference loses nothing."""
        parts = self.moments[repeat]
        return reduce(operator.add, parts[:fold] + parts[fold + 1 :])

    def rest_root(self, repeat: int, fold: int) -> Floats:
        """Return R for all other folds: their own, and what their means add, factored again."""
        center, blocks = self.rest(repeat, fold).mean, []
        for other, part in enumerate(self.moments[repeat]):
            if other != fold:
                blocks.append(self.root(repeat, other))
                blocks.append(np.sqrt(part.weight) * (part.mean - center)[None, :])
        return triangular_factor(np.vstack(blocks))
