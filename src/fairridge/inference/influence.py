"""Influence functions of a model: how its coefficients move with the weight of a row.

A row moves the equations of the model (see `state`) directly, through the
column means, through B, and through the scales of the penalties. With
φ_B = v uᵀ and v = Σ_S⁻¹s the estimating equations give, for one linear predictor,

    (H + penalties) φ_θ + (0, Pα, 0) φ_λ̄ = ρ,
    ρ = g z − (0, λ̄ c_S, λ̄₂ c_U) + (h + t) H[:, level] + H[:, S] (v t) − (0, 0, u (vᵀE[g s])),

where c_S and c_U are Pα and D²β with the row in the place of its mean: s∘s∘α
and u∘u∘β for standardized columns. A bound that binds adds the equation
∂F/∂θ·φ_θ = −(direct influence on F), F the definition's value.

Raw coefficients are γ = α − Bβ and β, so φ_γ = φ_α − v t − Bφ_β.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairridge._typing import Floats
from fairridge.inference.description import Description
from fairridge.inference.measures import Measure
from fairridge.inference.rows import FairRows, RowsOfModel
from fairridge.inference.state import State
from fairridge.models import FairBasis
from fairridge.penalties import Radial

__all__ = ["Branch", "Functional", "Influences", "branch_of", "mixing_of", "penalized_rows"]


# Share of a predictor explained by S, above which it is decorrelated row by row.
LOSSY = 1.0 - 1e-4


class Influences(NamedTuple):
    """Influence of n rows on m linear predictors.

    Attributes
    ----------
    raw : ndarray of shape (n, m, 1+q+p)
        On intercept and coefficients of [S, X].
    fair : ndarray of shape (n, m, 1+q+p)
        On the intercept in the fair basis, α and β.
    lambda_ : ndarray of shape (n,)
        On λ̄.
    """

    raw: Floats
    fair: Floats
    lambda_: Floats


@dataclass(frozen=True)
class Functional:
    """The influence of rows on one quantity of a branch: weights·terms + direct."""

    weights: Floats
    measure: Measure


@dataclass(frozen=True)
class Branch:
    """One model and one regime, as a map from rows to terms in which influence is linear.

    With a = g − vᵀE[g s] the terms of a row are (g, a s, a x − λ̄₂c_U, ρ_λ,
    (g − a)s − λ̄c_S, v t, h, t): ρ is linear in them. Sums of their products are
    all that a pass over the rows has to bring.

    Attributes
    ----------
    theta : ndarray of shape (m, 1+q+p)
        Coefficients.
    hessian : ndarray of shape (m, 1+q+p, m, 1+q+p)
        H.
    on_sensitive : ndarray of shape (m, q)
        E[g s].
    penalty : tuple
        λ̄, what the ridge on α sees ("standardized", "raw" or "radial"), λ̄₂ and whether U is
        standardized.
    inverse : ndarray of shape (size+1, size+1)
        Inverse of the bordered matrix, zero for what is held fixed.
    B, center : ndarray
        Coefficients of X on S, and means of [S, X].
    mixing : ndarray of shape (q, p)
        A with u = x − Aᵀs for the columns x that rows are shown with: B, or 0 if x is u already.
    binding : Measure or None
        What is bounded, if the bound binds.
    free : tuple of (Branch, ndarray) or None
        The unconstrained branch and the weights of its terms in what is bounded.
    """

    theta: Floats
    hessian: Floats
    on_sensitive: Floats
    penalty: tuple[float, str, float, bool]
    inverse: Floats
    B: Floats
    center: Floats
    mixing: Floats
    binding: Measure | None = None
    free: tuple[Branch, Floats] | None = None

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.theta.size

    @property
    def width(self) -> int:
        """Number of terms of a row."""
        m, q = len(self.theta), len(self.B)
        return self.size + 1 + 2 * m * (q + 1)

    def seen(self, rows: FairRows) -> RowsOfModel:
        """Return rows as this model sees them."""
        return RowsOfModel(rows, self.theta)

    def terms(self, at: RowsOfModel) -> Floats:
        """Return the terms of each row, of shape (n, width)."""
        out = np.empty((len(at.rows.s), self.width))
        self.write_terms(at, out)
        return out

    def write_terms(self, at: RowsOfModel, out: Floats) -> None:
        """Write the terms of each row."""
        rows, n, (m, k), q = at.rows, len(out), self.theta.shape, len(self.B)
        extra, moved, h, t = self._split(out)
        self._write_equations(at, out[:, : self.size].reshape(n, m, k), extra.reshape(n, m, q))
        out[:, self.size] = 0.0 if self.binding is None else -self._on_bound(at)
        np.multiply(at.t[:, :, None], rows.v[:, None, :], out=moved.reshape(n, m, q))
        h[:], t[:] = at.h, at.t

    def _split(self, terms: Floats) -> list[Floats]:
        """Return the terms after ρ_λ: (g − a)s − λ̄c_S, v t, h and t."""
        m, q = len(self.theta), len(self.B)
        ends = [m * q, 2 * m * q, 2 * m * q + m]
        return np.split(terms[:, self.size + 1 :], ends, axis=1)

    def weighted_terms(self, at: RowsOfModel, weights: Floats) -> Floats:
        """Return terms·weights for weights of shape (width, c), without the terms if possible."""
        (m, k), q = self.theta.shape, len(self.B)
        plain = at.rows.family.separable and self.binding is None and self.penalty[2] == 0.0
        if not plain:
            return self.terms(at) @ weights
        rows, W = at.rows, weights[: self.size].reshape(m, k, -1)
        extra, moved, by_h, by_t = (part.T for part in self._split(weights.T))
        lost = rows.v @ self.on_sensitive.T
        found = np.zeros((len(rows.s), weights.shape[1]))
        for a in range(m):
            own, here = slice(a * q, a * q + q), slice(a, a + 1)
            score, gone = at.score[:, here], lost[:, here]
            found += (score - gone) * (rows.s @ W[a, 1 : 1 + q] + rows.x @ W[a, 1 + q :])
            found += score * W[a, 0] + gone * (rows.s @ extra[own])
            found += at.t[:, here] * (rows.v @ moved[own] + by_t[a]) + at.h[:, here] * by_h[a]
        return found

    def _write_equations(self, at: RowsOfModel, out: Floats, extra: Floats) -> None:
        """Write what a row puts into the equations, without what is linear in h and t."""
        rows, q = at.rows, len(self.B)
        lambda_, seen, lambda_2, standardized = self.penalty
        lost = rows.v @ self.on_sensitive.T
        at.write_score_columns(out, lost)
        np.multiply(lost[:, :, None], rows.s[:, None, :], out=extra)
        alpha, beta = self.theta[:, 1 : 1 + q], self.theta[:, 1 + q :]
        if lambda_ > 0.0:
            extra -= lambda_ * penalized_rows(rows.s, at.h, alpha, seen)
        if lambda_2 > 0.0:
            seen = "standardized" if standardized else "raw"
            out[:, :, 1 + q :] -= lambda_2 * penalized_rows(rows.u, at.t, beta, seen)

    def _on_bound(self, at: RowsOfModel) -> Floats:
        """Return the influence of each row on what is bounded, but for that through θ."""
        assert self.binding is not None
        found = self.binding.direct(at)
        if self.free is not None:
            free, weights = self.free
            found = found + free.weighted_terms(free.seen(at.rows), weights[:, None])[:, 0]
        return found

    def _solved(self, terms: Floats) -> Floats:
        """Return influences on θ and λ̄, of shape (n, size+1)."""
        (m, k), q, n = self.theta.shape, len(self.B), len(terms)
        extra, moved, h, t = self._split(terms)
        found = terms[:, : self.size + 1].copy()
        each = found[:, : self.size].reshape(n, m, k)
        each[:, :, 1 + q :] -= each[:, :, 1 : 1 + q] @ self.mixing
        each[:, :, 1 : 1 + q] += extra.reshape(n, m, q)
        H = self.hessian.reshape(self.size, m, k)
        found[:, : self.size] += (h + t) @ H[:, :, 0].T
        found[:, : self.size] += moved @ H[:, :, 1 : 1 + q].reshape(self.size, -1).T
        return found @ self.inverse.T

    def influences(self, terms: Floats) -> Influences:
        """Turn terms of rows into influences; linear, so that it applies to sums too."""
        (m, k), q, n = self.theta.shape, len(self.B), len(terms)
        solved = self._solved(terms)
        theta = solved[:, : self.size].reshape(n, m, k)
        _, moved, h, t = self._split(terms)
        alpha, beta = theta[:, :, 1 : 1 + q], theta[:, :, 1 + q :]
        gamma = alpha - moved.reshape(n, m, q) - beta @ self.B.T
        raw = np.concatenate([theta[:, :, :1], gamma, beta], axis=2)
        raw[:, :, 0] -= h + t + raw[:, :, 1:] @ self.center
        fair = theta.copy()
        fair[:, :, 0] -= h + alpha @ self.center[:q]
        return Influences(raw, fair, solved[:, self.size])

    def weights(self, gradient: Floats) -> Floats:
        """Return w with terms·w the influence of a row on gradient·θ."""
        return self._solved(np.eye(self.width))[:, : self.size] @ gradient.ravel()

    def functional(self, measure: Measure) -> Functional:
        """Return what gives the influence of rows on another quantity of this model."""
        return Functional(self.weights(measure.gradient), measure)


def penalized_rows(z: Floats, fitted: Floats, coefficients: Floats, seen: str) -> Floats:
    """Return what a row puts in the place of Pα, of shape (n, m, k)."""
    if seen == "radial":
        return fitted[:, :, None] * z[:, None, :]
    if seen == "standardized":
        return (z * z)[:, None, :] * coefficients
    return np.broadcast_to(coefficients, (len(z), *coefficients.shape))


def branch_of(
    state: State,
    description: Description,
    binding: Measure | None = None,
    free: Branch | None = None,
) -> Branch:
    """Solve the equations of a model for the influence of any row.

    Parameters
    ----------
    state : State
        The model.
    description : Description
        Its settings.
    binding : Measure or None
        What is bounded, if the bound binds.
    free : Branch or None
        The unconstrained model, for a bound that is relative to it.
    """
    basis = state.fit.basis
    seen = "standardized" if description.standardize else "raw"
    seen = "radial" if isinstance(description.penalty, Radial) else seen
    lambda_ = state.lambda_ if state.regime == "bound" else 0.0
    related = None
    if binding is not None and binding.free_gradient is not None and free is not None:
        related = free, free.weights(binding.free_gradient)
    return Branch(
        state.theta,
        state.hessian,
        state.gradient[:, 1 : 1 + state.q],
        (lambda_, seen, description.predictor_penalty / basis.weight, description.standardize),
        _inverse(state, binding),
        basis.B,
        basis.center,
        mixing_of(basis),
        binding,
        related,
    )


def mixing_of(basis: FairBasis) -> Floats:
    """Return how to make u of the columns that rows are shown with.

    What is linear in s can be left to small matrices, unless S explains a
    predictor so well that the difference to it loses digits in sums of squares.
    """
    lossy = basis.explained.max(initial=0.0) > LOSSY
    return np.zeros_like(basis.B) if lossy else basis.B


def _inverse(state: State, binding: Measure | None) -> Floats:
    """Invert the bordered matrix on what is not held fixed."""
    size = state.size
    A = np.zeros((size + 1, size + 1))
    A[:size, :size] = state.jacobian()
    kept = np.append(state.determined, binding is not None)
    if binding is not None:
        column = np.zeros_like(state.theta)
        column[:, 1 : 1 + state.q] = state.alpha @ state.penalty
        A[:size, size], A[size, :size] = column.ravel(), binding.gradient.ravel()
    places = np.ix_(kept, kept)
    # Columns have units of their own: in those of their spread nothing is small but what is.
    units = 1.0 / np.sqrt(np.append(np.abs(np.diag(A)[:size]), 1.0))[kept]
    left, right = units.copy(), units.copy()
    if binding is not None:
        scaled = A[places] * np.outer(units, units)
        left[-1] /= np.abs(scaled[-1]).max() or 1.0
        right[-1] /= np.abs(scaled[:, -1]).max() or 1.0
    out = np.zeros_like(A)
    solved = np.linalg.inv(left[:, None] * A[places] * right)
    out[places] = right[:, None] * solved * left
    return out
