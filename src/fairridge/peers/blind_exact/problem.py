"""Least squares on X alone under R² ≤ r, solved exactly.

    min ‖y − Xb‖²  subject to  ‖P_S Xb‖² ≤ r‖Xb‖²

has one quadratic constraint, so it has no duality gap (S-lemma), although it
is not convex. In the canonical directions of X with S (`models.spaces.blind`),

    cⱼ = zⱼ / (1 + μ(κⱼ − r)),   φ(μ) = Σ (κⱼ − r)cⱼ² = 0,

and φ decreases on 0 ≤ μ < 1/(r − κ_min), where c is a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Floats
from fairridge.fairness import StatisticalParity
from fairridge.models import Fit
from fairridge.models.spaces import BlindSpace
from fairridge.search import Choice, LeastSquares, Solution, Status
from fairridge.search.problem import FLOOR_TOLERANCE


@dataclass(frozen=True)
class BlindExactProblem(LeastSquares):
    """The best model of X alone for every bound; `space` is what X alone can fit."""

    space: BlindSpace

    def unconstrained(self) -> Fit:
        """Return least squares on X."""
        return self._fit_at(self.space.projection[:, 0], 0.0)

    def _fit_at(self, c: Floats, multiplier: float) -> Fit:
        return self.space.least_squares_at(c, multiplier, self.family, self.unconstrained)

    def solve(self, bounds: Floats) -> list[Solution]:
        """Find the model for every bound."""
        return [self._solution(r) for r in bounds.tolist()]

    def _solution(self, r: float) -> Solution:
        z = self.space.projection[:, 0]
        status: Status
        if self.space.share(z) <= r or r == 1.0:
            c, multiplier, status = z, 0.0, "inactive"
        elif r <= self._smallest * (1.0 + FLOOR_TOLERANCE):
            # κ = 0 in the directions after the first m.
            m = len(self.space.explained)
            fair = self.space.has_fair_directions
            c, multiplier = np.append(np.zeros(m), z[m:]), np.inf
            status = "converged" if fair else "infeasible"
        else:
            c, multiplier = self._constrained(r)
            status = "converged"
        fit, definition = self._fit_at(c, multiplier), StatisticalParity(measure="variance")
        components = definition.components(fit)
        return Solution(r, fit, definition.value(fit), components, Choice(multiplier, status))

    @property
    def _smallest(self) -> float:
        """κ_min, the smallest share of S in any combination of the predictors."""
        fair = self.space.has_fair_directions
        return 0.0 if fair else float(self.space.explained.min(initial=1.0))

    def _constrained(self, r: float) -> tuple[Floats, float]:
        """Return c and μ for a bound that binds."""
        # The search is for u = 1 + μ(κ_min − r) in (0, 1], the divisor of the directions with the
        # smallest κ: it may be tiny, and must keep its digits.
        space = self.space
        m, z = len(space.explained), space.projection[:, 0]
        # All directions with κ = 0 are one.
        fair = float(np.linalg.norm(z[m:]))
        kappa = np.append(space.explained, [0.0] * space.has_fair_directions)
        parts = np.append(z[:m], [fair] * space.has_fair_directions)
        gap = kappa - r
        width = -float(gap[-1])
        # Other divisors, from differences of κ that rounding leaves alone.
        others = (kappa - kappa[-1]) / width

        def divisors(u: float) -> Floats:
            return u + (1.0 - u) * others

        def excess(u: float) -> float:
            return float(gap @ (parts / divisors(u)) ** 2)

        above = gap > 0.0
        most = float(gap[above] @ parts[above] ** 2)
        lowest = abs(float(parts[-1])) * np.sqrt(width / most)
        if lowest <= np.finfo(np.float64).tiny:
            return self._hard(r, others, width)
        root = lowest if excess(lowest) >= 0.0 else brentq(excess, lowest, 1.0, xtol=1e-300)
        every = np.append(divisors(root)[:m], np.full(len(z) - m, root))
        return z / every, (1.0 - float(root)) / width

    def _hard(self, r: float, others: Floats, width: float) -> tuple[Floats, float]:
        """Return c if y has no part in the direction with the smallest κ."""
        # That direction then only makes Xb longer, by as much as the bound requires; its sign is
        # arbitrary.
        space, c = self.space, self.space.projection[:, 0].copy()
        kappa = np.append(space.explained, np.zeros(len(c) - len(space.explained)))
        last = len(others) - 1
        c[:last] /= np.where(others[:last] > 0.0, others[:last], 1.0)
        c[last:] = 0.0
        c[last] = np.sqrt(float((kappa - r) @ c**2) / width)
        return c, 1.0 / width
