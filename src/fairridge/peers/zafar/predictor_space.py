"""What a linear model of X alone can reach, and how that relates to S.

In orthonormal coordinates of the fitted values, Xb = Pw with PᵀP = I, least
squares is a distance, and the covariance with a sensitive column a product
with one vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.models.basis import Factor
from fairridge.peers.zafar.slabs import span_of
from fairridge.solvers import spectrum_of

Bound = Literal["correlation", "covariance"]
AtZero = Literal["project", "drop"]


@dataclass(frozen=True)
class PredictorSpace:
    """Coordinates w of the fitted values of X."""

    # Coefficients b of X, original scale, of every coordinate, of shape (p, d).
    to_coefficients: Floats
    projection: Floats  # Pᵀy, of shape (d,)
    residual: float  # ‖y − PPᵀy‖²
    # PᵀSⱼ of the centered sensitive columns, scaled so that normalsᵀw is COV(S, η), or so
    # that normalsᵀw/‖w‖ is COR(S, η), of shape (d, q).
    normals: Floats
    # Columns of X that are constant, or linear combinations of the others.
    dependent: tuple[int, ...]

    @property
    def dimension(self) -> int:
        """Directions in which the fitted values can vary."""
        return len(self.projection)

    def uncorrelated(self) -> PredictorSpace:
        """Return the part of the space that has no covariance with S."""
        inside = span_of(self.normals)
        rank = inside.shape[1]
        outside = np.linalg.qr(inside, mode="complete")[0][:, rank:]
        removed = inside.T @ self.projection
        return PredictorSpace(
            self.to_coefficients @ outside,
            outside.T @ self.projection,
            self.residual + float(removed @ removed),
            np.zeros((outside.shape[1], self.normals.shape[1])),
            self.dependent,
        )


@dataclass(frozen=True)
class PredictorSpaces:
    """The space for positive bounds, and the one for r = 0."""

    factor: Factor  # triangular factor of [S, X, y]
    n_sensitive: int  # columns of S
    bound: Bound  # how the normals are scaled
    at_zero: AtZero  # what r = 0 means

    def __post_init__(self) -> None:
        weight = self.factor.weight
        if self.bound == "covariance" and weight <= 1.0:
            raise ValueError(
                f"the weights sum to {weight:g}, but a covariance divides by their sum less 1; "
                "scale them to sum to the number of rows, or use bound='correlation'."
            )

    @cached_property
    def whole(self) -> PredictorSpace:
        """What all predictors can reach."""
        everything = np.ones(len(self.factor.scale) - 1 - self.n_sensitive, dtype=bool)
        return _space_of(self.factor, self.n_sensitive, self.bound, everything)

    @cached_property
    def fair(self) -> PredictorSpace:
        """What can be reached without any covariance with S."""
        # By combinations of predictors that have none ("project"), or only by those predictors that
        # have none ("drop").
        if self.at_zero == "project":
            return self.whole.uncorrelated()
        q, R = self.n_sensitive, self.factor.R / np.sqrt(self.factor.weight)
        noise = self.factor.noise
        none = np.abs(R[:, :q].T @ R[:, q:-1]) <= noise[:q, None] + noise[q:-1]
        return _space_of(self.factor, q, self.bound, none.all(axis=0))

    def sums(self, beta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Σ w(η − η̄)(s − s̄), Σ w(s − s̄)² and Σ w(η − η̄)² of η = Xb."""
        # They come from b and the factor, without a detour over α = Bb: if columns of S are almost
        # collinear, B has few digits, and terms of Xb that cancel leave none of them.
        q, columns = self.n_sensitive, self.factor.R * self.factor.scale
        S = np.where(_varies(self.factor, q), columns[:, :q], 0.0)
        eta = columns[:, q:-1] @ beta
        return (eta @ S)[None], (S * S).sum(axis=0), np.array([eta @ eta])


def _varies(factor: Factor, q: int) -> Booleans:
    """Which columns of S vary: all others are constant, to rounding."""
    length: Floats = np.linalg.norm(factor.R[:, :q], axis=0)
    return length > 0.5 * np.sqrt(factor.weight)


def _space_of(factor: Factor, q: int, bound: Bound, allowed: Booleans) -> PredictorSpace:
    scale_S, scale_X, scale_y = factor.scale[:q], factor.scale[q:-1], factor.scale[-1]
    root = np.where(allowed, factor.R[:, q:-1], 0.0) * scale_X
    spectrum, P, N = spectrum_of(root, scale_X, factor.noise[q:-1])
    S, response = factor.R[:, :q], factor.R[:, -1] * scale_y
    varies = _varies(factor, q)
    unit = 1.0 / np.where(varies, np.linalg.norm(S, axis=0), 1.0)
    if bound == "covariance":
        unit = scale_S / (factor.weight - 1.0)
    outside = N.T @ response
    return PredictorSpace(
        spectrum.to_orthonormal,
        P.T @ response,
        float(outside @ outside),
        P.T @ (np.where(varies, S, 0.0) * unit),
        spectrum.dependent,
    )
