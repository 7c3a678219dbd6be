"""The change to the fair basis: predictors decorrelated from the sensitive attributes.

Everything the gaussian model needs can be read off a triangular factor R in
[S, X, y] = QR: R is all of the data that a linear model sees. Two ways lead to it.

- The Cholesky factor of the scaled scatter matrix: free, once the moments are
  there, but it squares the condition number of the columns.
- A blocked QR decomposition of the centered, scaled rows: one more pass, and
  the condition number counts once.

The first serves while the scatter's condition stays below `CONDITION_LIMIT`,
where it leaves about ten digits.

U = X − SB, with B from least squares of X on S (all centered), so that
[S, U] = [S, X] T with T = [[I, −B], [0, I]]. U is never built: from the blocks

    R = [[R_S, R_SX, r_S], [0, R_X, r_X], [0, 0, ρ]]

follow B = R_S⁺ R_SX, UᵀU = R_XᵀR_X and Uᵀy = R_Xᵀr_X. If S is collinear,
the part of R_SX outside the span of R_S belongs to U.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from fairridge._typing import Booleans, Floats, Integers
from fairridge.engines import Engine, Moments, binary_columns, triangular_factor
from fairridge.solvers.spectrum import (
    CONDITION_LIMIT,
    EPS,
    TINY,
    Spectrum,
    lengths,
    solve_upper,
    spectrum_of,
)

# Beyond this a column's rounding no longer counts: a column far from zero is not constant yet.
NOISE_LIMIT = 1e-6


@dataclass(frozen=True)
class Factor:
    """The triangular factor of centered, scaled columns [S, X, y]."""

    n_sensitive: int  # columns of S, q
    n_targets: int  # columns of y, m
    weight: float  # sum of the weights; n if there are none
    center: Floats  # column means of [S, X, y], of shape (k,)
    scale: Floats  # their standard deviations (divisor n); 1 for constant columns, of shape (k,)
    R: Floats  # RᵀR is the scatter of the centered columns divided by `scale`, of shape (k, k)
    # What rounding of the input alone can contribute to each column, relative to its spread:
    # directions below it are collinear to the precision of the data, of shape (k,).
    noise: Floats
    of_scatter: bool = False  # whether R is a Cholesky factor, and not from the rows themselves

    @cached_property
    def parts(self) -> tuple[slice, slice, slice]:
        """Places of S, X and y among the columns."""
        q, last = self.n_sensitive, len(self.scale) - self.n_targets
        return slice(0, q), slice(q, last), slice(last, len(self.scale))


def factorize(engine: Engine, n_targets: int = 1) -> Factor:
    """Factor the moments; go back to the rows if they are ill-conditioned."""
    moments = engine.moments()
    scale = scale_of(np.diag(moments.scatter), moments.mean, moments.weight)
    cholesky = _from_scatter(moments, scale, n_targets)
    return Factor(
        engine.n_sensitive,
        n_targets,
        moments.weight,
        moments.mean,
        scale,
        R=engine.qr_factor(moments.mean, scale) if cholesky is None else cholesky,
        noise=rounding_noise(moments.mean, scale),
        of_scatter=cholesky is not None,
    )


def scale_of(squares: Floats, mean: Floats, weight: float) -> Floats:
    """Return √(squares/weight); 1 if a column is constant."""
    deviation = deviation_of(squares, mean, weight)
    return np.where(deviation > 0.0, deviation, 1.0)


def deviation_of(squares: Floats, mean: Floats, weight: float) -> Floats:
    """Return √(squares/weight); 0 for rounding in the numbers of a constant column."""
    deviation = np.sqrt(np.maximum(squares, 0.0) / weight)
    return np.where(deviation <= 4 * EPS * np.abs(mean), 0.0, deviation)


def rounding_noise(mean: Floats, scale: Floats) -> Floats:
    """Return what rounding of the input can contribute to each column, relative to its spread."""
    return np.minimum(8 * len(scale) * EPS * (1.0 + np.abs(mean) / scale), NOISE_LIMIT)


def _from_scatter(moments: Moments, scale: Floats, n_targets: int) -> Floats | None:
    """Cholesky factor of the scaled scatter; None if it is not to be trusted."""
    k = len(scale) - n_targets
    scatter = moments.scatter / (scale * scale[:, None])
    used = np.flatnonzero(np.diag(scatter)[:k] > 0.5 * moments.weight)  # constants stay zero
    places = used[:, None], used
    try:
        root: Floats = np.linalg.cholesky(scatter[places]).T.astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    if _condition_of_triangle(root) > CONDITION_LIMIT:
        return None
    cross = solve_upper(root, scatter[used, k:], transposed=True)
    rest = scatter[k:, k:] - cross.T @ cross
    if (CONDITION_LIMIT * np.diag(rest) < np.diag(scatter)[k:]).any():  # digits were lost
        return None
    R = np.zeros_like(scatter)
    R[places] = root
    R[used, k:] = cross
    R[k:, k:] = _root_of(rest)
    return R


def _root_of(scatter: Floats) -> Floats:
    """Return a triangular root of a small positive semidefinite matrix."""
    if len(scatter) == 1:
        return np.sqrt(np.maximum(scatter, 0.0))
    values, vectors = np.linalg.eigh(scatter)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return triangular_factor(root)


def _condition_of_triangle(root: Floats) -> float:
    """Estimate the condition number of rootᵀroot from a triangular root."""
    # LAPACK's estimate is of sums of absolute values, and up to k² times as large. For hundreds of
    # levels it would send most data back to the rows, so that singular values decide.
    if not root.size:
        return 1.0
    reciprocal, _ = scipy.linalg.lapack.dtrcon(root)
    # Smaller reciprocals have no square in floating point.
    estimate = np.inf if reciprocal < np.sqrt(TINY) else float(reciprocal) ** -2
    undecided = CONDITION_LIMIT < estimate <= CONDITION_LIMIT * len(root) ** 2
    return float(np.linalg.cond(root)) ** 2 if undecided else estimate


@dataclass(frozen=True)
class FairBasis:
    """S and U in small matrices, with the response projected on both."""

    weight: float  # sum of the weights; n if there are none
    # Means of S, X and y.
    center_sensitive: Floats
    center_predictors: Floats
    center_targets: Floats
    B: Floats  # coefficients of X on S, original scale, of shape (q, p)
    # S and U, each in its singular basis.
    sensitive: Spectrum
    predictors: Spectrum
    # The targets (the response as m columns of numbers) in those bases, of shape (rank, m).
    on_sensitive: Floats
    on_predictors: Floats
    residual: Floats  # scatter of the targets outside the span of S and U, of shape (m, m)
    is_ill_conditioned: bool = False  # whether the scatter of [S, X, y] has too few digits

    @cached_property
    def center(self) -> Floats:
        """Means of [S, X]."""
        return np.concatenate([self.center_sensitive, self.center_predictors])

    @property
    def given_columns(self) -> Integers:
        """Positions in X of controls, which S and U are residuals on; none here."""
        return np.zeros(0, dtype=np.intp)

    @cached_property
    def predictor_deviations(self) -> Floats:
        """Standard deviations of the columns of X, or of what controls leave of them."""
        return np.sqrt((self._squares_of_sensitive + self.predictors.squares()) / self.weight)

    @cached_property
    def _squares_of_sensitive(self) -> Floats:
        """‖sB‖² of every column of X."""
        return np.asarray(((self.sensitive.scatter() @ self.B) * self.B).sum(axis=0))

    @cached_property
    def explained(self) -> Floats:
        """Share of each predictor's variance that S explains; 0 for constants, of shape (p,)."""
        inside = self._squares_of_sensitive
        total = inside + self.predictors.squares()
        return np.divide(inside, total, out=np.zeros_like(total), where=total > 0.0)

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviations of the columns of [S, X]."""
        of_sensitive = np.sqrt(np.diag(self.sensitive.scatter()) / self.weight)
        return np.append(of_sensitive, self.predictor_deviations)

    @cached_property
    def variance_inflation(self) -> Floats | None:
        """The variance inflation factor of every predictor: 1/(1 − R²) on S and all others."""
        # VAR(x)·n·[(UᵀU)⁻¹]ⱼⱼ, as U is X without what S explains; infinity for columns that are
        # linear combinations of others. None if U is given controls, or has many more columns than
        # directions.
        wide = 2 * self.predictors.rank < len(self.center_predictors)
        unknown = wide or len(self.given_columns) > 0
        inverse = None if unknown else self.predictors.inverse_diagonal()
        if inverse is None:
            return None
        found = np.maximum(self.weight * self.predictor_deviations**2 * inverse, 1.0)
        found[list(self.predictors.dependent)] = np.inf
        return found

    @property
    def binary_predictors(self) -> Booleans:
        """Which columns of X are 0 or 1 in every row, as far as their moments show."""
        variances = self.deviations[len(self.center_sensitive) :] ** 2
        return binary_columns(self.center_predictors, variances)

    def raw_coefficients(self, alpha: Floats, beta: Floats) -> Floats:
        """Coefficients of [S, X] (last axis) for η = c + Sα + Uβ: (α − Bβ, β)."""
        return np.concatenate([alpha - beta @ self.B.T, beta], axis=-1)

    def without_predictors(self, beta: Floats) -> Floats:
        """Return β of the model without predictors."""
        return np.zeros_like(beta)

    def sensitive_variance(self, alpha: Floats) -> Floats:
        """VAR(Sα), for one α or for several."""
        return self.sensitive.quadratic(alpha) / self.weight

    def predictor_variance(self, beta: Floats) -> Floats:
        """VAR(Uβ), for one β or for several."""
        return self.predictors.quadratic(beta) / self.weight

    @cached_property
    def target_rounding(self) -> Floats:
        """What rounding of y and S can leave of each target where S explains it, in its unit."""
        spread = np.sqrt(np.diag(self.target_scatter) / self.weight)
        spread = np.where(spread > 0.0, spread, 1.0)
        center, unit = self.center_sensitive, np.sqrt(self.sensitive.squares() / self.weight)
        unit = np.where(unit > 0.0, unit, 1.0)
        noise = rounding_noise(np.append(center, self.center_targets), np.append(unit, spread))
        slopes, q = self.sensitive.to_orthonormal @ self.on_sensitive, len(center)
        return noise[q:] * spread + (noise[:q] * unit) @ np.abs(slopes)

    @property
    def target_scatter(self) -> Floats:
        """Σ w (y − ȳ)(y − ȳ)ᵀ."""
        inside = self.on_sensitive.T @ self.on_sensitive
        return inside + self.on_predictors.T @ self.on_predictors + self.residual


def fair_basis(factor: Factor, *, standardize: bool, penalized: bool = False) -> FairBasis:
    """Decorrelate in small-matrix space."""
    # If no penalty holds coefficients of X, the units of independent columns mean nothing, and they
    # are in units of their spread.
    in_S, in_X, in_y = factor.parts
    scale_S, scale_X, scale_y = [factor.scale[part] for part in factor.parts]
    q, noise_S, noise_X = factor.n_sensitive, factor.noise[in_S], factor.noise[in_X]

    # R holds columns divided by their spread; penalties see other units, so that these are put
    # back. P spans the columns of R_S, and N the rest, which is empty unless S is collinear.
    penalty_scale = scale_S if standardize else np.ones(q)
    sensitive, P, N = spectrum_of(factor.R[:q, :q] * scale_S, penalty_scale, noise_S, scale_S)
    B = _on_sensitive(factor, (sensitive, P) if standardize else None)
    outside = _outside(factor.R[:q, q:], factor.R[q:, q:], N)
    R_U, r_U = outside[:, : -factor.n_targets], outside[:, -factor.n_targets :]

    # Standard deviations of U and of X, in units of the spread of X. U is a difference, X − SB,
    # and has the rounding of X and of the columns of S that explain it. A column of X that S
    # explains up to this rounding would get a coefficient made of nothing else: it is set to 0.
    spread = lengths(R_U) / np.sqrt(factor.weight)
    total = lengths(factor.R[:, in_X]) / np.sqrt(factor.weight)
    noise_U = noise_X + noise_S @ np.abs(B * scale_S[:, None] / scale_X)
    in_span = spread <= noise_U * np.maximum(total, 1.0)
    # The rank is decided in units of the spread of U, which may be much smaller than that of X.
    R_U, spread_U = np.where(in_span, 0.0, R_U), np.where(in_span, 1.0, spread)
    unit = spread_U * scale_X
    root, noise = R_U * scale_X, noise_U / spread_U
    predictors, P_U, N_U = spectrum_of(root, unit, noise, of_scatter=factor.of_scatter)
    # Units count for a penalty, and for the shortest of all β with the same Uβ.
    if not standardize and (penalized or predictors.rank < np.count_nonzero(root.any(axis=0))):
        predictors, P_U, N_U = spectrum_of(root, np.ones(len(unit)), noise, unit)
    rest = N_U.T @ r_U * scale_y
    return FairBasis(
        weight=factor.weight,
        center_sensitive=factor.center[in_S],
        center_predictors=factor.center[in_X],
        center_targets=factor.center[in_y],
        B=B,
        sensitive=sensitive,
        predictors=predictors,
        on_sensitive=P.T @ factor.R[in_S, in_y] * scale_y,
        on_predictors=P_U.T @ r_U * scale_y,
        residual=rest.T @ rest,
        is_ill_conditioned=not factor.of_scatter,
    )


def _outside(along: Floats, below: Floats, N: Floats) -> Floats:
    """Return a triangle of what X and y have outside the span of S."""
    # That is the rows of R below those of S and, if S is collinear, what R_SX has along N. It is as
    # small as the columns of U allow.
    return triangular_factor(np.vstack([N.T @ along, below])) if N.size else below


def _on_sensitive(factor: Factor, standardized: tuple[Spectrum, Floats] | None) -> Floats:
    """Return B, the coefficients of X on S, original scale."""
    # The pseudo-inverse is taken in units of the spread of S. If columns are collinear, B differs
    # between units, but SB does not; and in the units of a penalty the rounding of large columns
    # would swamp small ones. `standardized` is S in those units, if it is known.
    in_S, in_X, _ = factor.parts
    scale_S = factor.scale[in_S]
    if standardized is None:
        root = factor.R[in_S, in_S] * scale_S
        standardized = spectrum_of(root, scale_S, factor.noise[in_S])[:2]
    spectrum, P = standardized
    B = spectrum.vectors / np.sqrt(spectrum.eigenvalues) @ (P.T @ factor.R[in_S, in_X])
    B *= factor.scale[in_X] / scale_S[:, None]
    return B
