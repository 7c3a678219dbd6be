"""What models on given rows offer, and the search for λ(r) among those that have a λ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.families import Family, Gaussian
from fairridge.models import FairBasis, Fit
from fairridge.penalties import Penalty
from fairridge.search.solution import Choice, Solution

# Tolerances by which a bound may be exceeded before that is said.
LOOSE = 100.0


@dataclass(frozen=True)
class ModelSettings:
    """What a model is, besides its rows, its family and what is bounded.

    Attributes
    ----------
    penalty : Penalty
        The penalty on α. Models and definitions that bring their own need the ridge here.
    predictor_penalty : float
        λ₂, on β.
    standardize : bool
        Whether penalties see columns divided by their standard deviations.
    max_iter : int
        Maximum number of passes over the rows per λ, unless there is a closed form.
    n_targets : int
        Columns of the response as numbers.
    classes : ndarray or None
        Labels, for classifiers.
    each : bool
        Whether attributes have bounds of their own, for which there is no closed form.
    """

    penalty: Penalty
    predictor_penalty: float = 0.0
    standardize: bool = True
    max_iter: int = 100
    n_targets: int = 1
    classes: NDArray[Any] | None = None
    each: bool = False


class Problem(Protocol):
    """A model on given rows, for every bound."""

    @property
    def engine(self) -> Engine:
        """Where the rows are."""
        ...

    @property
    def basis(self) -> FairBasis:
        """S and U in small matrices."""
        ...

    @property
    def family(self) -> Family:
        """The family of the response."""
        ...

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""
        ...

    def dispersion(self, fit: Fit) -> float:
        """Estimate the dispersion; 1 if the family fixes it."""
        ...

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""
        ...

    def warm_start(self) -> Any:
        """Return what helps a problem on some of the rows to start; None for closed forms."""
        ...

    def start_from(self, warm_start: Any) -> None:
        """Start from the `warm_start` of a problem on other rows."""
        ...


class PenalizedProblem(Problem, Protocol):
    """A problem whose models are those of a penalty λ, in which `solve` searches."""

    def choose(
        self, definition: Definition, bounds: Floats, tol: float, max_iter: int
    ) -> list[Choice]:
        """Choose λ(r) for every bound."""
        ...

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ."""
        ...

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        ...


class LeastSquares:
    """What gaussian models with a closed form share beside their coefficients."""

    engine: Engine
    basis: FairBasis
    family: Gaussian

    @property
    def rank(self) -> int:
        """Directions in which the fitted values can vary."""
        return self.basis.rank

    @property
    def null_deviance(self) -> float:
        """Total sum of squares."""
        return float(self.basis.target_scatter[0, 0])

    def dispersion(self, fit: Fit) -> float:
        """Return RSS/(n − rank − 1)."""
        return fit.deviance / max(self.basis.weight - self.rank - 1, 1.0)

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood at σ² = RSS/n."""
        total = np.array([self.basis.weight])  # all that it needs to know of the rows
        return self.family.loglik(fit.deviance, np.empty((0, 1)), total, self.dispersion(fit))

    def warm_start(self) -> None:
        """Return None: a closed form needs no start."""

    def start_from(self, warm_start: None) -> None:
        """Do nothing."""


def solve(
    problem: PenalizedProblem,
    definition: Definition,
    unfairness: Sequence[float] | Floats,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> list[Solution]:
    """Find the model for every bound; r = 1 bounds nothing, whatever the definition."""
    bounds = np.asarray(unfairness, dtype=np.float64)
    choices = problem.choose(definition, bounds, tol, max_iter)
    choices = [
        choice if problem.converged(choice.lambda_) else Choice(choice.lambda_, "not-converged")
        for choice in choices
    ]
    fits = problem.fits(np.array([choice.lambda_ for choice in choices]))
    achieved = [definition.value(fit) for fit in fits]
    return [
        Solution(
            float(r), fit, value, definition.components(fit), _demote_unmet(choice, value, r, tol)
        )
        for r, fit, choice, value in zip(bounds, fits, choices, achieved, strict=True)
    ]


def _demote_unmet(choice: Choice, achieved: float, r: float, tol: float) -> Choice:
    """Take a "converged" or "inactive" back if the bound does not hold.

    Values that jump under rounding, as when the unconstrained model runs to
    infinity, can mislead a search.
    """
    claimed = choice.status == "converged" or (choice.status == "inactive" and r < 1.0)
    exceeded = claimed and not achieved <= r + LOOSE * tol
    return Choice(choice.lambda_, "not-converged", choice.crossings) if exceeded else choice
