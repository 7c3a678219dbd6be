"""The columns that a model is solved in, its coordinates there, and how it is reported.

Every model is solved by the same searches, in some space: S and the predictors as
they are, their residuals on controls, the directions of X alone, or fewer features
of many columns. A space states which coordinates a model has there, what λ penalizes
of them, and how a model found there is reported in the original columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from fairridge._typing import Floats, Integers
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.families.sums import GLMSums
from fairridge.models.basis import FairBasis, factorize, fair_basis
from fairridge.models.fit import Fit
from fairridge.solvers.spectrum import block_diagonal

# Share of numbers other than zero up to which leaving out products with zeros pays.
DENSITY_LIMIT = 0.1


@dataclass(frozen=True)
class Coordinates:
    """θ: for each linear predictor its intercept at the column means, then standardized S and U."""

    # If S or U is collinear the coordinates are those of its singular basis, which makes every
    # answer the minimum-norm one. Raw-space sums over rows are changed to θ here: the gradient by
    # Mᵀg, the Hessian by MᵀHM.
    #
    # Absolute values see every column of S, and of m = K − 1 contrasts between K classes they see
    # the classes: S then has K coordinates per column, at the end of θ. What they have in common
    # cancels in the model, not in the penalty, which thus chooses it (glmnet's parametrization).

    basis: FairBasis  # S and U in small matrices
    n_predictors: int  # linear predictors, m
    by_column: bool  # whether S must keep a coordinate per column, as absolute values require
    # Orthonormal contrasts, if absolute values are to be taken of classes, of shape (K, m).
    contrasts: Floats | None = None

    @cached_property
    def sensitive(self) -> Floats:
        """α per coordinate of S, of shape (q, a)."""
        S = self.basis.sensitive
        whole = self.by_column or S.rank == len(S.scale)
        return (np.eye(len(S.scale)) if whole else S.vectors) / S.scale[:, None]

    @cached_property
    def predictors(self) -> Floats:
        """β per coordinate of U, of shape (p, b)."""
        U = self.basis.predictors
        whole = U.rank == len(U.scale)
        return (np.eye(len(U.scale)) if whole else U.vectors) / U.scale[:, None]

    @cached_property
    def to_raw(self) -> Floats:
        """M: intercept and raw coefficients of [S, X] per coordinate of one linear predictor."""
        (q, a), (p, b) = self.sensitive.shape, self.predictors.shape
        out = np.zeros((1 + q + p, 1 + a + b))
        out[0, 0] = 1.0
        out[1 : 1 + q, 1 : 1 + a] = self.sensitive
        out[1 : 1 + q, 1 + a :] = -self.basis.B @ self.predictors
        out[1 + q :, 1 + a :] = self.predictors
        return out

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Linear predictors, and coordinates of each."""
        return self.n_predictors, self.to_raw.shape[1]

    @cached_property
    def size(self) -> int:
        """Length of θ."""
        return int(np.prod(self.shape)) if self._folded is None else self._folded.shape[1]

    @cached_property
    def intercept_index(self) -> Integers:
        """Positions of the intercepts in θ."""
        m, width = self.shape
        skipped = 0 if self._folded is None else self.sensitive.shape[1]
        return np.arange(m, dtype=np.intp) * (width - skipped)

    @cached_property
    def of_sensitive(self) -> Integers:
        """Positions of the coordinates of S in θ."""
        if self.contrasts is not None:
            count = len(self.contrasts) * self.sensitive.shape[1]
            return np.arange(self.size - count, self.size, dtype=np.intp)
        first = np.arange(1, 1 + self.sensitive.shape[1], dtype=np.intp)
        return np.concatenate([start + first for start in self.intercept_index])

    @property
    def of_controls(self) -> Integers:
        """Positions of the coordinates of controls in θ; none here."""
        return np.zeros(0, dtype=np.intp)

    @cached_property
    def _folded(self) -> Floats | None:
        """Coordinates of the linear predictors per coordinate of θ; None if these are the same."""
        # Its rows are orthonormal.
        if self.contrasts is None:
            return None
        m, width = self.shape
        a = self.sensitive.shape[1]
        places = np.arange(m * width).reshape(m, width)
        others = np.delete(places, np.arange(1, 1 + a), axis=1).ravel()
        out = np.zeros((m * width, len(others) + len(self.contrasts) * a))
        out[others, np.arange(len(others))] = 1.0
        ours = places[:, 1 : 1 + a].ravel()
        out[ours, len(others) :] = np.kron(self.contrasts.T, np.eye(a))
        return out

    @cached_property
    def standardized(self) -> Floats:
        """α and β of standardized columns per coordinate of one linear predictor."""
        S, U, n = self.basis.sensitive, self.basis.predictors, self.basis.weight
        parts = [(S.squares(), self.sensitive), (U.squares(), self.predictors)]
        columns = [np.sqrt(squares / n)[:, None] * part for squares, part in parts]
        return np.hstack([np.zeros((sum(map(len, columns)), 1)), block_diagonal(columns)])

    def ridge(self) -> Floats:
        """Matrix of ‖α‖² + ‖β‖² of standardized columns, as a form in θ."""
        C, m = self.standardized, self.n_predictors
        form: Floats = np.kron(np.eye(m), C.T @ C).astype(np.float64)
        return form if self._folded is None else self._folded.T @ form @ self._folded

    def apart(self, form: Floats) -> Floats:
        """Return a form in θ less what it says of what classes have in common."""
        T = self._folded
        return form if T is None else T.T @ (T @ form @ T.T) @ T

    def by_predictor(self, theta: Floats) -> Floats:
        """Return the coordinates of each linear predictor, one row each."""
        return (theta if self._folded is None else self._folded @ theta).reshape(self.shape)

    def raw(self, theta: Floats) -> Floats:
        """Intercept at the means and raw coefficients, one row per linear predictor."""
        return self.by_predictor(theta) @ self.to_raw.T

    def theta(self, raw: Floats) -> Floats:
        """Return the θ nearest to given intercepts and raw coefficients."""
        flat = (raw @ np.linalg.pinv(self.to_raw).T).ravel()
        return flat if self._folded is None else self._folded.T @ flat

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Intercept at the means, α and β, one row per row of coordinates."""
        k = 1 + self.sensitive.shape[1]
        return theta[:, 0], theta[:, 1:k] @ self.sensitive.T, theta[:, k:] @ self.predictors.T

    @np.errstate(over="ignore", invalid="ignore")  # at a trial point sums may be infinite
    def derivatives(self, sums: GLMSums) -> tuple[Floats, Any]:
        """Gradient and Hessian in θ; None for a Hessian that the sums do not have."""
        M, T = self.to_raw, self._folded
        gradient = (sums.gradient @ M).ravel()
        hessian = None
        if sums.hessian is not None:
            hessian = self._both_sides(sums.hessian.swapaxes(1, 2)).swapaxes(1, 2)
            hessian = hessian.reshape(len(gradient), len(gradient))
        if T is not None:
            gradient = gradient @ T
            hessian = None if hessian is None else T.T @ hessian @ T
        return gradient, hessian

    def _both_sides(self, matrices: Floats) -> Floats:
        """Return MᵀHM of matrices H, in the last two axes."""
        M = self._few_numbers
        if M is None:
            return self.to_raw.T @ (matrices @ self.to_raw)
        flat = matrices.reshape(-1, *matrices.shape[-2:])
        changed = np.stack([(M.T @ (M.T @ H).T).T for H in flat])
        return changed.reshape(*matrices.shape[:-2], M.shape[1], M.shape[1])

    @cached_property
    def _few_numbers(self) -> sparse.csr_array | None:
        """M as a sparse matrix, if it is large and nearly all zeros: columns but rescaled."""
        M = self.to_raw
        return sparse.csr_array(M) if np.count_nonzero(M) < DENSITY_LIMIT * M.size else None

    def penalty(self, sensitive: Floats, predictor_penalty: float) -> Floats:
        """Matrix of the quadratic penalty on θ: αᵀ(sensitive)α + predictor_penalty·‖β‖²."""
        A = self.sensitive * self.basis.sensitive.scale[:, None]
        Q = predictor_penalty * np.eye(self.size)
        Q[self.intercept_index, self.intercept_index] = 0.0
        if A.shape[1]:
            form = A.T @ sensitive @ A
            for places in self.of_sensitive.reshape(-1, A.shape[1]):
                Q[places[:, None], places] = form
        return Q


@dataclass(frozen=True)
class Space:
    """S and U as they are; other spaces override what differs."""

    engine: Engine  # the rows, with the columns that models are solved in
    basis: FairBasis  # these columns in small matrices

    # Whether models are solved in features of the predictors.
    compressed: ClassVar[bool] = False

    @property
    def uses_sensitive(self) -> bool:
        """Whether models use S to predict."""
        return True

    @property
    def within(self) -> Any:
        """The space of what controls leave; the same space without any."""
        return self

    @property
    def all_columns(self) -> Engine:
        """The rows, with the columns that models are reported in."""
        return self.engine

    @property
    def reported(self) -> FairBasis:
        """S and U of the columns that models are reported in."""
        return self.basis

    @property
    def controls(self) -> tuple[int, ...]:
        """Positions in X of the controls that a bound is conditional on."""
        return ()

    @property
    def rank(self) -> int:
        """Directions in which a linear predictor can vary."""
        return self.reported.sensitive.rank + self.reported.predictors.rank

    @property
    def target_scatter(self) -> Floats:
        """Σ w (y − ȳ)(y − ȳ)ᵀ."""
        return self.basis.target_scatter

    @property
    def dependent(self) -> tuple[list[int], list[int]]:
        """Columns of S, and of X, that have no coefficients of their own."""
        basis = self.reported
        return list(basis.sensitive.dependent), list(basis.predictors.dependent)

    def coordinates(self, family: Family, penalty: Any) -> Coordinates:
        """Return the coordinates θ of a model."""
        m, absolute = family.n_predictors, penalty.l1 > 0.0
        contrasts = family.to_class_coefficients(np.eye(m)) if absolute and m > 1 else None
        return Coordinates(self.basis, m, absolute, contrasts)

    def penalized(self, penalty: Any) -> Floats:
        """Return the quadratic form that λ multiplies."""
        form: Floats = penalty.quadratic(self.basis.sensitive)
        return form

    def ridge(self, coordinates: Any) -> Floats:
        """Return ‖α‖² + ‖β‖² of standardized columns, as a form in θ."""
        form: Floats = coordinates.ridge()
        return form

    def floor(self, gradient: Floats) -> float:
        """Return the unfairness that no finite λ goes below."""
        # The gradient is the slope of the deviance at the null model, along the coordinates that λ
        # penalizes.
        return 0.0

    def least_squares_beta(self, beta: Floats) -> Floats:
        """Complete β of a gaussian model, which does not depend on λ."""
        return beta

    def in_columns(self, fits: Sequence[Fit], unconstrained: Callable[[], Fit]) -> list[Fit]:
        """Return models of this space as models of the original columns."""
        # `unconstrained` returns the model at λ = 0, in columns.
        return list(fits)

    def raw_in_columns(self, raw: Floats) -> Floats:
        """Bring raw coefficients of the columns here (last axis) to the original columns."""
        return raw


def plain_space(
    engine: Engine, *, standardize: bool, n_targets: int, penalized: bool = False
) -> Space:
    """Read the rows once, or twice if they are ill-conditioned, and decorrelate."""
    factor = factorize(engine, n_targets)
    return Space(engine, fair_basis(factor, standardize=standardize, penalized=penalized))
