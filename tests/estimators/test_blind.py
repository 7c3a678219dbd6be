"""Models that use S at fit and not at predict.

That bounds hold, and what other functions say of these models, is in tests/contracts/.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
)
from fairridge.exceptions import BoundWarning
from fairridge.fairness import StatisticalParity
from tests import zoo
from tests.zoo import r_squared

N, Q, P = 240, 2, 5


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    S = np.column_stack([rng.normal(size=N), rng.random(N) < 0.4]).astype(float)
    X = S @ rng.normal(size=(Q, P)) + rng.normal(size=(N, P))
    eta = 0.6 * X @ rng.normal(size=P) + S @ [0.5, 1.0]
    return S, X, eta


def responses(eta):
    return zoo.responses(eta, 8)


def blind(family, r, **options):
    return zoo.model_of(family, r, blind=True, **options)


def scores(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    predicted = model.predict(X)
    return np.log(predicted) if model.family_.name in ("poisson", "gamma") else predicted


# ------------------------------------------------------------------- the bound


@pytest.mark.parametrize(
    ("family", "penalty"), [("gaussian", 0.0), ("binomial", 4.0), ("poisson", 4.0)]
)
def test_it_solves_its_equations(rows, family, penalty):
    """½∂D/∂b + λGb + λ₂ VAR(x)b = 0, with G = (P_S X)ᵀ(P_S X) of centered columns."""
    S, X, eta = rows
    y = responses(eta)[family]
    model = blind(family, 0.02, predictor_penalty=penalty).fit(X, y, sensitive_features=S)
    b, x = np.ravel(model.coef_), X - X.mean(axis=0)
    score = model.intercept_ + X @ b
    mean = {"gaussian": score, "binomial": 1.0 / (1.0 + np.exp(-score)), "poisson": np.exp(score)}
    target = y == "yes" if family == "binomial" else y
    of_s = LinearRegression().fit(S, x).predict(S)
    gradient = X.T @ (mean[family] - target) + model.lambda_ * of_s.T @ (of_s @ b)
    gradient += penalty * x.var(axis=0) * b
    scale = np.abs(X.T @ np.abs(mean[family] - target))
    assert model.lambda_ > 0.0
    assert (np.abs(gradient) < 1e-7 * scale.max()).all()


@pytest.mark.parametrize("family", ["gaussian", "multinomial", "cox"])
def test_without_a_bound_s_is_left_out(rows, family):
    S, X, eta = rows
    y = responses(eta)[family]
    model = blind(family, 1.0).fit(X, y, sensitive_features=S)
    noise = np.random.default_rng(1).normal(size=(N, 1))
    other = blind(family, 1.0).fit(X, y, sensitive_features=noise)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-8)
    if family == "gaussian":
        np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-10)


@pytest.mark.parametrize("standardize", [True, False])
def test_the_penalty_on_predictors_is_that_of_ridge(rows, standardize):
    S, X, eta = rows
    y = responses(eta)["gaussian"]
    Z = X / X.std(axis=0) if standardize else X
    model = blind("gaussian", 1.0, predictor_penalty=30.0, standardize=standardize)
    expected = Ridge(30.0).fit(Z, y)
    np.testing.assert_allclose(
        model.fit(X, y, sensitive_features=S).predict(X), expected.predict(Z), rtol=1e-9
    )


# ------------------------------------------------------------------- the floor


@pytest.mark.parametrize(
    ("family", "definition", "r"),
    [
        ("gaussian", "statistical-parity", 0.0),
        ("binomial", "mean-parity", 0.01),
        ("multinomial", "mean-opportunity", 0.01),
        ("multinomial", "mean-odds", 0.0),
    ],
)
def test_below_the_floor_only_the_constant_is_left(rows, family, definition, r):
    S, X, eta = rows
    y, one = responses(eta)[family], X[:, :1]
    assert r_squared(one, S) > 0.1
    model = blind(family, r, definition=definition)
    with pytest.warns(BoundWarning, match="Only the same prediction for everyone meets"):
        model.fit(one, y, sensitive_features=S)
    assert model.status_ == "infeasible"
    assert not model.converged_
    assert model.unfairness_ == 0.0
    assert not model.coef_.any()
    assert len(np.unique(model.predict(one))) == 1


@pytest.mark.parametrize("penalty", [0.0, 20.0])
def test_the_floor_is_where_the_shares_of_large_penalties_end(rows, penalty):
    S, X, eta = rows
    y, two = responses(eta)["gaussian"], X[:, :2]
    x, s = two - two.mean(0), S - S.mean(0)
    G, C = x.T @ x, s.T @ x
    explained = C.T @ np.linalg.solve(s.T @ s, C)
    limit = np.linalg.solve(explained, x.T @ (y - y.mean()))
    floor = (limit @ explained @ limit) / (limit @ G @ limit)
    model = blind("gaussian", floor * 1.001, predictor_penalty=penalty)
    model.fit(two, y, sensitive_features=S)
    assert model.status_ == "converged"
    assert model.unfairness_ == pytest.approx(floor * 1.001, abs=1e-9)
    with pytest.warns(BoundWarning, match="Only the same prediction"):
        model.set_params(unfairness=floor * 0.999).fit(two, y, sensitive_features=S)
    assert not model.coef_.any()


def test_predictors_that_have_nothing_to_do_with_s_are_free():
    rng = np.random.default_rng(0)
    S = np.repeat([0.0, 1.0], 50)[:, None]
    X = np.tile(rng.normal(size=(50, 2)), (2, 1))
    y = X @ [1.0, 2.0] + rng.normal(size=100)
    for model, target in ((FairRidgeRegressor, y), (FairRidgeClassifier, y > 0)):
        fitted = model(0.0, blind=True).fit(X, target, sensitive_features=S)
        assert fitted.status_ == "inactive"
        assert fitted.unfairness_ < 1e-20
        assert fitted.coef_.all()


def test_the_floor_of_opportunity_is_not_that_of_parity():
    """S explains all that x varies among all rows, and nothing among those with y = 1."""
    rng = np.random.default_rng(0)
    S = np.repeat([0.0, 1.0], 200)
    y = np.tile(np.repeat([0, 1], 100), 2)
    noise = rng.normal(size=400)
    x = np.where(y == 1, noise, 3.0 * S + noise)
    model = FairRidgeClassifier(0.05, definition="mean-opportunity", blind=True)
    model.fit(x[:, None], y, sensitive_features=S)
    assert model.coef_.any()
    assert model.unfairness_ <= 0.05
    assert r_squared(x, S[:, None]) > 0.05


# ------------------------------------------------- S is not needed after fit


@pytest.mark.parametrize("kind", [FairRidgeRegressor, FairRidgeClassifier])
def test_frames_may_lack_s_or_hold_anything_there(rows, kind):
    S, X, eta = rows
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(sex=S[:, 1] > 0.0, age=S[:, 0])
    y = eta if kind is FairRidgeRegressor else np.where(eta > 0.0, "yes", "no")
    model = kind(0.005, sensitive=["sex", "age"], blind=True).fit(frame, y)
    assert model.coef_names_.tolist() == list("vwxyz")
    assert model.coef_.shape == ((5,) if kind is FairRidgeRegressor else (1, 5))
    assert (set(model.sensitive_names_), model.alpha_.shape) == ({"sex", "age"}, (2,))
    np.testing.assert_allclose(
        scores(model, frame), X @ np.ravel(model.coef_) + model.intercept_, rtol=1e-10
    )
    expected = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame.drop(columns=["sex", "age"])), expected)
    np.testing.assert_array_equal(model.predict(frame.assign(sex="?", age=np.nan)), expected)


def test_deviances_need_s_to_predict(rows):
    S, X, eta = rows
    definition = StatisticalParity(measure="deviance")
    model = FairRidgeClassifier(blind=True, definition=definition)
    with pytest.raises(ValueError, match="needs S to predict: blind=True takes"):
        model.fit(X, eta > 0, sensitive_features=S)
