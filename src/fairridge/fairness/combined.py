"""Several definitions at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness.base import Definition
from fairridge.models import Fit


@dataclass(frozen=True)
class Combined(Definition):
    """The largest of several definitions, or a weighted mean of them (paper, section 4.3).

    Parameters
    ----------
    definitions : sequence of definitions
        Objects, short names or callables.
    weights : sequence of float, optional
        Weights of a convex combination; scaled to sum to 1.
    how : {"max", "mean"}, optional
        "max", the default without weights, bounds every definition by r;
        "mean", the default with weights, bounds their weighted mean.

    See Also
    --------
    StatisticalParity : The default definition.
    Definition : What a definition of your own offers.

    References
    ----------
    .. [1] Scutari, Panero and Proissl (2022), section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.fairness import Combined, MaximalCorrelation
    >>> both = Combined(["statistical-parity", MaximalCorrelation()])
    >>> model = FairRidgeRegressor(0.05, definition=both).fit(X, y, sensitive_features=S)
    >>> print(f"{model.unfairness_:.4f}")
    0.0500
    """

    definitions: Sequence[Any]  # `resolve_definition` makes objects of names and callables
    weights: Sequence[float] | None = None
    how: Literal["max", "mean"] | None = None

    def __post_init__(self) -> None:
        if not self.definitions:
            raise ValueError("Combined needs at least one definition.")
        if self.how not in (None, "max", "mean"):
            raise ValueError(f"how={self.how!r} is not known; use 'max' or 'mean'.")
        if self.weights is None:
            return
        if self.how == "max":
            raise ValueError("how='max' takes no weights; leave one of the two out.")
        if len(self.weights) != len(self.definitions):
            raise ValueError(
                f"{len(self.weights)} weights for {len(self.definitions)} definitions; "
                "give one weight each."
            )
        if min(self.weights) < 0 or sum(self.weights) <= 0:
            raise ValueError("weights must be zero or positive, and not all zero.")

    @property
    def is_maximum(self) -> bool:
        """Whether every definition is bounded, instead of their mean."""
        return self.how == "max" or (self.how is None and self.weights is None)

    @property
    def needs_only_moments(self) -> bool:
        """Whether moments suffice for all of them."""
        return all(definition.needs_only_moments for definition in self.definitions)

    @property
    def arbitrary(self) -> bool:
        """Whether one of them is arbitrary."""
        return any(definition.arbitrary for definition in self.definitions)

    @property
    def sees_columns(self) -> bool:
        """Whether one of them does."""
        return any(definition.sees_columns for definition in self.definitions)

    @property
    def maximum_of(self) -> Sequence[Definition]:
        """All of them, if every one is bounded."""
        return self.definitions if self.is_maximum else ()

    @property
    def name(self) -> str:
        """What is combined, and how."""
        parts = ", ".join(definition.name for definition in self.definitions)
        return f"{'max' if self.is_maximum else 'mean'}({parts})"

    def value(self, fit: Fit) -> float:
        """Return the maximum or the weighted mean."""
        return self._combine([definition.value(fit) for definition in self.definitions])

    def held_out(
        self, fit: Fit, engine: Engine, scatter: Floats, q: int, m: int, *, adjusted: bool = True
    ) -> float:
        """Return the maximum or the weighted mean on other rows."""
        values = [
            definition.held_out(fit, engine, scatter, q, m, adjusted=adjusted)
            for definition in self.definitions
        ]
        return self._combine(values)

    def _combine(self, values: list[float]) -> float:
        return float(
            np.max(values) if self.is_maximum else np.average(values, weights=self.weights)
        )

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the value of each definition, by name."""
        return {definition.name: definition.value(fit) for definition in self.definitions}
