"""λ(r) for a definition that need not be monotone in λ.

The rule: return the smallest λ from which on the bound holds, that is, the
last crossing as λ grows. Values are smooth in log λ, so a grid shows the
crossings and a bracketed root search makes the last one exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairridge.search.solution import Choice

__all__ = ["Profile", "dense_profile", "sparse_profile"]

Floats = NDArray[np.float64]
Value = Callable[[float], float]

PER_DECADE = 10
# Beyond this many decades above the data no definition of ours still changes.
DECADES_ABOVE = 16
# Ratio of neighboring λ at most, where every value costs passes over the rows.
LARGEST_STEP = 10.0


@dataclass(frozen=True)
class Profile:
    """A definition's values over increasing λ, up to the λ at which α = 0.

    Attributes
    ----------
    value : callable
        The definition at any λ.
    grid : ndarray
        λ, from 0 (or from where all bounds of interest are exceeded) on.
    values : ndarray
        The definition there.
    """

    value: Value
    grid: Floats
    values: Floats

    @cached_property
    def _known(self) -> dict[float, float]:
        """All values so far: what one bound has cost also serves the next."""
        return dict(zip(self.grid.tolist(), self.values.tolist(), strict=True))

    def choose(self, r: float, tol: float, max_iter: int) -> Choice:
        """Return the smallest λ from which on the value stays at most r."""
        above = self.values > r
        if not above.any() and self.grid[0] == 0.0:
            return Choice(0.0, "inactive", 0)
        if r == 0.0 and self.values[-1] <= tol:
            return Choice(float(self.grid[-1]), "converged")
        if above[-1]:
            status = "converged" if self.values[-1] <= r + tol else "infeasible"
            return Choice(float(self.grid[-1]), status, 1)  # type: ignore[arg-type]
        last = int(np.flatnonzero(above)[-1])
        crossings = int(np.count_nonzero(np.diff(above.astype(int))))
        lambda_, converged = self._root(last, r, tol, max_iter)
        return Choice(lambda_, "converged" if converged else "not-converged", crossings)

    def _root(self, k: int, r: float, tol: float, max_iter: int) -> tuple[float, bool]:
        """Find the crossing between grid points k and k+1.

        Inverse interpolation through the nearest known points, in coordinates
        in which values are smooth; bisection where that leaves the bracket or
        does not shrink it.
        """
        lo, hi = float(self.grid[k]), float(self.grid[k + 1])
        if np.isinf(hi):
            return hi, True  # beyond the last finite point lie values below about 1e-16 only
        shift = float(self.grid[1]) if self.grid[0] == 0.0 else 0.0
        slow = 0
        for _ in range(max_iter):
            width = math.log((hi + shift) / (lo + shift))
            if width <= 4e-15:
                return hi, True
            x = self._interpolated(lo, hi, r, shift) if slow < 2 else None
            if x is None:
                x, slow = math.sqrt((lo + shift) * (hi + shift)) - shift, 0
            value = self._known[x] = self.value(x)
            if abs(value - r) <= 0.1 * tol:
                return x, True
            lo, hi = (x, hi) if value > r else (lo, x)
            slow = slow + 1 if math.log((hi + shift) / (lo + shift)) > 0.5 * width else 0
        return hi, False

    def _interpolated(self, lo: float, hi: float, r: float, shift: float) -> float | None:
        """Neville's scheme for log(λ + shift) as a function of log value, at log r."""
        usable = [x for x, v in self._known.items() if v > 0.0 and np.isfinite(x)]
        gaps = {x: abs(math.log(self._known[x] / r)) for x in usable}
        inside = [x for x in usable if lo / 100.0 <= x <= hi * 100.0]
        nearest = sorted(inside, key=gaps.__getitem__)[:4]
        if len(nearest) < 2:
            return None
        u = [math.log(self._known[x] / r) for x in nearest]
        t = [math.log(x + shift) for x in nearest]
        for step in range(1, len(u)):
            for i in range(len(u) - step):
                if u[i] == u[i + step]:
                    return None
                t[i] = (u[i] * t[i + 1] - u[i + step] * t[i]) / (u[i] - u[i + step])
        x = math.exp(t[0]) - shift if abs(t[0]) < 700.0 else math.inf
        return x if lo < x < hi else None


def dense_profile(value: Value, smallest: float, largest: float, ceiling: float) -> Profile:
    """Evaluate a definition that costs next to nothing, on a fine grid.

    Parameters
    ----------
    value : callable
        The definition at a λ from 0 to the ceiling, both included.
    smallest, largest : float
        Where α(λ) changes: the range of the eigenvalues of SᵀS.
    ceiling : float
        The smallest λ with α = 0.
    """
    lo = np.log10(smallest) - 4.0
    hi = np.log10(largest) + DECADES_ABOVE if np.isinf(ceiling) else np.log10(ceiling)
    lo = min(lo, hi - 4.0)
    inner = np.logspace(lo, hi, int(np.ceil((hi - lo) * PER_DECADE)) + 1)
    grid = np.concatenate([[0.0], inner[inner < ceiling], [ceiling]])
    return Profile(value, grid, _finite(value, grid))


def sparse_profile(
    value: Value,
    start: float,
    typical: float,
    ceiling: float,
    bounds: Floats,
    *,
    step: float = LARGEST_STEP,
    floor: float = 0.2,
) -> Profile:
    """Evaluate a definition that costs passes over the rows, at few λ.

    Goes right from the start until every positive bound holds, then left until
    every bound is exceeded or λ = 0 is reached: from the side on which the
    bound holds, so that the last crossing is met first.

    Parameters
    ----------
    value : callable
        The definition at a λ from 0 to the ceiling, both included.
    start : float
        Where to begin: best just where the smallest positive bound holds.
    typical : float
        The λ at which α has about half its unconstrained size.
    ceiling : float
        The smallest λ with α = 0.
    bounds : ndarray
        The bounds that will be asked for.
    step : float
        Ratio of neighboring λ at most: the finer, the less can hide between them.
    floor : float
        Below this multiple of the typical λ, λ = 0 comes next.
    """
    wanted = bounds[bounds < 1.0]
    positive = wanted[wanted > 0.0]
    known: dict[float, float] = {}
    if positive.size:
        at = min(start, ceiling / step)
        known[at] = value(at)
        while known[at] > positive.min() and at < min(ceiling, 1e15 * typical):
            at = min(at * _stride(known[at] / positive.min(), step), ceiling)
            known[at] = value(at)
        at = min(known)
        while known[at] <= wanted.max() and at > floor * typical:
            at /= _stride(wanted.max() / known[at] if known[at] > 0.0 else step, step)
            known[at] = value(at)
        if known[at] <= wanted.max():
            known[0.0] = value(0.0)
    if not positive.size or wanted.min() == 0.0 or known[max(known)] > positive.min():
        known[ceiling] = value(ceiling)
    grid = np.array(sorted(known))
    return Profile(value, grid, _finite(lambda x: known[x], grid))


def _stride(ratio: float, most: float) -> float:
    """How far to move in λ for a value to change by this ratio.

    Most values fall like 1/λ or slower; a little more makes a tight bracket likely.
    """
    return min(max(ratio**1.3, 1.05), most)


def _finite(value: Value, grid: Floats) -> Floats:
    values = np.array([value(float(x)) for x in grid])
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(
            f"the definition is {values[bad][0]} at lambda={grid[bad][0]:g}; "
            "it must return a finite number."
        )
    return values
