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
from fairridge.models.coordinates import Coordinates
from fairridge.models.fit import Fit
from fairridge.models.spaces.base import Space
from fairridge.solvers.spectrum import spectrum_of

# A correlation this small is rounding; its square, a share of variance, is not seen anywhere.
NEGLIGIBLE_CORRELATION = 1e-10
# Curvature of λ₂ in a direction of length one, above which it takes digits of all the others.
STIFF = 1e6


@dataclass(frozen=True)
class BlindSpace(Space):
    """Linear combinations Xb of the predictors, b = directions·c: S has no coefficients.

    In the paper's coordinates such a model has α = Bβ, which cancels the coefficients
    of S, and R² of η on S is VAR(Sα)/(VAR(Sα) + VAR(Uβ)) as ever.
    """

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

    @cached_property
    def penalty(self) -> Floats:
        """Matrix of Σ(scaleⱼbⱼ)² as a form in c."""
        return self.scaled.T @ self.scaled

    def share(self, c: Floats) -> float:
        """Return R² of Xb on S; 0 for b = 0."""
        whole = float(np.sum(c**2))
        part = float(self.explained @ c[: len(self.explained)] ** 2)
        return part / whole if whole > 0.0 else 0.0

    def coordinates(
        self, family: Family, penalty: Any, predictor_penalty: float = 0.0
    ) -> BlindCoordinates:
        """Return the coordinates θ of a model."""
        turned = self.turned(predictor_penalty)
        turned = np.eye(self.rank) if turned is None else turned
        return BlindCoordinates(self.basis, family.n_predictors, False, space=self, turned=turned)

    @cached_property
    def scaled(self) -> Floats:
        """Coefficients of X in directions as penalties see them, of shape (p, d)."""
        return self.directions * self.scale[:, None]

    def turned(self, predictor_penalty: float) -> Floats | None:
        """Return directions that suit a stiff penalty, in these, of shape (d, d); None for others.

        Those that S does not explain are turned to the axes of the penalty, and are added
        to the others so that the penalty of these is smallest: what S explains of them stays.
        """
        largest = np.square(self.scaled).sum(axis=0).max(initial=0.0)
        if predictor_penalty * largest <= STIFF:
            return None
        m, turned = len(self.explained), np.eye(self.rank)
        if self.has_fair_directions:
            fair = self.scaled[:, m:]
            turned[m:, m:] = np.linalg.svd(fair)[2].T
            turned[m:, :m] = -np.linalg.lstsq(fair, self.scaled[:, :m], rcond=None)[0]
        return turned

    def penalized(self, penalty: Any) -> Floats:
        """Return ‖P_S Xb‖² as a form in coordinates of variance one."""
        return np.diag(self.basis.weight * self.explained)

    def spread(self, coordinates: Any) -> Floats:
        """Return standard deviations of what coordinates multiply: ones, unless turned."""
        of_one = np.append(1.0, np.linalg.norm(coordinates.turned, axis=0))
        return np.tile(of_one, coordinates.n_predictors)

    def floor(self, gradient: Floats) -> float:
        """Return the share of S that no finite λ goes below.

        As λ grows, b tends to zero along the minimum of gᵀb + λ‖P_S Xb‖², with g
        the gradient at b = 0: cⱼ ∝ gⱼ/κⱼ. That is so if S explains some of
        every direction of X; else the share tends to zero.
        """
        if self.has_fair_directions or not gradient.any():
            return 0.0
        gradient = gradient.reshape(-1, len(self.explained))
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


def blind_space(engine: Engine, *, standardize: bool, n_targets: int = 1) -> BlindSpace:
    """Find the canonical directions of X with S.

    Parameters
    ----------
    engine : Engine
        Where the rows are.
    standardize : bool
        Whether penalties see columns of X divided by their standard deviations.
    n_targets : int
        Number of columns of y.
    """
    factor = factorize(engine, engine.moments(), n_targets)
    return blind_space_of(engine, factor, standardize=standardize, n_targets=n_targets)


def blind_space_of(
    engine: Engine, factor: Factor, *, standardize: bool, n_targets: int = 1
) -> BlindSpace:
    """Find the directions from the triangular factor of [S, X, y]; see `blind_space`."""
    q = engine.n_sensitive
    basis = fair_basis(factor, q, standardize=standardize, n_targets=n_targets)
    last = len(factor.scale) - n_targets
    scale_S, scale_X, scale_y = factor.scale[:q], factor.scale[q:last], factor.scale[last:]
    _, P_S, _ = spectrum_of(factor.R[:q, :q] * scale_S, scale_S, factor.noise[:q])
    scale = scale_X if standardize else np.ones(last - q)
    root = factor.R[:, q:last] * scale_X
    X, P_X, N_X = spectrum_of(root, scale, factor.noise[q:last], scale_X)
    _, correlations, W = np.linalg.svd(P_S.T @ P_X[:q])
    used = np.minimum(correlations[correlations > NEGLIGIBLE_CORRELATION], 1.0)
    targets = factor.R[:, last:] * scale_y
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
    )


@dataclass(frozen=True, kw_only=True)
class BlindCoordinates(Coordinates):
    """θ of a model of X alone: intercepts, then the canonical directions of X with S.

    Each direction has variance one. Those that S explains in part take the place of
    coordinates of S in other models, and S itself has coefficients of zero. In units of
    very different sizes λ₂ is so stiff in some directions that its rounding would hide the
    deviance in all of them: there they are turned.
    """

    space: BlindSpace  # the directions
    turned: Floats  # these per coordinate, of shape (d, d)

    @cached_property
    def _unit(self) -> Floats:
        """Coefficients of X per coordinate, of shape (p, d)."""
        return self.space.directions @ self.turned * np.sqrt(self.basis.weight)

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
