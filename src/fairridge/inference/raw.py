"""Influence functions in the coefficients of the columns themselves.

Models of X alone, with a bound on the predicted means or with controls have
penalties that are forms in θ, the level at a fixed point and the coefficients
of [S, X]. With z = (1, s, x) at that point, E the weighted mean over rows and
g = −½ ∂d/∂η, they solve

    E[g z] = ½ ∂/∂θ (λ̄Q(θ) + λ̄₂R(θ)).

Only Q and R depend on the distribution of the rows, so that the influence of
a row solves

    (H + ½ ∂²(λ̄Q + λ̄₂R)) φ_θ + ½ ∂Q φ_λ̄ = g z − λ̄·(row in ½ ∂Q) − λ̄₂·(row in ½ ∂R),

beside the equation of the bound. At r = 0 some functions A(θ) are zero, and
their multipliers π stand for λ̄: E[g z] = Jᵀπ + ½ λ̄₂∂R with J = ∂A/∂θ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.inference.influence import Functional, Influences
from fairridge.inference.measures import Measure
from fairridge.inference.rows import FairRows, RowsOfModel
from fairridge.inference.state import Regime, State, inverse_root
from fairridge.models import FairBasis, Fit

__all__ = ["Form", "Held", "RawBranch", "RawDeviance", "RawState", "raw_branch"]


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

    def rows(self, at: RowsOfModel) -> Floats:
        """Return what each row puts into the slope, of shape (n, m, k), with the slope as mean."""
        ...


class Held(Form, Protocol):
    """Functions A(θ) that are held at zero; a form with the slope Jᵀπ."""

    @property
    def jacobian(self) -> Floats:
        """J, of shape (c, m·k)."""
        ...

    def values(self, at: RowsOfModel) -> Floats:
        """Return the influence of each row on A at fixed θ, of shape (n, c)."""
        ...


@dataclass(frozen=True)
class RawState:
    """One model and the derivatives of its mean deviance in θ.

    Attributes
    ----------
    own : State
        The same in the fair basis.
    used : ndarray of shape (k,)
        Which coefficients the model has; one of X alone has none for S.
    ridge : Form or None
        What λ̄ multiplies, if the bound may bind.
    fixed : tuple of (float, Form)
        λ̄₂ and what it multiplies.
    held : Held or None
        What is zero at r = 0.
    """

    own: State
    used: Booleans
    ridge: Form | None = None
    fixed: tuple[tuple[float, Form], ...] = ()
    held: Held | None = None

    @property
    def fit(self) -> Fit:
        """The model."""
        return self.own.fit

    @property
    def theta(self) -> Floats:
        """Level, α and β, of shape (m, k)."""
        return self.own.theta

    @property
    def regime(self) -> Regime:
        """Whether λ is 0, follows from the bound, or is infinite."""
        return self.own.regime

    @property
    def q(self) -> int:
        """Number of sensitive columns."""
        return self.own.q

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.own.size

    @property
    def gradient(self) -> Floats:
        """E[g z], of shape (m, k)."""
        return self.own.gradient @ _to_raw(self.fit.basis)

    @property
    def hessian(self) -> Floats:
        """½ E[∂²d/∂η² zzᵀ], of shape (m·k, m·k)."""
        T = _to_raw(self.fit.basis)
        found = np.einsum("ij,aibk,kl->ajbl", T, self.own.hessian, T, optimize=True)
        return np.asarray(found).reshape(self.size, self.size)

    @property
    def varies(self) -> Booleans:
        """Which coefficients matter, of shape (m, k)."""
        return self.own.varies & self.used

    @property
    def forms(self) -> tuple[tuple[float, Form], ...]:
        """All penalties with their factors."""
        own: tuple[tuple[float, Form], ...] = ()
        if self.regime == "bound" and self.ridge is not None:
            own = ((self.own.lambda_, self.ridge),)
        if self.held is not None:
            own = ((1.0, self.held),)
        return own + self.fixed

    def jacobian(self) -> Floats:
        """Return −∂(equations)/∂θ, of shape (m·k, m·k)."""
        return np.asarray(self.hessian + sum(c * form.curvature for c, form in self.forms))

    def at_kink(self) -> RawState:
        """Return the same model as one whose bound just binds."""
        return replace(self, own=self.own.at_kink())

    def leverage_root(self) -> Floats:
        """Return a root of (H + penalties on β)⁻¹ for columns (1, s, u)."""
        J = self.hessian + sum(c * form.curvature for c, form in self.fixed)
        root = inverse_root(np.asarray(J), self.varies.ravel())
        return _to_raw(self.fit.basis) @ root

    def effective_parameters(self) -> float:
        """Return tr(H K), with K the inverse of the equations at a given λ."""
        inverse = _bordered_inverse(self, None)
        return float(np.trace(self.hessian @ inverse[: self.size, : self.size]))


def _to_raw(basis: FairBasis) -> Floats:
    """Return T with (1, s, x) = (1, s, u)T."""
    q, p = basis.B.shape
    T = np.eye(1 + q + p)
    T[1 : 1 + q, 1 + q :] = basis.B
    return T


@dataclass(frozen=True)
class RawDeviance:
    """The mean deviance, as a quantity of θ.

    Attributes
    ----------
    value : float
        The mean.
    gradient : ndarray of shape (m, k)
        −2E[g z].
    """

    value: float
    gradient: Floats
    free_gradient = None

    @classmethod
    def of(cls, at: RawState) -> RawDeviance:
        """Return the mean deviance of a model."""
        return cls(at.fit.deviance / at.fit.basis.weight, -2.0 * at.gradient)

    def direct(self, at: RowsOfModel) -> Floats:
        """Return d − E[d]."""
        return at.rows.deviance(at.level + at.h + at.t) - self.value


@dataclass(frozen=True)
class RawBranch:
    """One model and one regime, as a map from rows to terms in which influence is linear.

    The terms of a row are what it puts into the equations of θ and of the
    bound, and v t and t, with which α = γ + Bβ moves.

    Attributes
    ----------
    theta : ndarray of shape (m, k)
        Level, α and β.
    forms : tuple of (float, Form)
        Penalties.
    held : Held or None
        What is zero at r = 0.
    inverse : ndarray of shape (m·k + c, m·k + c)
        Inverse of the bordered matrix, zero for what is held fixed.
    B, center : ndarray
        Coefficients of X on S, and means of [S, X].
    used : ndarray of shape (k,)
        Which coefficients the model has.
    binding : Measure or None
        What is bounded, if the bound binds.
    """

    theta: Floats
    forms: tuple[tuple[float, Form], ...]
    held: Held | None
    inverse: Floats
    B: Floats
    center: Floats
    used: Booleans
    binding: Measure | None = None

    @property
    def mixing(self) -> Floats:
        """A with u = x − Aᵀs."""
        return self.B

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.theta.size

    @property
    def width(self) -> int:
        """Number of terms."""
        return len(self.inverse) + len(self.theta) * (len(self.B) + 1)

    def seen(self, rows: FairRows) -> RowsOfModel:
        """Return rows as the model sees them."""
        return RowsOfModel(rows, self.theta)

    def terms(self, at: RowsOfModel) -> Floats:
        """Return the terms of each row, of shape (n, width)."""
        out = np.empty((len(at.rows.s), self.width))
        self.write_terms(at, out)
        return out

    def write_terms(self, at: RowsOfModel, out: Floats) -> None:
        """Write the terms of each row."""
        rows, n, (m, k) = at.rows, len(at.rows.s), self.theta.shape
        scores = np.empty((n, m, k))
        at.write_score_columns(scores, np.zeros((n, m)))
        for factor, form in self.forms:
            if factor:
                scores -= factor * form.rows(at)
        out[:, : self.size] = scores.reshape(n, -1)
        end = len(self.inverse)
        out[:, self.size : end] = 0.0
        if self.held is not None:
            out[:, self.size : end] = -self.held.values(at)
        elif self.binding is not None:
            out[:, self.size] = -self.binding.direct(at)
        moved = at.t[:, :, None] * rows.v[:, None, :]
        out[:, end:] = np.concatenate([moved, at.t[:, :, None]], axis=2).reshape(n, -1)

    def weighted_terms(self, at: RowsOfModel, weights: Floats) -> Floats:
        """Return terms·weights for weights of shape (width, c)."""
        return self.terms(at) @ weights

    def _solved(self, terms: Floats) -> Floats:
        return terms[:, : len(self.inverse)] @ self.inverse.T

    def influences(self, terms: Floats) -> Influences:
        """Turn terms of rows into influences; linear, so that it applies to sums too."""
        (m, k), q, n = self.theta.shape, len(self.B), len(terms)
        solved = self._solved(terms)
        raw = solved[:, : self.size].reshape(n, m, k).copy()
        moved = terms[:, len(self.inverse) :].reshape(n, m, q + 1)
        raw[:, :, 0] -= raw[:, :, 1:] @ self.center
        fair = raw.copy()
        beta, mean = raw[:, :, 1 + q :], self.center[:q]
        fair[:, :, 1 : 1 + q] += moved[:, :, :q] + beta @ self.B.T
        fair[:, :, 0] += beta @ (self.center[q:] - mean @ self.B)
        fair[:, :, 0] += moved[:, :, q] - moved[:, :, :q] @ mean
        lambda_ = np.zeros(n) if self.binding is None else solved[:, self.size]
        return Influences(raw, fair, lambda_)

    def weights(self, gradient: Floats) -> Floats:
        """Return w with terms·w the influence of a row on gradient·θ."""
        return self._solved(np.eye(self.width))[:, : self.size] @ gradient.ravel()

    def functional(self, measure: Measure) -> Functional:
        """Return what gives the influence of rows on another quantity of this model."""
        return Functional(self.weights(measure.gradient), measure)


def raw_branch(state: RawState, binding: Measure | None = None) -> RawBranch:
    """Solve the equations of a model for the influence of any row.

    Parameters
    ----------
    state : RawState
        The model.
    binding : Measure or None
        What is bounded, if the bound binds.
    """
    basis = state.fit.basis
    inverse = _bordered_inverse(state, binding)
    return RawBranch(
        state.theta, state.forms, state.held, inverse, basis.B, basis.center, state.used, binding
    )


def _bordered_inverse(state: RawState, binding: Measure | None) -> Floats:
    """Invert the bordered matrix on the coefficients that the equations determine."""
    A, size = state.jacobian(), state.size
    below = right = np.zeros((0, size))
    if state.held is not None:
        below = right = state.held.jacobian
    elif binding is not None and state.ridge is not None:
        below, right = binding.gradient.reshape(1, -1), state.ridge.slope.reshape(1, -1)
    count = len(below)
    whole = np.zeros((size + count, size + count))
    whole[:size, :size], whole[size:, :size], whole[:size, size:] = A, below, right.T
    kept = np.append(state.varies.ravel(), np.ones(count, dtype=bool))
    places = np.ix_(kept, kept)
    # Columns have units of their own: in those of their spread nothing is small but what is.
    units = 1.0 / np.sqrt(np.append(np.abs(np.diag(state.hessian)), np.ones(count)))[kept]
    scaled = whole[places] * np.outer(units, units)
    left, own = units.copy(), units.copy()
    for k in range(len(scaled) - count, len(scaled)):
        left[k] /= np.abs(scaled[k]).max() or 1.0
        own[k] /= np.abs(scaled[:, k]).max() or 1.0
    out = np.zeros_like(whole)
    # Functions that are held may depend on each other, as those of all classes do.
    invert = np.linalg.pinv if state.held is not None else np.linalg.inv
    out[places] = own[:, None] * invert(left[:, None] * whole[places] * own) * left
    return out
