"""The engine for rows on a GPU, or in arrays of any library that follows the array API."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any, NoReturn, TypeVar

import numpy as np

from fairridge._arrays import (
    DEVICE_BLOCK_BYTES,
    as_float64,
    has_views,
    namespace,
    placed,
    side_by_side,
    slices,
    to_device,
    to_host,
)
from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.data import RowLevel, typical_places
from fairridge.engines.blocks import (
    Moments,
    Triangle,
    require_squares,
    typical_values,
)
from fairridge.engines.device_rows import DeviceBlock, DeviceRows, Pending, RowBlock, stacked
from fairridge.engines.extent import ResponseSums
from fairridge.engines.memory import MemoryEngine
from fairridge.engines.samples import spread_rows
from fairridge.engines.sums import (
    BlockEngine,
    DistinctResponses,
    class_responses,
    hessian_of,
    intercepts_of_sums,
    loglik_of_sums,
)
from fairridge.families import Family
from fairridge.families.sums import ColumnFunction, GLMSums, Place, RowFunction

Result = TypeVar("Result")

NOT_ON_HOST = (
    "these rows are on another device, and only sums over them are known: a definition or model "
    "that asks for S, U, y or the weights of every row, or that compares pairs of rows, needs "
    "NumPy arrays or a frame instead."
)
# Share of the input that a block and all that is made of it may take.
BLOCK_MEMORY_SHARE = 0.09
# Squared mean over variance up to which a sum of squares about zero keeps all digits but two.
MAX_SQUARED_MEAN_RATIO = 100.0


@dataclass(frozen=True)
class _WithHessian:
    """A Hessian in main memory, and sums that the device has yet to finish."""

    hessian: Floats
    rest: Pending

    def __add__(self, other: _WithHessian) -> _WithHessian:
        return _WithHessian(self.hessian + other.hessian, self.rest + other.rest)


def _not_on_host(*_: Any) -> NoReturn:
    raise ValueError(NOT_ON_HOST)


class DeviceEngine(BlockEngine):
    """Sums over rows that stay where they are; what comes back are matrices of their columns."""

    # Sums are in float64, whatever the type of the rows.

    on_device = True
    categories: tuple[range, ...] = ()  # all columns are numbers
    extent = delegated("_response_sums.extent")

    def __init__(self, rows: DeviceRows, family: Family) -> None:
        self.rows = rows
        self.names, self.n_sensitive = rows.names, rows.n_sensitive
        self.passes = 0
        self._family = family
        self._shift: Floats | None = None
        self._gram: Floats | None = None
        self._moments: Moments | None = None
        self._has_null_model = False

    @property
    def n_rows(self) -> int:
        rows = self.rows
        whole = rows.weight is None and not rows.isolated
        return rows.length if whole else self._response_sums.n_rows

    @property
    def hessian_cost(self) -> float:
        return 1.0 + len(self.names) / 50.0  # measured on an H200, with 105 columns

    # ------------------------------------------------------------------ passes

    def _sum(
        self, work: Callable[[RowBlock], Result], finer: int = 1, *, weighted: bool = True
    ) -> Result:
        """One pass: add up what every block gives."""
        self.passes += 1
        parts = []
        for rows in self._slices(finer, weighted=weighted):
            block = self.rows.read(rows)
            if block.n_rows:
                parts.append(work(block))
        if not parts:
            raise ValueError("there are no rows with a positive weight.")
        return reduce(operator.add, parts)

    def _slices(self, finer: int = 1, *, weighted: bool = True) -> list[slice]:
        """Cut the rows into blocks."""
        # Of a block there are columns weighted, columns converted or shifted, and vectors of each
        # row.
        m = self._family.n_predictors
        shifted = self._shift is not None and self._shift.any()
        copies = int(weighted) + int(bool(shifted or self.rows.copied))
        each = 8 * (copies * len(self.names) + 24 + 6 * m * (m + 1))
        size = max(DEVICE_BLOCK_BYTES, int(BLOCK_MEMORY_SHARE * self.rows.bytes)) // (each * finer)
        return slices(self.rows.length, size + 1)

    @cached_property
    def _response_sums(self) -> ResponseSums:
        """What the first pass over the response finds."""

        def work(block: RowBlock) -> ResponseSums:
            rows = block.y, block.weight, block.weights, block.offset
            return ResponseSums.of(self._family, *rows)

        total = self._sum(work)
        self.passes -= 1  # it reads the response only
        return total

    def moments(self) -> Moments:
        """Return the weighted moments of [S, X, y]; in one pass, if their means are near zero."""
        # Columns as they are multiply at the full speed of the device. If the mean of one of them
        # is so large that its square takes digits from the variance, a typical row is subtracted
        # first, in all passes.
        if self._moments is None:
            width = len(self.names) + self.rows.n_targets
            self._shift = np.zeros(width)
            gram = self._gram_about(self._shift)
            if not _near_zero(gram):
                row = typical_values(self.rows.sample(typical_places(self.rows.length)))
                self._shift = np.where(np.isfinite(row), row, 0.0)
                gram = self._gram_about(self._shift)
            names = (*self.names, *(["y"] * self.rows.n_targets))
            if np.isnan(np.diag(gram)[1 + len(self.names) :]).any():
                raise ValueError("Input y contains NaN or missing values; drop those rows first.")
            require_squares(np.diag(gram)[1:], names, self._column)
            self._gram = gram
            self._moments = Moments.from_raw(self.n_rows, gram, self._shift)
            self._has_null_model = self.rows.offset is None
        return self._moments

    def _gram_about(self, shift: Floats) -> Floats:
        def work(block: RowBlock) -> Pending:
            return block.shifted(shift, targets=True).sums(block.weight)

        gram: Floats = self._sum(work).result()[0]
        return gram

    @cached_property
    def _about(self) -> Floats:
        if self._shift is None:
            self.moments()
        assert self._shift is not None
        return self._shift

    def qr_factor(self, center: Floats, scale: Floats) -> Floats:
        """Return R of a QR decomposition of the centered, scaled rows, block by block."""

        def work(block: RowBlock) -> Triangle:
            columns = block.shifted(center, targets=True).all_columns()
            columns = columns / to_device(scale, columns)
            xp = namespace(columns)
            if block.weight is not None:
                columns = columns * xp.sqrt(block.weight)[:, None]
            return Triangle(to_host(xp.linalg.qr(columns, mode="reduced")[1]))

        return self._sum(work, finer=2).square  # Q is as large as its block

    def residual_products(self, coefficients: Floats, center: Floats, intercept: float) -> Floats:
        gap = self._about[: len(center)] - center
        both = np.append(intercept + gap @ coefficients, coefficients)[:, None]

        def work(block: RowBlock) -> Floats:
            Z = block.shifted(self._about)
            residual = block.targets[:, :1] - Z.times(both)
            return Z.products(block.weights[:, None] * residual)[0]

        products = self._sum(work)
        return products[1:] + gap * products[0]

    def sum_over_rows(
        self, function: RowFunction, center: Floats, intercept: Floats, raw: Floats
    ) -> Floats:
        if not raw.any() and self._responses is not None:
            return self._responses.sum_over_rows(function, intercept)
        on_device = getattr(function, "any_arrays", False)
        etas = self._etas(center, [(intercept, raw)])

        def work(block: RowBlock) -> Floats:
            (eta,) = etas(block, block.shifted(self._about))
            arguments = (block.y, eta, block.weights)
            return function(*(arguments if on_device else map(to_host, arguments)))

        return self._sum(work)

    def sum_over_columns(self, function: ColumnFunction, center: Floats) -> Any:
        """Return Σ function over blocks of rows, brought to main memory for some functions."""
        if not (getattr(function, "any_arrays", False) and has_views(self.rows.y)):
            return self.sum_of(operator.methodcaller("sum_over_columns", function, center))
        there = placed(function, partial(to_device, like=self.rows.y))

        def work(block: RowBlock) -> Any:
            Z = block.shifted(center).all_columns()
            return there(block.y, Z, block.weights, block.offset)

        return placed(self._sum(work, finer=2), to_host)

    def _sum_at(
        self,
        center: Floats,
        places: Sequence[Place],
        function: Callable[..., Any],
        *,
        weighted: bool,
    ) -> Any:
        etas = self._etas(center, places)

        def work(block: RowBlock) -> Any:
            Z = block.shifted(self._about)
            return function(Z, block.y, etas(block, Z), block.weights, block.offset)

        return self._sum(work, weighted=weighted)

    def _derivatives(
        self, family: Family, center: Floats, places: Sequence[Place], order: int
    ) -> GLMSums:
        m = len(places[0][0])

        def work(Z: DeviceBlock, y: Any, etas: list[Any], weight: Any, offset: Any) -> Any:
            rows, *more = [
                family.deviance_terms(y, eta, weight, 1 if j else order)
                for j, eta in enumerate(etas)
            ]
            terms = [rows, *more]
            # One product with the rows brings the gradients of all places.
            vectors = side_by_side([each.gradient for each in terms])
            deviances = stacked([each.deviance for each in terms])
            if rows.curvature is None:
                return Z.products_on_device(vectors, deviances)
            if rows.curvature.shape[1] == 1:
                return Z.sums(rows.curvature[:, 0, 0], vectors, deviances)
            hessian = hessian_of(Z, 1 + len(center), rows.curvature)
            return _WithHessian(hessian, Z.products_on_device(vectors, deviances))

        total: Any = self._sum_at(center, places, work, weighted=order > 1)
        hessian = None
        if isinstance(total, _WithHessian):
            hessian, total = total.hessian, total.rest
        *gram, gradients, deviances = total.result()
        hessian = gram[0][None, :, None, :] if gram else hessian
        here, *others = (
            GLMSums(float(deviance), gradients[j * m : (j + 1) * m], None)
            for j, deviance in enumerate(deviances)
        )
        return replace(here, hessian=hessian, others=tuple(others))

    def _etas(
        self, center: Floats, places: Sequence[Place]
    ) -> Callable[[RowBlock, DeviceBlock], list[Any]]:
        """Return what maps a block to its linear predictors at several places, in one product."""
        m, gap = len(places[0][0]), self._about[: len(center)] - center
        both = np.hstack([np.column_stack([level + raw @ gap, raw]).T for level, raw in places])
        known: list[tuple[Any, ...]] = []

        def of_block(block: RowBlock, Z: DeviceBlock) -> list[Any]:
            if not any(raw.any() for _, raw in places):
                return [block.constant(level) for level, _ in places]
            if not known:
                known.append(Z.placed(both))
            eta = Z.times_placed(known[0])
            eta = eta if block.offset is None else eta + block.offset[:, None]
            return [eta[:, j * m : (j + 1) * m] for j in range(len(places))]

        return of_block

    @cached_property
    def _responses(self) -> DistinctResponses | None:
        """The weights of the classes, which are all that rows at one η differ in."""
        if self.rows.classes is None or self.rows.offset is not None:
            return None
        return class_responses(self._family, self.moments(), len(self.names))

    def _column(self, k: int) -> Floats:
        """Bring one column of [S, X, y] to main memory, to say what is wrong with it."""
        return np.concatenate(
            [to_host(as_float64(self.rows.read(rows).column(k))) for rows in self._slices()]
        )

    # ------------------------------------------------------ rows in main memory

    def outside(self, levels: tuple[RowLevel, ...]) -> DeviceEngine:
        kept = DeviceEngine(self.rows.without(levels), self._family)
        kept.passes = self.passes
        return kept

    def sample(self, count: int) -> DeviceEngine | None:
        positions = spread_rows(self.rows.length, count)
        if positions is None:
            return None
        return DeviceEngine(self.rows.sampled(positions, self.moments().weight), self._family)

    def sum_of(self, function: Callable[[Any], Any], *, only_sensitive: bool = False) -> Any:
        """Add up a function of blocks of rows, each brought to main memory."""
        self.passes += 1
        blocks = map(self.rows.on_host, self._slices())
        return reduce(
            operator.add, (function(MemoryEngine(rows)) for rows in blocks if rows.n_rows)
        )

    def initial_intercepts(self, family: Family) -> Floats:
        shifted = self.rows.offset is not None and not self.rows.less_offset
        sums = self._response_sums
        offset = sums.offset if shifted else None
        return intercepts_of_sums(family, self.moments(), len(self.names), offset, sums.log_sums)

    def loglik(self, family: Family, deviance: float, dispersion: float) -> float:
        def constants() -> float:
            return float(self._sum(lambda b: family.loglik(0.0, b.y, b.weights, dispersion)))

        return loglik_of_sums(family, deviance, dispersion, self.moments().weight, constants)

    # -------------------------------------------------------- what is not there

    response = weights = offset = property(_not_on_host)
    dense_columns = pairwise = _not_on_host


def _near_zero(gram: Floats) -> bool:
    """Whether means are so near zero that sums of squares about it lose next to no digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares, of_means = np.diag(gram)[1:], gram[0, 1:] ** 2 / gram[0, 0]
        return bool((of_means <= MAX_SQUARED_MEAN_RATIO * (squares - of_means)).all())
