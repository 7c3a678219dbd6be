"""Gaussian paths against the bare product of the matrix with itself, and their memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from benchmarks.figures import Figure, Part, measured
from benchmarks.measure import peak_memory
from benchmarks.problems import PROBLEMS, Problem
from benchmarks.rivals import bare, glum_glm, ours, scikit_learn, statsmodels_ols

CASES = {
    **bare.CASES,
    **ours.CASES,
    **scikit_learn.CASES,
    "statsmodels OLS, one fit": statsmodels_ols.least_squares,
    "glum, gaussian, one fit": lambda problem: glum_glm.fit(*problem.data, "gaussian"),
}


def measure(quick: bool) -> Iterator[Figure]:
    for problem in PROBLEMS[:2] if quick else PROBLEMS:
        # Memory first, while this process is small: a child starts from its parent's peak.
        peaks = _peaks(problem) if problem.n >= 1_000_000 else {}
        _ = problem.data  # drawn now, not in the first call that is timed
        cases = {name: partial(case, problem) for name, case in CASES.items()}
        for figure in measured(problem.size, cases, 0.1 if quick else 3.0):
            peak = peaks.get(figure.case)
            yield figure if peak is None else replace(figure, extra={"memory": f"{peak:.2f}×"})
        problem.__dict__.pop("data", None)


def _peaks(problem: Problem) -> dict[str, float]:
    return {name: peak_memory(case, problem) for name, case in ours.CASES.items()}


PART = Part("Gaussian paths", "ZᵀZ", measure)
