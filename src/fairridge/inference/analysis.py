"""From a fitted model to the covariance of everything that is estimated with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.inference.given import Given
from fairridge.inference.influence import Branch, Optimism, branch_of
from fairridge.inference.kinds import state_of
from fairridge.inference.linearize import linearize, share_of_predictors
from fairridge.inference.measures import Direct, MeanDeviance, Measure, VarianceShareOf
from fairridge.inference.passes import Pass, Quantity, Weighing, products
from fairridge.inference.population import Explaining
from fairridge.inference.state import Regime, State
from fairridge.penalties import Radial, Ridge
from fairridge.search import PenalizedProblem, Solution

# Standard errors between the unconstrained value and the bound, within which both regimes count.
NEAR_KINK = 3.0


@dataclass(frozen=True)
class Scheme:
    """How a covariance is estimated."""

    covariance: str = "HC1"  # the estimator
    clusters: Integers | None = None  # cluster of each row, 0 to G − 1
    frequency: bool = False  # whether a row of weight w stands for w identical rows


class Analysis:
    """The influence functions of one model, in both regimes of its bound, and their sums."""

    # `like` is another model of the same problem, whose model without a bound serves this one, too.

    def __init__(
        self,
        problem: PenalizedProblem,
        solution: Solution,
        scheme: Scheme,
        like: Analysis | None = None,
    ) -> None:
        check_model(problem, solution)
        if like is not None:  # the model without a bound is the same
            vars(self).update(free_state=like.free_state, free_branch=like.free_branch)
        self.problem, self.solution, self.scheme = problem, solution, scheme
        self.fit, self.basis, self.family = solution.fit, problem.basis, problem.family

    @property
    def regime(self) -> Regime:
        """Whether the bound does not bind, binds, or is zero."""
        if self.solution.choice.status == "inactive" or self.fit.lambda_ == 0.0:
            return "free"
        return "zero" if np.isinf(self.fit.lambda_) else "bound"

    @property
    def bounded(self) -> bool:
        """Whether the bound is strictly between 0 and 1."""
        return 0.0 < self.solution.unfairness < 1.0

    @property
    def isolated(self) -> Integers:
        """Places among [S, X] of levels whose rows all have the same outcome."""
        isolation = self.problem.isolation
        columns = [] if isolation is None else sorted(isolation.columns)
        return np.array(columns, dtype=np.intp) + len(self.basis.B)

    def loglik(self) -> float:
        """Return the log-likelihood of the rows that are not isolated."""
        problem, fit = self.problem, self.fit
        if not self.isolated.size:
            return problem.loglik(fit)
        return problem.engine.loglik(self.family, fit.deviance, problem.dispersion(fit))

    @cached_property
    def state(self) -> State:
        """The model."""
        known: State | None = vars(self).get("free_state")
        if self.regime == "free" and known is not None:
            return known
        return state_of(self.problem, self.fit, self.regime)

    @cached_property
    def free_state(self) -> State | None:
        """The unconstrained model; None if it has no limit."""
        if self.regime == "free":
            return self.state
        free = self.fit.unconstrained()
        if free.separation is not None or not self.problem.converged(0.0):
            return None
        return state_of(self.problem, free, "free")

    @cached_property
    def free_branch(self) -> Branch | None:
        """Influences on the unconstrained model."""
        state = self.free_state
        return None if state is None else branch_of(state)

    @cached_property
    def branch(self) -> Branch:
        """Influences on the model in the regime that it is in."""
        if self.regime == "free" and self.free_branch is not None:
            return self.free_branch
        binding = self._measure(self.state) if self.regime == "bound" else None
        return branch_of(self.state, binding, self.free_branch)

    @cached_property
    def other_branch(self) -> Branch | None:
        """Influences in the other regime, in which similar rows may put the model."""
        if self.regime != "free":
            return self.free_branch
        state = replace(self.state, regime="bound", lambda_=0.0)
        return branch_of(state, self._measure(self.state), self.free_branch)

    def _measure(self, state: State) -> Measure:
        return linearize(self.problem.definition, state, self.free_state)

    @cached_property
    def unconstrained(self) -> Measure | None:
        """The value of the definition in the unconstrained model; None if it has none."""
        if self.free_state is None:
            return None
        try:
            return self._measure(self.free_state)
        except ValueError:
            if self.bounded:
                raise
            return None

    def near_kink(self, unconstrained: Measure | None, error: float) -> bool:
        """Whether rows do not show if the bound binds, by the value without one and its error."""
        # A value that is the same in every sample, as that of individual fairness, has no kink.
        if unconstrained is None or not self.bounded or error <= 1e-8:
            return False
        return abs(unconstrained.value - self.solution.unfairness) <= NEAR_KINK * error

    # ------------------------------------------------------------------ passes

    def quantities(self) -> dict[str, Quantity]:
        """Return what is estimated besides the coefficients, as sums over branches."""
        quantities: dict[str, Quantity] = {}
        free, state = self.free_branch, self.free_state
        if free is None or state is None:
            return quantities
        if self.unconstrained is not None:
            quantities["unconstrained"] = (free.part(self.unconstrained),)
        if self.regime != "free" and self.family.separable:
            constrained = self.branch.part(MeanDeviance.of(self.state))
            quantities["price"] = (constrained, free.part(MeanDeviance.of(state), -1.0))
            quantities["optimism"] = self._directly(Optimism(self.branch))
        return quantities

    def optimism(self, named: Sequence[str], sums: Floats) -> float | None:
        """Return what the log-likelihood of the rows exceeds that of as many others by."""
        # A bound that costs much leaves large residuals, of which coefficients that would have
        # small ones without it follow little: fewer than their number. None where they are not
        # known, or free.
        if "optimism" not in named or self.scheme.clusters is not None:
            return None
        total = float(sums[-1, self.branch.width + list(named).index("optimism")])
        n_rows, gaussian = self.n_rows, self.family.least_squares
        weight, fit = self.basis.weight, self.fit
        dispersion = fit.deviance / weight if gaussian else self.problem.dispersion(fit)
        degrees = max(n_rows - self.parameters(), 1.0)
        return total / weight / dispersion * n_rows / degrees + float(gaussian)

    def of_population(self) -> dict[str, Quantity]:
        """Return quantities that relate R² on S in the rows to that in their population."""
        share, odds = self.share_on_sensitive, self.odds
        if share is None or not 0.0 < odds < np.inf:
            return {}
        slope = 1.0 / (2.0 * np.sqrt(odds) * (1.0 - share.value) ** 2)
        return {
            "spread": self._directly(share, slope),
            "explaining": self._directly(Explaining(self._repeated, share.given)),
        }

    def _directly(self, moved: Direct, factor: float = 1.0) -> Quantity:
        """Return a quantity that depends on rows alone: the model is fixed."""
        return ((factor, self.branch, None, moved),)

    @cached_property
    def share_on_sensitive(self) -> VarianceShareOf | None:
        """R² of the linear predictors on S; None if the definition is another."""
        if self.problem.definition.certifiable(self.family) != "linear predictors":
            return None
        return share_of_predictors(self.state, Given.of(self.state))

    @property
    def odds(self) -> float:
        """Odds of R² of the linear predictors on S in the rows; 0 if the bound is zero."""
        share = self.share_on_sensitive
        if share is None or self.regime == "zero":
            return 0.0
        return share.value / (1.0 - share.value) if share.value < 1.0 else np.inf

    def sums(self, branch: Branch, quantities: tuple[Quantity, ...] = ()) -> Floats:
        """Return sums of products of the terms of a branch and of some quantities."""
        self.require_rows()
        what, clusters = Pass(branch, quantities), self.scheme.clusters
        return products(self.fit.engine, self.family, what, self.weighing, clusters)

    def require_rows(self) -> None:
        """Refuse rows that are not in memory if they depend on each other."""
        if not self.family.separable and not _in_memory(self.fit.engine):
            raise ValueError("standard errors of a Cox model need the rows in memory.")

    @property
    def _repeated(self) -> bool:
        """Whether a row counts as often as its weight says."""
        # The rows of a cluster add up, whatever their weights stand for.
        return self.scheme.frequency and self.scheme.clusters is None

    @cached_property
    def weighing(self) -> Weighing:
        """How much each row counts."""
        if self.scheme.covariance != "HC3":
            return Weighing(self._repeated)
        if not self.family.separable or self.family.n_predictors > 1:
            why = "is a matrix" if self.family.separable else "depends on other rows' risk sets"
            raise ValueError(
                f"covariance='HC3' needs the leverage of single rows, which {why} in a "
                f"{self.family.name} model; use 'HC1'."
            )
        return Weighing(self._repeated, (self.state.leverage_root(), self.basis.weight))

    # ------------------------------------------------------------ coefficients

    @property
    def n_rows(self) -> float:
        """The number of rows, of those too that rows stand for."""
        return self.basis.weight if self.scheme.frequency else float(self.problem.engine.n_rows)

    @cached_property
    def finite_sample(self) -> tuple[float, float | None]:
        """The factor on HC0, and degrees of freedom (None for normal quantiles)."""
        scheme, n_rows = self.scheme, self.n_rows
        if scheme.clusters is not None:
            groups = int(scheme.clusters.max()) + 1
            return groups / (groups - 1.0), groups - 1.0
        degrees = n_rows - self.parameters()
        if degrees <= 0:
            raise ValueError(
                f"{n_rows:g} rows are too few for the errors of {self.parameters()} coefficients; "
                "use fewer columns."
            )
        if scheme.covariance == "HC0":
            return 1.0, None
        return (n_rows / degrees if scheme.covariance == "HC1" else 1.0), float(degrees)

    def parameters(self) -> int:
        """Return the number of coefficients."""
        return len(self.state.directions)

    def fair_values(self) -> Floats:
        """Return intercept, α and β, class by class."""
        fit = self.fit
        intercept = np.atleast_1d(fit.intercept)[:, None]
        return np.hstack([intercept, np.atleast_2d(fit.alpha), np.atleast_2d(fit.beta)]).ravel()

    def maps(self, branch: Branch) -> tuple[Floats, Floats, Floats]:
        """Return how raw and fair coefficients, by class, and λ̄ follow from terms."""
        *of_theta, lambda_ = branch.influences(np.eye(branch.width))
        by_class = self.family.to_class_coefficients(np.eye(len(branch.theta)))
        raw, fair = (
            np.einsum("wmk,cm->wck", part, by_class).reshape(branch.width, -1) for part in of_theta
        )
        return raw, fair, lambda_


def _in_memory(engine: Any) -> bool:
    try:
        return engine.weights is not None
    except ValueError:
        return False


def check_model(problem: PenalizedProblem, solution: Solution) -> None:
    """Refuse models whose coefficients are not a smooth function of the weights of the rows."""
    if problem.space.compressed:
        raise ValueError(
            "there are no standard errors with more predictor columns than rows, or with more than "
            "500 sparse ones; use fewer columns."
        )
    penalty = problem.settings.penalty
    if not isinstance(penalty, Ridge | Radial) and not penalty.l1:
        raise ValueError(
            f"penalty={penalty.name!r} has no standard errors: they are derived for "
            "penalty='ridge' and 'radial' only."
        )
    if not isinstance(penalty, Ridge | Radial):
        raise ValueError(
            f"penalty={penalty.name!r} selects among sensitive columns, and standard "
            "errors that ignore the selection are too small; use penalty='ridge' or 'radial'."
        )
    columns = problem.separating_columns([solution.fit])
    if columns:
        raise ValueError(
            f"column(s) {', '.join(map(repr, columns))} separate the responses: their "
            "coefficients have no limit and no standard errors. Merge rare levels or drop the "
            "columns."
        )
    if not solution.choice.met:
        raise ValueError(
            f"the fit has status {solution.choice.status!r}: the bound is not met, and there are "
            "no standard errors for coefficients that are not the solution."
        )
    _check_columns(problem)


def _check_columns(problem: PenalizedProblem) -> None:
    basis, names = problem.basis, problem.engine.names
    q, varies = len(basis.center_sensitive), basis.deviations > 0.0
    places, predictors = problem.space.dependent
    if problem.settings.predictor_penalty == 0.0:
        places += [q + k for k in predictors]
    # A constant column, such as that of a level without rows, has the coefficient 0.
    dependent = [names[k] for k in places if varies[k]]
    isolation = problem.isolation
    if dependent and isolation is not None and any(k - q in isolation.columns for k in places):
        raise ValueError(
            f"column(s) {', '.join(map(repr, dependent))} compare with a base level that is "
            "isolated, because all of its rows have the same outcome; there are no standard "
            "errors. Make another level the base, or leave those rows out."
        )
    if dependent:
        raise ValueError(
            f"column(s) {', '.join(map(repr, dependent))} are linear combinations of others, so "
            "their coefficients are not determined and have no standard errors; drop these columns."
        )
    if not varies[:q].any():
        raise ValueError("all sensitive columns are constant: there is nothing to bound.")
