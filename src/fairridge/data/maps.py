"""Features made of columns: any scikit-learn transformer, fitted before decorrelation.

Predictors φ(X) are decorrelated from ψ(S) by least squares in feature space,
so that the orthogonality that fairness rests on holds for the features the
model uses. Decorrelating first and mapping after would break it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from fairridge._typing import Floats
from fairridge.data.columns import CategoricalColumn, Encoding, Unknown, dense_columns
from fairridge.data.rows import Piece, Slab
from fairridge.data.table import Table


@dataclass(frozen=True)
class MappedEncoding:
    """Encoded columns, and what a fitted transformer makes of some of them."""

    # It offers what an `Encoding` offers. The transformer sees the columns of numbers; levels,
    # which are 0/1 columns, follow its features as they are. A `ColumnTransformer` says itself
    # which columns it maps, so that it sees all of them.

    inner: Encoding  # how the columns become numbers
    transformer: Any  # A fitted scikit-learn transformer
    argument: str  # the parameter it came from, for messages
    names: tuple[str, ...]  # names of the features
    dropped: float  # share of the columns' variance that the features no longer carry
    mapped: tuple[int, ...] = ()  # encoded columns that the transformer sees

    empty: ClassVar[frozenset[int]] = frozenset()
    single: ClassVar[tuple[str, ...]] = ()
    all_numeric: ClassVar[bool] = False

    @property
    def as_given(self) -> tuple[bool, ...]:
        """Which features have the name of an input column: none for certain."""
        return (False,) * len(self.names)

    def called(self, names: Sequence[str]) -> MappedEncoding:
        """Return the same encoding with these names of the features."""
        return replace(self, names=tuple(names))

    def pieces(self, table: Table, positions: Sequence[int], unknown: Unknown) -> tuple[Piece, ...]:
        """Encode the columns of a table at these positions, and map them."""
        return self.map(self.inner.pieces(table, positions, unknown))

    def map(self, pieces: Sequence[Piece]) -> tuple[Piece, ...]:
        """Map encoded columns."""
        columns = dense_columns(pieces, self.inner.names)
        return (Slab(_features(self.transformer, columns, self.mapped, self.argument)),)


def learn_map(
    encoding: Encoding,
    pieces: Sequence[Piece],
    weight: Floats | None,
    transformer: Any,
    argument: str,
) -> MappedEncoding:
    """Fit a transformer to encoded columns."""
    if isinstance(transformer, type) or not hasattr(transformer, "transform"):
        raise TypeError(
            f"{argument}={transformer!r} is not a transformer; pass a scikit-learn transformer "
            "such as SplineTransformer()."
        )
    columns = dense_columns(pieces, encoding.names)
    mapped = _mapped(encoding, columns, transformer, argument)
    fitted = clone(transformer).fit(columns[:, list(mapped)])
    features = _features(fitted, columns, mapped, argument)
    kept = _others(mapped, columns.shape[1])
    seen = tuple(encoding.names[k] for k in mapped)
    return MappedEncoding(
        encoding,
        fitted,
        argument,
        (
            *_names(fitted, seen, features.shape[1] - len(kept)),
            *(encoding.names[k] for k in kept),
        ),
        _dropped(columns, features, weight),
        mapped,
    )


def _mapped(
    encoding: Encoding, columns: Floats, transformer: Any, argument: str
) -> tuple[int, ...]:
    """Return which encoded columns are mapped: numbers, unless the transformer chooses itself."""
    # Levels and numbers of two values have nothing that could be bent.
    everything = tuple(range(columns.shape[1]))
    if isinstance(transformer, ColumnTransformer):
        return everything
    numeric = [
        k == 0 and not isinstance(column, CategoricalColumn)
        for column in encoding.columns
        for k in range(column.width)
    ]
    found = tuple(k for k in everything if numeric[k] and len(np.unique(columns[:, k])) > 2)
    if not found:
        raise ValueError(
            f"{argument} maps numbers, and there are levels only; leave it out, or say which "
            "columns it maps: ColumnTransformer([('all', transformer, slice(0, None))])."
        )
    return found


def _others(mapped: Sequence[int], width: int) -> list[int]:
    """Return the columns that are kept as they are."""
    return sorted({*range(width)} - {*mapped})


def _features(transformer: Any, columns: Floats, mapped: Sequence[int], argument: str) -> Floats:
    """Return the features of the columns that are mapped, then the others."""
    others = columns[:, _others(mapped, columns.shape[1])]
    out = transformer.transform(columns[:, list(mapped)])
    out = out.toarray() if hasattr(out, "toarray") else np.asarray(out)
    if out.shape[:1] != columns.shape[:1]:
        raise ValueError(
            f"{argument}={transformer!r} returns {len(out)} rows for {len(columns)}; a map must "
            "keep the rows."
        )
    features = np.ascontiguousarray(out, dtype=np.float64).reshape(len(columns), -1)
    if not features.shape[1]:
        raise ValueError(f"{argument} returns no features.")
    if not np.isfinite(features).all():
        raise ValueError(
            f"{argument}={transformer!r} returns NaN or infinity; scale the columns first, or use "
            "another map."
        )
    return np.hstack([features, others])


def _names(transformer: Any, columns: tuple[str, ...], width: int) -> tuple[str, ...]:
    try:
        names = tuple(str(name) for name in transformer.get_feature_names_out(columns))
    except (AttributeError, TypeError, ValueError):
        names = ()
    if len(names) != width or len(set(names)) != width:
        stem = type(transformer).__name__.lower()
        return tuple(f"{stem}{k}" for k in range(width))
    return names


def _dropped(columns: Floats, features: Floats, weight: Floats | None) -> float:
    """Share of the columns' variance that is not a linear function of the features."""
    root = np.ones(len(columns)) if weight is None else np.sqrt(weight)
    columns, features = (
        (a - np.average(a, axis=0, weights=weight)) * root[:, None] for a in (columns, features)
    )
    total = float((columns**2).sum())
    if total == 0.0:
        return 0.0
    kept, *_ = np.linalg.lstsq(features, columns, rcond=1e-10)
    return float(np.clip(((columns - features @ kept) ** 2).sum() / total, 0.0, 1.0))
