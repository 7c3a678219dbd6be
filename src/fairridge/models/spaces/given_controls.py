"""S and predictors less what controls explain of them.

With C the controls, all other columns are replaced by their residuals on
[1, C], marked by a tilde:

    η = intercept + Cζ + S̃α + Ũβ,   Ũ = X̃ − S̃B,   B from least squares of X̃ on S̃.

The triangular factor of the residuals is what the factor of [S, X, y] leaves
outside the span of C, and any space of residuals can be made of it: that of S̃ and Ũ,
or, for models that do not use S, that of the directions of X̃ alone. A model is one of
this inner space beside the controls, which are orthogonal to all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._delegation import delegated
from fairridge._typing import Floats, Integers
from fairridge.engines import Engine, triangular_factor
from fairridge.families import Family
from fairridge.models.basis import NOISE_LIMIT, Factor, FairBasis, factorize, fair_basis
from fairridge.models.fit import Fit
from fairridge.models.spaces.base import Coordinates, Space
from fairridge.models.spaces.blind import blind_space_of
from fairridge.solvers.spectrum import Spectrum, block_diagonal, spectrum_of


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

    center = delegated("whole.center")
    deviations = delegated("whole.deviations")
    given_columns = delegated("controls")
    target_rounding = delegated("whole.target_rounding")

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


@dataclass(frozen=True, kw_only=True)
class ConditionalCoordinates(Coordinates):
    """θ of a model with controls: that of the inner space, and then C, which no penalty sees."""

    basis: ConditionalBasis
    inner: Coordinates  # the coordinates of the inner space

    # Coefficients per coordinate that λ penalizes, and of those that it does not.
    sensitive = delegated("inner.sensitive")
    predictors = delegated("inner.predictors")

    @cached_property
    def controls(self) -> Floats:
        """ζ per coordinate of C, of shape (k, c)."""
        C = self.basis.of_controls
        return C.vectors / C.scale[:, None]

    @cached_property
    def to_raw(self) -> Floats:
        """M: intercept and raw coefficients of [S, X] per coordinate of one linear predictor."""
        width = self.inner.to_raw.shape[1] + self.controls.shape[1]
        level, alpha, beta = self.split(np.eye(width))
        return np.vstack([level, self.basis.raw_coefficients(alpha, beta).T])

    @cached_property
    def standardized(self) -> Floats:
        """Coefficients of standardized columns per coordinate, those of controls last."""
        spread = np.sqrt(self.basis.of_controls.squares() / self.basis.weight)
        return block_diagonal([self.inner.standardized, spread[:, None] * self.controls])

    @property
    def of_controls(self) -> Integers:
        """Positions of the coordinates of C in θ."""
        skipped = 0 if self.contrasts is not None else self.sensitive.shape[1]
        first = 1 + skipped + self.predictors.shape[1]
        places = np.arange(first, first + self.controls.shape[1], dtype=np.intp)
        return np.concatenate([start + places for start in self.intercept_index])

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Intercept at the means, α and β with ζ, one row per row of coordinates."""
        width = self.inner.to_raw.shape[1]
        level, alpha, beta = self.inner.split(theta[:, :width])
        return level, alpha, self.basis.complete(beta, theta[:, width:] @ self.controls.T)

    def penalty(self, sensitive: Floats, predictor_penalty: float) -> Floats:
        """Matrix of the quadratic penalty on θ."""
        Q = np.zeros((self.size, self.size))
        inner = np.setdiff1d(np.arange(self.size), self.of_controls)
        Q[np.ix_(inner, inner)] = self.inner.penalty(sensitive, predictor_penalty)
        return Q


@dataclass(frozen=True)
class ControlledSpace(Space):
    """A space of what controls leave of S and of the other predictors, beside the controls."""

    basis: ConditionalBasis
    inner: Space  # the space of residuals

    floor = delegated("inner.floor")
    penalized = delegated("inner.penalized")
    reported = delegated("basis.whole")
    target_scatter = delegated("basis.whole.target_scatter")
    uses_sensitive = delegated("inner.uses_sensitive")
    within = delegated("inner")

    @property
    def controls(self) -> tuple[int, ...]:
        """Positions in X of the controls."""
        return tuple(self.basis.controls.tolist())

    @property
    def rank(self) -> int:
        """Directions in which a linear predictor can vary."""
        return self.inner.rank + self.basis.of_controls.rank

    @property
    def dependent(self) -> tuple[list[int], list[int]]:
        """Columns of S, and of X, that have no coefficients of their own."""
        basis, (sensitive, predictors) = self.basis, self.inner.dependent
        controls = basis.controls[list(basis.of_controls.dependent)].tolist()
        return sensitive, basis.others[predictors].tolist() + controls

    def coordinates(self, family: Family, penalty: Any) -> Coordinates:
        """Return the coordinates θ of a model."""
        inner = self.inner.coordinates(family, penalty)
        return ConditionalCoordinates(
            basis=self.basis,
            n_predictors=inner.n_predictors,
            by_column=inner.by_column,
            contrasts=inner.contrasts,
            inner=inner,
        )

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
            _known={},
        )


def controlled_space(
    engine: Engine,
    controls: tuple[int, ...],
    *,
    standardize: bool,
    n_targets: int = 1,
    penalized: bool = False,
    blind: bool = False,
) -> ControlledSpace:
    """Read the rows, take the controls out of S, X and y, and set up a space of the residuals."""
    factor = factorize(engine, n_targets)
    q, last = engine.n_sensitive, len(engine.names)
    C = q + np.array(controls, dtype=np.intp)
    others = np.setdiff1d(np.arange(q, last), C)
    rest = np.concatenate([np.arange(q), others, np.arange(last, len(factor.scale))])
    unit = factor.scale[C]
    spectrum, P, N = spectrum_of(factor.R[:, C] * unit, unit, factor.noise[C])
    roots = np.sqrt(spectrum.eigenvalues)
    slopes = spectrum.vectors / roots @ (P.T @ factor.R[:, rest])
    on_controls = slopes * factor.scale[rest] / unit[:, None]
    residual = _residual_factor(factor, rest, N.T @ factor.R[:, rest])
    options: Any = {"standardize": standardize, "penalized": penalized}
    within = (
        blind_space_of(engine, residual, **options)
        if blind
        else Space(engine, fair_basis(residual, **options))
    )
    basis = ConditionalBasis(
        **{item.name: getattr(within.basis, item.name) for item in fields(FairBasis)},
        whole=fair_basis(factor, **options),
        controls=C - q,
        others=others - q,
        of_controls=spectrum,
        on_controls=on_controls,
    )
    return ControlledSpace(engine, basis, within)


def _residual_factor(factor: Factor, rest: Integers, root: Floats) -> Factor:
    """Return the factor of residuals, in units of their own spread; their means are zero."""
    R = triangular_factor(root)
    spread = np.linalg.norm(R, axis=0) / np.sqrt(factor.weight)
    # Controls explain a column only up to rounding.
    gone = spread <= factor.noise[rest] + factor.noise.max(initial=0.0)
    spread = np.where(gone, 1.0, spread)
    targets = rest[-factor.n_targets :]
    center = np.append(np.zeros(len(rest) - len(targets)), factor.center[targets])
    return Factor(
        factor.n_sensitive,
        factor.n_targets,
        factor.weight,
        center,
        np.where(gone, 1.0, factor.scale[rest] * spread),
        np.where(gone, 0.0, R / spread),
        np.minimum(factor.noise[rest] / spread, NOISE_LIMIT),
    )
