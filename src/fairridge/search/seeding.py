"""Seeds of penalized models, and models that start from them."""

from __future__ import annotations

from collections.abc import Iterable

from fairridge.search.penalized_glm import PenalizedGLM
from fairridge.search.seed import Seed
from fairridge.search.solution import Solution
from fairridge.solvers import Point

__all__ = ["seeds_of", "sow"]


def seeds_of(minima: PenalizedGLM, solutions: Iterable[Solution]) -> tuple[Seed, ...]:
    """Return what was found for bounds; nothing if deviances of rows do not add up."""
    if not minima.family.separable:
        return ()
    engine, family, basis = minima.engine, minima.family, minima.basis
    values = {one.fit.lambda_: one.achieved for one in solutions}
    models = {x: minima.coordinates.raw(minima.point(x).theta) for x in values}
    return tuple(
        Seed.at(engine, family, basis.center, raw, x / basis.weight, values[x])
        for x, raw in models.items()
    )


def sow(minima: PenalizedGLM, seeds: Iterable[Seed]) -> None:
    """Start from minima of more rows, with the derivatives on these rows."""
    for seed in seeds:
        if seed.family == minima.family:  # a dispersion may have been estimated
            here = seed.about(minima.basis.center)
            gradient, hessian = minima.coordinates.derivatives(here.sums)
            assert hessian is not None
            theta = minima.coordinates.theta(here.raw)
            point = Point(theta, here.sums.deviance, gradient, hessian)
            minima.sow(seed.value, seed.place * minima.basis.weight, point)
