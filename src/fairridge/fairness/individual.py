"""Individual fairness: people with similar outcomes are treated alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge.engines import (
    AbsoluteDifference,
    ClassDifference,
    Distance,
    PairwiseDistance,
    SquaredDifference,
)
from fairridge.fairness.base import Definition
from fairridge.solvers import Fit

__all__ = ["IndividualFairness"]

NAMED: dict[str, Distance] = {
    "absolute": AbsoluteDifference(),
    "squared": SquaredDifference(),
    "class": ClassDifference(),
}


@dataclass(frozen=True)
class IndividualFairness(Definition):
    """Different treatment of pairs, relative to the unconstrained model.

    D_IF = f(α)/f(α₀) with f(α) = Σᵢⱼ d(yᵢ, yⱼ)(sᵢα − sⱼα)² = αᵀMα (paper,
    section 4.3) and α₀ the coefficients at λ = 0.

    Parameters
    ----------
    distance : {"absolute", "squared", "class"}, Distance or callable, optional
        d. By default the family's own: |yᵢ − yⱼ| for numbers, 1[yᵢ ≠ yⱼ] for
        classes. ``AbsoluteDifference(transform=g)`` is |g(yᵢ) − g(yⱼ)|. A
        callable d(a, b) on arrays looks at all pairs of rows.
    """

    distance: str | Distance | Callable[[Any, Any], Any] | None = None
    name = "individual"

    def __post_init__(self) -> None:
        if isinstance(self.distance, str) and self.distance not in NAMED:
            raise ValueError(
                f"distance={self.distance!r} is not known; use one of "
                f"{', '.join(map(repr, NAMED))}, a Distance or a callable d(a, b)."
            )

    def value(self, fit: Fit) -> float:
        """Return αᵀMα / α₀ᵀMα₀; 0 where the unconstrained model treats all alike."""
        ours, theirs = self._pair(fit)
        return ours / theirs if theirs > 0.0 else 0.0

    def components(self, fit: Fit) -> dict[str, float]:
        """Return f(α) and f(α₀)."""
        ours, theirs = self._pair(fit)
        return {"pairwise": ours, "pairwise_unconstrained": theirs}

    def _pair(self, fit: Fit) -> tuple[float, float]:
        M = fit.engine.pairwise(self._resolved(fit))
        alphas = np.atleast_2d(fit.alpha), np.atleast_2d(fit.unconstrained().alpha)
        # Over classes, where there are several, the forms add.
        ours, theirs = (float(np.einsum("ki,ij,kj->", a, M, a)) for a in alphas)
        return ours, theirs

    def _resolved(self, fit: Fit) -> Distance:
        if self.distance is None:
            chosen: Distance = fit.family.distance
        elif isinstance(self.distance, str):
            chosen = NAMED[self.distance]
        elif hasattr(self.distance, "form"):
            chosen = self.distance
        else:
            chosen = PairwiseDistance(self.distance)
        return chosen
