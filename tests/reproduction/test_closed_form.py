"""Orthogonal sensitive attributes: the corrected closed form of the paper's section 3.2."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor
from reproduction.closed_form import orthogonal_solution


@pytest.fixture
def data():
    rng = np.random.default_rng(9)
    S = np.linalg.qr(np.column_stack([np.ones(200), rng.normal(size=(200, 3))]))[0][:, 1:]
    S *= np.sqrt(200)
    X = rng.normal(size=(200, 2)) + 0.3 * S[:, :2]
    return S, X, S @ [1.0, 2.0, -1.0] + X @ [1.0, 1.0] + rng.normal(size=200)


@pytest.mark.parametrize("r", [0.0, 1e-6, 0.01, 0.3, 0.7, 0.999, 1.0])
def test_equals_the_model(data, r):
    S, X, y = data
    model = FairRidgeRegressor(r, sensitive=[0, 1, 2]).fit(np.column_stack([S, X]), y)
    U = X - X.mean(0) - S @ (S.T @ X) / len(S)
    solution = orthogonal_solution(S, y, float((U @ model.beta_).var()), r)
    np.testing.assert_allclose(solution.alpha, model.alpha_, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(solution.lambda_, model.lambda_, rtol=1e-8)


def test_the_correlation_grows_with_the_root_of_r(data):
    S, X, y = data
    Z = np.column_stack([S, X])
    bounds = np.array([0.01, 0.04, 0.16, 0.36])
    correlations = [
        np.corrcoef(FairRidgeRegressor(r, sensitive=[0, 1, 2]).fit(Z, y).predict(Z), S[:, 1])[0, 1]
        for r in bounds
    ]
    np.testing.assert_allclose(correlations / np.sqrt(bounds), correlations[0] / 0.1, rtol=1e-9)


def test_the_printed_formula_does_not_meet_the_bound(data):
    S, X, y = data
    model = FairRidgeRegressor(0.05, sensitive=[0, 1, 2]).fit(np.column_stack([S, X]), y)
    U = X - X.mean(0) - S @ (S.T @ X) / len(S)
    variance = float((U @ model.beta_).var())
    products = S.T @ (y - y.mean())
    printed = np.sqrt(variance * 0.05 / 0.95) * products / (products @ products)
    share = (S @ printed).var() / ((S @ printed).var() + variance)
    assert share < 0.05 / 100


def test_bad_input_is_refused(data):
    S, _, y = data
    with pytest.raises(ValueError, match="orthogonal"):
        orthogonal_solution(S * 2, y, 1.0, 0.1)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        orthogonal_solution(S, y, 1.0, 1.1)


def test_no_penalty_is_negative():
    rng = np.random.default_rng(0)
    S = np.sqrt(2.0) * np.array([[1.0], [-1.0], [0.0], [0.0]])
    for _ in range(1000):
        a, b = rng.uniform(0.1, 3.0, 2)
        r = a**2 / (a**2 + b**2) * (1.0 + rng.integers(-8, 9) * 2.0**-53)
        assert orthogonal_solution(S, a * S[:, 0], b**2, r).lambda_ >= 0.0
