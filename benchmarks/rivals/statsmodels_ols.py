"""statsmodels: one unconstrained fit, which forms the pseudo-inverse of the whole matrix."""

from statsmodels.regression.linear_model import OLS

from benchmarks.problems import Problem


def least_squares(problem: Problem) -> object:
    if problem.n > 100_000:
        raise NotImplementedError("minutes, and several copies of the matrix")
    Z, y = problem.data
    return OLS(y, Z).fit()


CASES = {"statsmodels OLS, one fit": least_squares}
