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

from fairridge._typing import Floats
from fairridge.search.problem import Choice

Value = Callable[[float], float]

PER_DECADE = 10
# Beyond this many decades above the data no definition still changes.
DECADES_ABOVE = 16
# The largest λ to look at; beyond it comes α = 0.
FARTHEST = 1e150
# Largest ratio of neighboring λ if every value costs passes over the rows.
LARGEST_STEP = 10.0
# Difference of two λ, relative to the first one on a grid, or to the least that is typical of any
# column of S, that is none.
NEXT_TO_NOTHING = 1e-20
# Ratio of two λ between which a crossing is looked for in the middle of their logarithms.
FAR_APART = 1e3
# Values through which to interpolate.
NODES = 8
# Part of a bound up to which the value at a λ is next to nothing.
NO_VALUE = 1e-3
# Multiple of the typical λ at which a definition that rises from λ = 0 shows it,
HILL = 3e-3
# and how high it may rise, relative to its value at λ = 0.
HIGHEST = 1.3


@dataclass(frozen=True)
class PenaltyProfile:
    """A definition's values over increasing λ, up to the λ at which α = 0."""

    value: Value  # the definition at any λ
    grid: Floats  # λ, from 0 (or from where all bounds of interest are exceeded) on
    values: Floats  # the definition there
    ceiling: float = np.inf  # the smallest λ with α = 0
    # Whether a bound is void at a λ where next to nothing is left: no smaller λ fits better.
    is_void: Callable[[float, float], bool] = lambda lambda_, r: False
    smallest: float = np.inf  # the λ that is typical of the smallest column of S

    @cached_property
    def _known(self) -> dict[float, float]:
        """All values so far: what one bound has cost also serves the next."""
        return dict(zip(self.grid.tolist(), self.values.tolist(), strict=True))

    def choose(self, r: float, tol: float, max_iter: int) -> Choice:
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
        beyond = float(self.grid[last + 1])
        if self.values[last + 1] <= NO_VALUE * r and self.is_void(beyond, r):
            return Choice(beyond, "separated", crossings)
        lambda_, converged = self._root(last, r, tol, max_iter)
        return Choice(lambda_, "converged" if converged else "not-converged", crossings)

    def _root(self, k: int, r: float, tol: float, max_iter: int) -> tuple[float, bool]:
        """Find the crossing between grid points k and k+1.

        Inverse interpolation through the nearest known points, in coordinates
        in which values are smooth; bisection if that leaves the bracket or
        does not come nearer.
        """
        lo, hi = float(self.grid[k]), float(self.grid[k + 1])
        if np.isinf(hi):
            hi = FARTHEST
            if lo >= hi or _finite(self.value, hi) > r:
                return np.inf, True
        typical = float(self.grid[1]) if self.grid[0] == 0.0 else 0.0
        missed, slow = np.inf, 0
        # Raw columns in small units may need a λ far below that of the others.
        nothing = NEXT_TO_NOTHING * min(typical, self.smallest)
        for _ in range(max_iter):
            if hi - lo <= 4e-15 * hi + nothing:
                return hi, True
            places = _Places(min(hi, typical), self.ceiling, typical)
            trusted = slow < 2 and hi < self.ceiling
            x = self._interpolated(places, lo, hi, r) if trusted else None
            if x is None:
                x, slow = places.between(lo, hi, self._known[lo] / r), 0
            value = self._known[x] = _finite(self.value, x)
            if abs(value - r) <= 0.1 * tol:
                return x, True
            lo, hi = (x, hi) if value > r else (lo, x)
            slow = slow + 1 if abs(value - r) > 0.5 * missed else 0
            missed = min(missed, abs(value - r))
        return hi, False

    def _interpolated(self, places: _Places, lo: float, hi: float, r: float) -> float | None:
        """Neville's scheme for the place as a function of log value, at log r."""
        within = [x for x in self._known if lo / 100.0 <= x <= hi * 100.0 and x < self.ceiling]
        gaps = {x: math.log(self._known[x] / r) for x in within if self._known[x] > 0.0}
        # Under absolute values there are kinks, and far values mislead.
        most = NODES if np.isinf(self.ceiling) else 3
        nearest: list[float] = []
        for x in sorted(gaps, key=lambda x: abs(gaps[x])):
            # Values that hardly differ say nothing of the slope.
            apart = [abs(gaps[x] - gaps[z]) > 1e-3 * abs(gaps[x]) + 1e-11 for z in nearest]
            if all(apart) and len(nearest) < most:
                nearest.append(x)
        if len(nearest) < 2:
            return None
        u, t = [gaps[x] for x in nearest], [places.of(x) for x in nearest]
        for step in range(1, len(u)):
            for i in range(len(u) - step):
                t[i] = (u[i] * t[i + 1] - u[i + step] * t[i]) / (u[i] - u[i + step])
        x = places.at(t[0])
        return x if lo < x < hi else None


@dataclass(frozen=True)
class _Places:
    """log((λ + shift)/(1 − λ/ceiling)): where values are smooth, up to both ends."""

    shift: float
    ceiling: float
    first: float  # the smallest λ above 0 on a grid

    def of(self, x: float) -> float:
        """Return the place of a λ."""
        return math.log(x + self.shift) - math.log1p(-x / self.ceiling)

    def at(self, place: float) -> float:
        """Return the λ at a place."""
        if abs(place) > 700.0:
            return math.inf
        odds = math.exp(place)
        return (odds - self.shift) / (1.0 + odds / self.ceiling)

    def between(self, lo: float, hi: float, excess: float) -> float:
        """Return a λ inside a bracket, at whose lower end the value exceeds the bound."""
        if hi == self.ceiling:  # where values vanish about linearly
            return hi - (hi - lo) * min(max(1.0 / excess, 1e-6), 0.9)
        if lo == 0.0:  # steps become longer and longer, since nobody knows how far it is
            return hi * min(0.1, math.sqrt(hi / self.first))
        if hi > FAR_APART * lo:
            return math.sqrt(lo) * math.sqrt(hi)
        return self.at(0.5 * (self.of(lo) + self.of(hi)))


def dense_profile(value: Value, smallest: float, largest: float, ceiling: float) -> PenaltyProfile:
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
    values = np.array([_finite(value, float(x)) for x in grid])
    return PenaltyProfile(value, grid, values, ceiling)


def sparse_profile(
    value: Value,
    start: float,
    typical: float,
    ceiling: float,
    bounds: Floats,
    *,
    step: float = LARGEST_STEP,
    floor: float = 0.2,
    reach: float = 0.0,
    peek: Value | None = None,
    slope: Value | None = None,
    is_void: Callable[[float, float], bool] = lambda lambda_, r: False,
    smallest: float = np.inf,
) -> PenaltyProfile:
    """Evaluate a definition that costs passes over the rows, at few λ.

    Goes right from the start until every positive bound holds, then left until
    every bound is exceeded or λ = 0 is reached: from the side on which the
    bound holds, so that the last crossing is met first. If a bound holds at
    λ = 0 by little, a look next to it shows whether the definition rises
    first, as shares do that are not monotone. What rises and falls again
    between two neighboring λ elsewhere is not seen.

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
        Largest ratio of neighboring λ: the finer, the less can hide between them.
    floor, reach : float
        Multiples of the typical λ: below the first, λ = 0 comes next; up to
        the second, values are looked at even if all bounds hold.
    peek : callable, optional
        The definition at a λ next to 0, approximately and for less.
    slope : callable, optional
        d log value / d log λ at a λ that was visited, if it is known.
    is_void : callable, optional
        Whether a model at a visited λ fits as well as that at λ = 0, for a bound.
    smallest : float
        The λ that is typical of the smallest column of S.
    """
    wanted = bounds[bounds < 1.0]
    positive = wanted[wanted > 0.0]
    # Floats, so ratios may be infinite: then the step is the longest.
    least, most_wanted = float(positive.min(initial=1.0)), float(wanted.max(initial=0.0))
    scan = _Scan(value, step, {}, slope)
    if positive.size:
        at = scan.visit(min(start, ceiling / step))
        most = min(ceiling, 1e15 * typical)
        while at < most and (scan.known[at] > least or at < reach * typical):
            at = scan.visit(min(at * scan.stride(at, least), ceiling))
        at = min(scan.known)
        while scan.known[at] <= most_wanted and at > floor * typical:
            at = scan.visit(at / scan.stride(at, most_wanted))
        if scan.known[at] <= most_wanted:
            scan.visit(0.0)
            scan.climb(HILL * typical, at, wanted, peek or value)
    if not positive.size or wanted.min() == 0.0 or scan.last > least:
        scan.visit(ceiling)
    grid = np.array(sorted(scan.known))
    values = np.array([scan.known[x] for x in grid])
    return PenaltyProfile(value, grid, values, ceiling, is_void, smallest)


@dataclass(frozen=True)
class _Scan:
    """Values seen so far, and where to look next."""

    value: Value
    step: float
    known: dict[float, float]
    slope: Value | None = None

    @property
    def last(self) -> float:
        """The value at the largest λ."""
        return self.known[max(self.known)]

    def visit(self, x: float) -> float:
        """Look at the value at a λ, and return that λ."""
        self.known[x] = _finite(self.value, x)
        return x

    def stride(self, at: float, goal: float) -> float:
        """How far to move in λ for a value to reach a goal.

        By the slope there, as it is known or seen; a little more makes a tight
        bracket likely.
        """
        here = self.known[at]
        if min(here, goal) <= 0.0:
            return self.step
        slope = self._seen_slope(at) if self.slope is None else abs(self.slope(at))
        distance = 1.3 * abs(math.log(here / goal))
        far = slope * math.log(self.step) <= distance
        return self.step if far else max(math.exp(distance / slope), 1.05)

    def _seen_slope(self, at: float) -> float:
        """Return the slope between the two values seen there, or that of 1/λ."""
        others = [x for x in self.known if x != at and 0.0 < x < np.inf and self.known[x] > 0.0]
        if not others:
            return 1.0
        other = min(others, key=lambda x: abs(math.log(x / at)))
        return abs(math.log(self.known[other] / self.known[at]) / math.log(other / at))

    def climb(self, foot: float, end: float, wanted: Floats, peek: Value) -> None:
        """Go up a hill that begins at λ = 0, where it could exceed a bound that holds there."""
        ground = self.known[0.0]
        matters = ((ground < wanted) & (wanted <= HIGHEST * ground)).any()
        if foot >= end or not matters or peek(foot) <= ground:
            return
        at, below = self.visit(foot), ground
        while self.known[at] > below and 3.0 * at < end:
            below = self.known[at]
            at = self.visit(3.0 * at)
        for _ in range(2):
            self._visit_summit()

    def _visit_summit(self) -> None:
        """Look where a parabola through the highest value and its neighbors is highest."""
        grid = sorted(x for x in self.known if 0.0 < x < np.inf)
        k = max(range(len(grid)), key=lambda k: self.known[grid[k]])
        if not 0 < k < len(grid) - 1:
            return
        t = [math.log(x) for x in grid[k - 1 : k + 2]]
        left, top, right = (self.known[x] for x in grid[k - 1 : k + 2])
        rise, fall = (top - left) / (t[1] - t[0]), (top - right) / (t[2] - t[1])
        if rise + fall > 0.0:
            at = 0.5 * (t[0] + t[1] + (t[2] - t[0]) * rise / (rise + fall))
            self.visit(math.exp(at))


def _finite(value: Value, x: float) -> float:
    """Return a value, which must be a finite number."""
    found = value(x)
    if not np.isfinite(found):
        raise ValueError(
            f"the definition is {found} at lambda={x:g}; it must return a finite number."
        )
    return found
