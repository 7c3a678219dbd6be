"""A problem with more predictors than rows, solved in features and told in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.engines import Engine, MemoryEngine
from fairridge.fairness import Definition
from fairridge.families import Family
from fairridge.models import ExpandedFit, FairBasis, Features, Fit, compress
from fairridge.search.gaussian import GaussianProblem
from fairridge.search.glm import GLMProblem
from fairridge.search.minima import completed_minima
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import ModelSettings, solve
from fairridge.search.separation import separating_columns
from fairridge.search.solution import Choice, Solution


@dataclass(frozen=True)
class CompressedProblem:
    """A model on wide rows, for every λ.

    Attributes
    ----------
    compression : Features
        The features, and the way back to columns.
    inner : GaussianProblem or GLMProblem
        The model in features.
    columns : Engine
        The rows with all their columns.
    """

    compression: Features
    inner: GaussianProblem | GLMProblem
    columns: Engine

    @property
    def engine(self) -> Engine:
        """The rows with features."""
        return self.inner.engine

    @property
    def basis(self) -> FairBasis:
        """S and U."""
        return self.compression.original

    @property
    def family(self) -> Family:
        """The family of the response."""
        return self.inner.family

    def solve(
        self, definition: Definition, bounds: Floats, *, tol: float, max_iter: int
    ) -> list[Solution]:
        """Find the model for every bound."""
        found = solve(self.inner, self._seen(definition), bounds, tol=tol, max_iter=max_iter)
        fits = self.expanded([solution.fit for solution in found])
        return [replace(one, fit=fit) for one, fit in zip(found, fits, strict=True)]

    def told(self, fit: Fit) -> Fit:
        """Return a model of S and F as one of S and U."""
        return self.expanded([fit])[0]

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose λ(r) for every bound."""
        return self.inner.choose(self._seen(definition), bounds, tol, max_iter)

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        return self.expanded(self.inner.fits(lambda_))

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        return self.inner.converged(lambda_)

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        return self.inner.null_deviance

    def dispersion(self, fit: Fit) -> float:
        """Estimate the dispersion."""
        return self.inner.dispersion(fit)

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""
        return self.inner.loglik(fit)

    def warm_start(self) -> None:
        """Return None: features of other rows are others."""

    def start_from(self, warm_start: Any) -> None:
        """Do nothing."""

    def separating_columns(self, fits: Iterable[Fit]) -> dict[str, float]:
        """Return columns that separate the responses, each with its largest coefficient."""
        closed = self.family.least_squares
        return {} if closed else separating_columns(self.basis, self.columns.names, fits)

    def expanded(self, fits: list[Fit]) -> list[Fit]:
        """Return models of S and U for models of S and F, in one sweep over the columns."""
        betas = self.compression.expand(np.array([fit.beta for fit in fits]))
        return [
            ExpandedFit(
                **{field.name: getattr(fit, field.name) for field in fields(Fit)}
                | {
                    "beta": beta,
                    "basis": self.basis,
                    "engine": self.columns,
                    "unconstrained": lambda: self._unconstrained,
                },
                features=fit,
            )
            for fit, beta in zip(fits, betas, strict=True)
        ]

    @cached_property
    def _unconstrained(self) -> Fit:
        return self.expanded([self.inner.unconstrained()])[0]

    def _seen(self, definition: Definition) -> Definition:
        """Return a definition that can be asked of fits in features."""
        return _InColumns(definition, self) if definition.sees_columns else definition


@dataclass(frozen=True)
class _InColumns(Definition):
    """A definition that is shown columns if a fit is in features."""

    definition: Definition
    problem: CompressedProblem

    @property
    def name(self) -> str:
        """How the definition is called."""
        return self.definition.name

    @property
    def arbitrary(self) -> bool:
        """Whether nothing is known of how the value changes with λ."""
        return self.definition.arbitrary

    @property
    def maximum_of(self) -> Sequence[Definition]:
        """Definitions of which this is the largest."""
        return [replace(self, definition=part) for part in self.definition.maximum_of]

    def value(self, fit: Fit) -> float:
        """Return how unfair the fit is."""
        return self.definition.value(self._in_columns(fit))

    def components(self, fit: Fit) -> dict[str, float]:
        """Return the quantities the value is made of."""
        return self.definition.components(self._in_columns(fit))

    def _in_columns(self, fit: Fit) -> Fit:
        return self.problem.expanded([fit])[0]


def compressed_problem(
    engine: MemoryEngine, family: Family, settings: ModelSettings
) -> CompressedProblem:
    """Set a model up on rows with more predictors than rows."""
    found = compress(
        engine,
        standardize=settings.standardize,
        predictor_penalty=settings.predictor_penalty,
    )
    return CompressedProblem(found, problem_in_features(found, family, settings), engine)


def problem_in_features(
    found: Features, family: Family, settings: ModelSettings
) -> GaussianProblem | GLMProblem:
    """Set a model up in features."""
    if family.least_squares:
        return GaussianProblem.of(found.engine, found.basis, settings)
    return GLMProblem(minima_in_features(found, family, settings))


def minima_in_features(found: Features, family: Family, settings: ModelSettings) -> PenalizedGLM:
    """Return the minima of a model in features, with what its family leaves open."""
    engine, basis = found.engine, found.basis
    return completed_minima(family, lambda one: PenalizedGLM(engine, basis, one, settings, found))
