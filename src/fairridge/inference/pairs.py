"""Sums over the partners of a row, for individual fairness.

f(α) = Σᵢⱼ vᵢvⱼ d(yᵢ, yⱼ)(hᵢ − hⱼ)², h = Sα, has the derivative
2 Σⱼ vⱼ d(yᵢ, yⱼ)(hᵢ − hⱼ)² in the weight of row i. For given columns F that is
a matter of Σⱼ vⱼ d(y, yⱼ)Fⱼ as a function of y, which sorting provides for
|g(yᵢ) − g(yⱼ)|, moments for squares, and totals for classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairridge._typing import Floats
from fairridge.families.cox import CoxDistance
from fairridge.families.distances import (
    AbsoluteDifference,
    ClassDifference,
    Distance,
    PairwiseDistance,
    SquaredDifference,
)


class Partners(Protocol):
    """y ↦ Σⱼ vⱼ d(y, yⱼ)Fⱼ."""

    def __call__(self, y: Floats) -> Floats:
        """Return the sums for responses of shape (n, c), one row each."""
        ...


def partners_of(distance: Distance, y: Floats, columns: Floats) -> Partners:
    """Sum columns vF of shape (n, k) by a distance between responses."""
    if isinstance(distance, AbsoluteDifference):
        return _Sorted.of(distance.transform, y[:, 0], columns)
    if isinstance(distance, SquaredDifference):
        g = y[:, :1]
        return _Squares(columns.sum(axis=0), (g * columns).sum(axis=0), (g * g * columns).sum(0))
    if isinstance(distance, ClassDifference):
        values, codes = np.unique(y[:, 0], return_inverse=True)
        sums = np.zeros((len(values), columns.shape[1]))
        np.add.at(sums, codes.ravel(), columns)
        return _ClassTotals(values, sums)
    if isinstance(distance, CoxDistance):
        parts = [_Sorted.of(None, y[k, 0], columns[k]) for k in (y[:, 1] == 0, y[:, 1] == 1)]
        return _Statuses(parts[0], parts[1])
    if isinstance(distance, PairwiseDistance):
        return _Pairs(distance, y[:, 0], columns)
    raise ValueError(
        f"there are no standard errors for individual fairness with {distance!r}; use one of the "
        "distances in fairridge.fairness."
    )


@dataclass(frozen=True)
class _Sorted:
    """d = |g(y) − g(yⱼ)|: sums over sorted g up to each row, of F and of gF."""

    transform: Any
    g: Floats
    plain: Floats
    moment: Floats

    @classmethod
    def of(cls, transform: Any, y: Floats, columns: Floats) -> _Sorted:
        g = y if transform is None else np.asarray(transform(y), dtype=np.float64)
        order = np.argsort(g)
        g, columns = g[order], columns[order]
        nothing = np.zeros((1, columns.shape[1]))
        plain, moment = (
            np.vstack([nothing, np.cumsum(part, axis=0)])
            for part in (columns, g[:, None] * columns)
        )
        return cls(transform, g, plain, moment)

    def __call__(self, y: Floats) -> Floats:
        g = y[:, 0] if self.transform is None else np.asarray(self.transform(y[:, 0]), float)
        k = np.searchsorted(self.g, g, side="right")
        near = g[:, None] * (2.0 * self.plain[k] - self.plain[-1])
        return near + self.moment[-1] - 2.0 * self.moment[k]


@dataclass(frozen=True)
class _Squares:
    """d = (y − yⱼ)²: sums of F, yF and y²F."""

    plain: Floats
    first: Floats
    second: Floats

    def __call__(self, y: Floats) -> Floats:
        g = y[:, :1]
        return g * g * self.plain - 2.0 * g * self.first + self.second


@dataclass(frozen=True)
class _ClassTotals:
    """d = 1[y ≠ yⱼ]: sums of F by class."""

    values: Floats
    sums: Floats

    def __call__(self, y: Floats) -> Floats:
        same = self.sums[np.searchsorted(self.values, y[:, 0])]
        return np.asarray(self.sums.sum(axis=0) - same)


@dataclass(frozen=True)
class _Statuses:
    """d = |Δtime|·|Δstatus|: the partners of an event are censored, and conversely."""

    censored: _Sorted
    events: _Sorted

    def __call__(self, y: Floats) -> Floats:
        return np.where(y[:, 1:] == 1.0, self.censored(y), self.events(y))


@dataclass(frozen=True)
class _Pairs:
    """Any other distance: all pairs, some rows at a time."""

    distance: PairwiseDistance
    y: Floats
    columns: Floats

    def __call__(self, y: Floats) -> Floats:
        step = max(1, 4_000_000 // len(self.y))
        parts = [
            np.asarray(self.distance.distance(y[k : k + step, :1], self.y[None, :]), dtype=float)
            @ self.columns
            for k in range(0, len(y), step)
        ]
        return np.vstack(parts)
