"""Two more of the paper's statements, tried directly (sections 3.1 and 4.3).

As in `checks`, every row is (check, quantity, r, value).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairridge.experiments.checks import BOUNDS, Problem, random_problem
from fairridge.experiments.settings import Settings
from fairridge.experiments.synthetic import Example, sample_example
from fairridge.experiments.table import Row

__all__ = ["CASES", "conditional_covariance", "formulas_part", "positive_solutions"]

Floats = NDArray[np.floating[Any]]
Value = tuple[str, str, float, float]  # check, quantity, r, value

CASES = ("random", "example")
PROBLEMS = 20
# From least squares to no effect of S: SᵀS has eigenvalues of about 700 and 1600.
PENALTIES = np.logspace(-2.0, 8.0, 101)


def formulas_part(case: str, run: int, settings: Settings) -> list[Row]:
    """Count solutions on random problems, or follow COV(ŷ, S | y) on the example."""
    if case == "random":
        rng = settings.generator(run, purpose=4)
        problems = [random_problem(rng, 200, int(rng.integers(2, 6)), 4) for _ in range(PROBLEMS)]
        values = [value for problem in problems for value in _solutions(problem)]
    else:
        values = list(_covariances(sample_example(settings, run)))
    return [
        {"check": check, "quantity": quantity, "r": r, "value": value}
        for check, quantity, r, value in values
    ]


def positive_solutions(size: float, c: float, d: float) -> int:
    """Count the λ > 0 with (l + 2λ)/(l + λ)²·c = d for l = size.

    That is dλ² + 2(ld − c)λ + l(ld − c) = 0. The product of its roots is
    l(ld − c)/d: one is positive if c > ld. Else none is real and positive,
    because the discriminant is 4c(c − ld).
    """
    roots = np.roots([d, 2 * (size * d - c), size * (size * d - c)])
    return int((np.isreal(roots) & (roots.real > 0)).sum())


def _solutions(problem: Problem) -> Iterator[Value]:
    """Positive solutions of both equations: as printed, and with c and d exchanged."""
    n = len(problem.y)
    sizes = np.linalg.eigvalsh(problem.S.T @ problem.S / n)
    d = float(((problem.S.T @ problem.y) ** 2).sum())
    for r in BOUNDS:
        c = r / (1 - r) * problem.predicted
        for size in (float(sizes[0]), float(sizes[-1])):
            yield "solutions", "printed", r, positive_solutions(size, c, d)
            yield "solutions", "exchanged", r, positive_solutions(size, d, c)


def conditional_covariance(S: Floats, y: Floats, fitted: Floats) -> Floats:
    """COV(ŷ, S_j | y) of centered columns: what y does not account for, linearly."""
    return S.T @ (fitted - y * float(y @ fitted) / float(y @ y)) / len(y)


def _covariances(sample: Example) -> Iterator[Value]:
    """Follow |COV(ŷ, S_j | y)| of FRRM over λ, relative to its value at the smallest λ."""
    S, X, y = (values - values.mean(axis=0) for values in (sample.S, sample.X, sample.y))
    U = X - S @ np.linalg.lstsq(S, X, rcond=None)[0]
    of_U = U @ np.linalg.lstsq(U, y, rcond=None)[0]
    curves = []
    for penalty in PENALTIES:
        alpha = np.linalg.solve(S.T @ S + penalty * np.eye(S.shape[1]), S.T @ y)
        curves.append(np.abs(conditional_covariance(S, y, S @ alpha + of_U)))
    relative = np.array(curves) / curves[0]
    for curve in relative.T:
        yield "conditional", "rises", np.nan, float((np.diff(curve) > 1e-12).any())
        yield "conditional", "smallest", np.nan, float(curve.min())
        yield "conditional", "last", np.nan, float(curve[-1])
