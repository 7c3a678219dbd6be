"""Models whose penalty is found by a bound, or given outright."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.arguments import check_number
from fairridge.fairness import Definition
from fairridge.search import Choice, PenalizedProblem, Solution, solve

__all__ = ["given_penalty", "solve_penalized"]


def given_penalty(name: str, value: Any) -> str | None:
    """Return ``name=value`` of a penalty that was given outright; None if a bound chooses it."""
    return None if value is None else f"{name}={check_number(name, value, minimum=0.0):g}"


def solve_penalized(
    problem: PenalizedProblem,
    definition: Definition,
    bounds: Floats,
    *,
    given: float | None,
    tol: Any,
    max_iter: int,
) -> list[Solution]:
    """Find the smallest penalty that meets each bound, or take the given one."""
    tol = check_number("tol", tol, minimum=0.0, strict=True)
    if given is None:
        return solve(problem, definition, bounds, tol=tol, max_iter=max_iter)
    fit = problem.fits(np.array([given]))[0]
    done = "inactive" if given == 0.0 else "converged"
    status: Any = done if problem.converged(given) else "not-converged"
    value, components = definition.value(fit), definition.components(fit)
    return [Solution(float(r), fit, value, components, Choice(given, status)) for r in bounds]
