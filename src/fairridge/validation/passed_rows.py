"""Rows as a user passes them, for models that are fitted to them or judged on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from fairridge._typing import Floats, Integers
from fairridge.data import Table, as_table, dense_columns, weights
from fairridge.data.columns import encode_columns
from fairridge.data.design import sensitive_positions
from fairridge.estimators._responses import Inputs
from fairridge.estimators._training import read_inputs

# Intersections, as positions among the sensitive attributes.
Crossed = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PassedRows:
    """Rows as `fit` takes them."""

    X: Any
    y: Any
    sensitive_features: Any = None
    sample_weight: Any = None
    offset: Any = None
    exposure: Any = None

    def read(self, offset: Any = None) -> Inputs:
        """Return the rows with a positive weight, with offset and exposure as a model joins them.

        Of the response only the order of its row labels is looked at.
        """
        given = self.X, self.sensitive_features, self.sample_weight, offset, self.y
        return read_inputs(*given)

    def take(self, rows: Integers) -> PassedRows:
        """Return these rows only."""
        given = {
            name: _safe_indexing(values, rows)
            for name, values in vars(self).items()
            if values is not None and not isinstance(values, Real)
        }
        return replace(self, **given)

    @property
    def present(self) -> PassedRows:
        """The rows with a positive weight."""
        n = as_table(self.X, sparse=True).shape[0]
        weight = weights(self.sample_weight, n)
        rows = replace(self, sample_weight=weight)
        return rows if weight is None or weight.all() else rows.take(np.flatnonzero(weight))

    def attributes(self, sensitive: Any) -> tuple[Table, tuple[int, ...], Crossed]:
        """Return the sensitive attributes, where they are in X, and which are crossed.

        They come by themselves, or `sensitive` names columns of X.
        """
        if self.sensitive_features is not None:
            return as_table(self.sensitive_features, argument="sensitive_features"), (), ()
        table = as_table(self.X, sparse=True)
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
    def of(cls, rows: PassedRows, sensitive: Any) -> SensitiveColumns:
        """Write S out; rows whose attribute is missing have a level of their own."""
        attributes, places, crossed = rows.attributes(sensitive)
        everything = range(attributes.shape[1])
        encoding = encode_columns(attributes, everything, missing="level")
        encoding = encoding.with_intersections(crossed)
        columns = dense_columns(encoding.pieces(attributes, everything, "error"), encoding.names)
        return cls(attributes, columns, places)

    def take(self, rows: Integers) -> SensitiveColumns:
        """Return these rows only."""
        return replace(self, attributes=self.attributes.take(rows), columns=self.columns[rows])
