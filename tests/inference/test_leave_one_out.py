"""Leave-one-out errors in closed form, against refits without each row."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor
from fairridge.estimators._training import read_training
from fairridge.inference.leave_one_out import leave_one_out


def _data(n, p, seed=3):
    rng = np.random.default_rng(seed)
    S = np.column_stack([rng.integers(0, 2, n), rng.normal(size=n)])
    X = rng.normal(size=(n, p)) + 0.7 * S[:, :1]
    y = X[:, :2].sum(axis=1) + S @ [1.0, 0.5] + rng.normal(size=n)
    return S, X, y, rng.uniform(0.2, 3.0, n)


def _closed(model, S, X, y, weight):
    """Return the closed form, the problem that was solved and its fit."""
    training = read_training(model, X, y, S, weight, None)
    _, problem = model._set_up(training)
    assert problem.space.compressed == (X.shape[1] > len(y))
    fit = model._solve_own(problem, training).fit
    return leave_one_out([(problem, fit)])[0], problem, fit


def _ridge(Z, y, weight, P):
    return np.linalg.solve((Z.T * weight) @ Z + P, (Z.T * weight) @ y)


def _refits(problem, fit, penalty, lambda_2, S, X, y, weight):
    """Decorrelate and fit without each row, with λ, λ₂ and scales of all rows."""
    basis, q, squares = problem.basis, S.shape[1], 0.0
    K = fit.lambda_ * penalty * np.outer(basis.sensitive.scale, basis.sensitive.scale)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        w = weight[rest]
        s, x, c = (np.average(one[rest], axis=0, weights=w) for one in (S, X, y))
        alpha = _ridge(S[rest] - s, y[rest] - c, w, K)
        B = _ridge(S[rest] - s, X[rest] - x, w, np.zeros((q, q)))
        U = X - x - (S - s) @ B
        beta = _ridge(U[rest], y[rest] - c, w, lambda_2 * np.diag(basis.predictors.scale**2))
        squares += weight[i] * (y[i] - c - (S[i] - s) @ alpha - U[i] @ beta) ** 2
    return squares


@pytest.mark.parametrize(
    ("penalty", "standardize", "p"), [("ridge", True, 60), ("ridge", False, 4), ("radial", True, 4)]
)
def test_closed_form_is_refitting_without_each_row(penalty, standardize, p):
    S, X, y, weight = _data(40, p)
    model = FairRidgeRegressor(0.05, penalty=penalty, predictor_penalty=3.0)
    model.set_params(standardize=standardize)
    found, problem, fit = _closed(model, S, X, y, weight)
    assert 0.0 < fit.lambda_ < np.inf
    scatter = np.cov(S.T, aweights=weight, bias=True) * weight.sum()
    scales = np.outer(problem.basis.sensitive.scale, problem.basis.sensitive.scale)
    K = np.eye(2) if penalty == "ridge" else scatter / scales
    np.testing.assert_allclose(found, _refits(problem, fit, K, 3.0, S, X, y, weight), rtol=1e-8)


@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_it_is_leave_one_out_of_the_estimator_where_the_bound_fixes_the_penalty(bound):
    """λ(0) = ∞ and λ(1) = 0 whatever the rows, and penalties see columns as they are."""
    S, X, y, weight = _data(25, 4)
    model = FairRidgeRegressor(bound, predictor_penalty=3.0, standardize=False)
    found, *_ = _closed(model, S, X, y, weight)
    squares = 0.0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model.fit(X[rest], y[rest], sensitive_features=S[rest], sample_weight=weight[rest])
        squares += weight[i] * (y[i] - model.predict(X[[i]], sensitive_features=S[[i]])[0]) ** 2
    np.testing.assert_allclose(found, squares, rtol=1e-8)
