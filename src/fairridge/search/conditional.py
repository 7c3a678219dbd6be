"""A problem whose bound is conditional on controls: solved in residuals, told in columns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.families import Family
from fairridge.models import (
    ConditionalBasis,
    ConditionalCoordinates,
    ConditionalFit,
    FairBasis,
    Fit,
    conditional_basis,
    factorize,
)
from fairridge.penalties import Radial
from fairridge.search.gaussian import GaussianProblem
from fairridge.search.glm import GLMProblem
from fairridge.search.mean_parity import MeanProblem, require_ridge
from fairridge.search.minima import completed_minima
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import ModelSettings
from fairridge.search.separation import separating_columns
from fairridge.search.solution import Choice


@dataclass(frozen=True)
class ConditionalProblem:
    """A model with controls, for every λ.

    Attributes
    ----------
    given : ConditionalBasis
        S and the other predictors, less what the controls explain of them.
    inner : GaussianProblem or GLMProblem
        The model in them.
    """

    given: ConditionalBasis
    inner: GaussianProblem | GLMProblem

    @property
    def engine(self) -> Engine:
        """Where the rows are."""
        return self.inner.engine

    @property
    def basis(self) -> FairBasis:
        """S and U."""
        return self.given.whole

    @property
    def family(self) -> Family:
        """The family of the response."""
        return self.inner.family

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose λ(r) for every bound."""
        of_residuals: Definition = definition.definition  # type: ignore[attr-defined]
        return self.inner.choose(of_residuals, bounds, tol, max_iter)

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        return [self.told(fit) for fit in self.inner.fits(lambda_)]

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        return self.inner.converged(lambda_)

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        if self.family.least_squares:
            return float(self.basis.target_scatter[0, 0])
        return self.inner.null_deviance

    def dispersion(self, fit: Fit) -> float:
        """Estimate the dispersion."""
        rank = 1 + self.given.sensitive.rank + self.given.predictors.rank
        left = max(self.basis.weight - rank, 1.0)
        controlled = max(self.basis.weight - rank - self.given.of_controls.rank, 1.0)
        found = self.inner.dispersion(fit)
        return found if found == 1.0 else found * left / controlled

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""
        if isinstance(self.inner, GaussianProblem):
            return self.inner.loglik(fit)
        return self.inner.loglik_with(fit, self.dispersion(fit))

    def warm_start(self) -> Any:
        """Return what helps a problem on some of the rows to start."""
        return self.inner.warm_start()

    def start_from(self, warm_start: Any) -> None:
        """Start from the `warm_start` of a problem on other rows."""
        self.inner.start_from(warm_start)

    def separating_columns(self, fits: Any) -> dict[str, float]:
        """Return columns that separate the responses, each with its largest coefficient."""
        closed = self.family.least_squares
        return {} if closed else separating_columns(self.basis, self.engine.names, fits)

    def completed(self, fit: Fit) -> Fit:
        """Return a model with coefficients for isolated levels, and the deviance of all rows."""
        assert isinstance(fit, ConditionalFit)
        assert isinstance(self.inner, GLMProblem)
        return self.told(self.inner.completed(fit.given))

    @cached_property
    def _unconstrained(self) -> Fit:
        return self.told(self.inner.unconstrained())

    def told(self, fit: Fit) -> Fit:
        """Return a model of residuals as one of S and U."""
        whole, q = self.basis, len(self.given.B)
        raw = self.given.raw_coefficients(fit.alpha, fit.beta)
        alpha = raw[..., :q] + raw[..., q:] @ whole.B.T
        return ConditionalFit(
            **{item.name: getattr(fit, item.name) for item in fields(Fit)}
            | {
                "alpha": alpha,
                "beta": raw[..., q:],
                "intercept": fit.intercept - alpha @ whole.center_sensitive,
                "basis": whole,
                "unconstrained": lambda: self._unconstrained,
                "_memory": {},
            },
            given=fit,
            controls=tuple(self.given.controls.tolist()),
        )


class _ConditionalGLM(PenalizedGLM):
    """The minima of a penalized deviance with controls, which no penalty sees."""

    basis: ConditionalBasis

    @cached_property
    def coordinates(self) -> ConditionalCoordinates:
        """The coordinates θ of the model."""
        m, absolute = self.family.n_predictors, self.penalty.l1 > 0.0
        contrasts = self.family.to_class_coefficients(np.eye(m)) if absolute and m > 1 else None
        return ConditionalCoordinates(self.basis, m, absolute, contrasts)

    @cached_property
    def _spread(self) -> Floats:
        basis, coordinates = self.basis, self.coordinates
        squares = [
            basis.sensitive.quadratic(coordinates.sensitive.T),
            basis.predictors.quadratic(coordinates.predictors.T),
            basis.of_controls.quadratic(coordinates.controls.T),
        ]
        variances = np.concatenate([[basis.weight], *squares]) / basis.weight
        return np.sqrt(np.where(variances > 0.0, variances, 1.0))


def conditional_problem(
    engine: Engine,
    family: Family,
    controls: tuple[int, ...],
    definition: Any,
    settings: ModelSettings,
) -> ConditionalProblem:
    """Set up a model whose bound is conditional on some of the predictors.

    Parameters
    ----------
    engine : Engine
        Where the rows are.
    family : Family
        The family of the response.
    controls : tuple of int
        Positions of the controls among the encoded predictors.
    definition : GivenControls
        What is bounded.
    settings : ModelSettings
        Its penalties and limits; λ₂ is on the other predictors.
    """
    standardize, n_targets = settings.standardize, settings.n_targets
    factor = factorize(engine, engine.moments(), n_targets)
    given = conditional_basis(
        factor, engine.n_sensitive, controls, standardize=standardize, n_targets=n_targets
    )
    bounded = definition.definition
    if bounded.own_ridge:
        require_ridge(settings.penalty, bounded, family)
    if family.least_squares and not settings.each:
        own = replace(settings, penalty=Radial()) if bounded.own_ridge else settings
        problem = GaussianProblem.of(engine, given, own)
        beta = given.complete(problem.beta, given.on_controls[:, -1])
        return ConditionalProblem(given, replace(problem, beta=beta))
    minima = completed_minima(family, lambda one: _ConditionalGLM(engine, given, one, settings))
    inner = GLMProblem(minima)
    if bounded.own_ridge:
        inner = MeanProblem(minima, bounded, settings.classes)
    return ConditionalProblem(given, inner)
