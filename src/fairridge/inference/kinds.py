"""Which equations a model solves: those of the fair basis, or those of its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from fairridge._typing import Floats
from fairridge.fairness import Definition, is_variance_share
from fairridge.fairness.conditional import GivenControls
from fairridge.inference import conditional, explained
from fairridge.inference.description import Description
from fairridge.inference.influence import branch_of, penalized_rows
from fairridge.inference.linearize import linearize, mean_deviance
from fairridge.inference.measures import Measure
from fairridge.inference.raw import RawDeviance, RawState, raw_branch
from fairridge.inference.rows import RowsOfModel
from fairridge.inference.state import Regime, state_of
from fairridge.models import ConditionalBasis, Fit
from fairridge.penalties import Radial
from fairridge.search import (
    BlindGLMProblem,
    BlindLeastSquares,
    BlindMeanProblem,
    ConditionalProblem,
    MeanProblem,
    PenalizedProblem,
)

__all__ = ["Kind", "is_blind", "kind_of"]


class Kind(Protocol):
    """How the influences on a kind of models are found."""

    def state(self, fit: Fit, regime: Regime) -> Any:
        """Return a model with its derivatives."""
        ...

    def measure(self, at: Any, free: Any) -> Measure:
        """Return what is bounded near a model; `free` is the one without a bound."""
        ...

    def deviance(self, at: Any) -> Measure:
        """Return the mean deviance near a model."""
        ...

    def branch(self, at: Any, binding: Measure | None, free: Any) -> Any:
        """Return the influences on a model; `free` are those on the one without a bound."""
        ...


def is_blind(problem: PenalizedProblem) -> bool:
    """Whether a model is one of X alone."""
    return isinstance(problem, BlindLeastSquares | BlindGLMProblem | BlindMeanProblem)


def kind_of(problem: PenalizedProblem, description: Description) -> Kind:
    """Return how the influences on a model are found."""
    if isinstance(problem, ConditionalProblem):
        return _Conditional(description, problem.given)
    if is_blind(problem) or isinstance(problem, MeanProblem):
        return _Explained(description, is_blind(problem))
    return _InFairBasis(description)


@dataclass(frozen=True)
class _InFairBasis:
    """Penalties on α: equations in level, α and β."""

    description: Description

    def state(self, fit: Fit, regime: Regime) -> Any:
        return state_of(fit, self.description, regime)

    def measure(self, at: Any, free: Any) -> Measure:
        return linearize(self.description.definition, at, free)

    def deviance(self, at: Any) -> Measure:
        return mean_deviance(at)

    def branch(self, at: Any, binding: Measure | None, free: Any) -> Any:
        return branch_of(at, self.description, binding, free)


@dataclass(frozen=True)
class _InColumns:
    """Penalties on other forms: equations in the coefficients of the columns."""

    description: Description

    def deviance(self, at: RawState) -> Measure:
        return RawDeviance.of(at)

    def branch(self, at: RawState, binding: Measure | None, free: Any) -> Any:
        return raw_branch(at, binding)

    def _predictor_ridge(self, at: RawState, columns: Floats, places: Any, scale: Floats) -> Any:
        """Return λ̄₂ and its form, for columns (1, s, x)·columns in some places."""
        lambda_2 = self.description.predictor_penalty / at.fit.basis.weight
        if lambda_2 == 0.0:
            return ()
        seen = "standardized" if self.description.standardize else "raw"
        beta = at.theta[:, places]
        return ((lambda_2, PredictorRidge(columns, places, beta, scale**2, seen)),)


@dataclass(frozen=True)
class _Explained(_InColumns):
    """A ridge on what S explains of linear predictors or means.

    Attributes
    ----------
    blind : bool
        Whether the model is one of X alone.
    """

    blind: bool

    def _numbers(self, fit: Fit) -> Any:
        definition: Any = self.description.definition
        if definition.own_ridge and not is_variance_share(definition, fit.family):
            return explained.Predicted(definition.means(fit))
        return explained.LinearPredictors()

    def state(self, fit: Fit, regime: Regime) -> RawState:
        own = state_of(fit, self.description, regime)
        q, k = own.q, own.theta.shape[1]
        places, T = np.arange(1 + q, k), np.eye(k)
        if not self.blind:
            T[1 : 1 + q, 1 + q :] = -fit.basis.B
        # Models of X alone have λ₂ on X, others on U.
        scale = fit.basis.predictors.scale
        if self.blind and self.description.standardize:
            scale = fit.basis.deviations[q:]
        used = np.ones(k, dtype=bool)
        used[1 : 1 + q] = not self.blind
        plain = RawState(own, used)
        plain = replace(plain, fixed=self._predictor_ridge(plain, T[:, places], places, scale))
        found = explained.Explained.of(plain, self._numbers(fit))
        held = explained.NotExplained.of(plain, found) if regime == "zero" else None
        return replace(plain, ridge=found, held=held)

    def measure(self, at: RawState, free: Any) -> Measure:
        assert isinstance(at.ridge, explained.Explained)
        return explained.ExplainedShare(at.ridge)


@dataclass(frozen=True)
class _Conditional(_InColumns):
    """A ridge on α given controls.

    Attributes
    ----------
    basis : ConditionalBasis
        S̃ and Ũ.
    """

    basis: ConditionalBasis

    def state(self, fit: Fit, regime: Regime) -> RawState:
        own = state_of(fit, self.description, regime)
        plain = RawState(own, np.ones(own.theta.shape[1], dtype=bool))
        given = conditional.Given.of(plain, self.basis)
        columns, scale = given.to_residuals[:, given.others], self.basis.predictors.scale
        seen = "standardized" if self.description.standardize else "raw"
        seen = "radial" if isinstance(self.description.penalty, Radial) else seen
        P = self.description.penalty_matrix(self.basis)
        pi = plain.gradient[:, 1 : 1 + plain.q] if regime == "zero" else None
        ridge = conditional.ConditionalRidge(given, P, seen, pi)
        return replace(
            plain,
            fixed=self._predictor_ridge(plain, columns, given.others, scale),
            ridge=ridge,
            held=ridge if regime == "zero" else None,
        )

    def measure(self, at: RawState, free: Any) -> Measure:
        assert isinstance(at.ridge, conditional.ConditionalRidge)
        definition = self.description.definition
        assert isinstance(definition, GivenControls)
        measure = _share(definition.definition, at.fit.family)
        if measure == "tjur" or (measure != "variance" and not at.fit.family.separable):
            raise ValueError(
                f"there are no standard errors for {definition.name} of a {at.fit.family.name} "
                "model with this measure; use measure='variance'."
            )
        found: Measure = conditional.shares(at, at.ridge.given, self.basis, measure)
        return found


def _share(definition: Definition, family: Any) -> str:
    if is_variance_share(definition, family):
        return "variance"
    return getattr(definition, "measure", None) or str(family.share)


@dataclass(frozen=True)
class PredictorRidge:
    """λ₂'s Σ(scaleⱼβⱼ)², as a form in θ.

    Attributes
    ----------
    columns : ndarray of shape (k, c)
        Maps (1, s, x) to the columns that it sees.
    places : ndarray of int
        Places of their coefficients.
    beta : ndarray of shape (m, c)
        The coefficients.
    squares : ndarray of shape (c,)
        scale².
    seen : {"standardized", "raw"}
        Whether scales are standard deviations.
    """

    columns: Floats
    places: Any
    beta: Floats
    squares: Floats
    seen: str

    @property
    def slope(self) -> Floats:
        """scale²β."""
        out = np.zeros((len(self.beta), len(self.columns)))
        out[:, self.places] = self.beta * self.squares
        return out

    @property
    def curvature(self) -> Floats:
        """Diagonal of scale²."""
        each = np.zeros(len(self.columns))
        each[self.places] = self.squares
        return np.diag(np.tile(each, len(self.beta)))

    def rows(self, at: RowsOfModel) -> Floats:
        """Return what each row puts into the slope."""
        rows = at.rows
        z = np.column_stack([np.ones(len(rows.s)), rows.s, rows.x]) @ self.columns
        out = np.zeros((len(z), len(self.beta), len(self.columns)))
        out[:, :, self.places] = penalized_rows(z, z, self.beta, self.seen)
        return out
