"""ZLM and ZLRM at a given correlation or R²_S in training, instead of a given covariance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reproduction.measures import Coefficients, Fold, active
from reproduction.settings import Floats

GRID, STEPS = 13, 10
# How near the root of a share has to come, relative to its target (and 1e-4 besides).
NEAR = 1e-3
# Slope of the correlation in the covariance, both in logarithms, at which a secant is cut off.
FLAT = 0.1

Solve = Callable[[Floats], Coefficients]


def correlated(fold: Fold, solve: Solve, limits: Floats, targets: Floats) -> Coefficients:
    """Return the models whose largest |COR(η, S_j)| in the training rows is `targets`.

    As fairml finds them: `solve` bounds covariances with S in its own units, by
    limits at which that correlation is reached. `limits` are the first ones
    tried. Correlations grow with them, in proportion while both are small, so
    that the secant in logarithms is nearly exact. Where no limit reaches the
    target the model is unconstrained; where the target is zero, so is the limit.
    """
    x = np.log(np.maximum(limits, np.finfo(float).tiny))
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    slope, before = np.ones(len(x)), (x, np.zeros(len(x)))
    for step in range(STEPS):
        models = solve(np.where(targets > 0.0, np.exp(x), 0.0))
        found = fold.correlations(models, fold.training)
        with np.errstate(divide="ignore"):
            off = np.where(targets > 0.0, np.log(found) - np.log(targets), 0.0)
        unbounded = (off < 0.0) & (active(models) == 0.0)
        if (unbounded | (np.abs(off) <= NEAR)).all():
            break
        low, high = np.where(off < 0.0, x, low), np.where(off > 0.0, x, high)
        if step:
            moved = np.where(x == before[0], 1.0, x - before[0])
            slope = np.where(x == before[0], slope, np.maximum((off - before[1]) / moved, FLAT))
        before, following = (x, off), x - off / slope
        bracketed = np.isfinite(low) & np.isfinite(high)
        outside = bracketed & ((following <= low) | (following >= high))
        following[outside] = (low[outside] + high[outside]) / 2.0
        x = np.where(unbounded | (np.abs(off) <= NEAR), x, following)
    return models


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
