"""Searches that start from a sample find what others find, whatever the sample."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.engines import memory
from fairridge.search import sample, setup

N = 6000
CASES = {
    "binomial": {},
    "inactive": {"unfairness": 0.9},
    "free": {"unfairness": 1.0},
    "fair": {"unfairness": 0.0},
    "blind": {"blind": True},
    "controls": {"controls": [3]},
    "penalties": {"penalty": "lasso", "predictor_penalty": 5.0},
    "means": {"definition": "mean-parity"},
    "multinomial": {},
    "poisson": {},
    "gamma": {},
    "cox": {},
}


@pytest.fixture
def sampled(monkeypatch):
    """Return a function that lets small data have samples, or not."""

    def switch(on):
        monkeypatch.setattr(setup, "SMALL_DATA", 0 if on else np.inf)
        monkeypatch.setattr(sample, "ROWS_EACH", 20.0)

    switch(True)
    return switch


def rows(n=N):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(n, 6))
    Z[:, 2:] += 0.4 * Z[:, :1]
    Z[:, 3] = Z[:, 3] > 0.3
    Z[:, 1] = Z[:, 1] > 0.8
    return rng, Z, Z @ [0.6, -0.5, 0.4, -0.3, 0.2, 0.1] - 0.5


def problem_of(case):
    rng, Z, eta = rows()
    if case == "multinomial":
        scores = np.column_stack([eta, -0.5 * eta, np.zeros(N)]) + rng.gumbel(size=(N, 3))
        return FairRidgeClassifier, Z, scores.argmax(axis=1)
    if case in ("poisson", "gamma"):
        mean = np.exp(0.4 * eta)
        y = rng.poisson(mean) if case == "poisson" else mean * rng.gamma(3.0, 1.0 / 3.0, N)
        return FairRidgeRegressor, Z, y
    if case == "cox":
        y = np.column_stack([rng.exponential(np.exp(-eta)), rng.random(N) < 0.7])
        return FairRidgeSurvival, Z, y
    return FairRidgeClassifier, Z, (rng.random(N) < 1.0 / (1.0 + np.exp(-eta))).astype(int)


def fitted(case, order=slice(None)):
    kind, Z, y = problem_of(case)
    options = {"unfairness": 0.03, "sensitive": [0, 1]} | CASES[case]
    if case in ("poisson", "gamma"):
        options["family"] = case
    return kind(**options).fit(Z[order], y[order])


def assert_same(found, expected):
    assert found.status_ == expected.status_
    assert found.unfairness_ == pytest.approx(expected.unfairness_, abs=1e-10)
    assert found.lambda_ == pytest.approx(expected.lambda_, rel=1e-7)
    assert found.deviance_ == pytest.approx(expected.deviance_, rel=1e-11)
    scale = np.abs(expected.coef_).max()
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0.0, atol=2e-9 * scale)


@pytest.mark.parametrize("case", CASES)
def test_a_sample_changes_nothing_but_the_passes(sampled, case):
    found = fitted(case)
    sampled(False)
    assert_same(found, fitted(case))


def _first(n_rows, count):
    return np.arange(count)


@pytest.mark.parametrize("order", ["response", "group"])
@pytest.mark.parametrize("case", ["free", "poisson", "means"])
def test_bad_samples_cost_time_only(sampled, monkeypatch, case, order):
    """Of sorted rows, the first ones have one outcome or one group."""
    _, Z, y = problem_of(case)
    order = np.argsort({"response": y, "group": Z[:, 1]}[order], kind="stable")
    monkeypatch.setattr(memory, "spread_rows", _first)
    found = fitted(case, order)
    sampled(False)
    assert_same(found, fitted(case, order))


@pytest.mark.parametrize("separated", ["level", "all"])
def test_separated_rows_end_where_they_end_without_a_sample(sampled, separated):
    """No minimum exists, and where the search ends must not depend on where it started."""
    rng, Z, eta = rows()
    chance = (rng.random(N) < 1.0 / (1.0 + np.exp(-eta))) & (Z[:, 3] == 0.0)
    y = (eta > 0.0 if separated == "all" else chance).astype(int)
    with pytest.warns(UserWarning, match="separate the responses"):
        found = FairRidgeClassifier(1.0, sensitive=[0, 1]).fit(Z, y)
    sampled(False)
    with pytest.warns(UserWarning, match="separate the responses"):
        expected = FairRidgeClassifier(1.0, sensitive=[0, 1]).fit(Z, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6)


@pytest.mark.parametrize("r", [0.3, 0.9999])
def test_strong_effects_take_few_passes(r):
    """Whether the bound binds or not, and though the deviance falls to a tenth."""
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(50_000, 20))
    Z[:, 3:] += 0.3 * Z[:, :1]
    y = (Z @ rng.normal(size=20) + 0.5 * rng.normal(size=len(Z)) > 0.0).astype(int)
    model = FairRidgeClassifier(r, sensitive=[0, 1, 2]).fit(Z, y)
    assert model.n_iter_ <= 14
    assert model.status_ == ("converged" if r == 0.3 else "inactive")
