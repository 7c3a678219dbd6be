"""What families with one linear predictor and independent rows share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Floats
from fairridge.families.base import Family
from fairridge.families.sums import RowSums


class SinglePredictor(Family):
    """A family given by its unit deviance d(y, η), convex in η."""

    @abstractmethod
    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """Return d(y, η) for each row."""

    @abstractmethod
    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """Return ∂d/∂η and ∂²d/∂η² for each row."""

    @abstractmethod
    def to_eta(self, mu: Floats) -> Floats:
        """Return η for a mean."""

    def check_values(self, y: Floats) -> None:
        """Raise if a response is impossible; by default every number is possible."""

    def check(self, y: Floats) -> None:
        """Raise if a response is impossible, or if all of them leave nothing to fit."""
        self.check_values(y)

    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return an intercept near that of the null model."""
        intercept = float(self.to_eta(np.asarray(np.average(y[:, 0], weights=weight))))
        return np.array(
            [intercept - (0.0 if offset is None else np.average(offset, weights=weight))]
        )

    def null_level(self, y: Floats, weight: Floats, offset: Floats | None) -> float:
        """Return the intercept of the null model, which keeps the offset; it may be infinite."""
        with np.errstate(divide="ignore"):
            intercept = float(self.to_eta(np.asarray(np.average(y[:, 0], weights=weight))))
        if offset is None or not np.isfinite(intercept) or offset.min() == offset.max():
            return intercept - (0.0 if offset is None else float(offset[0]))

        def slope(x: float) -> float:
            return float(weight @ self.derivatives(y[:, 0], x + offset)[0])

        # At the one end all means are below that of the response, at the other above it.
        low, high = intercept - float(offset.max()), intercept - float(offset.min())
        if slope(low) >= 0.0:
            return low
        return high if slope(high) <= 0.0 else float(brentq(slope, low, high))

    def deviance_terms(self, y: Floats, eta: Floats, weight: Floats, order: int) -> RowSums:
        """Return the deviance, its gradient (order ≥ 1) and curvature (order 2)."""
        y, eta = y[:, 0], eta[:, 0]
        deviance: Any = weight @ self.unit_deviance(y, eta)
        if order == 0:
            return RowSums(deviance)
        first, second = self.derivatives(y, eta)
        gradient = (weight * first)[:, None]
        return RowSums(deviance, gradient, (weight * second)[:, None, None] if order > 1 else None)
