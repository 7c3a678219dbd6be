"""Shapley splits and proxies against brute force."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.metrics.attribution import lmg


def brute_force(S, eta, players):
    """Average what each attribute adds to R² over all orders, by least squares on rows."""
    k = max(players) + 1
    players = np.array(players)

    def r_squared(chosen):
        columns = S[:, np.isin(players, list(chosen))]
        if not columns.shape[1]:
            return 0.0
        fit = LinearRegression().fit(columns, eta)
        explained = (fit.predict(columns) - eta.mean(axis=0)) ** 2
        return explained.sum() / ((eta - eta.mean(axis=0)) ** 2).sum()

    shares = np.zeros(k)
    orders = list(permutations(range(k)))
    for order in orders:
        for place, j in enumerate(order):
            shares[j] += r_squared(order[: place + 1]) - r_squared(order[:place])
    return shares / len(orders)


def split(S, eta, players):
    eta = eta.reshape(len(S), -1)
    joint = np.cov(np.column_stack([S, eta]).T, bias=True)
    q = S.shape[1]
    variance = np.trace(joint[q:, q:])
    names = [f"s{j}" for j in range(max(players) + 1)]
    return lmg(joint[:q, :q], joint[:q, q:], variance, players, names)


@pytest.mark.slow
@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    players=st.sampled_from([(0,), (0, 1), (0, 0, 1), (0, 1, 2), (0, 1, 1, 2, 3)]),
    several=st.booleans(),
)
def test_the_split_is_the_mean_over_all_orders(seed, players, several):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(60, len(players))) @ rng.normal(size=(len(players),) * 2)
    eta = rng.normal(size=(60, 1 + several)) + S @ rng.normal(size=(len(players), 1 + several))
    found = split(S, eta, players)
    np.testing.assert_allclose(found.shares, brute_force(S, eta, players), atol=1e-9)
    np.testing.assert_allclose(found.shares.sum(), found.total, rtol=1e-10)
    assert (found.shares >= -1e-12).all()


def test_too_many_attributes_and_constant_predictions():
    with pytest.raises(ValueError, match="16 sensitive attributes; pass at most 15"):
        lmg(np.eye(16), np.ones(16), 1.0, range(16), [str(k) for k in range(16)])
    nothing = lmg(np.eye(2), np.zeros(2), 0.0, [0, 1], ["a", "b"])
    assert nothing.total == 0.0
    assert not nothing.shares.any()


@pytest.fixture(scope="module")
def fitted(people):
    X = people[["age", "sex", "region", "income", "score"]]
    return FairRidgeRegressor(0.1, sensitive=["age", "region"]).fit(X, people["gaussian"]), X


def test_a_model_splits_the_unfairness_it_reports(fitted):
    model, X = fitted
    found = fairridge.attribution(model)
    assert found.attributes == ("age", "region")
    np.testing.assert_allclose(found.total, model.unfairness_, rtol=1e-10)
    np.testing.assert_allclose(found.shares.sum(), model.unfairness_, rtol=1e-10)
    S = pd.get_dummies(X[["age", "region"]], dtype=float).drop(columns="region_east").to_numpy()
    expected = brute_force(S, model.predict(X), (0, 1, 1))
    np.testing.assert_allclose(found.shares, expected, rtol=1e-8)
    assert found.to_frame()["attribute"].tolist() == ["age", "region"]


def test_every_family_splits_the_variance_share_of_its_linear_predictor(people):
    X = people[["age", "sex", "region", "income", "score"]]
    survival = people[["time", "status"]].rename(columns={"status": "event"})
    S = pd.get_dummies(X[["age", "region"]], dtype=float).drop(columns="region_east").to_numpy()
    for model, y in (
        (FairRidgeClassifier(0.1, sensitive=["age", "region"]), people["multinomial"]),
        (FairRidgeSurvival(0.1, sensitive=["age", "region"]), survival),
    ):
        model.fit(X, y)
        eta = X.pipe(lambda x, m=model: m._linear_predictor(x, None, None))
        expected = brute_force(S, eta, (0, 1, 1))
        np.testing.assert_allclose(fairridge.attribution(model).shares, expected, rtol=1e-7)


def test_proxies_split_the_differences_of_means(fitted):
    model, X = fitted
    found = fairridge.proxies(model)
    eta = model.predict(X)
    west = X["region"] == "west"
    k = found.sensitive.index("region[west]")
    np.testing.assert_allclose(
        found.total[0, k], eta[west].mean() - eta[~west].mean(), rtol=1e-8, atol=1e-10
    )
    income = X["income"] * model.coef_[model.coef_names_ == "income"]
    j = found.predictors.index("income")
    np.testing.assert_allclose(
        found.differences[0, j, k], income[west].mean() - income[~west].mean(), rtol=1e-10
    )
    sex = (X["sex"] == "male") * model.coef_[model.coef_names_ == "sex[male]"]
    np.testing.assert_allclose(
        found.differences[0, found.predictors.index("sex"), k],
        sex[west].mean() - sex[~west].mean(),
        rtol=1e-8,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        found.explained,
        [model.explained_by_sensitive_[k] for k in range(len(found.predictors))],
        rtol=1e-8,
    )


def test_proxies_sum_to_all_that_enters_and_all_that_remains(fitted):
    found = fairridge.proxies(fitted[0])
    np.testing.assert_allclose(found.entering[:, :-1].sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_allclose(found.remaining.sum(axis=1), 1.0, rtol=1e-10)
    assert -1.0 < found.entering[0, -1] < 0.0


def test_without_any_unfairness_everything_is_taken_back(people):
    X = people[["age", "sex", "income", "score"]]
    found = fairridge.proxies(
        FairRidgeRegressor(0.0, sensitive=["age", "sex"]).fit(X, people["gaussian"])
    )
    np.testing.assert_allclose(found.entering[0, -1], -1.0, rtol=1e-10)
    np.testing.assert_allclose(found.total, 0.0, atol=1e-10)
    assert np.isnan(found.remaining).all()
    table = found.to_frame()
    assert table["term"].tolist() == ["income", "score", "(sensitive)"]
    assert "class" not in table.columns


def test_a_categorical_predictor_is_one_proxy(people):
    X = people[["sex", "region", "income"]]
    model = FairRidgeRegressor(0.1, sensitive="sex").fit(X, people["gaussian"])
    found = fairridge.proxies(model)
    assert found.predictors == ("region", "income")
    D = pd.get_dummies(X["region"], dtype=float).drop(columns="east")
    S = (X[["sex"]] == "male").to_numpy(dtype=float)
    fitted = LinearRegression().fit(S, D).predict(S)
    expected = fitted.var(axis=0).sum() / D.to_numpy().var(axis=0).sum()
    np.testing.assert_allclose(found.explained[0], expected, rtol=1e-8)
