"""The engine for rows that are somewhere else: in files, or on a cluster.

A pass maps one pure function over batches of rows and adds what it returns.
The function encodes its batch and asks a `MemoryEngine` for the sums, so rows
elsewhere are summed by the same code as rows in memory. What travels is the
function, a few kilobytes, and the sums, of the size of the columns squared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import Any, NoReturn, cast

import numpy as np

from fairridge._delegation import delegated
from fairridge._typing import Floats
from fairridge.data import RowLevel
from fairridge.data.design import TRAVELING_PROFILE_ROWS, NumberSample
from fairridge.engines import MeanSums, MemoryEngine, Moments, Triangle, intercepts_of_sums
from fairridge.engines.extent import ResponseSums
from fairridge.engines.samples import MIN_SAMPLING_INTERVAL, RowSample, with_total_weight
from fairridge.engines.sums import (
    DistinctResponses,
    NullModel,
    class_responses,
    loglik_of_sums,
)
from fairridge.families import Cox, Family
from fairridge.families.cox_sweep import Sweep
from fairridge.families.distances import ChangedColumns, Distance
from fairridge.families.sums import ColumnFunction, GLMSums, Place, PredictedMeans, RowFunction
from fairridge.sources.encoder import BatchEncoder, EncodedBatch, on_rows
from fairridge.sources.source import RowSource
from fairridge.sources.streamed_pairs import streamed_form

NOT_IN_MEMORY = (
    "these rows are not in memory, and only sums over them are known: a definition or model that "
    "asks for S, U, y or the weights of every row needs a frame or an array instead. Sums over "
    "rows are there: fit.sum_over_rows(function, …)."
)

NOT_SWEPT = (
    "this definition of fairness is not available for a Cox model on rows that are not in memory; "
    "use statistical parity of the variance, or equality of opportunity."
)


@dataclass(frozen=True)
class FirstPass:
    """What the first pass over the rows leaves behind."""

    moments: Moments  # of [S, X, y]
    response: Floats  # Σ w response, of shape (c,)
    beside: ResponseSums  # ranges, and sums of offsets and responses
    sample: NumberSample  # some rows of the numeric columns
    rows: RowSample | None = None  # some rows of all columns, if a search is to start from them

    @classmethod
    def of(cls, engine: MemoryEngine, family: Family | None) -> FirstPass:
        """Read rows in memory."""
        y, offset, weight = engine.response, engine.offset, engine.weights
        check = getattr(family, "check_values", None)
        if check is not None:
            check(y[:, 0])
        rows = engine.rows
        searched = family is not None and family.separable and not family.least_squares
        pieces = (*rows.sensitive, *rows.predictors)
        return cls(
            engine.moments(),
            weight @ y,
            ResponseSums.of(family, y, rows.weight, weight, offset),
            NumberSample.of(pieces, rows.n_rows, rows.weight, TRAVELING_PROFILE_ROWS),
            RowSample.of(rows) if searched else None,
        )

    def __add__(self, other: FirstPass) -> FirstPass:
        return FirstPass(
            self.moments + other.moments,
            self.response + other.response,
            self.beside + other.beside,
            self.sample + other.sample,
            None if self.rows is None or other.rows is None else self.rows + other.rows,
        )


class StreamEngine:
    """Sums over rows that a source hands out in batches."""

    # Without a family only moments are asked for. If its rows are not independent (Cox), they are
    # swept over in their order.

    on_device = False
    hessian_cost = 1.0  # to read and encode rows costs more than to sum over them

    def __init__(
        self,
        source: RowSource,
        encode: BatchEncoder,
        family: Family | None = None,
    ) -> None:
        self.names = encode.design.encoded_names
        self.n_sensitive = len(encode.design.sensitive.names)
        self.passes = 0
        self._source = source
        self._encode = encode
        self._family = family
        self._has_offset = bool(encode.roles.offsets) and not encode.reader.less_offset
        self._separable = family is None or family.separable
        self._forms: dict[tuple[Distance, bytes], Floats] = {}

    # ------------------------------------------------------------------ passes

    def _pass(
        self, function: Callable[[MemoryEngine], Any], encode: BatchEncoder | None = None
    ) -> Any:
        """Add up a function of the rows."""
        return self._sum(partial(_in_engine, function), encode or self._encode)

    def _sum(self, function: Callable[[EncodedBatch], Any], encode: BatchEncoder) -> Any:
        self.passes += 1
        total = self._source.map_batches(partial(on_rows, encode, function), encode.columns)
        if total is None:
            raise ValueError("there are no rows with a positive weight.")
        return total

    @cached_property
    def first(self) -> FirstPass:
        """What the first pass leaves behind."""
        return self._pass(partial(FirstPass.of, family=self._family))

    extent = delegated("first.beside.extent")
    categories = delegated("_encode.categories")

    def moments(self) -> Moments:
        return self.first.moments

    @property
    def n_rows(self) -> int:
        return self.moments().n_rows

    def qr_factor(self, center: Floats, scale: Floats) -> Floats:
        """Return R of a QR decomposition of the centered, scaled rows, batch by batch."""
        merged: Triangle = self._pass(partial(_triangle, center=center, scale=scale))
        return merged.square

    def residual_products(self, coefficients: Floats, center: Floats, intercept: float) -> Floats:
        return self._pass(methodcaller("residual_products", coefficients, center, intercept))

    def sum_over_rows(
        self, function: RowFunction, center: Floats, intercept: Floats, raw: Floats
    ) -> Floats:
        if not self._separable:
            if not hasattr(function, "sweep"):
                raise ValueError(NOT_SWEPT)
            return self._swept(function.sweep(), center, intercept, raw)
        encode = self._encode
        if not raw.any():  # then neither S nor X need be read
            if self._responses is not None:
                return self._responses.sum_over_rows(function, intercept)
            encode, center, raw = encode.only(sensitive=False), center[:0], raw[:, :0]
        return self._pass(methodcaller("sum_over_rows", function, center, intercept, raw), encode)

    @cached_property
    def _null_model(self) -> NullModel:
        return NullModel(self.moments())

    @cached_property
    def _responses(self) -> DistinctResponses | None:
        """All that rows at one linear predictor differ in, if that is little."""
        if self._family is None or self._has_offset:
            return None
        return class_responses(self._family, self.moments(), len(self.names))

    def sum_over_columns(self, function: ColumnFunction, center: Floats) -> Any:
        if not self._separable:
            raise ValueError("a Cox model needs the rows in memory for this.")
        return self._pass(methodcaller("sum_over_columns", function, center))

    def derivatives(
        self,
        family: Family,
        center: Floats,
        intercept: Floats,
        raw: Floats,
        order: int,
        others: Sequence[Place] = (),
    ) -> GLMSums:
        if not self._separable:
            return self._swept(cast(Cox, family).sweep(order), center, intercept, raw)
        if not (raw.any() or others or self._has_offset):
            known = self._null_model.sums(family, center, intercept)
            if known is not None:
                return known
        return self._pass(
            methodcaller("derivatives", family, center, intercept, raw, order, others)
        )

    def means(
        self,
        family: Family,
        means: PredictedMeans,
        center: Floats,
        intercept: Floats,
        raw: Floats,
        multipliers: Floats | None = None,
        beside: int | None = None,
        order: int = 2,
    ) -> MeanSums:
        if not (raw.any() or self._has_offset):
            width = self.n_sensitive if beside is None else beside
            known = self._null_model.means(family, means, center, intercept, multipliers, width)
            if known is not None:
                return known
        return self._pass(
            methodcaller("means", family, means, center, intercept, raw, multipliers, beside, order)
        )

    def _swept(self, sweep: Sweep, center: Floats, intercept: Floats, raw: Floats) -> Any:
        """Show the rows to a sweep, in their order."""

        def step(placed: EncodedBatch) -> None:
            engine = MemoryEngine(placed.rows)
            Z = engine.centered(center)
            eta = Z @ np.column_stack([intercept, raw]).T
            if engine.offset is not None:
                eta += engine.offset[:, None]
            sweep.add(engine.response, Z, eta, engine.weights)

        self._source.require_order()
        self.passes += 1
        self._source.map_batches(partial(on_rows, self._encode, step), self._encode.columns)
        return sweep.finish()

    def outside(self, levels: tuple[RowLevel, ...]) -> StreamEngine:
        encode = replace(self._encode, isolated=(*self._encode.isolated, *levels))
        kept = StreamEngine(self._source, encode, self._family)
        kept.passes = self.passes
        return kept

    def sample(self, count: int) -> MemoryEngine | None:
        """Return rows that the first pass has kept: of every batch some."""
        kept, total = self.first.rows, self.moments()
        if kept is None or MIN_SAMPLING_INTERVAL * count > total.n_rows:
            return None
        # All that were kept, up to a part of all rows: they are in memory, which saves passes.
        rows = kept.thinned(kept.rows.n_rows * MIN_SAMPLING_INTERVAL // total.n_rows).rows
        if rows.n_rows < count:
            return None
        return MemoryEngine(with_total_weight(rows, total.weight), many_passes=True)

    def sum_of(self, function: Callable[[Any], Any], *, only_sensitive: bool = False) -> Any:
        """Add up a function of batches of rows, each in an engine of its own."""
        return self._pass(function, self._encode.only(sensitive=True) if only_sensitive else None)

    def pairwise(self, distance: Distance, columns: ChangedColumns) -> Floats:
        """Return M with cᵀMc = Σᵢⱼ vᵢvⱼ d(yᵢ, yⱼ)(zᵢc − zⱼc)²; see `streamed_pairs`."""
        key = distance, columns.key
        if key not in self._forms:
            # Of what the family reads: targets, such as −log time, are something else.
            mean = float(self.first.response[0]) / self.moments().weight
            encode = self._encode.only(sensitive=True)
            self._forms[key] = streamed_form(distance, encode, self._sum, columns, mean)
        return self._forms[key]

    # ------------------------------------------------------------ the response

    def initial_intercepts(self, family: Family) -> Floats:
        sums = self.first.beside
        offset = sums.offset if self._has_offset else None
        return intercepts_of_sums(family, self.moments(), len(self.names), offset, sums.log_sums)

    def loglik(self, family: Family, deviance: float, dispersion: float) -> float:
        def constants() -> float:
            of_batch = methodcaller("loglik", family, 0.0, dispersion)
            return float(self._pass(of_batch, self._encode.only(sensitive=False)))

        return loglik_of_sums(family, deviance, dispersion, self.moments().weight, constants)

    # -------------------------------------------------------- what is not there

    def dense_columns(self) -> NoReturn:
        raise ValueError(NOT_IN_MEMORY)

    response = weights = offset = property(dense_columns)


def _in_engine(function: Callable[[MemoryEngine], Any], placed: EncodedBatch) -> Any:
    return function(MemoryEngine(placed.rows))


def _triangle(engine: MemoryEngine, center: Floats, scale: Floats) -> Triangle:
    return Triangle(engine.qr_factor(center, scale))
