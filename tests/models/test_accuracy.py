"""Digits on ill-conditioned data, where the Gram matrix alone would lose them."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg

from fairridge import FairRidgeRegressor
from tests.zoo import LateModule

longley = LateModule("statsmodels.datasets.longley")


# The problems are almost collinear on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*almost linear combinations")


def exact_least_squares(A, y):
    """Solve the normal equations in rational arithmetic."""
    A = [[Fraction(value) for value in row] for row in A.tolist()]
    y = [Fraction(value) for value in y.tolist()]
    k = len(A[0])
    system = [
        [sum(row[i] * row[j] for row in A) for j in range(k)]
        + [sum(row[i] * value for row, value in zip(A, y, strict=True))]
        for i in range(k)
    ]
    for i in range(k):
        system[i] = [value / system[i][i] for value in system[i]]
        for j in range(k):
            if j != i:
                factor = system[j][i]
                system[j] = [a - factor * b for a, b in zip(system[j], system[i], strict=True)]
    return np.array([float(row[-1]) for row in system])


def digits(estimate, truth):
    return min(15.0, -np.log10(np.abs(estimate / truth - 1.0).max() + 1e-16))


def wampler(coefficients):
    powers = np.vander(np.arange(21.0), 6, increasing=True)
    return powers[:, 1:], powers @ coefficients


def longley_data():
    data = longley.load_pandas()
    return data.exog.to_numpy(float), data.endog.to_numpy(float)


PROBLEMS = {
    "wampler, coefficients 1": wampler(np.ones(6)),
    "wampler, coefficients 0.1^i": wampler(0.1 ** np.arange(6)),
    "longley": longley_data(),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(2))
def test_as_accurate_as_least_squares_on_the_same_columns(name, seed):
    X, y = PROBLEMS[name]
    S = np.random.default_rng(seed).normal(size=(len(y), 1))
    A = np.column_stack([np.ones(len(y)), S, X])
    truth = exact_least_squares(A, y)[2:]
    model = FairRidgeRegressor(1.0, sensitive=[0]).fit(np.column_stack([S, X]), y)
    assert model.lambda_ == 0.0
    assert digits(model.beta_, truth) >= digits(scipy.linalg.lstsq(A, y)[0][2:], truth) - 1.0


def test_the_bound_is_met_on_ill_conditioned_data():
    X, y = PROBLEMS["wampler, coefficients 1"]
    S = np.random.default_rng(0).normal(size=(len(y), 1)) + np.arange(len(y))[:, None]
    model = FairRidgeRegressor(0.01, sensitive=[0]).fit(np.column_stack([S, X]), y)
    assert model.status_ == "converged"
    assert abs(model.unfairness_ - 0.01) < 1e-10
