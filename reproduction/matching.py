"""ZLM and ZLRM at a given R²_S in training, instead of a given covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.measures import Fold
from reproduction.settings import Floats

GRID, STEPS = 13, 10
# How near the root of a share has to come, relative to its target (and 1e-4 besides).
NEAR = 1e-3


def matched_path(
    fold: Fold, model: Any, rows: Any, y: Floats, targets: Floats, weight: Floats | None = None
) -> Any:
    """Return the models whose R² of η on S in the training rows is `targets`.

    The square root of that share grows with the bound on covariances or
    correlations, in linear models nearly in proportion to it, and is found by
    the rule of false position (its Illinois variant) between the points of a
    grid. A target above the share of the unconstrained model gives the latter.
    """

    def paths(bounds: Floats) -> tuple[Any, Floats]:
        path = model.path(rows, y, unfairness=bounds, sample_weight=weight)
        return path, np.sqrt(fold.training_shares(path))

    unbounded = 1.0 if model.bound == "correlation" else 1e12
    top = float(paths(np.array([unbounded]))[0].achieved[0])
    bounds = top * np.linspace(0.0, 1.0, GRID) ** 3  # logistic shares rise steeply at 0
    path, roots = paths(bounds)
    roots = np.maximum.accumulate(roots)
    wanted = np.minimum(np.sqrt(targets), roots[-1])
    above = np.clip(np.searchsorted(roots, wanted), 1, GRID - 1)
    low, high = bounds[above - 1], bounds[above]
    off_low, off_high = roots[above - 1] - wanted, roots[above] - wanted
    before = np.zeros(len(targets), dtype=bool)  # whether the last point was below the target
    for step in range(STEPS):
        width = np.where(off_high > off_low, off_high - off_low, 1.0)
        middle = np.clip(low - off_low / width * (high - low), low, high)
        path, found = paths(middle)
        off, under = found - wanted, found < wanted
        if (np.abs(off) <= NEAR * wanted + 1e-4).all():
            break
        kept = np.where(under == before, 0.5, 1.0) if step else 1.0
        low, off_low = np.where(under, middle, low), np.where(under, off, kept * off_low)
        high, off_high = np.where(under, high, middle), np.where(under, kept * off_high, off)
        before = under
    return path
