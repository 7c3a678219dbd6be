"""Models of X alone: S is used to fit them, and not to predict.

    min D(b) + λ‖P_S Xb‖² + λ₂‖b‖²,   η = intercept + Xb,

where P_S projects on the centered columns of S, so that λ shrinks what S
explains of the linear predictor. In the paper's coordinates the model has
α = Bβ, which cancels the coefficients of S, and R² of η on S is
VAR(Sα)/(VAR(Sα) + VAR(Uβ)) as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.families import Family, Gaussian
from fairridge.models import (
    BlindCoordinates,
    CanonicalSpace,
    FairBasis,
    Fit,
    canonical_space,
    factorize,
    fair_basis,
)
from fairridge.penalties import Penalty, Radial
from fairridge.search.glm import GLMProblem, completed_minima
from fairridge.search.last_crossing import dense_profile
from fairridge.search.least_squares import LeastSquares
from fairridge.search.mean_parity import MeanProblem
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import PenalizedProblem
from fairridge.search.secular import secular_roots
from fairridge.search.solution import Choice

__all__ = [
    "BlindGLMProblem",
    "BlindGaussianProblem",
    "BlindLeastSquares",
    "BlindMeanProblem",
    "blind_problem",
]

# Distance from the smallest share, relative to it, that is nothing but rounding.
AT_FLOOR = 1e-12


def floor_of_share(space: CanonicalSpace, gradient: Floats) -> float:
    """Return the share of S that no finite λ goes below.

    As λ grows, b tends to zero along the minimum of gᵀb + λ‖P_S Xb‖², with g
    the gradient at b = 0: cⱼ ∝ gⱼ/κⱼ. That is so where S explains some of
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

    Or the model at λ = 0, whose share `free` can be below the floor where shares
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
        """Choose λ(r) for every bound, from a secular equation where there is one."""

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


class BlindGLM(PenalizedGLM):
    """min D(b) + λ‖P_S Xb‖² + λ₂‖b‖² for any λ, intercept free.

    Parameters
    ----------
    space : CanonicalSpace
        What X alone can fit.
    engine, basis, family, predictor_penalty, max_iter
        As in `PenalizedGLM`.
    """

    def __init__(
        self,
        space: CanonicalSpace,
        engine: Engine,
        basis: FairBasis,
        family: Family,
        predictor_penalty: float,
        max_iter: int,
    ) -> None:
        super().__init__(engine, basis, family, Radial(), predictor_penalty, max_iter)
        self.space = space

    @cached_property
    def coordinates(self) -> BlindCoordinates:
        """The coordinates θ of the model."""
        return BlindCoordinates(self.basis, self.family.n_predictors, False, space=self.space)

    @property
    def _penalized(self) -> Floats:
        return np.diag(self.basis.weight * self.space.explained)

    @cached_property
    def _spread(self) -> Floats:
        return np.ones(self.coordinates.size)

    @cached_property
    def exchangeable(self) -> None:
        """None: a model of X alone has nothing to exchange for S."""
        return None

    def floor(self) -> float:
        """Return the share of S that no finite λ goes below."""
        gradient = self.null.gradient[self.coordinates.of_sensitive]
        return floor_of_share(self.space, gradient.reshape(-1, len(self.space.explained)))


class _OfPredictors(GLMProblem):
    """A problem in the directions of X."""

    minima: BlindGLM

    @property
    def space(self) -> CanonicalSpace:
        """What X alone can fit."""
        return self.minima.space

    @property
    def rank(self) -> int:
        """Directions in which the linear predictor can vary."""
        return self.space.dimension


class BlindGLMProblem(_OfPredictors):
    """A generalized linear model of X alone, for every λ; bounds R² of η on S."""

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose λ(r) for every bound, from the side on which it holds."""
        return _choose_blind(self, super().choose, definition, bounds, tol, max_iter)


class BlindMeanProblem(MeanProblem, _OfPredictors):
    """The same under a bound on R² of the predicted means on S."""

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose the smallest λ that meets each bound, from the loosest bound on."""
        # Near the constant means are linear in η, so they have the same smallest share.
        if not self._has_others:
            self._points[np.inf] = self.minima.null
        return _choose_blind(self, super().choose, definition, bounds, tol, max_iter)

    def _constant(self) -> Choice:
        choice = super()._constant()
        return Choice(choice.lambda_, "not-converged" if self._has_others else "infeasible")


def _choose_blind(
    problem: BlindGLMProblem | BlindMeanProblem,
    choose: Any,
    definition: Definition,
    bounds: Floats,
    tol: float,
    max_iter: int,
) -> list[Choice]:
    if not problem.space.explained.size:
        return [Choice(0.0, "inactive", 0) for _ in bounds]
    floor = problem.minima.floor()
    free = definition.value(problem.fit(0.0)) if floor > 0.0 else 1.0
    return choose_above_floor(
        bounds, floor, free, lambda above: choose(definition, above, tol, max_iter)
    )


def blind_problem(
    engine: Engine,
    family: Family,
    definition: Definition,
    *,
    n_targets: int,
    classes: Any = None,
    each: bool = False,
    penalty: Penalty,
    predictor_penalty: float = 0.0,
    standardize: bool = True,
    max_iter: int = 100,
) -> PenalizedProblem:
    """Set up a model of X alone.

    Parameters
    ----------
    engine : Engine
        Where the rows are.
    family : Family
        The family of the response.
    definition : Definition
        What is bounded: R² on S of the linear predictor, or of the means.
    n_targets : int
        Columns of the response as numbers.
    classes : ndarray or None
        Labels, for classifiers.
    each : bool
        Whether attributes have bounds of their own, for which there is no closed form.
    penalty : Penalty
        Must be the ridge: the model brings its own.
    predictor_penalty : float
        λ₂.
    standardize : bool
        Whether λ₂ sees columns of X divided by their standard deviations.
    max_iter : int
        Maximum number of passes over the rows per λ.
    """
    if penalty.name != "ridge":
        raise ValueError(
            f"penalty={penalty.name!r}: blind=True has its own ridge, on what S explains of the "
            "linear predictor or of the means; leave penalty at 'ridge'."
        )
    factor = factorize(engine, engine.moments(), n_targets)
    options: dict[str, Any] = {"standardize": standardize, "n_targets": n_targets}
    basis = fair_basis(factor, engine.n_sensitive, **options)
    space = canonical_space(factor, engine.n_sensitive, **options)
    if family.least_squares and not each:
        return BlindGaussianProblem(engine, basis, Gaussian(), space, predictor_penalty)

    def minima_of(family: Family) -> BlindGLM:
        return BlindGLM(space, engine, basis, family, predictor_penalty, max_iter)

    minima = completed_minima(family, minima_of)
    if definition.own_ridge:
        return BlindMeanProblem(minima, definition, classes)
    return BlindGLMProblem(minima)
