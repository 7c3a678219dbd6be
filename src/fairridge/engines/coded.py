"""Rows whose categoricals stay codes, several of them in one.

Two categoricals of few levels are one whose cells are the pairs of their levels. So rows consist
of numbers D and of a few such codes, whose indicators are F: [1, z] = [D, F]B with a small matrix
B. Sums over rows are made of [D, F] and changed by B at the end. For Σ w zzᵀ each row adds its
weight to one cell for every two codes, however many levels they have; written out, it costs a
product for every two columns. A pass over ADULT (8 categoricals, 50 columns) takes half the time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from scipy import sparse

from fairridge._typing import Floats, Integers
from fairridge.data import Indicators, Piece, SparseSlab
from fairridge.engines.blocks import write_block

# Cells of a code that stands for several categoricals: their pairs stay in the cache.
MAX_CODE_CELLS = 128
# Time to add a number to a cell of a code, or a weight to a cell of two, as a multiple of a product
# of two columns that are written out: measured on one core 16 and 26, at 0.07 ns for a product.
ADDITION_COST = 20.0
# Rows of a block: many, because every block has its sums of cells.
CODED_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class Coding:
    """Which columns are numbers, and which categoricals share a code."""

    pieces: tuple[Piece, ...]  # the columns after the leading 1
    codes: tuple[tuple[int, ...], ...]  # positions of the categoricals in each code

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> Coding | None:
        """Put categoricals together, the smallest first; None if a column is sparse."""
        coded = [k for k, piece in enumerate(pieces) if isinstance(piece, Indicators)]
        if not coded or any(isinstance(piece, SparseSlab) for piece in pieces):
            return None  # nothing to gain, or left to tabmat
        codes: list[tuple[int, tuple[int, ...]]] = [(1 + pieces[k].width, (k,)) for k in coded]
        while len(codes) > 1:
            (size, first), (other, second), *rest = sorted(codes)
            if size * other > MAX_CODE_CELLS:
                break
            codes = [(size * other, first + second), *rest]
        return cls(tuple(pieces), tuple(code for _, code in sorted(codes)))

    @cached_property
    def numbers(self) -> list[int]:
        """Positions of the numeric pieces."""
        return [k for k in range(len(self.pieces)) if not isinstance(self.pieces[k], Indicators)]

    @cached_property
    def n_numbers(self) -> int:
        """Columns of D: the leading 1 and those of numeric pieces."""
        return 1 + sum(self.pieces[k].width for k in self.numbers)

    @cached_property
    def ends(self) -> Integers:
        """Where the cells of each code begin, and where the last ones end."""
        sizes = [prod(1 + self.pieces[k].width for k in code) for code in self.codes]
        return np.cumsum([0, *sizes])

    @cached_property
    def starts(self) -> Integers:
        """Where the columns of each piece begin in [1, z], and where the last ones end."""
        return np.cumsum([1, *(piece.width for piece in self.pieces)])

    def gain(self, n_rows: int) -> float:
        """Time that the rows written out take for Σ w zzᵀ, as a multiple of what codes take."""
        codes, numbers, columns = len(self.codes), self.n_numbers, int(self.starts[-1])
        added = codes * numbers + codes * (codes - 1) / 2
        # For each block the sums of every two of all cells are read and written, by rows and by
        # columns, to become those of columns.
        added += 4.0 * float(self.ends[-1]) ** 2 * len(self.blocks(n_rows)) / n_rows
        return columns**2 / (numbers**2 + ADDITION_COST * added)

    @staticmethod
    def blocks(n_rows: int) -> list[slice]:
        """Cut rows into blocks of about the same size, two at least."""
        count = max(2, -(-n_rows // CODED_BLOCK_ROWS))
        ends = np.linspace(0, n_rows, 1 + count).astype(int).tolist()
        return list(map(slice, ends[:-1], ends[1:]))

    @property
    def bytes_per_row(self) -> int:
        """Memory of a block, for each row."""
        codes = len(self.codes)
        return 8 * self.n_numbers + 12 * (codes + codes * (codes - 1) // 2)

    @cached_property
    def basis(self) -> sparse.csr_array:
        """B, of shape (columns of D + cells, columns of [1, z])."""
        d, starts = self.n_numbers, self.starts
        numeric = [np.arange(starts[k], starts[k + 1]) for k in self.numbers]
        rows, columns = [np.arange(d)], [np.concatenate([[0], *numeric]).astype(np.intp)]
        for code, first in zip(self.codes, self.ends, strict=False):
            levels = np.indices([1 + self.pieces[k].width for k in code]).reshape(len(code), -1)
            for k, level in zip(code, levels, strict=True):
                cells = np.flatnonzero(level)  # level 0 is the base, which has no column
                rows.append(d + first + cells)
                columns.append(starts[k] + level[cells] - 1)
        place = np.concatenate(rows), np.concatenate(columns)
        shape = d + int(self.ends[-1]), int(starts[-1])
        return sparse.csr_array((np.ones(len(place[0])), place), shape=shape)

    @cached_property
    def transposed(self) -> sparse.csr_array:
        """Bᵀ."""
        return sparse.csr_array(self.basis.T)


class CompactBlock(ABC):
    """Rows of which zeros are not written: one kind of product serves all."""

    @abstractmethod
    def gram(self, weight: Floats | None) -> Floats:
        """Σ w zzᵀ for weights of any sign."""

    def leading(self, weights: Floats, count: int, width: int | None = None) -> Floats:
        return np.stack([self.gram(weight)[:count, :width] for weight in weights.T])


class CodedBlock(CompactBlock):
    """Rows as numbers and codes."""

    def __init__(self, coding: Coding, rows: slice, shift: Floats) -> None:
        pieces, starts, sizes = coding.pieces, coding.starts, np.diff(coding.ends)
        self._coding = coding
        self._numbers = np.ones((rows.stop - rows.start, coding.n_numbers), order="F")
        shifts = [shift[starts[k] - 1 : starts[k + 1] - 1] for k in coding.numbers]
        numeric = [pieces[k] for k in coding.numbers]
        write_block(numeric, rows, np.concatenate([[], *shifts]), self._numbers[:, 1:])
        codes = [_code([pieces[k] for k in code], rows) for code in coding.codes]
        pairs = list(combinations(range(len(codes)), 2))
        n_rows = len(self._numbers)
        self._cells = _indicators(codes, sizes.tolist(), n_rows)
        self._by_cell = self._cells.T
        joint = [codes[a] * sizes[b] + codes[b] for a, b in pairs]
        cells = [int(sizes[a] * sizes[b]) for a, b in pairs]
        self._pairs = _indicators(joint, cells, n_rows).T if pairs else None

    def gram(self, weight: Floats | None) -> Floats:
        coding, d = self._coding, self._coding.n_numbers
        weight = np.ones(len(self._numbers)) if weight is None else weight
        weighted = self._numbers[:, 1:] * weight[:, None]
        whole = np.zeros((coding.basis.shape[0],) * 2)
        cells = whole[d:, d:]
        if self._pairs is None:
            in_cell = self._by_cell @ weight
        else:
            in_cell = self._fill(cells, self._pairs @ weight)
        np.fill_diagonal(cells, in_cell)
        whole[0, 0], whole[0, d:] = weight.sum(), in_cell
        whole[:d, 1:d] = np.dot(self._numbers.T, weighted)
        whole[1:d, 0] = whole[0, 1:d]
        if d > 1:
            whole[1:d, d:] = self._sums(weighted)
        whole[d:, :d] = whole[:d, d:].T
        half = coding.transposed @ whole
        return np.asarray(coding.transposed @ np.ascontiguousarray(half.T))

    def _fill(self, cells: Floats, tables: Floats) -> Floats:
        """Put the weights of pairs of cells where they meet, and return those of single cells."""
        ends, start = self._coding.ends.tolist(), 0
        for a, b in combinations(map(slice, ends[:-1], ends[1:]), 2):
            shape = a.stop - a.start, b.stop - b.start
            table = tables[start : start + prod(shape)].reshape(shape)
            cells[a, b], cells[b, a], start = table, table.T, start + prod(shape)
        # A row is in one cell of each code: sums over the cells of another give those of one.
        _, first, second, *_ = ends
        of_first, of_others = cells[:first, first:second], cells[:first, first:]
        return np.append(of_first.sum(axis=1), of_others.sum(axis=0))

    def times(self, coefficients: Floats) -> Floats:
        """Z·coefficients; missing rows of coefficients are zero."""
        d, basis = self._coding.n_numbers, self._coding.basis
        full = np.zeros((basis.shape[1], coefficients.shape[1]))
        full[: len(coefficients)] = coefficients
        by_code = np.asfortranarray(basis @ full)
        out = np.dot(self._numbers, by_code[:d])
        for column, coefficient in zip(out.T, by_code.T, strict=True):
            column += self._cells @ coefficient[d:]
        return out

    def products(self, vectors: Floats, count: int | None = None) -> Floats:
        by_code = np.hstack([np.dot(vectors.T, self._numbers), self._sums(vectors)])
        return np.asarray(self._coding.transposed @ by_code.T).T[:, :count]

    def _sums(self, vectors: Floats) -> Floats:
        """Sum vectors over the rows of each cell, one by one: SciPy takes longer for several."""
        return np.array([self._by_cell @ vector for vector in vectors.T])

    def dense(self) -> Floats:
        return self.times(np.eye(self._coding.basis.shape[1]))


def _code(pieces: Sequence[Piece], rows: slice) -> Integers:
    """Return the cell of each row, 0 where every categorical has its base level."""
    code = np.zeros(rows.stop - rows.start, dtype=np.intp)
    for piece in pieces:
        assert isinstance(piece, Indicators)
        code = code * (1 + piece.width) + (piece.codes[rows] + 1)
    return code


def _indicators(codes: Sequence[Integers], sizes: Sequence[int], n_rows: int) -> sparse.csr_array:
    """Return the cells of several codes side by side: every row has a 1 for each of them."""
    place = np.empty((n_rows, len(codes)), dtype=np.int32)
    starts = np.cumsum([0, *sizes])
    for j, code in enumerate(codes):
        np.add(code, starts[j], out=place[:, j], casting="same_kind")
    begin = np.arange(0, place.size + 1, max(len(codes), 1), dtype=np.int32)
    return sparse.csr_array(
        (np.ones(place.size), place.ravel(), begin), shape=(n_rows, int(starts[-1]))
    )
