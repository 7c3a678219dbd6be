"""Models of X alone: S is used to fit them, and not to predict.

    min D(b) + λ‖P_S Xb‖² + λ₂‖b‖²,   η = intercept + Xb,

where P_S projects on the centered columns of S, so that λ shrinks what S
explains of the linear predictor. In the paper's coordinates the model has
α = Bβ, which cancels the coefficients of S, and R² of η on S is
VAR(Sα)/(VAR(Sα) + VAR(Uβ)) as ever.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.families import Family, Gaussian
from fairridge.models import (
    BlindCoordinates,
    CanonicalSpace,
    FairBasis,
    canonical_space,
    factorize,
    fair_basis,
)
from fairridge.penalties import Radial
from fairridge.search.blind_gaussian import (
    BlindGaussianProblem,
    choose_above_floor,
    floor_of_share,
)
from fairridge.search.glm import GLMProblem
from fairridge.search.mean_parity import MeanProblem
from fairridge.search.minima import completed_minima
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import ModelSettings, PenalizedProblem
from fairridge.search.solution import Choice


class BlindGLM(PenalizedGLM):
    """min D(b) + λ‖P_S Xb‖² + λ₂‖b‖² for any λ, intercept free.

    Parameters
    ----------
    space : CanonicalSpace
        What X alone can fit.
    engine, basis, family, settings
        As in `PenalizedGLM`.
    """

    def __init__(
        self,
        space: CanonicalSpace,
        engine: Engine,
        basis: FairBasis,
        family: Family,
        settings: ModelSettings,
    ) -> None:
        super().__init__(engine, basis, family, replace(settings, penalty=Radial()))
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
    engine: Engine, family: Family, definition: Definition, settings: ModelSettings
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
    settings : ModelSettings
        Its penalties and limits; λ₂ is on the coefficients of X.
    """
    penalty, n_targets = settings.penalty, settings.n_targets
    if penalty.name != "ridge":
        raise ValueError(
            f"penalty={penalty.name!r}: blind=True has its own ridge, on what S explains of the "
            "linear predictor or of the means; leave penalty at 'ridge'."
        )
    factor = factorize(engine, engine.moments(), n_targets)
    options: dict[str, Any] = {"standardize": settings.standardize, "n_targets": n_targets}
    basis = fair_basis(factor, engine.n_sensitive, **options)
    space = canonical_space(factor, engine.n_sensitive, **options)
    if family.least_squares and not settings.each:
        return BlindGaussianProblem(engine, basis, Gaussian(), space, settings.predictor_penalty)
    minima = completed_minima(family, lambda one: BlindGLM(space, engine, basis, one, settings))
    if definition.own_ridge:
        return BlindMeanProblem(minima, definition, settings.classes)
    return BlindGLMProblem(minima)
