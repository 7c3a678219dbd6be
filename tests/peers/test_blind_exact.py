"""The best model of X alone under a bound, against a general optimizer."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fairridge import BlindExactRegressor, FairRidgeRegressor
from fairridge.exceptions import BoundWarning

# How much smaller a loss, relative to that of the mean, SLSQP may find: its own tolerance.
SLACK = 1e-7


def problem(seed, shape=None):
    rng = np.random.default_rng(seed)
    n, (q, p) = 80, shape or (rng.integers(1, 4), rng.integers(1, 7))
    S = rng.normal(size=(n, q))
    X = S @ rng.normal(size=(q, p)) * rng.uniform(0.2, 2.0) + rng.normal(size=(n, p))
    y = X @ rng.normal(size=p) + 2.0 * S @ rng.normal(size=q) + rng.normal(size=n)
    return S, X, y, float(rng.choice([0.01, 0.05, 0.2])), rng


def forms(S, X, y):
    """Matrices of ‖Xb‖², ‖P_S Xb‖² and yᵀXb, in units of the variance of y."""
    s, x, t = S - S.mean(0), X - X.mean(0), y - y.mean()
    cross = s.T @ x
    size = t @ t
    return x.T @ x / size, cross.T @ np.linalg.solve(s.T @ s, cross) / size, x.T @ t / size


def compare(seed):
    S, X, y, r, rng = problem(seed)
    G, explained, b = forms(S, X, y)

    def loss(c):
        return c @ G @ c - 2.0 * c @ b

    bound = {
        "type": "ineq",
        "fun": lambda c: r * c @ G @ c - c @ explained @ c,
        "jac": lambda c: 2.0 * (r * G @ c - explained @ c),
    }
    model = BlindExactRegressor(r).fit(X, y, sensitive_features=S)
    ridge = FairRidgeRegressor(r, blind=True).fit(X, y, sensitive_features=S)
    assert bound["fun"](model.coef_) >= -1e-12
    assert loss(model.coef_) <= loss(ridge.coef_) + 1e-12
    for start in [ridge.coef_, *rng.normal(size=(3, X.shape[1]))]:
        found = minimize(
            loss,
            start,
            jac=lambda c: 2.0 * (G @ c - b),
            constraints=[bound],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-14},
        )
        if bound["fun"](found.x) >= -1e-9:
            assert loss(model.coef_) <= found.fun + SLACK
    return model.status_


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.BoundWarning")
def test_no_optimizer_finds_a_better_model():
    states = [compare(seed) for seed in range(100, 124)]
    assert set(states) == {"converged", "inactive", "infeasible"}


@pytest.mark.parametrize("r", [0.0, 0.02, 0.3, 1.0])
def test_it_solves_its_equations(r):
    S, X, y, _, _ = problem(2, (2, 5))
    G, explained, b = forms(S, X, y)
    model = BlindExactRegressor(r).fit(X, y, sensitive_features=S)
    mu, c = model.lambda_, model.coef_
    if np.isfinite(mu):
        np.testing.assert_allclose(G @ c + mu * (explained - r * G) @ c, b, atol=1e-10)
    assert model.unfairness_ <= r + 1e-12
    share = (c @ explained @ c) / (c @ G @ c)
    assert share == pytest.approx(model.unfairness_, abs=1e-12)


def test_without_any_dependence_it_is_the_ridge_form():
    S, X, y, _, _ = problem(2, (2, 5))
    exact, ridge = (
        model.fit(X, y, sensitive_features=S)
        for model in (BlindExactRegressor(0.0), FairRidgeRegressor(0.0, blind=True))
    )
    np.testing.assert_allclose(exact.coef_, ridge.coef_, rtol=1e-12)
    assert exact.unfairness_ < 1e-25


def test_below_the_smallest_share_only_the_constant_is_left():
    S, X, y, _, _ = problem(3, (2, 1))
    with pytest.warns(BoundWarning, match="Only the same prediction for everyone"):
        model = BlindExactRegressor(0.01).fit(X, y, sensitive_features=S)
    assert model.status_ == "infeasible"
    assert not model.coef_.any()


@pytest.mark.parametrize("small", [0.0, 1e-9])
def test_a_response_without_anything_in_the_fair_direction(small):
    # x1 has nothing to do with S; y has nothing, or next to nothing, of x1.
    n = 4000
    rng = np.random.default_rng(0)
    Z = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, 4))]))[0][:, 1:]
    S, x0, x1, noise = (np.sqrt(n) * Z).T
    X, y = np.column_stack([S + x0, x1]), S + x0 + small * x1 + noise
    r = 0.1
    model = BlindExactRegressor(r).fit(X, y, sensitive_features=S[:, None])
    assert model.unfairness_ == pytest.approx(r, abs=1e-9)
    # Half of x0 + S belongs to S: c0²(½ − r) = r·c1², and c0 = √2/(1 + μ(½ − r)), μ = 1/r.
    first = 1.0 / (1.0 + (0.5 - r) / r)
    assert model.coef_[0] == pytest.approx(first, rel=1e-6)
    assert abs(model.coef_[1]) == pytest.approx(first * np.sqrt(2.0 * (0.5 - r) / r), rel=1e-6)
