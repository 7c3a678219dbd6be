"""What X alone can fit, in directions sorted by how much of them S explains.

With [S, X, y] = QR, orthonormal bases P of the centered columns of S and of X
are small matrices. The singular values of P_SᵀP_X are the canonical
correlations of X with S: their squares κ are shares of variance, at most q of
them are not zero, and in their directions

    ‖Xb‖² = ‖c‖²,   ‖P_S Xb‖² = Σ κⱼcⱼ².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.models.basis import Factor, factorize, fair_basis
from fairridge.models.fit import Fit
from fairridge.models.spaces.base import Coordinates, Space
from fairridge.solvers.spectrum import LENGTH_TOLERANCE, spectrum_of


@dataclass(frozen=True)
class BlindSpace(Space):
    """Linear combinations Xb of the predictors, b = directions·c: S has no coefficients."""

    # In the paper's coordinates such a model has α = Bβ, which cancels the coefficients of S, and
    # R² of η on S is VAR(Sα)/(VAR(Sα) + VAR(Uβ)) as ever.

    # κ, the shares that S explains of the first m directions, largest first; of all others it
    # explains nothing, of shape (m,).
    explained: Floats
    # Coefficients of X, original scale, for which Xb has length one, of shape (p, d).
    directions: Floats
    projection: Floats  # the targets in these directions, of shape (d, t)
    residual: Floats  # scatter of the targets outside the span of X, of shape (t, t)
    # What penalties divide coefficients of X by: standard deviations, or ones, of shape (p,).
    scale: Floats
    # Columns of X that are constant, or linear combinations of the others.
    dependent_predictors: tuple[int, ...]
    has_ridge: bool = False  # whether λ₂ holds coefficients of X

    @property
    def uses_sensitive(self) -> bool:
        """Return False: S is used to fit only."""
        return False

    @property
    def rank(self) -> int:
        """Directions in which a linear predictor can vary."""
        return self.directions.shape[1]

    @property
    def dependent(self) -> tuple[list[int], list[int]]:
        """Columns of X without coefficients of their own; S may be collinear, and X with S."""
        return [], list(self.dependent_predictors)

    @property
    def has_fair_directions(self) -> bool:
        """Whether S explains nothing of some combination of the predictors."""
        return self.rank > len(self.explained)

    def share(self, c: Floats) -> float:
        """Return R² of Xb on S; 0 for b = 0."""
        whole = float(np.sum(c**2))
        part = float(self.explained @ c[: len(self.explained)] ** 2)
        return part / whole if whole > 0.0 else 0.0

    def coordinates(self, family: Family, penalty: Any) -> BlindCoordinates:
        """Return the coordinates θ of a model."""
        return BlindCoordinates(self.basis, family.n_predictors, False, space=self)

    @cached_property
    def scaled(self) -> Floats:
        """Coefficients of X in directions as penalties see them, of shape (p, d)."""
        return self.directions * self.scale[:, None]

    @cached_property
    def axes(self) -> Floats:
        """Directions per coordinate, of shape (d, d): the principal axes of λ₂‖b‖²."""
        # Of those that S does not explain, and of the others apart from these, which stay apart. If
        # λ₂ were mixed, rounding of its part for a column in small units would hide the deviance in
        # all directions.
        m, out = len(self.explained), np.eye(self.rank)
        if not self.has_ridge:
            return out
        fair, others = self.scaled[:, m:], self.scaled[:, :m]
        out[m:, m:] = np.linalg.svd(fair, full_matrices=False)[2].T
        out[m:, :m] = -np.linalg.lstsq(fair, others, rcond=None)[0]
        apart = self.scaled @ out[:, :m]
        out[:, :m] @= np.linalg.svd(apart, full_matrices=False)[2].T
        return out

    def penalized(self, penalty: Any) -> Floats:
        """Return ‖P_S Xb‖² as a form in coordinates of variance one."""
        along = self.axes[: len(self.explained), : len(self.explained)]
        return self.basis.weight * (along.T * self.explained) @ along

    def floor(self, gradient: Floats) -> float:
        """Return the share of S that no finite λ goes below."""
        # As λ grows, b tends to zero along the minimum of gᵀb + λ‖P_S Xb‖², with g the gradient at
        # b = 0: cⱼ ∝ gⱼ/κⱼ. That is so if S explains some of every direction of X; else the share
        # tends to zero.
        if self.has_fair_directions or not gradient.any():
            return 0.0
        gradient = gradient.reshape(-1, len(self.explained)) @ self.axes.T
        limit = gradient / self.explained
        return self.share(np.sqrt((limit**2).sum(axis=0)))

    def least_squares_at(
        self, c: Floats, lambda_: float, family: Family, unconstrained: Callable[[], Fit]
    ) -> Fit:
        """Return the gaussian model η = ȳ + X·directions·c."""
        basis, beta = self.basis, self.directions @ c
        alpha = beta @ basis.B.T  # so that the coefficients of S itself are zero
        missed = self.projection[:, 0] - c
        return Fit(
            lambda_=lambda_,
            alpha=alpha,
            beta=beta,
            intercept=float(basis.center_targets[0] - alpha @ basis.center_sensitive),
            deviance=float(missed @ missed + self.residual[0, 0]),
            family=family,
            basis=basis,
            engine=self.engine,
            unconstrained=unconstrained,
        )


def blind_space(
    engine: Engine, *, standardize: bool, n_targets: int = 1, penalized: bool = False
) -> BlindSpace:
    """Find the canonical directions of X with S."""
    factor = factorize(engine, n_targets)
    return blind_space_of(engine, factor, standardize=standardize, penalized=penalized)


def blind_space_of(
    engine: Engine, factor: Factor, *, standardize: bool, penalized: bool = False
) -> BlindSpace:
    """Find the directions from the triangular factor of [S, X, y]; see `blind_space`."""
    basis = fair_basis(factor, standardize=standardize, penalized=penalized)
    in_S, in_X, in_y = factor.parts
    scale_S, scale_X, scale_y = (factor.scale[part] for part in factor.parts)
    q, noise_X = factor.n_sensitive, factor.noise[in_X]
    _, P_S, _ = spectrum_of(factor.R[in_S, in_S] * scale_S, scale_S, factor.noise[in_S])
    scale = scale_X if standardize else np.ones(len(scale_X))
    root = factor.R[:, in_X] * scale_X
    X, P_X, N_X = spectrum_of(root, scale_X, noise_X)
    if X.rank < np.count_nonzero(root.any(axis=0)):  # of all b with the same Xb, the shortest
        X, P_X, N_X = spectrum_of(root, scale, noise_X, scale_X)
    _, correlations, W = np.linalg.svd(P_S.T @ P_X[:q])
    used = np.minimum(correlations[correlations > LENGTH_TOLERANCE], 1.0)
    targets = factor.R[:, in_y] * scale_y
    outside = N_X.T @ targets
    return BlindSpace(
        engine,
        basis,
        used**2,
        X.original(W @ (X.vectors / np.sqrt(X.eigenvalues)).T).T,
        W @ P_X.T @ targets,
        outside.T @ outside,
        scale,
        X.dependent,
        penalized,
    )


@dataclass(frozen=True, kw_only=True)
class BlindCoordinates(Coordinates):
    """θ of a model of X alone: intercepts, then the canonical directions of X with S."""

    # Each direction has variance one. Those that S explains in part take the place of coordinates
    # of S in other models, and S itself has coefficients of zero.

    space: BlindSpace  # the directions

    @cached_property
    def _unit(self) -> Floats:
        """Coefficients of X per coordinate, of shape (p, d)."""
        return self.space.directions @ self.space.axes * np.sqrt(self.basis.weight)

    @cached_property
    def sensitive(self) -> Floats:
        """Coefficients of X per coordinate that S explains in part, of shape (p, m)."""
        return self._unit[:, : len(self.space.explained)]

    @cached_property
    def predictors(self) -> Floats:
        """Coefficients of X per coordinate that S does not explain, of shape (p, d − m)."""
        return self._unit[:, len(self.space.explained) :]

    @cached_property
    def to_raw(self) -> Floats:
        """M: intercept and raw coefficients of [S, X] per coordinate of one linear predictor."""
        q, (p, d) = len(self.basis.center_sensitive), self._unit.shape
        out = np.zeros((1 + q + p, 1 + d))
        out[0, 0] = 1.0
        out[1 + q :, 1:] = self._unit
        return out

    @cached_property
    def standardized(self) -> Floats:
        """Coefficients of standardized columns of X per coordinate of one linear predictor."""
        columns = self.basis.predictor_deviations[:, None] * self._unit
        return np.hstack([np.zeros((len(columns), 1)), columns])

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Intercept at the means, α = Bβ, which cancels the coefficients of S, and β."""
        beta = theta[:, 1:] @ self._unit.T
        return theta[:, 0], beta @ self.basis.B.T, beta

    def penalty(self, sensitive: Floats, predictor_penalty: float) -> Floats:
        """Matrix of the quadratic penalty on θ: one on what S explains, and λ₂‖β‖²."""
        (m, width), end = self.shape, 1 + len(sensitive)
        out, scaled = np.zeros((m, width, m, width)), self._unit * self.space.scale[:, None]
        for k in range(m):
            out[k, 1:, k, 1:] = predictor_penalty * scaled.T @ scaled
            out[k, 1:end, k, 1:end] += sensitive
        return out.reshape(self.size, self.size)
