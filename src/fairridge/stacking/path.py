"""All stacked models of a path, from one cross-fit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from fairridge.estimators.path import FairnessPath


@dataclass(frozen=True, repr=False)
class StackedPath(FairnessPath):
    """Coefficients of the layer and fairness for many bounds; see `FairnessPath`."""

    _stack: Any = None  # a fitted stacked model; only its layer depends on the bound

    @classmethod
    def of(cls, path: FairnessPath, stack: Any) -> StackedPath:
        """Return the path of a layer as that of stacked models."""
        values = {field.name: getattr(path, field.name) for field in fields(path)}
        return cls(**values, _stack=stack)

    def at(self, unfairness: float) -> Any:
        """Return the fitted stacked model for one bound, whether it is on the path or not."""
        return self._stack.with_layer(super().at(unfairness))
