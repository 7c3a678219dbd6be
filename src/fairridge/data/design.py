"""Which columns are sensitive, which are predictors, how both are encoded and distributed.

A model keeps how the columns of its training rows were distributed, in a few numbers of each,
to check later whether new rows are like those it was fitted to. Levels have their shares; numbers
have deciles and the shares between them, from a sample of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats, Integers
from fairridge._warnings import warn_user
from fairridge.arguments import check_count, listed
from fairridge.data.columns import (
    Base,
    CategoricalColumn,
    ColumnEncoding,
    Encoding,
    Missing,
    MissingLevelError,
    Unknown,
    base_of_sensitive,
    dense_columns,
    encode_columns,
    for_sensitive,
    missing_counts,
    missing_message,
    require_levels,
    unique_names,
)
from fairridge.data.levels import Levels
from fairridge.data.maps import MappedEncoding, learn_map
from fairridge.data.rows import Indicators, Piece, Slab, SparseSlab
from fairridge.data.series import days_since_1970
from fairridge.data.table import (
    Table,
    as_table,
    column_positions,
    located,
)
from fairridge.data.text_style import is_date
from fairridge.exceptions import DataWarning

# Levels of a column beyond which it is a key, an amount or a date rather than a category, and which
# batches are summed by at most.
MAX_LEVELS = 1000
# So few levels are categories even if every row has its own.
MIN_ALLOWED_LEVELS = 10
# Rows below which distinct numbers are not taken for keys.
MIN_KEY_ROWS = 100
# Rows whose numbers are looked at. Those of rows elsewhere travel; the shares between deciles of
# so many still have standard errors of one percent.
PROFILE_ROWS, TRAVELING_PROFILE_ROWS = 4096, 1024
DECILES = np.arange(1, 10) / 10

Pieces = tuple[tuple[Piece, ...], tuple[Piece, ...]]


@dataclass(frozen=True)
class Design:
    """What a fitted model remembers of its input columns."""

    # How S and X are encoded, and mapped to features.
    sensitive: Encoding | MappedEncoding
    predictors: Encoding | MappedEncoding
    # Where their columns stood at fit, each in its own table.
    positions_sensitive: tuple[int, ...]
    positions_predictors: tuple[int, ...]
    # Column names of X and of `sensitive_features` at fit; None for arrays.
    names: tuple[str, ...] | None
    sensitive_names: tuple[str, ...] | None
    n_columns: int  # number of columns of X at fit
    separate: bool  # whether S came as `sensitive_features` instead of as columns of X

    @cached_property
    def columns(self) -> tuple[ColumnEncoding, ...]:
        """How each input column of S, then of X, becomes numbers, before any map."""
        return self.sensitive.inner.columns + self.predictors.inner.columns

    @cached_property
    def encoded_names(self) -> tuple[str, ...]:
        """Encoded names of S, then of X."""
        return self.sensitive.names + self.predictors.names

    @property
    def input_order(self) -> Integers:
        """Positions of the encoded columns in the order of the input columns."""
        # Levels of a categorical stand where their column stood. S comes first if
        # it was separate; mapped features keep the order S, X.
        if self.separate or self.is_mapped:
            return np.arange(len(self.encoded_names))
        places = [
            position
            for encoding, positions in (
                (self.sensitive.inner, self.positions_sensitive),
                (self.predictors.inner, self.positions_predictors),
            )
            for position in (
                *np.repeat(positions, [c.width for c in encoding.columns]).tolist(),
                # Products of intersections come last.
                *[self.n_columns] * len(encoding.products),
            )
        ]
        return np.argsort(np.array(places, dtype=np.intp), kind="stable")

    def to_encoded(self, values: Floats) -> Floats:
        """Reorder the last axis from the order of the input columns to S, then X."""
        reordered = np.empty_like(values)
        reordered[..., self.input_order] = values
        return reordered

    def control_columns(self, controls: Any) -> tuple[int, ...]:
        """Return positions, among encoded predictors, of columns of X that are controls."""
        if isinstance(self.predictors, MappedEncoding):
            raise ValueError(
                "controls are columns of X, and predictor_map makes features of all of them; "
                "leave one of the two out."
            )
        columns: list[int] = []
        spans = self.predictors.spans
        for position in column_positions(controls, self.names, self.n_columns, "controls"):
            if position not in self.positions_predictors:
                label = position if self.names is None else self.names[position]
                raise ValueError(
                    f"controls names column {label!r}, which is sensitive; a control is a "
                    "predictor."
                )
            k = self.positions_predictors.index(position)
            columns += spans[k]
        return tuple(columns)

    def without_sensitive(self) -> Design:
        """Return a design that reads X alone; if new rows have S, it is ignored."""
        return replace(self, sensitive=Encoding(()), positions_sensitive=(), separate=False)

    def with_unique_names(self) -> Design:
        """Rename encoded columns that share a name; names of input columns are kept if possible."""
        names, q = self.encoded_names, len(self.sensitive.names)
        if len(set(names)) == len(names):
            return self
        names = unique_names(names, (*self.sensitive.as_given, *self.predictors.as_given))
        return replace(
            self,
            sensitive=self.sensitive.called(names[:q]),
            predictors=self.predictors.called(names[q:]),
        )

    @property
    def is_mapped(self) -> bool:
        """Whether S or X is mapped to features."""
        return MappedEncoding in (type(self.sensitive), type(self.predictors))

    def with_maps(
        self,
        pieces: Pieces,
        weight: Floats | None,
        sensitive_map: Any,
        predictor_map: Any,
    ) -> Design:
        """Fit feature maps to encoded rows; None maps nothing."""
        encodings = [
            encoding
            if transformer is None
            else learn_map(encoding.inner, columns, weight, transformer, argument)
            for encoding, columns, transformer, argument in (
                (self.sensitive, pieces[0], sensitive_map, "sensitive_map"),
                (self.predictors, pieces[1], predictor_map, "predictor_map"),
            )
        ]
        return replace(self, sensitive=encodings[0], predictors=encodings[1]).with_unique_names()

    def refitted(self, pieces: Pieces, weight: Floats | None) -> Design:
        """Fit the same maps to other rows."""
        maps = [getattr(e, "transformer", None) for e in (self.sensitive, self.predictors)]
        return self.with_maps(pieces, weight, *maps)

    def map(self, pieces: Pieces) -> Pieces:
        """Map rows that are encoded but not mapped yet."""
        sensitive, predictors = (
            encoding.map(columns) if isinstance(encoding, MappedEncoding) else columns
            for encoding, columns in zip((self.sensitive, self.predictors), pieces, strict=True)
        )
        return sensitive, predictors

    def attributes(self, sensitive_features: Any, *, estimator_name: str) -> Table | None:
        """Read the sensitive attributes of new rows, if they come separately and are needed."""
        if sensitive_features is None or not self.positions_sensitive:
            return None
        if not self.separate:
            raise ValueError(
                f"this {estimator_name} takes S from columns of X (sensitive=…): "
                "leave sensitive_features out."
            )
        return as_table(sensitive_features, argument="sensitive_features", devices=True)

    def encode(
        self,
        X: Table,
        S: Table | None,
        unknown: Unknown,
        *,
        estimator_name: str,
        groups: bool = False,
    ) -> Pieces:
        """Encode new rows: the pieces of S and of X."""
        # `groups` says whether S must name groups, so that an unseen level cannot be an average.
        names, n_columns, places = self._expected(X)
        needed = [] if self.separate or not names else [names[k] for k in self.positions_sensitive]
        where = located(X, names, n_columns, "X", estimator_name, needed)
        others = [where[k] for k in places]
        if self.separate:
            attributes, name = separate_attributes(X, S, estimator_name), "sensitive_features"
            width = len(self.positions_sensitive)
            own = located(attributes, self.sensitive_names, width, name, estimator_name)
        else:
            attributes, own = X, [where[k] for k in self.positions_sensitive]
        rule = unknown if groups else for_sensitive(unknown)
        try:
            predictors = self.predictors.pieces(X, others, unknown)
            sensitive = self.sensitive.pieces(attributes, own, rule)
        except MissingLevelError as error:  # of the first such column only
            counts = missing_counts(attributes, own) | missing_counts(X, others)
            raise ValueError(missing_message(counts)) from error
        if not self.separate:  # S is few columns, and groups are made of their values
            sensitive = tuple(
                Slab(p.dense()) if isinstance(p, SparseSlab) else p for p in sensitive
            )
        return sensitive, predictors

    def _expected(self, X: Table) -> tuple[tuple[str, ...] | None, int, tuple[int, ...]]:
        """Return names and number of columns that X must have, and where predictors are there."""
        # A design without S does not care whether a frame still has the columns of S.
        if self.positions_sensitive or self.names is None or X.names is None:
            return self.names, self.n_columns, self.positions_predictors
        predictors = tuple(self.names[k] for k in self.positions_predictors)
        ignored = {*self.names, *(self.sensitive_names or ())}.difference(predictors)
        names = predictors + tuple(name for name in X.names if name in ignored)
        return names, len(names), tuple(range(len(predictors)))


def separate_attributes(X: Table, S: Table | None, estimator_name: str) -> Table:
    """Return S that is passed beside X; raise if it is missing, or of other rows."""
    if S is None:
        raise ValueError(
            f"this {estimator_name} was fitted with sensitive_features=…: pass "
            "sensitive_features here too, or use a model with blind=True, which needs them in "
            "fit only."
        )
    if S.shape[0] != X.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows but sensitive_features has {S.shape[0]}; "
            "pass one row of each per observation."
        )
    return S


def most_levels(n_rows: int | None, maximum: int = MAX_LEVELS) -> int:
    """Return how many levels a column of so many rows may have."""
    return maximum if n_rows is None else min(maximum, max(MIN_ALLOWED_LEVELS, n_rows // 2))


def require_few_levels(design: Design, n_rows: int | None, maximum: Any = MAX_LEVELS) -> None:
    """Raise, naming a column, if levels are too many for categories; None allows any number."""
    if maximum is None:
        return
    most = most_levels(n_rows, check_count("max_levels", maximum))
    for column in design.columns:
        if not isinstance(column, CategoricalColumn):
            continue
        count = len(column.levels) - len(column.empty)
        if count > most:
            rows = "" if n_rows is None else f" in {n_rows:,} rows"
            raise ValueError(
                f"column {column.name!r} has {count:,} levels{rows}, such as "
                f"{column.levels[column.base]!r}: too many for categories. Leave it out if it is "
                "a key, convert it if it holds numbers or dates, merge its levels, or allow more "
                "with max_levels (None: any number)."
            )


def warn_of_keys(table: Table, design: Design) -> None:
    """Warn of whole numbers that are all distinct, or increase from row to row, as keys do."""
    n, encoding = table.shape[0], design.predictors.inner
    if n < MIN_KEY_ROWS or table.on_device or table.is_sparse:
        return
    if table.is_numeric_array and table.source.dtype.kind not in "iu":
        return
    keys = []
    for column, position in zip(encoding.columns, design.positions_predictors, strict=True):
        values = table.column(position)
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and _are_keys(values):
            keys.append(column.name)
    if keys:
        warn_user(
            f"predictor column(s) {listed(keys)} look like keys: their whole numbers are distinct "
            "in every row, or increase from row to row. Leave out what only tells rows apart.",
            DataWarning,
        )


def warn_of_dates(table: Table, design: Design) -> None:
    """Warn of text that holds dates, each of which becomes a category."""
    if not isinstance(table.source, nw.DataFrame):
        return
    for position in design.positions_predictors:
        column = table.column(position)
        if not isinstance(column, Levels) or not all(map(is_date, column.levels)):
            continue
        name = table.label(position)
        series = table.source.get_column(name)
        if isinstance(series.dtype, nw.String | nw.Object):  # somebody made categories of others
            warn_user(
                f"Column {name!r} holds dates as text, and each becomes a category. Make numbers "
                f"of them, such as days since 1970: {days_since_1970(name, series)}.",
                DataWarning,
            )


def _are_keys(values: NDArray[Any]) -> bool:
    start = values[:MIN_KEY_ROWS]
    rising = bool((np.diff(start) >= 0).all())
    if not rising and len(np.unique(start)) < len(start):
        return False
    distinct = len(np.unique(values))
    return distinct == len(values) or (
        2 * distinct > len(values) and bool((np.diff(values) >= 0).all())
    )


def locate_sensitive(
    X: Table, S: Table | None, sensitive: Any
) -> tuple[Table, tuple[int, ...], tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Return the table that has S, its positions there, predictors in X, and intersections."""
    if (S is None) == (sensitive is None):
        raise ValueError(
            "say which attributes are sensitive: either sensitive=[columns of X] in the "
            "constructor, or sensitive_features=… in fit, "
            + ("but not both." if S is not None else "and one of them is needed.")
        )
    everything = range(X.shape[1])
    if S is not None:
        shared = sorted({*(X.names or ())} & {*(S.names or ())})
        if shared:
            raise ValueError(
                f"column {shared[0]!r} is both in X and in sensitive_features; take it out of X, "
                "or name it in sensitive=[…] and leave sensitive_features out."
            )
        return S, tuple(range(S.shape[1])), tuple(everything), ()
    chosen, crossed = sensitive_positions(sensitive, X.names, X.shape[1])
    return X, chosen, tuple(sorted(set(everything).difference(chosen))), crossed


def sensitive_positions(
    sensitive: Any, names: tuple[str, ...] | None, n_columns: int
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Return the positions of sensitive columns in X, and intersections as positions among them."""
    # A tuple among the columns, as in ``["sex", ("sex", "race")]``, is an intersection; its
    # columns are sensitive whether they are named beside it or not.
    listed = isinstance(sensitive, list | tuple)
    tuples = [item for item in sensitive if isinstance(item, tuple)] if listed else []
    if not tuples:
        return column_positions(sensitive, names, n_columns, "sensitive"), ()
    single = [item for item in sensitive if not isinstance(item, tuple)]
    alone = column_positions(single, names, n_columns, "sensitive") if single else ()
    inside = [column_positions(one, names, n_columns, "sensitive") for one in tuples]
    for one, columns in zip(tuples, inside, strict=True):
        if len(columns) < 2:
            raise ValueError(f"sensitive has {one!r}: an intersection needs at least two columns.")
    chosen = tuple(dict.fromkeys([*alone, *(k for columns in inside for k in columns)]))
    crossed = dict.fromkeys(tuple(sorted(map(chosen.index, columns))) for columns in inside)
    return chosen, tuple(crossed)


def learn_design(
    X: Table,
    S: Table | None,
    sensitive: Any,
    max_levels: Any = MAX_LEVELS,
    weight: Floats | None = None,
    min_frequency: Any = None,
    missing: Missing = "error",
    base: Base = None,
) -> Design:
    """Split and encode the columns of a training table; either S or `sensitive` is given."""
    source, chosen, rest, crossed = locate_sensitive(X, S, sensitive)
    attributes = encode_columns(source, chosen, weight, None, missing, base_of_sensitive(base))
    if crossed:
        columns = dense_columns(attributes.pieces(source, chosen, "error"), attributes.names)
        attributes = attributes.with_intersections(crossed, columns)
    design = Design(
        attributes,
        encode_columns(X, rest, weight, min_frequency, missing, base),
        chosen,
        rest,
        X.names,
        None if S is None else S.names,
        X.shape[1],
        S is not None,
    )
    require_levels(base, design.sensitive.inner, design.predictors.inner)
    require_few_levels(design, X.shape[0], max_levels)
    return design.with_unique_names()


# ------------------------------------------------------- how columns were distributed


@dataclass(frozen=True)
class ColumnProfile:
    """How one column was distributed at fit."""

    name: str  # the input column
    # Its levels as text, with those that were merged as "(other)"; () for numbers.
    levels: tuple[str, ...]
    edges: Floats  # distinct deciles of a number; none for levels, of shape (k,)
    # Share of each level; or of the numbers up to the first edge, from there to the next, …,
    # and above the last one.
    shares: Floats
    n_rows: int  # rows that were looked at

    @property
    def is_sound(self) -> bool:
        """Whether the numbers fit together."""
        return (
            self.edges.ndim == self.shares.ndim == 1
            and bool(self.levels) != bool(self.edges.size)
            and len(self.shares) == (len(self.levels) or len(self.edges) + 1)
            and bool((np.diff(self.edges) > 0.0).all() and (self.shares >= 0.0).all())
            and abs(float(self.shares.sum()) - 1.0) < 1e-6
            and self.n_rows > 0
        )

    @property
    def typical(self) -> str | float:
        """The commonest level, or the median."""
        if self.levels:
            return self.levels[int(np.argmax(self.shares))]
        return float(self.edges[len(self.edges) // 2])


@dataclass(frozen=True)
class NumberSample:
    """Evenly spaced rows of the numeric columns; samples of disjoint rows add."""

    values: Floats  # numbers of columns of S, then of X, of shape (m, k)
    weight: Floats  # weights of the rows, of shape (m,)
    stride: int  # how many rows each of these stands for, a power of two
    most: int  # how many rows there may be

    @classmethod
    def of(
        cls, pieces: Sequence[Piece], n_rows: int, weight: Floats | None, most: int = PROFILE_ROWS
    ) -> NumberSample:
        """Take evenly spaced rows in memory."""
        stride = 1 << max(0, math.ceil(math.log2(max(n_rows, 1) / most)))
        rows = slice(None, None, stride)
        slabs = [
            piece.values[rows] if isinstance(piece, Slab) else piece.values[rows].toarray()
            for piece in pieces
            if not isinstance(piece, Indicators)
        ]
        size = len(range(0, n_rows, stride))
        values = np.concatenate([np.empty((size, 0)), *slabs], axis=1, dtype=np.float64)
        return cls(values, np.ones(size) if weight is None else weight[rows], stride, most)

    def __add__(self, other: NumberSample) -> NumberSample:
        stride = max(self.stride, other.stride)
        parts = [sample._thinned(stride // sample.stride) for sample in (self, other)]
        values, weight = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "weight")
        )
        both = NumberSample(values, weight, stride, self.most)
        return both._thinned(2) if len(weight) > self.most else both

    def _thinned(self, by: int) -> NumberSample:
        return NumberSample(self.values[::by], self.weight[::by], self.stride * by, self.most)


def column_profiles(
    design: Design, shares: Sequence[Floats], sample: NumberSample | None, n_rows: int
) -> tuple[ColumnProfile, ...]:
    """Describe columns of S, then of X; numbers without a sample are left out."""
    known, profiles, k = iter(shares), [], 0
    numbers = [] if sample is None else _of_numbers(sample)
    for encoding in (design.sensitive.inner, design.predictors.inner):
        for column in encoding.columns:
            if isinstance(column, CategoricalColumn):
                levels, share = tuple(map(str, column.levels)), next(known)
                profiles.append(ColumnProfile(column.name, levels, np.empty(0), share, n_rows))
                continue
            if sample is not None:
                profiles.append(ColumnProfile(column.name, (), *numbers[k], len(sample.weight)))
            k += column.width  # a number that may be missing has another column
        k += len(encoding.products)
    return tuple(profiles)


def level_shares(
    columns: Sequence[ColumnEncoding],
    pieces: Sequence[Piece],
    weight: Floats | None,
) -> list[Floats]:
    """Return the shares of the levels of every categorical column, from its codes."""
    coded = iter([piece for piece in pieces if isinstance(piece, Indicators)])
    shares = []
    for column in columns:
        if not isinstance(column, CategoricalColumn):
            continue
        piece = next(coded)
        counts = np.bincount(piece.codes + 1, weight, piece.width + 1)
        shares.append(_with_base(column, counts[1:] / counts.sum(), counts[0] / counts.sum()))
    return shares


def shares_of_means(design: Design, means: Floats) -> list[Floats]:
    """Return the same from the means of all encoded columns."""
    shares, first = [], 0
    for encoding in (design.sensitive.inner, design.predictors.inner):
        for column, span in zip(encoding.columns, encoding.spans, strict=True):
            if isinstance(column, CategoricalColumn):
                part = means[first + span.start : first + span.stop]
                shares.append(_with_base(column, part, 1.0 - part.sum()))
        first += len(encoding.names)
    return shares


def share_between(edges: Floats, values: NDArray[np.float64], weight: Floats) -> Floats:
    """Return the shares of numbers up to the first edge, …, and above the last one."""
    places: Integers = np.searchsorted(edges, values, side="left")
    counts = np.bincount(places, weight, len(edges) + 1)
    return np.asarray(counts / counts.sum())


def _with_base(column: CategoricalColumn, others: Floats, base: float) -> Floats:
    # Means of indicators add up to one only up to rounding.
    return np.insert(np.clip(others, 0.0, 1.0), column.base, max(base, 0.0))


def _of_numbers(sample: NumberSample) -> list[tuple[Floats, Floats]]:
    """Return the distinct deciles of every column, and the shares between them."""
    values, weight = np.array(sample.values.T, order="C"), sample.weight
    if (weight == weight[:1]).all():  # to sort is ten times as fast as to find the order
        values.sort(axis=1)
        return _of_alike_rows(values, np.cumsum(weight))
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    reached = np.cumsum(weight[order], axis=1)
    return [_between_deciles(*column) for column in zip(ordered, reached, strict=True)]


def _of_alike_rows(ordered: Floats, reached: Floats) -> list[tuple[Floats, Floats]]:
    """Return the same of rows of one weight, whose deciles are in the same places."""
    places = _decile_places(reached)
    deciles = ordered[:, places]
    # Numbers that do not occur twice have the same shares between their deciles.
    following = ordered[:, np.minimum(places + 1, len(reached) - 1)]
    single = np.asarray((following > deciles).all(axis=1))
    single &= (places[1:] > places[:-1]).all()
    between = _shares(reached[places], reached[-1])
    return [
        (edges, between) if alone else _between_deciles(column, reached)
        for edges, alone, column in zip(deciles, single.tolist(), ordered, strict=True)
    ]


def _decile_places(reached: Floats) -> Integers:
    return np.searchsorted(reached, DECILES * (reached[-1] * (1.0 - 1e-12)))


def _shares(ends: Floats, total: float) -> Floats:
    """Return the shares up to each end, and above the last one."""
    between = np.append(ends, total)
    between[1:] -= ends
    return between / total


def _between_deciles(ordered: Floats, reached: Floats) -> tuple[Floats, Floats]:
    """Find deciles of numbers in order, given the weight up to each."""
    deciles = ordered[_decile_places(reached)]
    edges = deciles[np.concatenate(([True], deciles[1:] > deciles[:-1]))]
    ends = reached[np.searchsorted(ordered, edges, side="right") - 1]
    return edges, _shares(ends, reached[-1])
