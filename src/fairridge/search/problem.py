"""What models on given rows offer, and the search for λ(r) among those that have a λ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.fairness import Definition
from fairridge.families import Family, Gaussian
from fairridge.models import FairBasis, Fit, Isolation
from fairridge.models.spaces import Space
from fairridge.penalties import Penalty

# Tolerances by which a bound may be exceeded before it counts as missed.
BOUND_TOLERANCES = 100.0
# Distance from the smallest share, relative to it, that counts as none.
FLOOR_TOLERANCE = 1e-12
# Grids of λ: points per decade, and decades below and above those at which models change, beyond
# which no definition still does.
GRID_DENSITY, DECADES_BELOW, DECADES_ABOVE = 4, 4.0, 12.0
# Coefficient of a 0/1 predictor that makes odds of three million to one.
SEPARATING_COEFFICIENT = 15.0


Status = Literal["inactive", "converged", "jumped", "infeasible", "not-converged", "separated"]


@dataclass(frozen=True)
class Choice:
    """The penalty chosen for one bound."""

    lambda_: float  # λ(r)
    # "inactive": the unconstrained model meets the bound. "converged": the bound is met with
    # equality. "jumped": it is met with room to spare, since no minimum lies between.
    # "infeasible": no penalty meets it. "not-converged": the search stopped early. "separated":
    # the bound is nominally met, but levels that decide the response make it meaningless.
    status: Status
    # How often the definition crosses the bound as λ grows; more than one means that it is
    # not monotone.
    crossings: int = 1

    UNCONSTRAINED: ClassVar[Choice]

    @property
    def met(self) -> bool:
        """Whether the bound is met."""
        return self.status in ("inactive", "converged", "jumped")


# No penalty is needed.
Choice.UNCONSTRAINED = Choice(0.0, "inactive", 0)


@dataclass(frozen=True)
class AttributeShare:
    """What one attribute alone explains of a model, under a bound of its own."""

    bound: float  # the bound r
    lambda_: float  # the penalty on what the attribute explains; 0 if its bound does not bind
    achieved: float  # what it explains
    status: Status  # as in `Choice`


@dataclass(frozen=True)
class Solution:
    """The model that meets one bound, or a bound for each of several attributes."""

    # The bound r; the largest, if attributes have bounds of their own.
    unfairness: float
    fit: Fit  # the model at λ(r)
    achieved: float  # the definition's value
    components: dict[str, float]  # what the value is made of
    choice: Choice  # how λ(r) was found
    # Columns that separate the responses, with their coefficients.
    separating: dict[str, float] = field(default_factory=dict)
    # Attributes with bounds of their own.
    each: dict[str, AttributeShare] = field(default_factory=dict)
    # What the bound promises for the population, if a confidence was set; the bound is then
    # that of the population (Certificate or None).
    certificate: Any = None


@dataclass(frozen=True)
class ModelSettings:
    """What a model is, besides its rows, its family and what is bounded."""

    # The penalty on α. Models and definitions that bring their own need the ridge here.
    penalty: Penalty
    predictor_penalty: float = 0.0  # λ₂, on β
    standardize: bool = True  # whether penalties see columns divided by their standard deviations
    tol: float = 1e-10  # by which a bound may be missed
    # Maximum number of search steps for λ(r), and of passes over the rows per λ.
    max_iter: int = 100
    n_targets: int = 1  # columns of the response as numbers
    classes: NDArray[Any] | None = None  # labels, for classifiers (ndarray or None)
    # Columns of attributes with bounds of their own, for which there is no closed form.
    each: Mapping[str, Sequence[int]] = field(default_factory=dict)
    blind: bool = False  # whether S is used to fit and not to predict
    # Positions among the encoded predictors of controls that the bound is conditional on.
    controls: tuple[int, ...] = ()
    isolates: bool = False  # whether levels that decide the response are taken out of the fit
    certified: bool = False  # whether the bound is to hold in the population


class Problem(ABC):
    """A model on given rows, for every bound."""

    space: Space  # the columns that it is solved in
    family: Family  # the family of the response
    isolation: Isolation | None = None  # rows that the model is fitted without, if there are any

    @property
    def engine(self) -> Engine:
        """The rows, with the columns that the model is solved in."""
        return self.space.engine

    @property
    def basis(self) -> FairBasis:
        """S and U in small matrices, as models are reported."""
        return self.space.reported

    @abstractmethod
    def solve(self, bounds: Floats) -> list[Solution]:
        """Find the model for every bound."""

    @property
    @abstractmethod
    def null_deviance(self) -> float:
        """Deviance of the model with an intercept only."""

    @abstractmethod
    def dispersion(self, fit: Fit) -> float:
        """Estimate the dispersion; 1 if the family fixes it."""

    @abstractmethod
    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood."""

    # Closed forms need no start, and nothing that was found on other rows.

    def warm_start(self) -> Any:
        """Return what helps a problem on some of the rows to start; None if nothing does."""
        return None

    def start_from(self, warm_start: Any) -> None:  # noqa: B027
        """Start from the `warm_start` of a problem on other rows."""

    def resume(self, lambda_: float, raw: Floats) -> None:
        """Start from the intercept and raw coefficients of an earlier fit to these rows."""
        self.start_from(raw)


class LeastSquares(Problem):
    """What gaussian models with a closed form share."""

    family = Gaussian()

    @property
    def null_deviance(self) -> float:
        """Total sum of squares."""
        return float(self.space.target_scatter[0, 0])

    def dispersion(self, fit: Fit) -> float:
        """Return RSS/(n − rank − 1)."""
        return fit.deviance / max(self.basis.weight - self.space.rank - 1, 1.0)

    def loglik(self, fit: Fit) -> float:
        """Return the log-likelihood at σ² = RSS/n."""
        total = np.array([self.basis.weight])  # all that the likelihood reads of the rows
        return self.family.loglik(fit.deviance, np.empty((0, 1)), total, self.dispersion(fit))


class PenalizedProblem(Problem):
    """A problem whose models are those of a penalty λ, in which `solve` searches."""

    definition: Definition  # what is bounded
    settings: ModelSettings  # penalties and limits
    explains: bool = False  # whether λ penalizes what S explains of predictions, instead of α
    # Whether the errors of rows left out one by one have a closed form.
    has_leave_one_out: bool = False

    @abstractmethod
    def choose(self, definition: Definition, bounds: Floats) -> list[Choice]:
        """Choose λ(r) for every bound; the definition is one of models in the space."""

    @abstractmethod
    def solved_at(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ, in the space."""

    def converged(self, lambda_: float) -> bool:
        """Whether the coefficients at a λ are a minimum."""
        return True

    @property
    def references(self) -> list[Fit]:
        """Models that a definition compares others with, in the space."""
        return []

    def fits(self, lambda_: Floats) -> list[Fit]:
        """Return the models at several λ, in columns."""
        return self.in_columns(self.solved_at(lambda_))

    def in_columns(self, fits: Sequence[Fit]) -> list[Fit]:
        """Return models of the space as models of the original columns."""
        return self.space.in_columns(fits, lambda: self._unconstrained)

    @cached_property
    def _unconstrained(self) -> Fit:
        (free,) = self.solved_at(np.zeros(1))
        return self.in_columns([free.unconstrained()])[0]

    def value(self, definition: Definition, fit: Fit) -> float:
        """Return a definition of a model in the space; in columns if it depends on these."""
        if definition.sees_columns and self.space.compressed:
            (fit,) = self.in_columns([fit])
        return definition.value(fit)

    def solve(self, bounds: Floats) -> list[Solution]:
        """Find the model for every bound; r = 1 bounds nothing, whatever the definition."""
        bounds = np.asarray(bounds, dtype=np.float64)
        choices = [
            choice
            if self.converged(choice.lambda_)
            else replace(choice, status="not-converged", crossings=1)
            for choice in self.choose(self.definition.within_space, bounds)
        ]
        fits = self.solved_at(np.array([choice.lambda_ for choice in choices]))
        columns, tol = self.in_columns(fits), self.settings.tol
        solutions: list[Solution] = []
        for r, fit, choice, solved in zip(bounds.tolist(), columns, choices, fits, strict=True):
            # Bounds that do not bind have one model, which is measured once.
            same = solutions and choice is Choice.UNCONSTRAINED and solutions[-1].choice is choice
            if same and max(r, solutions[-1].unfairness) < 1.0:
                solutions.append(replace(solutions[-1], unfairness=r))
            else:
                solutions.append(self.finished(self._solution(r, fit, choice, tol), solved))
        return solutions

    def _solution(self, r: float, fit: Fit, choice: Choice, tol: float) -> Solution:
        """Measure a model, and say if the bound does not hold, or not with equality."""
        # Values that jump under rounding, as when the unconstrained model runs to infinity, can
        # mislead a search.
        value, components = self.definition.value(fit), self.definition.components(fit)
        claimed = choice.met and not (choice.status == "inactive" and r >= 1.0)
        slack = BOUND_TOLERANCES * tol
        if claimed and not value <= r + slack:
            choice = replace(choice, status="not-converged")
        elif choice.status == "converged" and 0.0 < value < r - slack:
            choice = replace(choice, status="jumped")
        return Solution(r, fit, value, components, choice)

    def finished(self, solution: Solution, solved: Fit) -> Solution:
        """Name columns that separate the responses; give isolated levels their coefficients."""
        # A bound that such columns make meaningless has the status "separated": the residual of a
        # level that decides the response is not zero in other rows, and brings S back into their
        # predictions, unseen by the bound. In a blind model its coefficient makes up nearly all
        # that varies of η, so that the share of S is small whatever the others are. A bound on
        # predicted means sees both.
        # `solved` is the same model in the space, and `solution` that in columns.
        columns, choice = self.separating_columns([solution.fit]), solution.choice
        unseen = choice.met and solution.unfairness < 1.0 and not self.definition.penalizes_means
        if columns and unseen:
            engine, binary = self.space.all_columns, self.space.reported.binary_predictors
            names = engine.names[engine.n_sensitive :]
            if set(np.array(names, dtype=object)[binary]) & set(columns):
                choice = replace(choice, status="separated")
        fit = solution.fit
        if self.isolation is not None:
            (fit,) = self.in_columns([self.isolation.with_levels(solved)])
        return replace(solution, fit=fit, choice=choice, separating=columns)

    def separating_columns(self, fits: Iterable[Fit]) -> dict[str, float]:
        """Return columns that separate the responses, each with its largest coefficient."""
        # These are the columns whose coefficients grow without bound, and the 0/1 predictors whose
        # coefficients are so large that only a penalty can have ended their growth: a level without
        # events costs nothing however far its coefficient runs. A least-squares model has none.
        if self.family.least_squares:
            return {}
        basis, names = self.basis, self.space.all_columns.names
        q = len(basis.center_sensitive)
        largest: dict[str, float] = {}
        for fit in fits:
            raw = np.atleast_2d(basis.raw_coefficients(fit.alpha, fit.beta))
            raw = raw[np.abs(raw).argmax(axis=0), np.arange(len(names))]
            large = np.abs(raw[q:]) > SEPARATING_COEFFICIENT
            levels = q + np.flatnonzero(large & basis.binary_predictors) if large.any() else ()
            separating = {names[k] for k in levels}
            separating |= set(fit.separation.columns if fit.separation else ())
            here = {name: float(raw[names.index(name)]) for name in separating}
            largest |= {k: b for k, b in here.items() if abs(b) >= abs(largest.get(k, 0.0))}
        return {name: largest[name] for name in names if name in largest}


def lambda_grid(smallest: float, largest: float, ceiling: float = math.inf) -> Floats:
    """Return 0, and λ at equal distances on a log scale."""
    # These are around the λ at which directions shrink by half, or end at a ceiling.
    high = 10.0**DECADES_ABOVE * largest if ceiling == math.inf else ceiling
    low = 10.0**-DECADES_BELOW * min(smallest, high)
    steps = int(GRID_DENSITY * math.log10(high / low))
    grid = low * (high / low) ** (np.arange(-1.0, steps + 1.0) / steps)
    grid[0] = 0.0
    return grid


def choose_above_floor(
    bounds: Floats, floor: float, free: float, choose: Callable[[Floats], list[Choice]]
) -> list[Choice]:
    """Choose λ for bounds above the floor; only the constant model meets lower ones."""
    # Or the model at λ = 0, whose share `free` can be below the floor if shares are not monotone.
    above = (bounds > floor * (1.0 + FLOOR_TOLERANCE)) | (floor == 0.0)
    chosen = iter(choose(bounds[above]) if above.any() else ())
    constant = Choice(np.inf, "infeasible")
    return [
        next(chosen) if searched else Choice.UNCONSTRAINED if r >= min(free, 1.0) else constant
        for r, searched in zip(bounds.tolist(), above.tolist(), strict=True)
    ]
