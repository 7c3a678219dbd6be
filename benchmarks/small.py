"""Small data in a frame: what Python itself costs, against one unconstrained fit."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from sklearn.linear_model import LinearRegression

from benchmarks.figures import Figure, Part, measured
from benchmarks.problems import PROBLEMS
from benchmarks.rivals import glum_glm, statsmodels_ols
from fairridge import FairRidgeRegressor


def measure(quick: bool) -> Iterator[Figure]:
    problem = PROBLEMS[0]
    Z, response = problem.data
    sensitive = [f"s{k + 1}" for k in range(problem.q)]
    frame = pd.DataFrame(Z, columns=[*sensitive, *(f"x{k + 1}" for k in range(problem.p))])
    y = pd.Series(response)
    model = FairRidgeRegressor(0.05, sensitive=sensitive)
    cases = {
        "scikit-learn LinearRegression": lambda: LinearRegression().fit(frame, y),
        "fairridge, fit, r = 0.05": lambda: model.fit(frame, y),
        "fairridge, 101-point path": lambda: model.path(frame, y),
        "statsmodels OLS": lambda: statsmodels_ols.least_squares(problem),
        "glum, gaussian": lambda: glum_glm.fit(frame, y, "gaussian"),
    }
    yield from measured(f"{problem.size}, pandas frame", cases, 0.1 if quick else 2.0)


PART = Part("Small data", "LinearRegression", measure)
