"""A fitted model as a solution of estimating equations, in small matrices.

With E the weighted mean over rows, z = (1, s, u) and g = −½ ∂d/∂η, the level,
α and β of every linear predictor solve

    E[g] = 0,   E[g s] = λ̄Pα,   E[g u] = λ̄₂D²β.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.families.sums import GLMSums
from fairridge.inference.description import Description
from fairridge.models import Fit

__all__ = ["Regime", "State", "inverse_root", "state_of", "sums_without"]


Regime = Literal["free", "bound", "zero"]


@dataclass(frozen=True)
class State:
    """One model and the derivatives of its mean deviance.

    Attributes
    ----------
    fit : Fit
        The model.
    regime : {"free", "bound", "zero"}
        Whether λ is 0, follows from the bound, or is infinite.
    theta : ndarray of shape (m, 1+q+p)
        Level at the column means, α and β of every linear predictor.
    gradient : ndarray of shape (m, 1+q+p)
        E[g z].
    hessian : ndarray of shape (m, 1+q+p, m, 1+q+p)
        ½ E[∂²d/∂η² zzᵀ].
    penalty : ndarray of shape (q, q)
        P.
    predictor_penalty : ndarray of shape (p,)
        Diagonal of λ̄₂D².
    lambda_ : float
        λ̄.
    """

    fit: Fit
    regime: Regime
    theta: Floats
    gradient: Floats
    hessian: Floats
    penalty: Floats
    predictor_penalty: Floats
    lambda_: float

    @property
    def q(self) -> int:
        """Number of sensitive columns."""
        return len(self.penalty)

    @property
    def alpha(self) -> Floats:
        """α, of shape (m, q)."""
        return self.theta[:, 1 : 1 + self.q]

    @property
    def beta(self) -> Floats:
        """β, of shape (m, p)."""
        return self.theta[:, 1 + self.q :]

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.theta.size

    @property
    def determined(self) -> Booleans:
        """Which coefficients the equations determine, an α that is held at zero apart."""
        out = self.varies.copy()
        if self.regime == "zero":
            out[:, 1 : 1 + self.q] = False
        return out.ravel()

    @property
    def varies(self) -> Booleans:
        """Which coefficients matter: not a level that cancels, nor those of constant columns."""
        m, k = self.theta.shape
        curvature = np.diag(self.hessian.reshape(self.size, self.size)).reshape(m, k)
        out = curvature > 0.0
        out[:, 1:] &= self.fit.basis.deviations > 0.0
        out[:, 0] &= self.fit.family.has_intercept
        return out

    def jacobian(self) -> Floats:
        """Return −∂(equations)/∂θ = H + penalties, of shape (size, size)."""
        m, k = self.theta.shape
        out = self.hessian.copy()
        lambda_ = self.lambda_ if self.regime == "bound" else 0.0
        for a in range(m):
            out[a, 1 : 1 + self.q, a, 1 : 1 + self.q] += lambda_ * self.penalty
            out[a, range(1 + self.q, k), a, range(1 + self.q, k)] += self.predictor_penalty
        return out.reshape(self.size, self.size)

    def at_kink(self) -> State:
        """Return the same model as one whose bound just binds."""
        return replace(self, regime="bound", lambda_=0.0)

    def leverage_root(self) -> Floats:
        """Return a root of (H + penalties on β)⁻¹, of shape (size, c): leverages are |zᵀroot|²."""
        free = replace(self, regime="free")
        return inverse_root(free.jacobian(), free.determined)

    def effective_parameters(self) -> float:
        """Return tr(H(H + penalties)⁻¹), the degrees of freedom that a penalized fit uses."""
        kept = np.ix_(self.determined, self.determined)
        H = self.hessian.reshape(self.size, self.size)[kept]
        J = self.jacobian()[kept]
        scale = np.sqrt(np.diag(J))
        return float(
            np.trace(np.linalg.solve(J / np.outer(scale, scale), H / np.outer(scale, scale)))
        )


def inverse_root(J: Floats, kept: Booleans) -> Floats:
    """Return a root of the inverse of some rows and columns of J; zeros for the others."""
    inner = J[np.ix_(kept, kept)]
    scale = np.sqrt(np.diag(inner))
    lower = np.linalg.cholesky(inner / np.outer(scale, scale))
    root = np.zeros((len(kept), len(scale)))
    root[kept] = np.linalg.inv(lower).T / scale[:, None]
    return root


def state_of(fit: Fit, description: Description, regime: Regime) -> State:
    """Collect the derivatives of a fit; one pass over the rows unless it is least squares."""
    basis, family = fit.basis, fit.family
    theta = _theta(fit, fit.alpha)
    if family.least_squares:
        gradient, hessian = _from_moments(fit)
    else:
        sums = _sums(fit, fit.alpha, fit.beta, fit.alpha, 2)
        gradient, hessian = _in_fair_basis(sums, fit)
    unit = description.penalty_unit(basis.weight)
    return State(
        fit,
        regime,
        theta,
        gradient,
        hessian,
        description.penalty_matrix(basis),
        description.predictor_penalty / basis.weight * basis.predictors.scale**2,
        0.0 if regime == "free" else fit.lambda_ / unit,
    )


def sums_without(fit: Fit, *, predictors: bool, center: bool) -> tuple[float, Floats]:
    """Return the mean deviance and E[g z] of the model with α, or α and β, set to zero."""
    nothing = np.zeros_like(fit.alpha)
    beta = fit.beta if predictors else np.zeros_like(fit.beta)
    sums = _sums(fit, nothing, beta, fit.alpha if center else nothing, 1)
    gradient, _ = _in_fair_basis(sums, fit)
    return sums.deviance / fit.basis.weight, gradient


def _theta(fit: Fit, leveled: Floats) -> Floats:
    """Return level, α and β in the family's linear predictors."""
    level = np.atleast_1d(fit.intercept + leveled @ fit.basis.center_sensitive)
    rows = [level[:, None], np.atleast_2d(fit.alpha), np.atleast_2d(fit.beta)]
    return np.asarray(fit.family.to_contrasts(np.hstack(rows)))


def _sums(fit: Fit, alpha: Floats, beta: Floats, leveled: Floats, order: int) -> GLMSums:
    """Sum derivatives at given coefficients, with the level at which S is centered by `leveled`."""
    level = np.atleast_1d(fit.intercept + leveled @ fit.basis.center_sensitive)
    raw = np.atleast_2d(fit.basis.raw_coefficients(alpha, beta))
    both = fit.family.to_contrasts(np.column_stack([level, raw]))
    return fit.engine.derivatives(fit.family, fit.basis.center, both[:, 0], both[:, 1:], order)


def _in_fair_basis(sums: GLMSums, fit: Fit) -> tuple[Floats, Any]:
    """Turn sums over columns [1, S, X] into means over columns [1, s, u]."""
    B, weight = fit.basis.B, fit.basis.weight
    q, p = B.shape
    T = np.eye(1 + q + p)
    T[1 : 1 + q, 1 + q :] = -B
    gradient = sums.gradient @ T / (-2.0 * weight)
    if sums.hessian is None:
        return gradient, None
    hessian = np.einsum("ij,aibk,kl->ajbl", T, sums.hessian, T, optimize=True)
    return gradient, hessian / (2.0 * weight)


def _from_moments(fit: Fit) -> tuple[Floats, Floats]:
    """Return E[g z] and E[zzᵀ] of a least-squares model without a pass over the rows."""
    basis, q = fit.basis, len(fit.alpha)
    S, U = basis.sensitive.scatter() / basis.weight, basis.predictors.scatter() / basis.weight
    on_S = basis.sensitive.products(basis.on_sensitive[:, 0]) / basis.weight
    on_U = basis.predictors.products(basis.on_predictors[:, 0]) / basis.weight
    gradient = np.concatenate([[0.0], on_S - S @ fit.alpha, on_U - U @ fit.beta])
    hessian = np.eye(len(gradient))
    hessian[1 : 1 + q, 1 : 1 + q], hessian[1 + q :, 1 + q :] = S, U
    return gradient[None, :], hessian[None, :, None, :]
