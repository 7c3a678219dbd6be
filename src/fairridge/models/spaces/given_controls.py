"""S and predictors less what controls explain of them.

With C the controls, all other columns are replaced by their residuals on
[1, C], marked by a tilde:

    η = intercept + Cζ + S̃α + Ũβ,   Ũ = X̃ − S̃B,   B from least squares of X̃ on S̃.

The triangular factor of the residuals is what the factor of [S, X, y] leaves
outside the span of C, and the fair basis of that is one of S̃ and Ũ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.engines import Engine, triangular_factor
from fairridge.families import Family
from fairridge.models.basis import MOST_NOISE, Factor, FairBasis, factorize, fair_basis
from fairridge.models.coordinates import Coordinates
from fairridge.models.fit import Fit
from fairridge.models.spaces.base import Space
from fairridge.solvers.spectrum import Spectrum, spectrum_of


@dataclass(frozen=True, kw_only=True)
class ConditionalBasis(FairBasis):
    """S̃ and Ũ in small matrices. β has the coefficients ζ of the controls in their places."""

    whole: FairBasis  # the basis without controls
    # Positions of the controls, and of the other predictors, in X.
    controls: Integers
    others: Integers
    of_controls: Spectrum  # C in its singular basis
    # Coefficients of S, of the other predictors and of the targets on C, of shape
    # (k, q+p−k+m).
    on_controls: Floats

    @property
    def center(self) -> Floats:
        """Means of [S, X]."""
        return self.whole.center

    @property
    def given_columns(self) -> Integers:
        """Positions in X of the controls."""
        return self.controls

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the columns of [S, X]."""
        return self.whole.deviations

    def complete(self, beta: Floats, zeta: Floats) -> Floats:
        """Put coefficients of Ũ and of C (last axis) in the order of the columns of X."""
        out = np.empty((*np.shape(beta)[:-1], len(self.others) + len(self.controls)))
        out[..., self.others], out[..., self.controls] = beta, zeta
        return out

    def raw_coefficients(self, alpha: Floats, beta: Floats) -> Floats:
        """Coefficients of [S, X] (last axis) for η = intercept + Cζ + S̃α + Ũβ."""
        raw = super().raw_coefficients(alpha, beta[..., self.others])
        q, zeta = len(self.B), beta[..., self.controls]
        zeta = zeta - raw @ self.on_controls[:, : raw.shape[-1]].T
        return np.concatenate([raw[..., :q], self.complete(raw[..., q:], zeta)], axis=-1)

    def without_predictors(self, beta: Floats) -> Floats:
        """Return β of the model without predictors, which keeps the controls."""
        out = np.zeros_like(beta)
        out[..., self.controls] = beta[..., self.controls]
        return out

    def predictor_variance(self, beta: Floats) -> Floats:
        """VAR(Ũβ), for one β or for several."""
        return super().predictor_variance(beta[..., self.others])


def conditional_basis(
    factor: Factor,
    n_sensitive: int,
    controls: tuple[int, ...],
    *,
    standardize: bool,
    n_targets: int = 1,
) -> ConditionalBasis:
    """Take the controls out of S, X and y, and decorrelate the residuals.

    Parameters
    ----------
    factor : Factor
        Triangular factor of [S, X, y].
    n_sensitive : int
        q, the number of columns of S.
    controls : tuple of int
        Positions of the controls in X.
    standardize : bool
        Whether penalties see columns of S̃ and Ũ divided by their standard deviations.
    n_targets : int
        Number of columns of y.
    """
    q, last = n_sensitive, len(factor.scale) - n_targets
    C = q + np.array(controls, dtype=np.intp)
    others = np.setdiff1d(np.arange(q, last), C)
    rest = np.concatenate([np.arange(q), others, np.arange(last, len(factor.scale))])
    unit = factor.scale[C]
    spectrum, P, N = spectrum_of(factor.R[:, C] * unit, unit, factor.noise[C])
    roots = np.sqrt(spectrum.eigenvalues)
    slopes = spectrum.vectors / roots @ (P.T @ factor.R[:, rest])
    on_controls = slopes * factor.scale[rest] / unit[:, None]
    residual = _residual_factor(factor, rest, N.T @ factor.R[:, rest], n_targets)
    basis = fair_basis(residual, q, standardize=standardize, n_targets=n_targets)
    return ConditionalBasis(
        **{item.name: getattr(basis, item.name) for item in fields(FairBasis)},
        whole=fair_basis(factor, q, standardize=standardize, n_targets=n_targets),
        controls=C - q,
        others=others - q,
        of_controls=spectrum,
        on_controls=on_controls,
    )


def _residual_factor(factor: Factor, rest: Integers, root: Floats, n_targets: int) -> Factor:
    """Return the factor of residuals, in units of their own spread; their means are zero."""
    R = triangular_factor(root)
    spread = np.linalg.norm(R, axis=0) / np.sqrt(factor.weight)
    # Controls explain a column only up to rounding.
    gone = spread <= factor.noise[rest] + factor.noise.max(initial=0.0)
    spread = np.where(gone, 1.0, spread)
    center = np.append(np.zeros(len(rest) - n_targets), factor.center[rest[-n_targets:]])
    return Factor(
        factor.weight,
        center,
        np.where(gone, 1.0, factor.scale[rest] * spread),
        np.where(gone, 0.0, R / spread),
        np.minimum(factor.noise[rest] / spread, MOST_NOISE),
        factor.condition,
    )


@dataclass(frozen=True)
class ConditionalCoordinates(Coordinates):
    """θ of a model with controls: intercepts, S̃, Ũ, and then C, which no penalty sees."""

    basis: ConditionalBasis

    @cached_property
    def controls(self) -> Floats:
        """ζ per coordinate of C, of shape (k, c)."""
        C = self.basis.of_controls
        return C.vectors / C.scale[:, None]

    @cached_property
    def to_raw(self) -> Floats:
        """M: intercept and raw coefficients of [S, X] per coordinate of one linear predictor."""
        basis, (a, b) = self.basis, (self.sensitive.shape[1], self.predictors.shape[1])
        c = self.controls.shape[1]
        alpha = np.vstack([self.sensitive.T, np.zeros((b + c, len(self.sensitive)))])
        beta = np.vstack([np.zeros((a, len(basis.others))), self.predictors.T])
        beta = np.vstack([beta, np.zeros((c, len(basis.others)))])
        zeta = np.vstack([np.zeros((a + b, len(basis.controls))), self.controls.T])
        raw = basis.raw_coefficients(alpha, basis.complete(beta, zeta))
        out = np.zeros((1 + raw.shape[1], 1 + a + b + c))
        out[0, 0] = 1.0
        out[1:, 1:] = raw.T
        return out

    @property
    def of_controls(self) -> Integers:
        """Positions of the coordinates of C in θ."""
        skipped = 0 if self.contrasts is not None else self.sensitive.shape[1]
        first = 1 + skipped + self.predictors.shape[1]
        places = np.arange(first, first + self.controls.shape[1], dtype=np.intp)
        return np.concatenate([start + places for start in self.of_level])

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Intercept at the means, α and β with ζ, one row per row of coordinates."""
        a, b = self.sensitive.shape[1], self.predictors.shape[1]
        intercept, of_S, of_U, of_C = np.split(theta, [1, 1 + a, 1 + a + b], axis=1)
        beta = self.basis.complete(of_U @ self.predictors.T, of_C @ self.controls.T)
        return intercept[:, 0], of_S @ self.sensitive.T, beta

    def penalty(self, sensitive: Floats, predictor_penalty: float) -> Floats:
        """Matrix of the quadratic penalty on θ."""
        Q = super().penalty(sensitive, predictor_penalty)
        Q[self.of_controls, self.of_controls] = 0.0
        return Q


@dataclass(frozen=True)
class ControlledSpace(Space):
    """S and the other predictors, less what controls explain of them."""

    basis: ConditionalBasis

    @property
    def reported(self) -> FairBasis:
        """S and U without controls."""
        return self.basis.whole

    @property
    def controls(self) -> tuple[int, ...]:
        """Positions in X of the controls."""
        return tuple(self.basis.controls.tolist())

    @property
    def rank(self) -> int:
        """Directions in which a linear predictor can vary."""
        return self.basis.rank + self.basis.of_controls.rank

    @property
    def target_scatter(self) -> Floats:
        """Σ w (y − ȳ)(y − ȳ)ᵀ, with what controls explain."""
        return self.basis.whole.target_scatter

    @property
    def dependent(self) -> tuple[list[int], list[int]]:
        """Columns of S, and of X, that have no coefficients of their own."""
        basis = self.basis
        others = basis.others[list(basis.predictors.dependent)].tolist()
        controls = basis.controls[list(basis.of_controls.dependent)].tolist()
        return list(basis.sensitive.dependent), others + controls

    def coordinates(self, family: Family, penalty: Any) -> Coordinates:
        """Return the coordinates θ of a model."""
        coordinates: Coordinates = self._coordinates_as(ConditionalCoordinates, family, penalty)
        return coordinates

    def spread(self, coordinates: Any) -> Floats:
        """Return standard deviations of what coordinates of one linear predictor multiply."""
        basis = self.basis
        squares = [
            basis.sensitive.quadratic(coordinates.sensitive.T),
            basis.predictors.quadratic(coordinates.predictors.T),
            basis.of_controls.quadratic(coordinates.controls.T),
        ]
        variances = np.concatenate([[basis.weight], *squares]) / basis.weight
        return np.sqrt(np.where(variances > 0.0, variances, 1.0))

    def least_squares_beta(self, beta: Floats) -> Floats:
        """Complete β of a gaussian model by the coefficients of controls."""
        return self.basis.complete(beta, self.basis.on_controls[:, -1])

    def in_columns(self, fits: Sequence[Fit], unconstrained: Callable[[], Fit]) -> list[Fit]:
        """Return models of residuals as models of S and U."""
        return [self._in_columns(fit, unconstrained) for fit in fits]

    def _in_columns(self, fit: Fit, unconstrained: Callable[[], Fit]) -> Fit:
        whole, q = self.basis.whole, len(self.basis.B)
        raw = self.basis.raw_coefficients(fit.alpha, fit.beta)
        alpha = raw[..., :q] + raw[..., q:] @ whole.B.T
        return replace(
            fit,
            alpha=alpha,
            beta=raw[..., q:],
            intercept=fit.intercept - alpha @ whole.center_sensitive,
            basis=whole,
            unconstrained=unconstrained,
            given=fit,
            controls=self.controls,
            _memory={},
        )


def controlled_space(
    engine: Engine, controls: tuple[int, ...], *, standardize: bool, n_targets: int = 1
) -> ControlledSpace:
    """Read the rows, and take out of S, X and y what controls explain; see `conditional_basis`."""
    factor = factorize(engine, engine.moments(), n_targets)
    basis = conditional_basis(
        factor, engine.n_sensitive, controls, standardize=standardize, n_targets=n_targets
    )
    return ControlledSpace(engine, basis)
