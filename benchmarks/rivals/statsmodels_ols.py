"""statsmodels: one unconstrained fit, which forms the pseudo-inverse of the whole matrix."""

from typing import Any

from benchmarks.problems import Problem


def least_squares(problem: Problem) -> object:
    from statsmodels.api import OLS, add_constant

    if problem.n > 100_000:
        raise NotImplementedError("minutes, and several copies of the matrix")
    Z, y = problem.data
    return OLS(y, add_constant(Z)).fit()


def logistic(Z: Any, y: Any) -> object:
    from statsmodels.api import Logit, add_constant

    return Logit(y, add_constant(Z)).fit(disp=0)
