"""Standard errors against a path, and certified models against plain ones."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure, Part, measured
from benchmarks.problems import PROBLEMS
from fairridge import FairRidgeRegressor


def measure(quick: bool) -> Iterator[Figure]:
    problem = PROBLEMS[1 if quick else 2]
    Z, y = problem.data
    budget = 0.1 if quick else 4.0
    model = FairRidgeRegressor(0.05, sensitive=problem.sensitive)
    fitted = FairRidgeRegressor(0.05, sensitive=problem.sensitive).fit(Z, y)
    certified = FairRidgeRegressor(0.05, sensitive=problem.sensitive, confidence=0.95)
    cases = {
        "fairridge, 101-point path": lambda: model.path(Z, y),
        "fairridge, standard errors of a fitted model": lambda: fitted.inference(Z, y),
    }
    yield from measured(problem.size, cases, budget)
    cases = {
        "fairridge, fit, r = 0.05": lambda: model.fit(Z, y),
        "fairridge, certified fit, confidence = 0.95": lambda: certified.fit(Z, y),
    }
    yield from measured(f"{problem.size}, certificates", cases, budget)
    problem.__dict__.pop("data", None)


PART = Part("Standard errors and certificates", "the row above", measure)
