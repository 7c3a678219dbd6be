"""Influence functions of a model: how its coefficients move with the weight of a row.

The columns z = (1, s, u) of the fair basis are seen as fixed, with the means and
the B of the sample, and θ as their coefficients. Only the penalties λ̄Q and
λ̄₂R then depend on the distribution of the rows (see `state`), so that the
influence of a row solves

    (H + ½ ∂²(λ̄Q + λ̄₂R)) φ_θ + ½ ∂Q φ_λ̄ = g z − λ̄·(row in ½ ∂Q) − λ̄₂·(row in ½ ∂R).

A bound that binds adds the equation ∂F/∂θ·φ_θ = −(direct influence on F), F the
definition's value; what is zero at r = 0, or at every r, adds
Jφ_θ = −(direct influence on A).

Raw coefficients are (α − Bβ, β) with B fixed. A row moves B by v uᵀ, v = Σ_S⁻¹s, so
that α of the fair basis moves by φ_α + v t, t = uᵀβ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from fairridge._arrays import DeviceConstants, blank, namespace
from fairridge._typing import Floats
from fairridge.inference.given import SensitiveRidge
from fairridge.inference.measures import Measure
from fairridge.inference.rows import FairRows, OfRows, RowsOfModel, write_multiples
from fairridge.inference.state import Form, Held, State

# Share of the sum of squares of x that S leaves; sums of products lose three digits at this one.
MIN_RESIDUAL_SHARE = 1e-3


@dataclass(frozen=True)
class Branch(DeviceConstants):
    """One model and one regime, as a map from rows to terms in which influence is linear."""

    # The terms of a row are what it adds to the equations of θ and of what is bounded or held at
    # zero, v t and t. Sums of their products are all that a pass over the rows computes.

    theta: Floats  # coefficients, of shape (m, 1+q+p)
    forms: tuple[tuple[float, Form], ...]  # penalties
    held: Held | None  # what is zero at r = 0
    totals: Held | None  # what is zero at every r
    # Inverse of the bordered matrix of the equations, zero for what is held fixed, of shape
    # (e, e).
    inverse: Floats
    basis: tuple[Floats, Floats]  # B, the coefficients of X on S, and Σ_S⁻¹
    center: Floats  # means of [S, X], of shape (q+p,)
    binding: Measure | None = None  # what is bounded, if the bound binds
    # The unconstrained branch and the weights of its equations in what is bounded.
    free: tuple[Branch, Floats] | None = None
    # Whether rows add multiples f of u to the equations of β, and x may take its place; see
    # `write_apart`.
    apart: bool = False

    @property
    def width(self) -> int:
        """Number of terms of a row."""
        m, q = self.theta.shape[0], self.basis[0].shape[0]
        return self.inverse.shape[0] + m * (q + 1)

    @property
    def n_multiples(self) -> int:
        """Number of terms f x that are not written out; see `write_apart`."""
        return prod(self.theta[:, 1 + self.basis[0].shape[0] :].shape) * self.apart

    @property
    def follows(self) -> Floats:
        """Σ λP, what the equations of α have of −v t, of shape (q, q)."""
        q = self.basis[0].shape[0]
        parts = [
            factor * form.follows for factor, form in self.forms if isinstance(form, SensitiveRidge)
        ]
        return np.asarray(sum(parts, np.zeros((q, q))))

    def seen(self, rows: FairRows) -> RowsOfModel:
        """Return rows as this model sees them."""
        return RowsOfModel(rows, self.theta)

    def of_rows(self, family: Any, function: Callable[[RowsOfModel], Any]) -> OfRows:
        """Return what sums a function of the rows as this model sees them."""
        return OfRows(family, self.theta, self.basis, function)

    def write_terms(self, at: RowsOfModel, out: Floats) -> None:
        """Write the terms of each row, of shape (n, width)."""
        count = self.inverse.shape[0]
        self._write_equations(at, out[:, :count])
        self._write_moves(at, out[:, count:])

    def write_apart(self, at: RowsOfModel, out: Floats) -> Floats:
        """Write the terms of each row but those of β, which are f u = f x − Bᵀ(f s)."""
        # These are left to sums over the rows, because s and x are there already and u would have
        # to be written. So is what the equations of α have of v t; see `follows`.
        # The terms are written into `out`, and f is returned, of shape (n, m).
        rows, factors, m = at.rows, at.score, self.theta.shape[0]
        first, count = m * (1 + rows.q), self.inverse.shape[0] - self.n_multiples
        each = namespace(out).reshape(out[:, :first], (rows.n_rows, m, 1 + rows.q))
        each[:, :, 0] = at.score
        write_multiples(at.score, rows.s, each[:, :, 1:])
        for factor, form in self.forms:
            if factor:
                assert isinstance(form, SensitiveRidge)
                seen = form.given.seen(at)
                factors = factors - factor * form.of_predictors(seen)
                each[:, :, 1:] -= factor * form.own_of_sensitive(seen)
        self._write_bound(at, out[:, first:count])
        self._write_moves(at, out[:, count:])
        return factors

    def _write_equations(self, at: RowsOfModel, out: Floats) -> None:
        """Write what each row adds to the equations."""
        size = prod(self.theta.shape)
        each = namespace(out).reshape(out[:, :size], (out.shape[0], *self.theta.shape))
        at.write_score_columns(each)
        for factor, form in self.forms:
            if factor:
                form.subtract_rows(at, factor, each)
        self._write_bound(at, out[:, size:])

    def _write_bound(self, at: RowsOfModel, out: Floats) -> None:
        """Write what each row adds to the equations of what is bounded or held."""
        last = out.shape[1]
        if self.totals is not None:
            last -= self.totals.jacobian.shape[0]
            out[:, last:] = -self.totals.values(at)
        if self.held is not None:
            out[:, :last] = -self.held.values(at)
        elif self.binding is not None:
            out[:, 0] = -self.binding.direct(at)
            if self.free is not None:
                free, weights = self.free
                out[:, 0] -= free.weighted(free.seen(at.rows), weights)

    def _write_moves(self, at: RowsOfModel, out: Floats) -> None:
        """Write v t and t."""
        m = self.theta.shape[0]
        out[:, :-m] = namespace(out).reshape(at.moved, (out.shape[0], -1))
        out[:, -m:] = at.t

    def weighted(self, at: RowsOfModel, weights: Floats) -> Floats:
        """Return equations·weights, for weights of shape (e,)."""
        # Without a penalty, and if nothing is held, rows add g z alone to the equations.
        alone = not self.forms and self.inverse.shape[0] == prod(self.theta.shape)
        if not (alone and at.rows.family.separable):
            out = blank((at.rows.n_rows, self.inverse.shape[0]), at.rows.sx)
            self._write_equations(at, out)
            return out @ weights
        # That is Σ g·(zᵀweights), and the single equations are not needed.
        by_predictor = namespace(weights).reshape(weights, self.theta.shape)
        parts = [
            at.score[:, a] * at.rows.times(by_predictor[a, :][:, None])[:, 0]
            for a in range(self.theta.shape[0])
        ]
        return sum(parts[1:], parts[0])

    def moves(self, at: RowsOfModel) -> Floats:
        """Return φ_θ of each row, of shape (n, m, k)."""
        equations = blank((at.rows.n_rows, self.inverse.shape[0]), at.rows.sx)
        self._write_equations(at, equations)
        moves = equations @ self.inverse[: prod(self.theta.shape), :].T
        return namespace(moves).reshape(moves, (-1, *self.theta.shape))

    def influences(self, terms: Floats) -> tuple[Floats, Floats, Floats]:
        """Turn terms of n rows into influences on raw and fair coefficients, and on λ̄."""
        # Those on coefficients have shape (n, m, 1+q+p). All are linear: they apply to sums, too.
        (m, k), n, B = self.theta.shape, len(terms), self.basis[0]
        q = len(B)
        solved = terms[:, : len(self.inverse)] @ self.inverse.T
        moved, t = np.split(terms[:, len(self.inverse) :], [m * q], axis=1)
        raw = solved[:, : m * k].reshape(n, m, k)
        fair = raw.copy()
        fair[:, :, 1 : 1 + q] += moved.reshape(n, m, q)
        if self.held is not None and self.held.is_alpha:
            fair[:, :, 1 : 1 + q] = 0.0  # to the last digit
        fair[:, :, 0] += t - fair[:, :, 1 : 1 + q] @ self.center[:q]
        raw[:, :, 1 : 1 + q] -= raw[:, :, 1 + q :] @ B.T
        raw[:, :, 0] -= raw[:, :, 1:] @ self.center
        return raw, fair, np.zeros(n) if self.binding is None else solved[:, m * k]

    def weights(self, gradient: Floats) -> Floats:
        """Return w with equations·w the influence of a row on gradient·θ."""
        return self.inverse[: self.theta.size].T @ gradient.ravel()

    def part(self, measure: Measure, factor: float = 1.0) -> Part:
        """Return what gives the influence of rows on another quantity of this model."""
        # A quantity that is relative to the unconstrained model is evaluated only at that model.
        gradient = measure.gradient
        if measure.free_gradient is not None:
            gradient = gradient + measure.free_gradient
        return factor, self, self.weights(gradient) if gradient.any() else None, measure


# A factor, times the influence of rows on one quantity of a branch: weights·equations + direct.
# Weights are None if they are zero; the last is a `Measure`, or a `Direct` without weights.
Part = tuple[float, Branch, Floats | None, Any]


@dataclass(frozen=True)
class Optimism(DeviceConstants):
    """What each row gains by its own part in the coefficients, (g z)·φ_θ (Takeuchi 1976)."""

    branch: Branch

    def direct(self, at: RowsOfModel) -> Floats:
        """Return (g z)·φ_θ of each row."""
        moves = self.branch.moves(at)
        score = blank(moves.shape, at.rows.sx)
        at.write_score_columns(score)
        gained: Floats = namespace(moves).sum(moves * score, axis=(1, 2))
        return gained


def branch_of(state: State, binding: Measure | None = None, free: Branch | None = None) -> Branch:
    """Solve the equations of a model for the influence of any row."""
    # `binding` is None unless the bound binds; `free` is there for a bound that is relative to it.
    related = None
    if binding is not None and binding.free_gradient is not None and free is not None:
        related = free, free.weights(binding.free_gradient)
    return Branch(
        state.theta,
        state.forms,
        state.held,
        state.totals,
        state.bordered_inverse(None if binding is None else binding.gradient),
        state.basis,
        state.fit.basis.center,
        binding,
        related,
        _apart(state),
    )


def _apart(state: State) -> bool:
    """Whether rows add multiples of u to the equations of β, of which x is not too much."""
    basis = state.fit.basis
    multiples = all(
        isinstance(form, SensitiveRidge) and form.is_alpha for factor, form in state.forms if factor
    )
    # Sums of squares of u are differences of those of x: digits are lost where S explains x.
    squares = basis.weight * basis.deviations[state.q :] ** 2
    kept = bool((basis.predictors.squares() >= MIN_RESIDUAL_SHARE * squares).all())
    return multiples and kept and state.fit.family.separable
