"""Where models of most rows may start: at models of all rows.

Of all rows but some, the deviance and its derivatives at given coefficients
are those of all rows less those of the rest. So in a fold of cross-validation
the point at which the model of all rows ended, with the fold's own gradient and
Hessian, costs only a pass over the validation rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fairridge._typing import Floats
from fairridge.engines import Engine
from fairridge.families import Family
from fairridge.families.sums import GLMSums
from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.problem import Solution
from fairridge.solvers import Point


@dataclass(frozen=True)
class FoldStart:
    """A model of some rows, with the derivatives of its deviance."""

    family: Family  # the family
    center: Floats  # where the intercept is that of the linear predictor, of shape (q+p,)
    # Intercept and coefficients of [S, X] of each linear predictor, of shape (m, 1+q+p).
    raw: Floats
    sums: GLMSums  # deviance, gradient and Hessian there
    place: float  # where a search met the model: λ, divided by the weight of the rows, or a limit
    value: float  # what the definition was there

    @classmethod
    def at(
        cls,
        engine: Engine,
        family: Family,
        center: Floats,
        raw: Floats,
        place: float,
        value: float,
    ) -> FoldStart:
        """Make one pass over all rows."""
        sums = engine.derivatives(family, center, raw[:, 0], raw[:, 1:], 2)
        return cls(family, center, raw, sums, place, value)

    def without(self, engine: Engine) -> FoldStart:
        """Return the same without some rows."""
        part = engine.derivatives(self.family, self.center, self.raw[:, 0], self.raw[:, 1:], 2)
        return replace(self, sums=self.sums - part)

    def about(self, center: Floats) -> FoldStart:
        """Return the same with the intercept at another center."""
        gap, raw = self.center - center, self.raw.copy()
        raw[:, 0] -= raw[:, 1:] @ gap
        return replace(self, center=center, raw=raw, sums=self.sums.recentered(gap))


def fold_starts(glm: PenalizedGLM, solutions: Iterable[Solution]) -> tuple[FoldStart, ...]:
    """Return what was found for bounds; nothing if deviances of rows do not add up."""
    if not glm.family.separable:
        return ()
    engine, family, basis = glm.engine, glm.family, glm.basis
    values = {solution.fit.lambda_: solution.achieved for solution in solutions}
    models = {x: glm.coordinates.raw(glm.solved(x)[1].theta) for x in values}
    return tuple(
        FoldStart.at(engine, family, basis.center, raw, x / basis.weight, values[x])
        for x, raw in models.items()
    )


def start_near(glm: PenalizedGLM, starts: Iterable[FoldStart]) -> None:
    """Start from glm of more rows, with the derivatives on these rows."""
    for start in starts:
        if start.family == glm.family:  # a dispersion may have been estimated
            here = start.about(glm.basis.center)
            gradient, hessian = glm.coordinates.derivatives(here.sums)
            assert hessian is not None
            theta = glm.coordinates.theta(here.raw)
            point = Point(theta, here.sums.deviance, gradient, hessian)
            glm.start_near(start.value, start.place * glm.basis.weight, point)
