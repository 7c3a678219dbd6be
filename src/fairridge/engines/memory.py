"""The engine for rows in memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any, TypeGuard, TypeVar

import numpy as np

from fairridge._arrays import (
    DEVICE_BLOCK_BYTES,
    as_float64,
    joined,
    namespace,
    slices,
    to_device,
    to_host,
)
from fairridge._typing import Floats
from fairridge.data import Indicators, Piece, RowLevel, Rows, Slab, SparseSlab, with_codes
from fairridge.engines.blocked_matrix import MAX_GRAM_COLUMNS, BlockedMatrix, MatrixBlock
from fairridge.engines.blocks import (
    MAX_STEP_THREADS,
    Moments,
    Triangle,
    block_slices,
    dense,
    in_threads,
    long_slices,
    not_finite_message,
    require_squares,
    triangular_factor,
    write_block,
)
from fairridge.engines.extent import Extent
from fairridge.engines.samples import spread_rows, with_total_weight
from fairridge.engines.sums import BlockEngine, DistinctResponses, hessian_of
from fairridge.families import Family
from fairridge.families.distances import ChangedColumns, Distance
from fairridge.families.sums import (
    ColumnFunction,
    FamilyFunction,
    GLMSums,
    Place,
    RowFunction,
)

Result = TypeVar("Result")


class MemoryEngine(BlockEngine):
    """Sums over rows that are in memory, in blocks and on all cores."""

    # Arrays of rows are read, never copied as a whole. If rows are not `separable` (Cox), passes of
    # `sum_over_rows` and `derivatives` see all rows as one block. With `many_passes` the written
    # blocks are kept.

    on_device = False

    def __init__(self, rows: Rows, *, separable: bool = True, many_passes: bool = False) -> None:
        self.rows = rows
        self.names, self.n_sensitive, self.n_rows = rows.names, rows.n_sensitive, rows.n_rows
        self.response, self.offset, self.categories = rows.response, rows.offset, rows.categories
        self.passes = 0
        self.separable = separable
        self._many_passes = self._counts_responses = many_passes
        pieces = (*rows.columns, Slab(rows.targets))
        # In families that take many passes rows count by their curvature, too.
        weight = None if many_passes else rows.weight
        self._matrix = BlockedMatrix(
            pieces, self._coded, rows.n_rows, weight, separable=separable, keeps=many_passes
        )
        self._forms: dict[tuple[Distance, bytes], Floats] = {}
        self._families: dict[Family, Family] = {}
        self._gram: Floats | None = None
        self._moments: Moments | None = None
        self._has_null_model = False
        self._scored: tuple[bytes, Floats] | None = None

    @property
    def hessian_cost(self) -> float:
        # Measured with 50 and with 105 columns; products of codes cost little.
        return 2.0 if self._matrix.compact else 1.0 + len(self.names) / 20.0

    def initial_intercepts(self, family: Family) -> Floats:
        return family.initial_intercepts(self.response, self.weights, self.offset)

    def loglik(self, family: Family, deviance: float, dispersion: float) -> float:
        return family.loglik(deviance, self.response, self.weights, dispersion)

    @cached_property
    def coded_predictors(self) -> tuple[Piece, ...]:
        """The columns of X, 0/1 columns of arrays as codes."""
        return with_codes(self.rows.predictors)

    def _coded(self) -> tuple[Piece, ...]:
        S, targets = with_codes(self.rows.sensitive), with_codes([Slab(self.rows.targets)])
        return (*S, *self.coded_predictors, *targets)

    @cached_property
    def extent(self) -> Extent:
        """Ranges of response, offset and weights."""
        return Extent.of(self.response, self.rows.weight, self.offset)

    def moments(self) -> Moments:
        """Return the weighted moments of [S, X, y], in one pass."""
        # Each block is shifted by a typical row before it is multiplied, so a mean far from zero
        # does not reduce precision, and a constant column comes out with a scatter of exactly zero.

        def gram(block: slice) -> Floats:
            with np.errstate(over="ignore", invalid="ignore"):
                weight = self.rows.weight
                return self._matrix.block(block).gram(None if weight is None else weight[block])

        if self._moments is not None:
            return self._moments
        total = self._sum(gram, self._matrix.slices)
        self.require_numbers(np.diag(total)[1:])
        self._gram = total
        self._moments = Moments.from_raw(self.rows.n_rows, total, self._about)
        self._has_null_model = self.rows.offset is None
        return self._moments

    def qr_factor(self, center: Floats, scale: Floats) -> Floats:
        """Return R of a QR decomposition of the centered, scaled rows, block by block."""

        def factor(block: slice) -> Triangle:
            buffer = self._matrix.buffer(block)
            write_block(self._matrix.pieces, block, center, buffer)
            buffer /= scale
            if self.rows.weight is not None:
                buffer *= np.sqrt(self.rows.weight[block])[:, None]
            return Triangle(triangular_factor(buffer))

        # Blocks several times taller than wide, so that most rows meet one factorization only.
        blocks = block_slices(self.rows.n_rows, self._matrix.width, multiple=4)
        self.passes += 1
        return reduce(operator.add, in_threads(factor, blocks)).square

    def residual_products(self, coefficients: Floats, center: Floats, intercept: float) -> Floats:
        k = len(center)
        shift = np.append(center, np.full(self._matrix.width - k, intercept))

        def products(block: slice) -> Floats:
            buffer = self._matrix.buffer(block)
            write_block(self._matrix.pieces, block, shift, buffer)
            Z, residual = buffer[:, :k], buffer[:, k] - buffer[:, :k] @ coefficients
            if self.rows.weight is not None:
                residual *= self.rows.weight[block]
            return np.dot(residual, Z)

        return self._sum(products, block_slices(self.rows.n_rows, self._matrix.width))

    def pairwise(self, distance: Distance, columns: ChangedColumns) -> Floats:
        key = distance, columns.key
        if key not in self._forms:
            self.passes += 1
            Z = columns.of(dense(self.rows.sensitive, self.rows.n_rows))
            self._forms[key] = distance.form(Z, self.rows.response, self.weights)
        return self._forms[key]

    def sum_over_rows(
        self, function: RowFunction, center: Floats, intercept: Floats, raw: Floats
    ) -> Floats:
        responses = None if raw.any() else self._responses
        if responses is not None:
            return responses.sum_over_rows(function, intercept)
        eta = self._eta(center, intercept, raw)
        if isinstance(function, FamilyFunction):
            function = replace(function, family=self._prepared(function.family))

        def work(block: slice) -> Floats:
            return function(self.rows.response[block], eta(block, None), self.weights[block])

        return self._sum(work, self._matrix.slices)

    def sum_over_columns(self, function: ColumnFunction, center: Floats) -> Any:
        if hasattr(function, "family"):
            function = replace(function, family=self._prepared(function.family))  # type: ignore[type-var]
        offset = self.rows.offset

        def work(block: slice) -> Any:
            Z = np.empty((block.stop - block.start, len(center)))
            write_block(self.rows.columns, block, center, Z)
            y, weight = self.rows.response[block], self.weights[block]
            return function(y, Z, weight, None if offset is None else offset[block])

        n = self.rows.n_rows
        blocks = long_slices(n, self._matrix.width) if self.separable else [slice(0, n)]
        self.passes += 1
        return reduce(operator.add, in_threads(work, blocks, most=MAX_STEP_THREADS))

    def _sum_at(
        self,
        center: Floats,
        places: Sequence[Place],
        function: Callable[..., Any],
        *,
        weighted: bool,
    ) -> Any:
        etas, offset = self._etas(center, places), self.rows.offset

        def work(block: slice) -> Any:
            Z, y, weight = self._matrix.block(block), self.rows.response[block], self.weights[block]
            shift = None if offset is None else offset[block]
            return function(Z, y, etas(block, Z), weight, shift)

        return self._sum(work, self._matrix.grouped_slices)

    def _derivatives(
        self, family: Family, center: Floats, places: Sequence[Place], order: int
    ) -> GLMSums:
        k, family = 1 + len(center), self._prepared(family)

        def work(
            Z: MatrixBlock, y: Floats, etas: list[Floats], weight: Floats, offset: Floats | None
        ) -> GLMSums:
            terms = [
                family.deviance_terms(y, eta, weight, 1 if j else order)
                for j, eta in enumerate(etas)
            ]
            first, *more = terms
            hessian = None
            if first.curvature is not None:
                hessian = hessian_of(Z, k, first.curvature)
                if first.coupling is not None:
                    hessian[0, :, 0, :] -= first.coupling(Z.dense()[:, :k])
            # One product brings the gradients, which are there at order 1, at all places.
            each = [sums.gradient for sums in terms if sums.gradient is not None]
            together = each[0] if len(each) == 1 else np.concatenate(each, axis=1)
            gradients = Z.products(together)[:, :k].reshape(len(each), -1, k)
            at_others = [
                GLMSums(float(sums.deviance), gradient, None)
                for sums, gradient in zip(more, gradients[1:], strict=True)
            ]
            return GLMSums(float(first.deviance), gradients[0], hessian, tuple(at_others))

        sums: GLMSums = self._sum_at(center, places, work, weighted=order > 1)
        return sums

    def _prepared(self, family: Family) -> Family:
        """Let a family find only once what no coefficient changes, such as Cox's risk sets."""
        # It is kept here, so that it goes when the rows go.
        if self.separable:
            return family
        if family not in self._families:
            self._families[family] = family.on(self.response)
        return self._families[family]

    def _eta(
        self, center: Floats, intercept: Floats, raw: Floats
    ) -> Callable[[slice, MatrixBlock | None], Floats]:
        """Return a function from blocks, written out already or not, to linear predictors."""
        k, offset = len(center), self.rows.offset
        shifted = intercept + raw @ (self._about[:k] - center)
        both = np.concatenate([shifted[:, None], raw], axis=1).T
        constant = not raw.any()

        def eta(block: slice, written: MatrixBlock | None) -> Floats:
            if constant:
                out = np.repeat(intercept[None], block.stop - block.start, axis=0)
            elif written is None and not self._matrix.has(block):
                out = self._unwritten_eta(block, center, intercept, raw)
            else:
                out = (written or self._matrix.block(block)).times(both)
            return out if offset is None else out + offset[block, None]

        return eta

    def _etas(
        self, center: Floats, places: Sequence[Place]
    ) -> Callable[[slice, MatrixBlock], list[Floats]]:
        """Return a function from written blocks to linear predictors at several places."""
        # One product with the rows serves them all.
        if len(places) == 1:
            eta = self._eta(center, *places[0])
            return lambda block, Z: [eta(block, Z)]
        gap = self._about[: len(center)] - center
        both = [
            np.concatenate([(level + raw @ gap)[:, None], raw], axis=1) for level, raw in places
        ]
        coefficients, offset = np.concatenate(both).T, self.rows.offset

        def etas(block: slice, Z: MatrixBlock) -> list[Floats]:
            # Numbers of one place lie next to each other: functions of them take half the time.
            together = np.ascontiguousarray(Z.times(coefficients).T)
            if offset is not None:
                together = together + offset[block]
            return [each.T for each in together.reshape(len(places), -1, together.shape[1])]

        return etas

    def _unwritten_eta(
        self, block: slice, center: Floats, intercept: Floats, raw: Floats
    ) -> Floats:
        """Return η from the columns as they are: one sum is not worth writing them out."""
        eta, start = np.tile(intercept, (block.stop - block.start, 1)), 0
        for piece in self.rows.columns:
            place = slice(start, start + piece.width)
            part, middle, start = raw.T[place], center[place], place.stop
            if isinstance(piece, Slab):  # a mean far from zero keeps its digits
                eta += (piece.values[block] - middle) @ part
            elif isinstance(piece, Indicators):
                # Code -1, the base level, picks the last row: zero.
                eta += np.vstack([part, 0.0 * intercept])[piece.codes[block]] - middle @ part
            else:
                eta += piece.values[block] @ part - middle @ part
        return eta

    def centered(self, center: Floats) -> Floats:
        """Return [1, z − center] of all rows as a dense array."""
        n = self.rows.n_rows
        out = np.ones((n, 1 + len(center)))
        write_block(self.rows.columns, slice(0, n), center, out[:, 1:])
        return out

    def scores(self, raw: Floats) -> Floats:
        """Return [S, X]rawᵀ of all rows, for raw coefficients of shape (m, q+p)."""
        # The last ones are kept: what describes a fit asks for them more than once.
        key = raw.tobytes()
        if self._scored is None or self._scored[0] != key:
            eta = linear_predictor(self.rows.columns, self.names, raw.T, np.zeros(len(raw)))
            eta.setflags(write=False)  # the next caller gets the same
            self._scored = key, eta
        return self._scored[1]

    def with_predictors(self, values: Floats) -> MemoryEngine:
        """Return the same rows with other columns, of shape (n, k), instead of X."""
        names = self.names[: self.n_sensitive] + tuple(f"f{k}" for k in range(values.shape[1]))
        rows = self.rows.with_columns(self.rows.sensitive, (Slab(values),), names)
        return MemoryEngine(rows, separable=self.separable, many_passes=self._many_passes)

    def outside(self, levels: tuple[RowLevel, ...]) -> MemoryEngine:
        positions = np.flatnonzero(~self.rows.in_any(levels))
        rows = self.rows.take(positions)
        kept = MemoryEngine(rows, separable=self.separable, many_passes=self._many_passes)
        kept.coded_predictors = tuple(piece.take(positions) for piece in self.coded_predictors)
        kept.passes = self.passes
        return kept

    def sample(self, count: int) -> MemoryEngine | None:
        positions = spread_rows(self.n_rows, count)
        if positions is None:
            return None
        rows = with_total_weight(self.rows.take(positions), self.moments().weight)
        return MemoryEngine(rows, separable=self.separable, many_passes=True)

    def sum_of(self, function: Callable[[Any], Any], *, only_sensitive: bool = False) -> Any:
        """Return a function of all rows at once."""
        self.passes += 1
        return function(self)

    def dense_columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        rows = self.rows
        S, X = (dense(pieces, rows.n_rows) for pieces in (rows.sensitive, rows.predictors))
        return S, X, rows.response, self.weights

    def _sum(self, work: Callable[[slice], Result], blocks: list[slice]) -> Result:
        """One pass: add up what every block gives."""
        self.passes += 1
        return reduce(operator.add, self._matrix.each(work, blocks))

    @cached_property
    def _about(self) -> Floats:
        return self._matrix.typical_row

    @cached_property
    def _responses(self) -> DistinctResponses | None:
        if not self.separable or self.rows.offset is not None:
            return None
        return DistinctResponses.of(self.rows.response, self.weights)

    def require_numbers(self, squares: Floats) -> None:
        """Raise for a column of [S, X, y] that has no usual sum of squares, when shifted."""
        names = (*self.names, *(["y"] * self.rows.targets.shape[1]))
        require_squares(
            squares, names, lambda k: dense(self._matrix.pieces, self.rows.n_rows, only=k)
        )

    @cached_property
    def weights(self) -> Floats:
        weight = self.rows.weight
        return np.ones(self.rows.n_rows) if weight is None else weight


def in_memory(engine: Any) -> TypeGuard[MemoryEngine]:
    """Whether rows are in main memory, one by one."""
    return isinstance(engine, MemoryEngine)


def is_wide(engine: Any) -> TypeGuard[MemoryEngine]:
    """Whether rows in memory have more predictors than there are rows."""
    return isinstance(engine, MemoryEngine) and engine.rows.n_predictors > engine.n_rows


def has_only_numbers(engine: Any) -> TypeGuard[MemoryEngine]:
    """Whether no predictor of rows in memory is a level, or a column of zeros and ones."""
    if not isinstance(engine, MemoryEngine):
        return False
    return all(isinstance(piece, Slab) for piece in engine.coded_predictors)


def has_many_sparse(engine: Any, most: int | None = None) -> TypeGuard[MemoryEngine]:
    """Whether rows in memory have too many sparse columns to form a matrix of their size."""
    # Matrices of as many rows, or columns, as `most` are formed, by default `MAX_GRAM_COLUMNS`.
    if not isinstance(engine, MemoryEngine):
        return False
    rows = engine.rows
    is_sparse = any(isinstance(piece, SparseSlab) for piece in rows.predictors)
    most = MAX_GRAM_COLUMNS if most is None else most
    return is_sparse and min(rows.n_rows, rows.n_predictors) > most


def linear_predictor(
    pieces: tuple[Piece, ...], names: tuple[str, ...], coefficients: Floats, intercept: Floats
) -> Floats:
    """Return η = intercept + Z·coefficients for encoded columns Z."""
    if any(isinstance(one, Slab) and not isinstance(one.values, np.ndarray) for one in pieces):
        return _on_device(pieces, names, coefficients, intercept)
    first = pieces[0]
    n_rows = len(first.codes) if isinstance(first, Indicators) else int(first.values.shape[0])
    eta = np.tile(intercept, (n_rows, 1))
    start = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for piece in pieces:
            part = coefficients[start : start + piece.width]
            if not isinstance(piece, Indicators):
                eta += piece.values @ part
            else:
                # Code -1, the base level, picks the last number: zero.
                for column, values in zip(eta.T, part.T, strict=True):
                    column += np.append(values, 0.0)[piece.codes]
            start += piece.width
    if not np.isfinite(eta).all():
        _raise_not_finite(pieces, names, n_rows)
    return eta


def _on_device(
    pieces: tuple[Piece, ...], names: tuple[str, ...], coefficients: Floats, intercept: Floats
) -> Any:
    """Return η in the library, and on the device, that columns are in."""
    arrays = [piece.values for piece in pieces if isinstance(piece, Slab)]
    ends = np.cumsum([array.shape[1] for array in arrays])[:-1]
    parts = [to_device(part, arrays[0]) for part in np.split(coefficients, ends)]
    blocks, n_rows = [], arrays[0].shape[0]
    whole = all(array.dtype == namespace(array).float64 for array in arrays)
    converted = DEVICE_BLOCK_BYTES // (8 * len(coefficients)) + 1
    for rows in slices(n_rows, n_rows if whole else converted):
        eta = to_device(intercept[None, :], arrays[0])
        for array, part in zip(arrays, parts, strict=True):
            eta = eta + as_float64(array[rows, :]) @ part
        blocks.append(eta)
    eta = joined(blocks, axis=0)
    xp = namespace(eta)
    if not bool(xp.all(xp.isfinite(eta))):
        hosted = tuple(Slab(to_host(array)) for array in arrays)
        _raise_not_finite(hosted, names, n_rows)
    return eta


def _raise_not_finite(pieces: tuple[Piece, ...], names: tuple[str, ...], n_rows: int) -> None:
    columns = ((name, dense(pieces, n_rows, only=k)) for k, name in enumerate(names))
    bad = [(name, values) for name, values in columns if not np.isfinite(values).all()]
    if bad:
        raise ValueError(not_finite_message(bad))
    raise ValueError("predictions overflow: the columns hold numbers far from those of the fit.")
