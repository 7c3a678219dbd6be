"""The sensitive attributes of rows, whatever a model reads, as a table and as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fairridge._typing import Floats, Integers
from fairridge.data import Table, as_table, dense_columns
from fairridge.data.columns import encode_columns
from fairridge.data.design import sensitive_positions

# Intersections, as positions among the sensitive attributes.
Crossed = tuple[tuple[int, ...], ...]


def sensitive_attributes(
    X: Any, sensitive_features: Any, sensitive: Any
) -> tuple[Table, tuple[int, ...], Crossed]:
    """Return the sensitive attributes, where they are in X, and which are crossed."""
    # They come by themselves, or `sensitive` names columns of X.
    if sensitive_features is not None:
        return as_table(sensitive_features, argument="sensitive_features"), (), ()
    table = as_table(X, sparse=True)
    places, crossed = sensitive_positions(sensitive, table.names, table.shape[1])
    names = tuple(map(table.label, places))
    return replace(table.select(places), names=names), places, crossed


@dataclass(frozen=True)
class SensitiveColumns:
    """Sensitive attributes that several models are measured on, whatever they read."""

    attributes: Table
    columns: Floats  # the same, written out, of shape (n, q)
    places: tuple[int, ...]  # of these among the columns of X; none if S came by itself

    @classmethod
    def of(cls, X: Any, sensitive_features: Any, sensitive: Any) -> SensitiveColumns:
        """Write S out; rows whose attribute is missing have a level of their own."""
        attributes, places, crossed = sensitive_attributes(X, sensitive_features, sensitive)
        everything = range(attributes.shape[1])
        encoding = encode_columns(attributes, everything, missing="level")
        encoding = encoding.with_intersections(crossed)
        columns = dense_columns(encoding.pieces(attributes, everything, "error"), encoding.names)
        return cls(attributes, columns, places)

    def take(self, rows: Integers) -> SensitiveColumns:
        """Return these rows only."""
        return replace(self, attributes=self.attributes.take(rows), columns=self.columns[rows])
