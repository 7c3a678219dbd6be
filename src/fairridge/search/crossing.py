"""λ(r) for a definition that need not be monotone in λ.

The rule: return the smallest λ from which on the bound holds, that is, the
last crossing as λ grows. Values are smooth in log λ on the scale of one
e-fold, so a grid a fraction of that apart shows the crossings, and a bracketed
root search makes the last one exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from fairridge.search.solution import Choice

__all__ = ["Profile", "profile"]

Floats = NDArray[np.float64]
Value = Callable[[float], float]

PER_DECADE = 10
# Beyond this many decades above the data no definition of ours still changes.
DECADES_ABOVE = 16


@dataclass(frozen=True)
class Profile:
    """A definition's values over a grid of λ, from 0 to ∞.

    Attributes
    ----------
    value : callable
        The definition at any λ.
    grid : ndarray
        0, a geometric grid, and ∞.
    values : ndarray
        The definition there.
    """

    value: Value
    grid: Floats
    values: Floats

    def choose(self, r: float, tol: float, max_iter: int) -> Choice:
        """Return the smallest λ from which on the value stays at most r."""
        above = self.values > r
        if not above.any():
            return Choice(0.0, "inactive", 0)
        if above[-1]:
            status = "converged" if self.values[-1] <= r + tol else "infeasible"
            return Choice(np.inf, status, 1)  # type: ignore[arg-type]
        last = int(np.flatnonzero(above)[-1])
        crossings = int(np.count_nonzero(np.diff(above.astype(int))))
        lambda_, converged = self._root(last, r, max_iter)
        return Choice(lambda_, "converged" if converged else "not-converged", crossings)

    def _root(self, k: int, r: float, max_iter: int) -> tuple[float, bool]:
        """Find the crossing between grid points k and k+1."""
        lo, hi = float(self.grid[k]), float(self.grid[k + 1])
        if np.isinf(hi):
            # Only values below about 1e-16 lie beyond the last finite point.
            return hi, True
        # In log λ, where values are smooth, unless the bracket starts at zero.
        into, back = (_same, _same) if lo == 0.0 else (math.log, math.exp)

        def gap(t: float) -> float:
            return self.value(min(max(back(t), lo), hi)) - r

        root, report = brentq(
            gap,
            into(lo),
            into(hi),
            xtol=1e-300,
            rtol=1e-15,
            maxiter=max_iter,
            full_output=True,
            disp=False,
        )
        return float(back(root)), bool(report.converged)


def _same(x: float) -> float:
    return x


def profile(value: Value, smallest: float, largest: float) -> Profile:
    """Evaluate a definition over λ.

    Parameters
    ----------
    value : callable
        The definition at a λ from 0 to ∞, both included.
    smallest, largest : float
        The range of the eigenvalues of SᵀS, which is where α(λ) changes.
    """
    lo = np.log10(smallest) - 4.0
    hi = np.log10(largest) + DECADES_ABOVE
    inner = np.logspace(lo, hi, int(np.ceil((hi - lo) * PER_DECADE)) + 1)
    grid = np.concatenate([[0.0], inner, [np.inf]])
    values = np.array([value(float(x)) for x in grid])
    if not np.isfinite(values).all():
        raise ValueError(
            f"the definition is {values[~np.isfinite(values)][0]} at "
            f"lambda={grid[~np.isfinite(values)][0]:g}; it must return a finite number."
        )
    return Profile(value, grid, values)
