"""Rows as a user passes them, for models that are fitted to them or judged on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from fairridge._typing import Integers
from fairridge.data import Table, as_table, weights
from fairridge.data.design import sensitive_positions
from fairridge.data.pipelines import at_bound, fit_arguments, split_pipeline
from fairridge.estimators._fair_ridge import LinearModel
from fairridge.estimators._responses import Inputs
from fairridge.estimators._training import read_inputs

# Intersections, as positions among the sensitive attributes.
Crossed = tuple[tuple[int, ...], ...]
# Why models cannot be fitted to rows that have more than X, y and S.
REASONS = {
    "sample_weight": "whose fit takes no sample_weight",
    "offset": "which has no linear predictor that an offset could be added to",
    "exposure": "which has no linear predictor with the log link",
}


@dataclass(frozen=True)
class PassedRows:
    """Rows as `fit` takes them."""

    X: Any
    y: Any
    sensitive_features: Any = None
    sample_weight: Any = None
    offset: Any = None
    exposure: Any = None

    @property
    def inputs(self) -> Inputs:
        """The rows with a positive weight, without offset and response."""
        return read_inputs(self.X, self.sensitive_features, self.sample_weight, None)

    def read(self, offset: Any = None) -> Inputs:
        """Return the rows with a positive weight, with offset and exposure as a model joins them.

        Of the response only the order of its row labels is looked at.
        """
        given = self.X, self.sensitive_features, self.sample_weight, offset, self.y
        return read_inputs(*given)

    def shift(self, model: Any) -> Any:
        """Return offset and exposure, as the functions that read rows take them."""
        return model._shift(self.offset, self.exposure) if isinstance(model, LinearModel) else None

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

    def lacking(self, model: Any) -> tuple[str, str] | None:
        """Return an argument that the `fit` of a model does not take, and why it does not."""
        last = split_pipeline(model)[1]
        for name, reason in REASONS.items():
            if getattr(self, name) is not None and not has_fit_parameter(last, name):
                return name, f"a {type(last).__name__}, {reason}"
        return None

    def beside(self, model: Any) -> dict[str, Any]:
        """Return the arguments of a model's `fit` beside X and y."""
        lacking = self.lacking(model)
        if lacking is not None:
            raise TypeError(lacking[1])
        given = {name: getattr(self, name) for name in ("sensitive_features", *REASONS)}
        return fit_arguments(model, **given)

    def fitted(self, model: Any, r: float) -> Any:
        """Return a copy of a model, fitted for one bound; models without a bound ignore it."""
        return at_bound(model, r).fit(self.X, self.y, **self.beside(model))
