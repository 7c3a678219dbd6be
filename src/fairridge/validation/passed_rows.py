"""Rows as a user passes them, for models that are fitted to them or judged on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from fairridge._typing import Integers
from fairridge.data import as_table, weights
from fairridge.estimators._responses import Inputs
from fairridge.estimators._training import read_inputs


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
        """Return the rows with a positive weight; offset and exposure are joined."""
        # Of the response only the order of its row labels is looked at.
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
