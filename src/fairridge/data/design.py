"""Which columns are sensitive, which are predictors, and how both are encoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

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
    Unknown,
    base_of_sensitive,
    dense_columns,
    encode_columns,
    for_sensitive,
    require_levels,
    unique_names,
)
from fairridge.data.maps import MappedEncoding, learn_map
from fairridge.data.rows import Piece, Slab, SparseSlab
from fairridge.data.table import Table, as_table, column_positions, located
from fairridge.exceptions import DataWarning

# Levels of a column beyond which it is a key, an amount or a date rather than a category.
MAX_LEVELS = 1000
# So few levels are categories even if every row has its own.
MIN_ALLOWED_LEVELS = 10
# Rows below which distinct numbers are not taken for keys.
MIN_KEY_ROWS = 100

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
        """Positions of the encoded columns in the order of the input columns.

        Levels of a categorical stand where their column stood. S comes first if
        it was separate; mapped features keep the order S, X.
        """
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
        """Return positions, among encoded predictors, of columns of X that are controls.

        Parameters
        ----------
        controls : str, int or sequence of these
            Columns of X, by name or position; the levels of a categorical are one control.
        """
        if isinstance(self.predictors, MappedEncoding):
            raise ValueError(
                "controls are columns of X, and predictor_map makes features of all of them; "
                "leave one of the two out."
            )
        ends = np.cumsum([0, *(column.width for column in self.predictors.columns)])
        columns: list[int] = []
        for position in column_positions(controls, self.names, self.n_columns, "controls"):
            if position not in self.positions_predictors:
                label = position if self.names is None else self.names[position]
                raise ValueError(
                    f"controls names column {label!r}, which is sensitive; a control is a "
                    "predictor."
                )
            k = self.positions_predictors.index(position)
            columns += range(ends[k], ends[k + 1])
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
        mapped = isinstance(self.sensitive, MappedEncoding)
        return mapped or isinstance(self.predictors, MappedEncoding)

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
        mapped = replace(self, sensitive=encodings[0], predictors=encodings[1])
        return mapped.with_unique_names()

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
        """Read the sensitive attributes of new rows, if they come separately."""
        if sensitive_features is None:
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
        """Encode new rows: the pieces of S and of X.

        Parameters
        ----------
        X, S : Table
            New rows; S only if it was separate at fit.
        unknown : {"error", "base", "mean"}
            What an unseen level does; see `for_sensitive` for S.
        estimator_name : str
            Name of the estimator, for messages.
        groups : bool
            Whether S must name groups, so that an unseen level cannot be an average.
        """
        names, n_columns, places = self._expected(X)
        where = located(X, names, n_columns, "X", estimator_name, self._sensitive_in(names))
        predictors = self.predictors.pieces(X, [where[k] for k in places], unknown)
        rule = unknown if groups else for_sensitive(unknown)
        if not self.separate:
            places = self.positions_sensitive
            sensitive = self.sensitive.pieces(X, [where[k] for k in places], rule)
            return _written_out(sensitive), predictors
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
        width = len(self.positions_sensitive)
        where = located(S, self.sensitive_names, width, "sensitive_features", estimator_name)
        return self.sensitive.pieces(S, where, rule), predictors

    def _sensitive_in(self, names: tuple[str, ...] | None) -> list[str]:
        """Return the names of sensitive columns of X; none if S came separately."""
        return (
            [] if names is None or self.separate else [names[k] for k in self.positions_sensitive]
        )

    def _expected(self, X: Table) -> tuple[tuple[str, ...] | None, int, tuple[int, ...]]:
        """Return names and number of columns that X must have, and where predictors are there.

        A design without S does not care whether a frame still has the columns of S.
        """
        if self.positions_sensitive or self.names is None or X.names is None:
            return self.names, self.n_columns, self.positions_predictors
        predictors = tuple(self.names[k] for k in self.positions_predictors)
        ignored = {*self.names, *(self.sensitive_names or ())}.difference(predictors)
        names = predictors + tuple(name for name in X.names if name in ignored)
        return names, len(names), tuple(range(len(predictors)))


def most_levels(n_rows: int | None, maximum: int = MAX_LEVELS) -> int:
    """Return how many levels a column of so many rows may have."""
    return maximum if n_rows is None else min(maximum, max(MIN_ALLOWED_LEVELS, n_rows // 2))


def require_few_levels(design: Design, n_rows: int | None, maximum: Any = MAX_LEVELS) -> None:
    """Raise, naming the column, if levels are too many to be categories.

    Parameters
    ----------
    design : Design
        The columns, before feature maps.
    n_rows : int or None
        Rows that they were learned from; None if they were not counted.
    maximum : int or None
        The most levels with rows that a column may have; at most half as many
        as rows are allowed beyond ten. None allows any number.
    """
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
) -> tuple[Table, tuple[int, ...], tuple[int, ...]]:
    """Return the table that has S, the positions of S in it, and those of predictors in X."""
    if (S is None) == (sensitive is None):
        raise ValueError(
            "say which attributes are sensitive: either sensitive=[columns of X] in the "
            "constructor, or sensitive_features=… in fit, "
            + ("but not both." if S is not None else "and one of them is needed.")
        )
    everything = range(X.shape[1])
    if S is not None:
        _no_overlap(X, S)
        chosen, rest = tuple(range(S.shape[1])), tuple(everything)
        source = S
    else:
        chosen, _ = sensitive_positions(sensitive, X.names, X.shape[1])
        rest = tuple(sorted(set(everything).difference(chosen)))
        source = X
    return source, chosen, rest


def sensitive_positions(
    sensitive: Any, names: tuple[str, ...] | None, n_columns: int
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Return the positions of sensitive columns in X, and intersections as positions among them.

    A tuple among the columns, as in ``["sex", ("sex", "race")]``, is an intersection; its
    columns are sensitive whether they are named beside it or not.
    """
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
    """Split and encode the columns of a training table.

    Parameters
    ----------
    X : Table
        The input, without rows of zero weight.
    S : Table or None
        `sensitive_features`, if given.
    sensitive : str, int or sequence of these and of tuples of these, or None
        Columns of X that are sensitive, and intersections of them. Exactly one of this and S is
        given.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    min_frequency : int, float or None
        Count or share below which levels of a predictor are merged.
    max_levels : int or None
        See `require_few_levels`.
    missing : {"error", "level"}
        See `encode_columns`.
    base : None, "most-frequent" or mapping of str to level
        Base levels; the most frequent one is that of predictors only.
    """
    source, chosen, rest = locate_sensitive(X, S, sensitive)
    attributes = encode_columns(source, chosen, weight, None, missing, base_of_sensitive(base))
    if S is None:
        _, crossed = sensitive_positions(sensitive, X.names, X.shape[1])
        if crossed:
            pieces = attributes.pieces(source, chosen, "error")
            columns = dense_columns(pieces, attributes.names)
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


def _written_out(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Make sparse columns dense: S is few columns, and groups are made of their values."""
    return tuple(Slab(p.dense()) if isinstance(p, SparseSlab) else p for p in pieces)


def _no_overlap(X: Table, S: Table) -> None:
    shared = set(X.names or ()) & set(S.names or ())
    if shared:
        name = sorted(shared)[0]
        raise ValueError(
            f"column {name!r} is both in X and in sensitive_features; take it out of X, "
            "or name it in sensitive=[…] and leave sensitive_features out."
        )
