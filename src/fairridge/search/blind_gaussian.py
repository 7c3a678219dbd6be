"""Gaussian models of X alone: closed forms in canonical directions, and the least share of S.

`fairridge.search.blind` says what such a model is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.families import Gaussian
from fairridge.models import CanonicalSpace, FairBasis, Fit
from fairridge.search.last_crossing import dense_profile
from fairridge.search.problem import LeastSquares
from fairridge.search.secular import secular_roots
from fairridge.search.solution import Choice

# Distance from the smallest share, relative to it, that is nothing but rounding.
AT_FLOOR = 1e-12


def floor_of_share(space: CanonicalSpace, gradient: Floats) -> float:
    """Return the share of S that no finite λ goes below.

    As λ grows, b tends to zero along the minimum of gᵀb + λ‖P_S Xb‖², with g
    the gradient at b = 0: cⱼ ∝ gⱼ/κⱼ. That is so if S explains some of
    every direction of X; else the share tends to zero.

    Parameters
    ----------
    space : CanonicalSpace
        The directions of X.
    gradient : ndarray of shape (K, m)
        g in the directions of which S explains something, for each linear predictor.
    """
    if space.has_fair_directions or not gradient.any():
        return 0.0
    limit = gradient / space.explained
    return space.share(np.sqrt((limit**2).sum(axis=0)))


def choose_above_floor(
    bounds: Floats, floor: float, free: float, choose: Callable[[Floats], list[Choice]]
) -> list[Choice]:
    """Choose λ for bounds above the floor; below it only the constant is left.

    Or the model at λ = 0, whose share `free` can be below the floor if shares
    are not monotone.
    """
    above = (bounds > floor * (1.0 + AT_FLOOR)) | (floor == 0.0)
    found = iter(choose(bounds[above]) if above.any() else ())
    constant, inactive = Choice(np.inf, "infeasible"), Choice(0.0, "inactive", 0)
    return [
        next(found) if searched else inactive if r >= min(free, 1.0) else constant
        for r, searched in zip(bounds.tolist(), above.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class BlindLeastSquares(LeastSquares):
    """Least squares on X alone.

    Attributes
    ----------
    engine : Engine
        Where the rows are.
    basis : FairBasis
        S, U and y in small matrices.
    family : Gaussian
        The family.
    space : CanonicalSpace
        What X alone can fit.
    """

    engine: Engine
    basis: FairBasis
    family: Gaussian
    space: CanonicalSpace

    @property
    def rank(self) -> int:
        """Directions in which the fitted values can vary."""
        return self.space.dimension

    def unconstrained(self) -> Fit:
        """Return least squares on X."""
        return self.fit_at(self.space.projection[:, 0], 0.0)

    def fit_at(self, c: Floats, lambda_: float) -> Fit:
        """Return the model η = ȳ + X·directions·c."""
        basis, space = self.basis, self.space
        beta = space.directions @ c
        alpha = beta @ basis.B.T  # so that the coefficients of S itself are zero
        missed = space.projection[:, 0] - c
        return Fit(
            lambda_=lambda_,
            alpha=alpha,
            beta=beta,
            intercept=float(basis.center_targets[0] - alpha @ basis.center_sensitive),
            deviance=float(missed @ missed + space.residual[0, 0]),
            family=self.family,
            basis=basis,
            engine=self.engine,
            unconstrained=self.unconstrained,
        )


@dataclass(frozen=True)
class BlindGaussianProblem(BlindLeastSquares):
    """min ‖y − Xb‖² + λ‖P_S Xb‖² + λ₂‖b‖², for every λ.

    In the canonical directions, and without λ₂, cⱼ = zⱼ/(1 + λκⱼ) with z the
    projection of y: directions of which S explains nothing do not move, and
    R² of η on S is Σκⱼcⱼ²/Σcⱼ², which decreases in λ. With λ₂ the same holds
    in directions that are orthogonal for ‖Xb‖² + λ₂‖b‖².

    Attributes
    ----------
    predictor_penalty : float
        λ₂.
    """

    predictor_penalty: float

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return rest, moving, z and κ with c(λ) = rest + moving·(z/(1 + λκ))."""
        space, z = self.space, self.space.projection[:, 0]
        m = len(space.explained)
        if self.predictor_penalty == 0.0:
            rest = np.append(np.zeros(m), z[m:])
            return rest, np.eye(len(z))[:, :m], z[:m], space.explained
        root = np.linalg.cholesky(np.eye(len(z)) + self.predictor_penalty * space.penalty)
        z = scipy.linalg.solve_triangular(root, z, lower=True)
        explained = np.eye(len(z))[:, :m] * np.sqrt(space.explained)
        half = scipy.linalg.solve_triangular(root, explained, lower=True)
        W, sizes, _ = np.linalg.svd(half, full_matrices=False)
        moving = scipy.linalg.solve_triangular(root.T, W)
        rest = scipy.linalg.solve_triangular(root.T, z - W @ (W.T @ z))
        return rest * space.has_fair_directions, moving, W.T @ z, sizes**2

    def _at(self, lambda_: float) -> Floats:
        rest, moving, z, kappa = self._parts
        return rest + moving @ (z / (1.0 + lambda_ * kappa))

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        return [self.fit_at(self._at(float(x)), float(x)) for x in np.asarray(lambda_)]

    def unconstrained(self) -> Fit:
        """Return the model at λ = 0."""
        return self._unconstrained

    @cached_property
    def _unconstrained(self) -> Fit:
        return self.fit_at(self._at(0.0), 0.0)

    def converged(self, lambda_: float) -> bool:
        """Return True: every λ has a closed form."""
        return True

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose λ(r) for every bound, from a secular equation if there is one."""

        def search(above: Floats) -> list[Choice]:
            if self.predictor_penalty == 0.0:
                return self._choose_secular(above, max_iter)
            return self._choose_by_scan(above, tol, max_iter)

        m = len(self.space.explained)
        floor = floor_of_share(self.space, self.space.projection[:m].T)
        free = self.space.share(self._at(0.0))
        return choose_above_floor(bounds, floor, free, search)

    def _choose_secular(self, bounds: Floats, max_iter: int) -> list[Choice]:
        targets = np.where(bounds < 1.0, np.sqrt(bounds), np.inf)
        roots, converged = secular_roots(self._root_of_share, targets, max_iter, concave=False)
        return [
            Choice(0.0, "inactive", 0)
            if root == 0.0
            else Choice(root, "converged" if done else "not-converged")
            for root, done in zip(roots.tolist(), converged.tolist(), strict=True)
        ]

    def _root_of_share(self, lambda_: Floats) -> tuple[Floats, Floats]:
        """Return √R² of η on S at several λ, and the derivative of its logarithm."""
        rest, _, z, kappa = self._parts
        kappa = np.append(kappa, 0.0)  # all that S does not explain is one term
        shrinkage = 1.0 / (1.0 + lambda_[:, None] * kappa)
        parts = shrinkage * np.append(z, np.linalg.norm(rest))
        largest = np.abs(parts).max(axis=1, keepdims=True)
        squares = (parts / np.where(largest > 0.0, largest, 1.0)) ** 2
        total = squares.sum(axis=1)
        share = squares @ kappa / np.where(total > 0.0, total, 1.0)
        covariance = (squares * (kappa - share[:, None]) * kappa * shrinkage).sum(axis=1)
        divisor = total * share
        return np.sqrt(share), -covariance / np.where(divisor > 0.0, divisor, 1.0)

    def _choose_by_scan(self, bounds: Floats, tol: float, max_iter: int) -> list[Choice]:
        _, _, z, kappa = self._parts
        free = Choice(0.0, "inactive", 0)
        if not z.any() or (bounds == 1.0).all():
            return [free for _ in bounds]
        rates = 1.0 / kappa
        values = dense_profile(
            lambda x: self.space.share(self._at(x)), float(rates.min()), float(rates.max()), np.inf
        )
        return [free if r == 1.0 else values.choose(float(r), tol, max_iter) for r in bounds]
