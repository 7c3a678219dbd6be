"""What families with one linear predictor and independent rows share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import brentq

from fairridge._typing import Floats
from fairridge.families.base import FreeModels, Link, Reads, Share
from fairridge.families.distances import AbsoluteDifference, Distance
from fairridge.families.means import PredictedMeans
from fairridge.families.sums import RowSums

__all__ = ["SinglePredictor", "quasi_loglik"]


class SinglePredictor(ABC):
    """A family given by its unit deviance d(y, η), convex in η."""

    name: str
    link: Link
    reads: ClassVar[Reads] = "numbers"
    least_squares = False
    proportion = False
    has_intercept = True
    n_predictors = 1
    separable = True
    share: ClassVar[Share] = "deviance"

    @property
    def distance(self) -> Distance:
        """Distance between responses for individual fairness: |yᵢ − yⱼ|."""
        return AbsoluteDifference()

    @abstractmethod
    def unit_deviance(self, y: Floats, eta: Floats) -> Floats:
        """Return d(y, η) for each row."""

    @abstractmethod
    def derivatives(self, y: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """Return ∂d/∂η and ∂²d/∂η² for each row."""

    @abstractmethod
    def to_eta(self, mu: Floats) -> Floats:
        """Return η for a mean."""

    @abstractmethod
    def mean(self, eta: Floats) -> Floats:
        """Return the mean for η."""

    @abstractmethod
    def check_values(self, y: Floats) -> None:
        """Raise if a response is impossible."""

    @abstractmethod
    def check(self, y: Floats) -> None:
        """Raise if a response is impossible, or if all of them leave nothing to fit."""

    def initial_intercepts(self, y: Floats, weight: Floats, offset: Floats | None) -> Floats:
        """Return an intercept near that of the null model."""
        level = float(self.to_eta(np.asarray(np.average(y[:, 0], weights=weight))))
        return np.array([level - (0.0 if offset is None else np.average(offset, weights=weight))])

    def null_level(self, y: Floats, weight: Floats, offset: Floats | None) -> float:
        """Return the intercept of the null model, which keeps the offset; it may be infinite."""
        with np.errstate(divide="ignore"):
            level = float(self.to_eta(np.asarray(np.average(y[:, 0], weights=weight))))
        if offset is None or not np.isfinite(level) or offset.min() == offset.max():
            return level - (0.0 if offset is None else float(offset[0]))

        def slope(x: float) -> float:
            return float(weight @ self.derivatives(y[:, 0], x + offset)[0])

        # At the one end all means are below that of the response, at the other above it.
        low, high = level - float(offset.max()), level - float(offset.min())
        if slope(low) >= 0.0:
            return low
        return high if slope(high) <= 0.0 else float(brentq(slope, low, high))

    def unit(self, mean: float) -> float:
        """Return 1: the deviance does not scale with the response."""
        return 1.0

    def deviance_terms(self, y: Floats, eta: Floats, weight: Floats, order: int) -> RowSums:
        """Return the deviance, its gradient (order ≥ 1) and curvature (order 2)."""
        y, eta = y[:, 0], eta[:, 0]
        deviance: Any = weight @ self.unit_deviance(y, eta)
        if order == 0:
            return RowSums(deviance)
        first, second = self.derivatives(y, eta)
        gradient = (weight * first)[:, None]
        return RowSums(deviance, gradient, (weight * second)[:, None, None] if order > 1 else None)

    def log_size(self, shift: float) -> float:
        """Return 0: a shift of η adds to deviances."""
        return 0.0

    def to_class_coefficients(self, coordinates: Floats) -> Floats:
        """Return the coefficients as they are: one linear predictor, one row."""
        return coordinates

    def to_contrasts(self, coefficients: Floats) -> Floats:
        """Return the coefficients as they are."""
        return coefficients

    def means(self, codes: tuple[int, ...] | None, reference: float) -> PredictedMeans:
        """Return the means of rows with their derivatives."""
        return PredictedMeans(self, codes, reference)

    def on(self, y: Floats) -> Self:
        """Return the family itself: rows are independent."""
        return self

    def completed(self, free: FreeModels) -> Self:
        """Return the family itself: no parameter is open."""
        return self

    def loglik(self, deviance: float, y: Floats, weight: Floats, dispersion: float) -> float:
        """Return the log-likelihood of a model with this deviance."""
        return -0.5 * deviance

    def pearson(self, y: Floats, eta: Floats, weight: Floats) -> float | None:
        """Return Pearson's χ² of the rows; None if the dispersion is fixed at 1."""
        return None


def quasi_loglik(deviance: float, dispersion: float) -> float:
    """Return −½ deviance/dispersion, the quasi log-likelihood."""
    return -0.5 * deviance / dispersion if dispersion > 0.0 else 0.0
