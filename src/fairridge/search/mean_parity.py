"""Models whose predicted means S may explain to a given share only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairridge._typing import Booleans, Floats
from fairridge.engines import Engine, has_many_sparse, is_wide
from fairridge.families import Family
from fairridge.models import compress
from fairridge.penalties import Penalty, Radial
from fairridge.search.compressed import (
    CompressedProblem,
    compressed_problem,
    minima_in_features,
)
from fairridge.search.gaussian import gaussian_problem
from fairridge.search.mean_minima import MeanMinima
from fairridge.search.mean_space import MeanSpace, mean_space
from fairridge.search.minima import glm_minima
from fairridge.search.problem import LOOSE, ModelSettings, PenalizedProblem
from fairridge.search.solution import AttributeShare, Choice, Solution, Status
from fairridge.search.sparse import sparse_problem
from fairridge.solvers.mean_ridge import Goal, MeanState, is_minimum, reach

# What may become of the bound of one attribute, from bad to good.
EACH: tuple[Status, ...] = ("not-converged", "converged", "inactive")


class MeanProblem(MeanMinima):
    """Models with a bound on what S explains of their means, or one for each attribute."""

    def solve_each(
        self,
        bounds: Mapping[str, float],
        columns: Mapping[str, Sequence[int]],
        *,
        tol: float = 1e-10,
    ) -> Solution:
        """Bound what each of several attributes alone explains of the means.

        The penalty is Σ_j λ_j W a_jᵀΣ_jj⁻¹a_j, with λ_j = 0 for attributes that
        meet their bounds without it.

        Parameters
        ----------
        bounds : mapping of str to float
            The largest R² of the means on each attribute. Attributes that are
            not named are not bounded.
        columns : mapping of str to sequence of int
            The columns of S that belong to each attribute.
        tol : float
            By which a bound may be exceeded.
        """
        limits = np.array(list(bounds.values()), dtype=np.float64)
        groups = [np.asarray(columns[name], dtype=np.intp) for name in bounds]
        space = mean_space(self.minima, self.definition.means(self.fit(0.0)), groups)
        state, active = self._each(space, limits, tol)
        if state is None:
            # What all attributes explain together is no less than what any of them does.
            strictest = np.array([limits.min()])
            choice = self.choose(self.definition, strictest, tol, self.minima.max_iter)[0]
            lambdas, fit = np.where(active, choice.lambda_, 0.0), self.fit(choice.lambda_)
        else:
            lambdas = np.where(active, state.penalties() / space.unit, 0.0)
            lambdas[active & (limits == 0.0)] = np.inf
            fit = self._as_fit(float(lambdas.max()), space.point(state))
        sums = fit.mean_sums(space.means)
        shares = np.array([form.share(sums) for form in space.forms])
        lost = (shares > limits + LOOSE * tol) | (active if state is None else False)
        states = np.select([lost, active], EACH[:2], EACH[2])
        columns_of = (limits, lambdas, shares, states)
        each = {
            name: AttributeShare(*values)
            for name, *values in zip(bounds, *(a.tolist() for a in columns_of), strict=True)
        }
        worst = next(status for status in EACH if status in states)
        value, parts = self.definition.value(fit), self.definition.components(fit)
        return Solution(1.0, fit, value, parts, Choice(fit.lambda_, worst), each=each)

    def _each(
        self, space: MeanSpace, limits: Floats, tol: float
    ) -> tuple[MeanState | None, Booleans]:
        """Find the bounds that bind, and the model that meets them; None if the way is lost.

        Bounds are added one by one: one attribute may say nearly the same as another, and then
        only one of their bounds can bind.
        """
        state, active = space.start, np.zeros(len(limits), dtype=bool)
        if (space.shares <= limits).all():
            return state, active
        for _ in range(4 * len(limits)):
            shares = state.at.shares()
            idle = active & (limits > 0.0) & (state.penalties() < 0.0)
            above = ~active & (shares > limits + tol)
            if not (above.any() or idle.any()):
                return state, active
            if idle.any():
                active = active & ~idle
            else:
                active = active.copy()
                active[np.argmax(np.where(above, shares / np.maximum(limits, tol), 0.0))] = True
            goals = [Goal(int(j), float(limits[j])) for j in np.flatnonzero(active)]
            found = self._reached(space, state, goals)
            if found is None:
                break
            state = found
        return None, active | (space.shares > limits)

    def _reached(
        self, space: MeanSpace, state: MeanState, goals: Sequence[Goal]
    ) -> MeanState | None:
        """Follow the minima to several bounds, from a state or from others."""
        for own, start in self._starts(state):
            here = replace(space, gone=own.gone)
            # States of other spaces have one form for all S.
            at = state if start is state else here.state(start.at.theta, self._loose.typical)
            found = reach(here.evaluate, at, goals, self.minima.max_iter, self._limit)
            if found is not None and is_minimum(found, goals):
                return found
        return None


def require_ridge(penalty: Penalty, definition: Any, family: Family) -> None:
    """Raise if a penalty is asked for beside the definition's own, or there are no means."""
    if penalty.name != "ridge":
        raise ValueError(
            f"penalty={penalty.name!r}: definition={definition.name!r} has its own ridge, on what "
            "S explains of the predicted means; leave penalty at 'ridge'."
        )
    definition.require(family)


def mean_problem(
    engine: Engine, family: Family, definition: Any, settings: ModelSettings
) -> PenalizedProblem:
    """Set up a model with a bound on what S explains of its means.

    Parameters
    ----------
    engine : Engine
        Where the rows are.
    family : Family
        The family of the response.
    definition : MeanShare
        Says which means are looked at.
    settings : ModelSettings
        Its penalties and limits; the definition brings its own ridge.
    """
    require_ridge(settings.penalty, definition, family)
    if family.least_squares and not settings.each:
        own = replace(settings, penalty=Radial())
        if settings.predictor_penalty > 0.0 and has_many_sparse(engine):
            return sparse_problem(engine, family, own)
        if is_wide(engine):
            return compressed_problem(engine, family, own)
        return gaussian_problem(engine, own)
    if is_wide(engine):
        found = compress(
            engine,
            standardize=settings.standardize,
            predictor_penalty=settings.predictor_penalty,
        )
        minima = minima_in_features(found, family, settings)
        return CompressedProblem(found, MeanProblem(minima, definition, settings.classes), engine)
    return MeanProblem(glm_minima(engine, family, settings), definition, settings.classes)
