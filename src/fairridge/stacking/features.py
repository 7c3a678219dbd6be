"""From columns of X to the predictors of the layer: scores, proxies of S, and what goes with them.

Let f* = E[y | Z], Z what may be used to predict. Among all functions f of Z with
COV(f, S) = 0, E(y − f)² = E(f* − f)² + constant is least for the residual of f* on
m = E[S | Z], because COV(f, S) = COV(f, m): f = f* − COV(f*, m) VAR(m)⁻¹ (m − E m).
For a bound R² ≤ r, f is in the span of 1, f* and m, too: what is not in it adds variance
only, and stretching the part of f* that S does not explain adds it at a lower cost. So a
layer that is linear in f* and m suffices; if Z contains S, m is S itself.

Among the rows of a class c, COV(f, S | y = c) is a covariance of f with E[1(y = c)(S − s) | Z],
s = E[S | y = c], so that these expectations take the place of m.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.data import (
    Design,
    Table,
    as_table,
    dense_columns,
    index_of,
    learn_design,
    make_frame,
)
from fairridge.data.columns import Missing, Unknown
from fairridge.data.design import locate_sensitive, separate_attributes
from fairridge.data.table import located
from fairridge.stacking.crossfit import Deployed
from fairridge.stacking.learners import native


@dataclass(frozen=True)
class LayerRows:
    """Some rows, as learners and layer read them."""

    seen: Table  # what learners see
    given: Table  # X; without S for blind models
    attributes: Table | None  # S; None if a blind model does without
    encoded: Floats | None  # S as numbers, of shape (n, q)

    def take(self, rows: Integers) -> LayerRows:
        """Return these rows only."""
        S, Z = self.attributes, self.encoded
        return LayerRows(
            self.seen.take(rows),
            self.given.take(rows),
            None if S is None else S.take(rows),
            None if Z is None else Z[rows],
        )


@dataclass(frozen=True)
class LayerColumns:
    """Which columns are S, and which of all learners see."""

    names: tuple[str, ...] | None  # of X; None for arrays
    n_columns: int  # of X
    sensitive: tuple[int, ...]  # positions of S in X; empty if it comes separately
    design: Design  # S alone, encoded
    blind: bool  # whether learners see X only
    owner: str  # the name of the model, for messages

    @classmethod
    def learn(
        cls,
        X: Table,
        S: Table | None,
        sensitive: Any,
        weight: Floats | None,
        *,
        blind: bool,
        missing: Missing,
        sensitive_map: Any,
        owner: str,
    ) -> LayerColumns:
        """Find S, and learn its levels and its map."""
        source, chosen, rest, crossed = locate_sensitive(X, S, sensitive)
        source = _named(source)
        if blind and not rest:
            raise ValueError("blind=True leaves no column to predict from; X has nothing but S.")
        alone = source.select(chosen)
        if crossed and sensitive_map is not None:
            raise ValueError(
                "sensitive_map maps single columns of S here; leave the intersections out, and let "
                "the map make products, such as PolynomialFeatures."
            )
        named = [*range(len(chosen)), *crossed]
        design = learn_design(alone, None, named, None, weight, None, missing)
        pieces = design.encode(alone, None, "error", estimator_name=owner)
        design = design.with_maps(pieces, weight, sensitive_map, None)
        return cls(X.names, X.shape[1], () if S is not None else chosen, design, blind, owner)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Names of the encoded columns of S."""
        return self.design.sensitive.names

    @property
    def learner_names(self) -> list[str]:
        """Names of these columns for learners: LightGBM and XGBoost refuse brackets in names."""
        plain: list[str] = []
        for name in self.attribute_names:
            found = re.sub(r"\W+", "_", name).strip("_")
            while found in (*(self.names or ()), *plain):
                found += "_"
            plain.append(found)
        return plain

    def read(
        self, X: Table, S: Table | None, unknown: Unknown, *, with_sensitive: bool = True
    ) -> LayerRows:
        """Read training rows or new ones, with columns of frames in any order."""
        # Blind models need no S to predict; `with_sensitive` then tells whether it is read.
        given, attributes = self._split(X, S)
        if attributes is None or (self.blind and not with_sensitive):
            return LayerRows(given, given, None, None)
        pieces, _ = self.design.encode(attributes, None, unknown, estimator_name=self.owner)
        encoded = dense_columns(pieces, self.attribute_names)
        beside = not self.blind and not self.sensitive
        seen = _beside(given, self.learner_names, encoded) if beside else given
        return LayerRows(seen, given, attributes, encoded)

    @property
    def rest(self) -> list[int]:
        """Positions of the columns of X that are not S."""
        return [k for k in range(self.n_columns) if k not in self.sensitive]

    def _split(self, X: Table, S: Table | None) -> tuple[Table, Table | None]:
        """Return the columns of the fit, without those of S for blind models, and S."""
        if not self.sensitive:
            X = self._ordered(X)
            if S is None and self.blind:
                return X, None
            return X, _named(separate_attributes(X, S, self.owner))
        if S is not None:
            raise ValueError(
                f"this {self.owner} takes S from columns of X (sensitive=…): "
                "leave sensitive_features out."
            )
        if self.blind and self.names is not None and X.names is not None:
            hidden = {self.names[k] for k in self.sensitive}
            if not hidden <= set(X.names):  # S, or part of it, is not needed
                others = X.select([k for k, name in enumerate(X.names) if name not in hidden])
                wanted = tuple(self.names[k] for k in self.rest)
                places = located(others, wanted, len(wanted), "X", self.owner)
                return others.select(places), None
        X = self._ordered(X)
        return X.select(self.rest) if self.blind else X, X.select(self.sensitive)

    def _ordered(self, X: Table) -> Table:
        """Return the columns in the order of the fit."""
        hidden = [self.names[k] for k in self.sensitive] if self.names is not None else []
        places = located(X, self.names, self.n_columns, "X", self.owner, hidden)
        return _named(X.select(places))


def _named(table: Table) -> Table:
    """Return a table whose columns keep their labels when some of them are selected."""
    return replace(table, names=table.labels)


def _beside(X: Table, names: Sequence[str], values: Floats) -> Table:
    """Return X with further columns of numbers."""
    if not isinstance(X.source, nw.DataFrame):
        return as_table(np.column_stack([X.source, values]))
    if not all(isinstance(name, str) for name in X.source.columns):  # numbers for names
        return as_table(np.column_stack([X.source.to_numpy(), values]))
    series = [
        nw.new_series(name, column, backend=X.source.implementation)
        for name, column in zip(names, values.T, strict=True)
    ]
    return as_table(X.source.with_columns(*series).to_native())


@dataclass(frozen=True)
class Features:
    """How the predictors of the layer are made from rows."""

    columns: LayerColumns
    learners: tuple[Deployed, ...]  # of y
    proxies: tuple[Deployed, ...]  # of the columns of S, for blind models
    maps: tuple[Deployed, ...]  # of predictions, from S alone
    interactions: bool
    passthrough: bool

    def scores(self, rows: LayerRows) -> Floats:
        """Return the scores of new rows, and the proxies."""
        seen = native(rows.seen)
        return np.hstack([one.scores(seen) for one in (*self.learners, *self.proxies)])

    def mapped(self, rows: LayerRows) -> Floats:
        """Return what the learned maps make of S, of shape (n, c)."""
        n = rows.seen.shape[0]
        if rows.encoded is None:
            return np.empty((n, 0))
        return np.hstack([np.empty((n, 0)), *(one.scores(rows.encoded) for one in self.maps)])

    def layer_tables(self, rows: LayerRows, scores: Floats, mapped: Floats) -> dict[str, Any]:
        """Return what the layer predicts from: of one row, frames take longer than a learner."""
        if self.passthrough or self.maps or self.columns.design.sensitive.inner.products:
            return self.layer_inputs(rows, scores, mapped)
        made = self._predictors(rows, scores)
        values = np.column_stack(list(made.values()))
        return {
            "X": Table(tuple(made), values.shape, values),
            "sensitive_features": rows.attributes,
        }

    def layer_inputs(self, rows: LayerRows, scores: Floats, mapped: Floats) -> dict[str, Any]:
        """Return X and sensitive_features of the layer as frames."""
        made = self._predictors(rows, scores)
        if self.passthrough:
            rest = range(rows.given.shape[1]) if self.columns.blind else self.columns.rest
            made = _by_name(rows.given, rest) | made
        # Both frames have the row labels of the user, as a response that comes later may.
        index = index_of(rows.given if rows.attributes is None else rows.attributes)
        index = index_of(rows.given) if index is None else index
        X = make_frame(made, rows.given.backend, index)
        if rows.attributes is None:
            return {"X": X, "sensitive_features": None}
        maps = [name for one in self.maps for name in one.names]
        attributes = _by_name(rows.attributes, range(rows.attributes.shape[1]))
        attributes |= dict(zip(maps, mapped.T, strict=True))
        # The layer gets S as a frame: intersections are further columns of it.
        n_products = len(self.columns.design.sensitive.inner.products)
        if n_products and rows.encoded is not None:
            products = zip(self.columns.attribute_names, rows.encoded.T, strict=True)
            attributes |= dict(list(products)[-n_products:])
        S = make_frame(attributes, rows.attributes.backend, index)
        return {"X": X, "sensitive_features": S}

    def _predictors(self, rows: LayerRows, scores: Floats) -> dict[str, Floats]:
        """Return the scores and proxies by name, with their products."""
        names = [name for one in (*self.learners, *self.proxies) for name in one.names]
        made = dict(zip(names, scores.T, strict=True))
        if not self.interactions:
            return made
        n_scores = sum(len(one.names) for one in self.learners)
        factors = {name: made[name] for name in names[n_scores:]}
        if not self.columns.blind and rows.encoded is not None:
            factors = dict(zip(self.columns.attribute_names, rows.encoded.T, strict=True))
        for name, factor in factors.items():
            made |= {f"{name} × {score}": factor * made[score] for score in names[:n_scores]}
        return made


def _by_name(table: Table, positions: Iterable[int]) -> dict[str, Any]:
    """Return columns of a table as their library has them."""
    return {table.label(k): table.source[:, k] for k in positions}
