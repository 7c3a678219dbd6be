"""A fitted model as a solution of estimating equations, in small matrices.

With E the weighted mean over rows, g = −½ ∂d/∂η and z = (1, s, u) the columns
of the fair basis, with the means and the B that they have, θ = (intercept, α, β) of
every linear predictor solves

    E[g z] = ½ ∂/∂θ (λ̄Q(θ) + λ̄₂R(θ))

with the ridge on α or on what S explains as Q, and that on β as R. At r = 0 some
functions A(θ) are zero, and their multipliers π stand for λ̄:
E[g z] = Jᵀπ + ½ λ̄₂∂R with J = ∂A/∂θ. Models with a bound on their means hold
the totals of these at those of the response, in the same way and at every λ̄.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from scipy.linalg import block_diag, pinvh

from fairridge._typing import Floats
from fairridge.inference.rows import OfRows, RowsOfModel
from fairridge.models import FairBasis, Fit

Regime = Literal["free", "bound", "zero"]


class Form(Protocol):
    """A penalty Q(θ) near one model."""

    @property
    def slope(self) -> Floats:
        """½ ∂Q/∂θ, of shape (m, k)."""
        ...

    @property
    def curvature(self) -> Floats:
        """½ ∂²Q/∂θ², of shape (m·k, m·k)."""
        ...

    def subtract_rows(self, at: RowsOfModel, factor: float, out: Floats) -> None:
        """Subtract what each row adds to the slope, times a factor, from `out`."""
        # `out` has the shape (n, m, k).
        #
        # The mean of what all rows add is the slope.
        ...


class Held(Form, Protocol):
    """Functions A(θ) that are held at zero; a form with the slope Jᵀπ."""

    @property
    def is_alpha(self) -> bool:
        """Whether A is α of the fair basis."""
        ...

    @property
    def jacobian(self) -> Floats:
        """J, of shape (c, m·k)."""
        ...

    def values(self, at: RowsOfModel) -> Floats:
        """Return the influence of each row on A at fixed θ, of shape (n, c)."""
        ...


@dataclass(frozen=True)
class State:
    """One model and the derivatives of its mean deviance."""

    fit: Fit  # the model
    regime: Regime  # whether λ is 0, follows from the bound, or is infinite
    # Intercept at the column means, α and β of every linear predictor; k = 1+q+p, of shape
    # (m, k).
    theta: Floats
    gradient: Floats  # E[g z], of shape (m, k)
    hessian: Floats  # H = ½ E[∂²d/∂η² zzᵀ], of shape (m·k, m·k)
    lambda_: float  # λ̄
    # In which θ can vary: not an intercept that cancels, nor coefficients of constant columns,
    # nor, for a model of X alone, those of S, of shape (d, m·k).
    directions: Floats
    ridge: Form | None = None  # what λ̄ multiplies
    fixed: tuple[tuple[float, Form], ...] = ()  # λ̄₂ and what it multiplies
    held: Held | None = None  # what is zero at r = 0
    totals: Held | None = None  # what is zero at every r

    @property
    def q(self) -> int:
        """Number of sensitive columns."""
        return len(self.fit.basis.B)

    @property
    def alpha(self) -> Floats:
        """α, of shape (m, q)."""
        return self.theta[:, 1 : 1 + self.q]

    @property
    def beta(self) -> Floats:
        """β, of shape (m, p)."""
        return self.theta[:, 1 + self.q :]

    @cached_property
    def basis(self) -> tuple[Floats, Floats]:
        """B and Σ_S⁻¹."""
        basis = self.fit.basis
        return basis.B, np.asarray(pinvh(basis.sensitive.scatter() / basis.weight))

    @property
    def forms(self) -> tuple[tuple[float, Form], ...]:
        """All penalties with their factors."""
        fixed = self.fixed if self.totals is None else ((1.0, self.totals), *self.fixed)
        if self.held is not None:
            return ((1.0, self.held), *fixed)
        if self.regime == "bound" and self.ridge is not None:
            return ((self.lambda_, self.ridge), *fixed)
        return fixed

    def sum_over_rows(self, function: Callable[[RowsOfModel], Any]) -> Any:
        """Sum a function of the rows as the model sees them."""
        fit = self.fit
        what = OfRows(fit.family, self.theta, self.basis, function)
        return fit.engine.sum_over_columns(what, fit.basis.center)

    def leverage_root(self) -> Floats:
        """Return a root of (H + penalties on β)⁻¹, of shape (m·k, d): leverages are |zᵀroot|²."""
        N = self.directions
        J = N @ _penalized(self.hessian, self.fixed) @ N.T
        scale = np.sqrt(np.diag(J))
        lower = np.linalg.cholesky(J / np.outer(scale, scale))
        return N.T @ (np.linalg.inv(lower).T / scale[:, None])

    def effective_parameters(self) -> float:
        """Return tr(H K), with K the inverse of the equations at a given λ."""
        size = self.theta.size
        return float(np.trace(self.hessian @ self.bordered_inverse()[:size, :size]))

    def bordered_inverse(self, bounded: Floats | None = None) -> Floats:
        """Invert −∂(equations)/∂θ, bordered by what is held at zero or bounded."""
        # `bounded` is the derivative in θ of what is bounded, if the bound binds.
        N, size = self.directions, self.theta.size
        below = right = np.zeros((0, size))
        if self.held is not None:
            below = right = self.held.jacobian
        elif bounded is not None and self.ridge is not None:
            below, right = bounded.reshape(1, -1), self.ridge.slope.reshape(1, -1)
        if self.totals is not None:
            below, right = (np.vstack([part, self.totals.jacobian]) for part in (below, right))
        inner, count = N @ _penalized(self.hessian, self.forms) @ N.T, len(below)
        whole = np.block([[inner, N @ right.T], [below @ N.T, np.zeros((count, count))]])
        # Columns differ in units: in those of their spread, only what is negligible is small.
        spread = np.maximum(np.abs(np.diag(inner)), ((N @ self.hessian) * N).sum(axis=1))
        units = np.append(1.0 / np.sqrt(spread), np.ones(count))
        scaled = np.abs(whole * np.outer(units, units))
        row_units, column_units, border = units.copy(), units, slice(len(inner), None)
        largest = scaled[border].max(axis=1), scaled[:, border].max(axis=0)
        row_units[border] /= np.where(largest[0] > 0.0, largest[0], 1.0)
        column_units[border] /= np.where(largest[1] > 0.0, largest[1], 1.0)
        whole = row_units[:, None] * whole * column_units
        # Functions that are held at zero may depend on each other, as those of all classes do.
        inverse = np.linalg.inv(whole) if self.held is None else np.linalg.pinv(whole)
        whole_directions = block_diag(N, np.eye(count))
        out = whole_directions.T @ (column_units[:, None] * inverse * row_units) @ whole_directions
        if not self.fit.family.has_intercept:
            out[0, 0] = 1.0  # rows move an intercept that is 0 at the column means
        return np.asarray(out)


def _penalized(hessian: Floats, forms: tuple[tuple[float, Form], ...]) -> Floats:
    return np.asarray(hessian + sum(factor * form.curvature for factor, form in forms))


def to_raw(basis: FairBasis) -> Floats:
    """Return T with (1, s, x) = (1, s, u)T."""
    q, p = basis.B.shape
    T = np.eye(1 + q + p)
    T[1 : 1 + q, 1 + q :] = basis.B
    return T


def plain_state(fit: Fit, unit: float, regime: Regime, *, blind: bool) -> State:
    """Collect the derivatives of a fit with λ = unit·λ̄, in no pass if it is least squares."""
    family = fit.family
    intercept = np.atleast_1d(fit.mean_intercept)[:, None]
    by_class = np.hstack([intercept, np.atleast_2d(fit.alpha), np.atleast_2d(fit.beta)])
    theta = np.asarray(family.to_contrasts(by_class))
    if family.least_squares:
        gradient, hessian = _from_moments(fit)
    else:
        _, gradient, hessian = derivatives_at(fit, theta, 2)
    lambda_ = 0.0 if regime == "free" else fit.lambda_ / unit
    return State(fit, regime, theta, gradient, hessian, lambda_, _directions(fit, hessian, blind))


def _directions(fit: Fit, hessian: Floats, blind: bool) -> Floats:
    kept = np.append(fit.family.has_intercept, fit.basis.deviations > 0.0)
    each = np.eye(len(kept))
    if blind:
        kept[1 : 1 + len(fit.basis.B)] = False
        each = to_raw(fit.basis).T
    N = np.kron(np.eye(len(hessian) // len(kept)), each[kept])
    return np.asarray(N[((N @ hessian) * N).sum(axis=1) > 0.0])


def derivatives_at(fit: Fit, theta: Floats, order: int) -> tuple[float, Floats, Any]:
    """Return the mean deviance of a model with other coefficients, E[g z], and H for order 2."""
    basis, q = fit.basis, len(fit.basis.B)
    raw = basis.raw_coefficients(theta[:, 1 : 1 + q], theta[:, 1 + q :])
    sums = fit.engine.derivatives(fit.family, basis.center, theta[:, 0], raw, order)
    T = np.linalg.inv(to_raw(basis))
    gradient, hessian = sums.gradient @ T / (-2.0 * basis.weight), sums.hessian
    if hessian is not None:
        hessian = np.einsum("ij,aibk,kl->ajbl", T, hessian, T, optimize=True) / (2.0 * basis.weight)
        hessian = hessian.reshape(theta.size, theta.size)
    return sums.deviance / basis.weight, gradient, hessian


def _from_moments(fit: Fit) -> tuple[Floats, Floats]:
    """Return E[g z] and E[zzᵀ] of a least-squares model without a pass over the rows."""
    basis = fit.basis
    S, U = basis.sensitive.scatter() / basis.weight, basis.predictors.scatter() / basis.weight
    on_S = basis.sensitive.products(basis.on_sensitive[:, 0]) / basis.weight
    on_U = basis.predictors.products(basis.on_predictors[:, 0]) / basis.weight
    gradient = np.concatenate([[0.0], on_S - S @ fit.alpha, on_U - U @ fit.beta])
    return gradient[None, :], block_diag(1.0, S, U)
