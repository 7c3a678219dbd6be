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


@pytest.mark.parametrize("r", [0.0, 0.01, 0.7, 1.0])
def test_equals_the_model(data, r):
    S, X, y = data
    model = FairRidgeRegressor(r, sensitive=[0, 1, 2]).fit(np.column_stack([S, X]), y)
    U = X - X.mean(0) - S @ (S.T @ X) / len(S)
    solution = orthogonal_solution(S, y, float((U @ model.beta_).var()), r)
    np.testing.assert_allclose(solution.alpha, model.alpha_, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(solution.lambda_, model.lambda_, rtol=1e-8)
