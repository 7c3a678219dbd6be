"""scikit-learn: one unconstrained fit."""

from sklearn.linear_model import LinearRegression, Ridge

from benchmarks.problems import Problem


def least_squares(problem: Problem) -> object:
    return LinearRegression().fit(*problem.data)


def ridge(problem: Problem) -> object:
    return Ridge(1.0, solver="cholesky").fit(*problem.data)


CASES = {
    "scikit-learn LinearRegression, one fit": least_squares,
    "scikit-learn Ridge (cholesky), one fit": ridge,
}
