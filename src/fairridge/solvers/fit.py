"""One model at one λ, as a fairness definition sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.engines import Engine
from fairridge.solvers.basis import FairBasis

__all__ = ["Fit"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """A model η = intercept + Sα + Uβ at one penalty λ.

    This is what a callable definition receives. S, U and y are made when
    asked for; everything else costs nothing.

    Attributes
    ----------
    lambda_ : float
        The penalty on α.
    alpha, beta : ndarray
        Coefficients of S and of U, original scale.
    intercept : float
        With S uncentered and U centered.
    deviance : float
        Residual sum of squares for gaussian models.
    family : Family
        The family of the response.
    basis : FairBasis
        S and U in small matrices.
    engine : Engine
        Where the rows are.
    unconstrained : callable
        Returns the fit at λ = 0.
    """

    lambda_: float
    alpha: Floats
    beta: Floats
    intercept: float
    deviance: float
    family: Any
    basis: FairBasis
    engine: Engine
    unconstrained: Callable[[], Fit]

    @cached_property
    def _columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.engine.columns()

    @property
    def S(self) -> Floats:
        """Sensitive attributes, uncentered, of shape (n, q)."""
        return self._columns[0]

    @cached_property
    def U(self) -> Floats:
        """Predictors decorrelated from S, centered, of shape (n, p)."""
        S, X, _, _ = self._columns
        centered = S - self.basis.center_sensitive
        return X - self.basis.center_predictors - centered @ self.basis.B

    @property
    def y(self) -> Floats:
        """The response."""
        return self._columns[2][:, 0]

    @property
    def weights(self) -> Floats:
        """Sample weights, ones where none were given."""
        return self._columns[3]

    def linear_predictor(self) -> Floats:
        """Return η for every row."""
        S, X, _, _ = self._columns
        raw = self.basis.raw_coefficients(self.alpha, self.beta)
        centered = np.concatenate([self.basis.center_sensitive, self.basis.center_predictors])
        base = self.intercept + self.basis.center_sensitive @ self.alpha - centered @ raw
        return base + S @ raw[: S.shape[1]] + X @ raw[S.shape[1] :]

    @property
    def sensitive_variance(self) -> float:
        """VAR(Sα)."""
        return float(self.basis.sensitive_variance(self.alpha))

    @property
    def predictor_variance(self) -> float:
        """VAR(Uβ)."""
        return float(self.basis.predictor_variance(self.beta))
