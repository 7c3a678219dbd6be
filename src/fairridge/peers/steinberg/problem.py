"""Least squares with a penalty on mutual information (Steinberg et al.), for every penalty.

    min −ℓ(y; ŷ) + γ Σ_k MI_k,   ŷ = intercept + Sα + Uβ,

with ℓ = −(n/2) log(RSS/n) + constant the gaussian log-likelihood at its best
variance, and MI_k the mutual information between attribute k and ŷ.

The search runs in orthonormal coordinates c of the fitted values, ŷ = ȳ + Qc
with QᵀQ = I, in which RSS = ‖c − Qᵀy‖² + what no model explains.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.fairness import Definition, StatisticalParity
from fairridge.models import Fit
from fairridge.models.spaces import Space
from fairridge.peers._model import fair_columns
from fairridge.peers.steinberg.descent import Minimum, descend
from fairridge.peers.steinberg.mutual_information import Information, mutual_information
from fairridge.search.problem import Choice, LeastSquares, ModelSettings, PenalizedProblem
from fairridge.search.scan import PenaltyProfile
from fairridge.solvers import Spectrum

# γ, relative to the one at which both parts of the objective have the same curvature.
GRID = np.logspace(-2.0, 4.0, 16)
# A value that has fallen this far below a bound stays there: it falls like 1/γ².
WELL_BELOW = 1e-3
# A residual this small against the response makes the log-likelihood infinite.
PERFECT = 1e-13


@dataclass(frozen=True)
class SteinbergProblem(LeastSquares, PenalizedProblem):
    """The model on given rows, for every γ."""

    # `attributes` has codes of the levels, one array per attribute.

    space: Space
    attributes: tuple[Integers, ...]
    settings: ModelSettings
    definition: Definition = field(default_factory=StatisticalParity)
    _points: dict[float, Minimum] = field(default_factory=dict, repr=False, compare=False)

    # ------------------------------------------------------------- objective

    @cached_property
    def _columns(self) -> Floats:
        """Q: orthonormal columns, under the weights, with the span of S and of U."""
        S, U = fair_columns(self.engine, self.basis)
        return np.hstack([_whitened(S, self.basis.sensitive), _whitened(U, self.basis.predictors)])

    @cached_property
    def _least_squares(self) -> Floats:
        return np.concatenate([self.basis.on_sensitive[:, 0], self.basis.on_predictors[:, 0]])

    @cached_property
    def _fair(self) -> Floats:
        """The limit γ → ∞: the best fit among those that give all groups equal means."""
        # For categories that is α = 0. A numeric attribute with more than two values has one column
        # in S but a group for every value, which is stricter.
        weighted = self._columns * self.engine.weights[:, None]
        sums = [
            np.array([weighted[codes == code].sum(axis=0) for code in range(codes.max() + 1)])
            for codes in self.attributes
        ]
        _, values, directions = np.linalg.svd(np.vstack(sums), full_matrices=False)
        directions = directions[values > 1e-10 * values.max(initial=0.0)]
        fair = self._least_squares - directions.T @ (directions @ self._least_squares)
        fair[: self.basis.sensitive.rank] = 0.0  # exactly: rounding may have left more
        return np.where(np.abs(fair) > 1e-12 * np.linalg.norm(self._least_squares), fair, 0.0)

    def evaluate(self, c: Floats, gamma: float) -> tuple[float, Floats, Floats]:
        """Return (−ℓ + γ Σ MI)/(n + γ), without its constant, with gradient and Hessian in c."""
        n, residual = self.basis.weight, c - self._least_squares
        rss = float(residual @ residual + self.basis.residual[0, 0])
        value = 0.5 * np.log(rss / n)
        gradient = residual / rss
        hessian = (np.eye(len(c)) - 2.0 * np.outer(residual, residual) / rss) / rss
        if gamma > 0.0:
            Q, parts = self._columns, self._parts(self._columns @ c)
            value += gamma / n * sum(part.value for part in parts)
            gradient += gamma / n * (np.sum([part.gradient for part in parts], axis=0) @ Q)
            curvature = np.sum([part.curvature for part in parts], axis=0)
            moved = np.hstack([part.cross for part in parts]).T @ Q
            hessian += gamma / n * ((Q * curvature[:, None]).T @ Q + moved.T @ moved)
        scale = 1.0 + gamma / n  # rounding then is the same for every γ
        return float(value) / scale, gradient / scale, hessian / scale

    def _parts(self, scores: Floats) -> list[Information]:
        weight = self.engine.weights
        return [mutual_information(scores, codes, weight) for codes in self.attributes]

    def information(self, fit: Fit) -> tuple[float, ...]:
        """Return MI of every attribute."""
        c = np.concatenate(
            [self.basis.sensitive.rotate(fit.alpha), self.basis.predictors.rotate(fit.beta)]
        )
        return tuple(part.value for part in self._parts(self._columns @ c))

    # ---------------------------------------------------------------- points

    @property
    def _determined(self) -> bool:
        """Whether least squares is the answer for every finite γ."""
        explained = float(self._least_squares @ self._least_squares)
        return explained == 0.0 or self.basis.residual[0, 0] <= PERFECT * self.null_deviance

    @cached_property
    def grid(self) -> Floats:
        """γ > 0; each starts from the one before."""
        if self._determined:
            return np.zeros(0)
        explained = float(self._least_squares @ self._least_squares)
        return GRID * self.basis.weight * (explained / self.basis.residual[0, 0])

    def point(self, gamma: float) -> Minimum:
        """Return the best minimum known at γ."""
        # Two descents: along the grid of γ from the unconstrained fit, and from the fair limit. The
        # first may be caught where predictions separate the groups perfectly, because there the
        # penalty is flat.
        if np.isinf(gamma):
            return Minimum(self._fair, np.inf, True)
        if gamma == 0.0 or self._determined:
            return Minimum(self._least_squares, -np.inf, True)
        if gamma not in self._points:
            below = self.grid[self.grid < gamma]
            starts = (self.point(float(below[-1])) if below.size else self.point(0.0)).x, self._fair
            minima = [self._descended(start, gamma) for start in starts]
            self._points[gamma] = min(minima, key=lambda minimum: minimum.value)
        return self._points[gamma]

    def _descended(self, start: Floats, gamma: float) -> Minimum:
        if not start.any():
            # Constant predictions have no information, and MI jumps up in every direction.
            return Minimum(start, self.evaluate(start, gamma)[0], True)
        return descend(lambda c: self.evaluate(c, gamma), start, self.settings.max_iter)

    def solved_at(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several γ."""
        return [self.fit(float(gamma)) for gamma in lambda_]

    def fit(self, gamma: float) -> Fit:
        """Return the model at one γ."""
        basis, c = self.basis, self.point(gamma).x
        rank = basis.sensitive.rank
        alpha = basis.sensitive.original(basis.sensitive.ridge(c[:rank], 0.0))
        beta = basis.predictors.original(basis.predictors.ridge(c[rank:], 0.0))
        missed = c - self._least_squares
        return Fit(
            lambda_=gamma,
            alpha=alpha,
            beta=beta,
            intercept=float(basis.center_targets[0] - alpha @ basis.center_sensitive),
            deviance=float(missed @ missed + basis.residual[0, 0]),
            family=self.family,
            basis=basis,
            engine=self.engine,
            unconstrained=lambda: self.fit(0.0),
        )

    def choose(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose the smallest γ beyond which each bound always holds; ∞ for r = 0."""

        def value(gamma: float) -> float:
            return definition.value(self.fit(gamma))

        wanted = bounds[bounds < 1.0]
        if not wanted.size or value(0.0) <= wanted.min():
            return [Choice.UNCONSTRAINED for _ in bounds]
        least = wanted[wanted > 0.0].min(initial=np.inf)
        grid, values = [0.0], [value(0.0)]
        for gamma in self.grid:
            if values[-1] <= WELL_BELOW * least:
                break
            grid.append(float(gamma))
            values.append(value(grid[-1]))
        grid.append(np.inf)
        values.append(value(np.inf))
        profile = PenaltyProfile(value, np.array(grid), np.array(values))
        tol, max_iter = self.settings.tol, self.settings.max_iter
        return [
            Choice.UNCONSTRAINED if r == 1.0 else profile.choose(float(r), tol, max_iter)
            for r in bounds
        ]

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a γ are a minimum."""
        return self.point(lambda_).converged


def _whitened(centered: Floats, spectrum: Spectrum) -> Floats:
    """Return P of centered columns Z/scale = P diag(√l) Aᵀ."""
    return (centered / spectrum.scale) @ (spectrum.vectors / np.sqrt(spectrum.eigenvalues))
