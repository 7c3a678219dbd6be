"""λ(r) for a definition that need not be monotone in λ.

The rule: return the smallest λ beyond which the bound always holds, that is, the
last crossing as λ grows. Values are smooth in log λ, so a grid shows the
crossings and a bracketed root search makes the last one exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Floats
from fairridge.search.problem import DECADES_ABOVE, DECADES_BELOW, GRID_DENSITY, Choice, lambda_grid
from fairridge.solvers.spectrum import EPS

Value = Callable[[float], float]

# Ratio of neighboring λ if every value costs passes over the rows, and a definition is known to
# vary slowly.
COARSE_STEP = 10.0
# Part of the tolerance of a bound that a root may be off by.
ROOT_TOLERANCE = 0.01


@dataclass(frozen=True)
class PenaltyProfile:
    """A definition's values over increasing λ, up to the λ at which α = 0."""

    value: Value  # the definition at any λ
    grid: Floats  # λ, from 0 (or from where all bounds of interest are exceeded) on
    values: Floats  # the definition there
    ceiling: float = np.inf  # the smallest λ with α = 0

    @cached_property
    def _known(self) -> dict[float, float]:
        """All values so far: what one bound has cost also serves the next."""
        return dict(zip(self.grid.tolist(), self.values.tolist(), strict=True))

    def choose(self, r: float, tol: float, max_iter: int = 100) -> Choice:
        """Return the smallest λ beyond which the value never exceeds r."""
        above = self.values > r
        if not above.any() and self.grid[0] == 0.0:
            return Choice.UNCONSTRAINED
        if r == 0.0 and self.values[-1] <= tol:
            return Choice(float(self.grid[-1]), "converged")
        if above[-1]:
            status = "converged" if self.values[-1] <= r + tol else "infeasible"
            return Choice(float(self.grid[-1]), status, 1)  # type: ignore[arg-type]
        last = int(np.flatnonzero(above)[-1])
        crossings = int(np.count_nonzero(np.diff(above.astype(int))))
        lambda_, converged = self._root(last, r, ROOT_TOLERANCE * tol, max_iter)
        return Choice(lambda_, "converged" if converged else "not-converged", crossings)

    def _root(self, k: int, r: float, tol: float, max_iter: int) -> tuple[float, bool]:
        """Find the crossing between grid points k and k+1."""
        low, high = float(self.grid[k]), float(self.grid[k + 1])
        if np.isinf(high):
            high = 10.0**DECADES_ABOVE * low  # beyond it comes α = 0
            if self._at(high) > r:
                return np.inf, True
        # Logarithms, in which values are smooth; below a finite ceiling they vanish about linearly.
        linear = high >= self.ceiling
        start = low
        if low == 0.0 and not linear:
            start = EPS**2 * high
            if self._at(start) <= r:  # the value jumps at zero
                return start, True

        def gap(place: float) -> float:
            x = place if linear else math.exp(place)
            excess = self._at(min(max(x, start), high)) - r
            if abs(excess) <= tol:
                return 0.0
            return excess if linear else math.log(max(excess + r, 1e-300) / r)

        ends = (start, high) if linear else (math.log(start), math.log(high))
        close = 1e-15 * (high if linear else 1.0)
        _, found = brentq(
            gap, *ends, xtol=close, rtol=4e-15, maxiter=max_iter, full_output=True, disp=False
        )
        # Of a definition that jumps, the side on which the bound holds.
        fair = [x for x, v in self._known.items() if low <= x <= high and v <= r + tol]
        return min(fair), bool(found.converged)

    def _at(self, x: float) -> float:
        if x not in self._known:
            self._known[x] = finite(self.value, x)
        return self._known[x]


def dense_profile(value: Value, smallest: float, largest: float, ceiling: float) -> PenaltyProfile:
    """Evaluate a definition that costs next to nothing, on a fine grid."""
    # `smallest` and `largest` say where α(λ) changes: the range of the eigenvalues of SᵀS.
    inner = lambda_grid(smallest, largest, ceiling)
    grid = np.append(inner[inner < ceiling], ceiling)
    values = np.array([finite(value, float(x)) for x in grid])
    return PenaltyProfile(value, grid, values, ceiling)


def scan(
    value: Value, typical: float, ceiling: float, bounds: Floats, *, fine: bool = False
) -> PenaltyProfile:
    """Evaluate a definition that costs passes over the rows, at few λ."""
    # Goes right from the λ at which α has about half its size, until every positive bound holds,
    # then left until every bound is exceeded or λ = 0 is reached: from the side on which the bound
    # holds, so that the last crossing is met first. What rises and falls again between two
    # neighboring λ is not seen: `fine` makes them as close as on a grid, and looks a decade to the
    # right even if all bounds hold, and at all of the grid to the left.
    wanted = bounds[bounds < 1.0]
    positive, known = wanted[wanted > 0.0], dict[float, float]()
    step = 10.0 ** (1.0 / GRID_DENSITY) if fine else COARSE_STEP
    floor, reach = (10.0**-DECADES_BELOW, 10.0) if fine else (1.0, 0.0)

    def visit(x: float) -> float:
        known[x] = finite(value, x)
        return x

    if positive.size:
        least, most = float(positive.min()), float(wanted.max())
        end = min(ceiling, 10.0**DECADES_ABOVE * typical)
        at = first = visit(min(typical, ceiling / step))
        while at < end and (known[at] > least or at < reach * typical):
            at = visit(min(at * step, ceiling))
        at = first
        while known[at] <= most and at >= floor * typical:
            at = visit(at / step)
        if known[at] <= most:
            visit(0.0)
    if not positive.size or wanted.min() == 0.0 or known[max(known)] > positive.min():
        visit(ceiling)
    grid = np.array(sorted(known))
    return PenaltyProfile(value, grid, np.array([known[x] for x in grid]), ceiling)


def finite(value: Value, x: float) -> float:
    """Return a value, which must be a finite number."""
    found = value(x)
    if not np.isfinite(found):
        raise ValueError(
            f"the definition is {found} at lambda={x:g}; it must return a finite number."
        )
    return found
