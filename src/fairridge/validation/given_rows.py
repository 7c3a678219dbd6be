"""Rows as a model of any library reads them, with their sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from fairridge.data import Levels, Table
from fairridge.data.table import column_positions
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._responses import Inputs
from fairridge.estimators._training import read_inputs
from fairridge.metrics import BINS, sensitive_table


@dataclass(frozen=True)
class ScoredRows:
    """Rows that a model of any library is judged on."""

    inputs: Inputs  # rows with a positive weight
    y: Any
    # As models read them.
    X: Any
    S: Any
    sensitive: Any  # columns of X that are sensitive; None if S came by itself

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, S: Any, weight: Any, offset: Any = None) -> ScoredRows:
        """Read rows; models other than fair ridge models get them as they came."""
        inputs = read_inputs(X, S, weight, offset, y)
        sensitive: Any = getattr(model, "sensitive", None)
        if isinstance(model, LinearModel):
            return cls(inputs, y, inputs.table, inputs.attributes, sensitive)
        if S is None and sensitive is None:
            raise ValueError(
                f"{type(model).__name__} does not say which columns are sensitive; pass "
                "sensitive_features."
            )
        X, S = (
            rows if rows is None or isinstance(inputs.keep, slice)
            else _safe_indexing(rows, inputs.keep)
            for rows in (X, S)
        )  # fmt: skip
        return cls(inputs, y, X, S, sensitive)

    def attributes(self, model: Any) -> Table:
        """Return the sensitive attributes of rows that a fitted model reads."""
        table, own = self.inputs.table, self.inputs.attributes
        if isinstance(model, LinearModel):
            design = model._fitted.design
            return sensitive_table(design, table, own if design.separate else None)
        if own is not None:
            return own
        places = column_positions(self.sensitive, table.names, table.shape[1], "sensitive")
        return replace(table.select(places), names=tuple(map(table.label, places)))

    def cut(self, model: Any) -> set[str]:
        """Return the attributes that are cut at quantiles of these rows, and so have own groups."""
        table = self.attributes(model)
        columns = ((table.label(k), table.column(k)) for k in range(table.shape[1]))
        return {
            name
            for name, column in columns
            if not isinstance(column, Levels) and len(np.unique(column)) > BINS
        }
