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
    section 4.3) and α₀ the coefficients at λ = 0. Where columns separate the
    responses so that α₀ has no limit, neither has D_IF, and bounds between 0
    and 1 are refused.

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
        if not fit.alpha.any():
            return 0.0
        ours, theirs = self._pair(fit)
        free = fit.unconstrained()
        if fit.lambda_ > 0.0 and theirs > 0.0 and not _has_limit(free):
            raise ValueError(_without_limit(free))
        return ours / theirs if theirs > 0.0 else 0.0

    def components(self, fit: Fit) -> dict[str, float]:
        """Return f(α), and f(α₀) if it has a limit."""
        ours, theirs = self._pair(fit)
        unconstrained = {"pairwise_unconstrained": theirs}
        return {"pairwise": ours} | (unconstrained if _has_limit(fit.unconstrained()) else {})

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


def _has_limit(free: Fit) -> bool:
    """Whether the α of an unconstrained fit is determined."""
    return free.separation is None or not free.separation.sensitive


def _without_limit(free: Fit) -> str:
    """Say which columns leave α₀ undetermined, and what to do."""
    assert free.separation is not None
    columns, sensitive = (
        ", ".join(map(repr, names))
        for names in (free.separation.columns, free.separation.sensitive)
    )
    predictors = set(free.separation.columns) & set(free.engine.names[free.engine.n_sensitive :])
    penalty = "set a predictor_penalty, " if predictors else ""
    return (
        f"individual fairness relates to the unconstrained model, but column(s) {columns} separate "
        f"the responses: without a bound the coefficients of {sensitive} have no limit. Merge rare "
        f"levels, {penalty}or use another definition."
    )
