"""Sums over the partners of a row, for individual fairness.

f(α) = Σᵢⱼ vᵢvⱼ d(yᵢ, yⱼ)(hᵢ − hⱼ)², h = Sα, has the derivative
2 Σⱼ vⱼ d(yᵢ, yⱼ)(hᵢ − hⱼ)² in the weight of row i. For given columns F that is
a matter of Σⱼ vⱼ d(y, yⱼ)Fⱼ as a function of y, which sorting provides for
|g(yᵢ) − g(yⱼ)|, moments for squares, and totals for classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

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

# y ↦ Σⱼ vⱼ d(y, yⱼ)Fⱼ, for responses of shape (n, c), one row each.
Partners = Callable[[Floats], Floats]


def partners_of(distance: Distance, y: Floats, columns: Floats) -> Partners:
    """Sum columns vF of shape (n, k) by a distance between responses."""
    if isinstance(distance, AbsoluteDifference):
        return _by_difference(distance.transform, y, columns)
    if isinstance(distance, SquaredDifference):
        g = y[:, :1]
        return partial(
            _of_squares, [part.sum(axis=0) for part in (columns, g * columns, g * g * columns)]
        )
    if isinstance(distance, ClassDifference):
        values, codes = np.unique(y[:, 0], return_inverse=True)
        sums = np.zeros((len(values), columns.shape[1]))
        np.add.at(sums, codes.ravel(), columns)
        return partial(_of_classes, values, sums)
    if isinstance(distance, CoxDistance):
        # By d = |Δtime|·|Δstatus| the partners of an event are censored, and conversely.
        censored, events = (
            _by_difference(None, y[k], columns[k]) for k in (y[:, 1] == 0, y[:, 1] == 1)
        )
        return partial(_of_statuses, censored, events)
    if isinstance(distance, PairwiseDistance):
        return partial(_pair_by_pair, distance, y[:, 0], columns)
    raise ValueError(
        f"there are no standard errors for individual fairness with {distance!r}; use one of the "
        "distances in fairridge.fairness."
    )


def _by_difference(transform: Any, y: Floats, columns: Floats) -> Partners:
    """Sum by d = |g(y) − g(yⱼ)|: sums over sorted g up to each row, of F and of gF."""
    g = _transformed(transform, y)
    order = np.argsort(g)
    g, columns = g[order], columns[order]
    nothing = np.zeros((1, columns.shape[1]))
    plain, moment = (
        np.vstack([nothing, np.cumsum(part, axis=0)]) for part in (columns, g[:, None] * columns)
    )
    return partial(_of_sorted, transform, g, plain, moment)


def _transformed(transform: Any, y: Floats) -> Floats:
    return y[:, 0] if transform is None else np.asarray(transform(y[:, 0]), dtype=np.float64)


def _of_sorted(transform: Any, others: Floats, plain: Floats, moment: Floats, y: Floats) -> Floats:
    g = _transformed(transform, y)
    k = np.searchsorted(others, g, side="right")
    near = g[:, None] * (2.0 * plain[k] - plain[-1])
    return np.asarray(near + moment[-1] - 2.0 * moment[k])


def _of_statuses(censored: Partners, events: Partners, y: Floats) -> Floats:
    return np.where(y[:, 1:] == 1.0, censored(y), events(y))


def _of_squares(sums: Sequence[Floats], y: Floats) -> Floats:
    """Sum by d = (y − yⱼ)², from sums of F, yF and y²F."""
    g = y[:, :1]
    return g * g * sums[0] - 2.0 * g * sums[1] + sums[2]


def _of_classes(values: Floats, sums: Floats, y: Floats) -> Floats:
    """Sum by d = 1[y ≠ yⱼ], from sums of F by class."""
    return np.asarray(sums.sum(axis=0) - sums[np.searchsorted(values, y[:, 0])])


def _pair_by_pair(distance: PairwiseDistance, others: Floats, columns: Floats, y: Floats) -> Floats:
    """Sum by any other distance: all pairs, some rows at a time."""
    step = max(1, 4_000_000 // len(others))
    parts = [
        np.asarray(distance.distance(y[k : k + step, :1], others[None, :]), dtype=float) @ columns
        for k in range(0, len(y), step)
    ]
    return np.vstack(parts)
