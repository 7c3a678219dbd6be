"""Least squares with a penalty on mutual information."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from fairridge import FairRidgeRegressor, SteinbergRegressor
from fairridge.exceptions import BoundWarning
from fairridge.peers.steinberg.mutual_information import mutual_information
from tests.zoo import LateModule

sm = LateModule("statsmodels.api")

SENSITIVE = ["sex", "race"]


@pytest.fixture(scope="module")
def workers():
    rng = np.random.default_rng(1)
    n = 250
    sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m")
    tenure = rng.normal(size=n) + (race == "c")
    y = 2 * skill + tenure + 1.5 * (sex == "m") + (race == "b") + rng.normal(size=n)
    return pd.DataFrame({"sex": sex, "race": race, "skill": skill, "tenure": tenure}), y


@pytest.fixture(scope="module")
def path(workers):
    bounds = [0.0, 0.02, 0.1, 0.2, 1.0]
    return SteinbergRegressor(sensitive=SENSITIVE).path(*workers, unfairness=bounds)


def explained_by(scores, frame, names=SENSITIVE):
    dummies = pd.get_dummies(frame[names].astype(str), dtype=float)
    return LinearRegression().fit(dummies, scores).score(dummies, scores)


# ------------------------------------------------------------------- mutual information


def scores_and_codes(seed, levels, n=80):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(levels), rng.integers(0, levels, n - levels)])
    return rng.normal(size=n) + 0.7 * codes, codes, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_it_is_the_gain_in_likelihood_of_a_logistic_regression(levels):
    scores, codes, _ = scores_and_codes(2, levels)
    fit = sm.MNLogit(codes, sm.add_constant(scores)).fit(disp=False, maxiter=100)
    found = mutual_information(scores, codes, np.ones(len(codes)))
    assert found.value == pytest.approx((fit.llf - fit.llnull) / len(codes), rel=1e-9)


def test_scores_that_tell_the_groups_apart_carry_all_information():
    codes = np.repeat([0, 1], 20)
    scores = codes + np.linspace(0.0, 0.1, 40)
    found = mutual_information(scores, codes, np.ones(40))
    assert found.value == pytest.approx(np.log(2.0), abs=1e-10)
    assert np.isfinite(found.cross).all()
    np.testing.assert_allclose(found.gradient, 0.0, atol=1e-6)


# --------------------------------------------------------------------- the objective


def objective(theta, Z, y, gamma, attributes):
    """The definition, written out: −ℓ + γ Σ MI."""
    fitted = theta[0] + Z @ theta[1:]
    n = len(y)
    value = 0.5 * n * np.log(np.mean((y - fitted) ** 2))
    for codes in attributes:
        value += gamma * mutual_information(fitted, codes, np.ones(n)).value
    return value


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [30.0, 400.0])
def test_no_other_coefficients_are_better(workers, gamma):
    frame, y = workers
    model = SteinbergRegressor(sensitive=SENSITIVE, gamma=gamma).fit(frame, y)
    Z = pd.get_dummies(frame, drop_first=True, dtype=float)
    Z = Z[["sex_m", "race_b", "race_c", "skill", "tenure"]].to_numpy()
    attributes = [np.unique(frame[name], return_inverse=True)[1] for name in SENSITIVE]
    ours = np.append(model.intercept_, model.coef_)
    args = (Z, y, gamma, attributes)
    best = objective(ours, *args)
    rng = np.random.default_rng(0)
    for start in (ours + 0.3 * rng.normal(size=6), rng.normal(size=6)):
        other = minimize(objective, start, args, method="BFGS", options={"maxiter": 20})
        assert other.fun >= best - 1e-6
    assert model.lambda_ == gamma


# -------------------------------------------------------------------------- the model


def test_without_a_penalty_it_is_least_squares(workers):
    frame, y = workers
    expected = FairRidgeRegressor(1.0, sensitive=SENSITIVE).fit(frame, y)
    for options in ({"gamma": 0.0}, {"unfairness": 1.0}):
        found = SteinbergRegressor(sensitive=SENSITIVE, **options).fit(frame, y)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)
        assert found.status_ == "inactive"
        assert not found.bound_active_


@pytest.mark.slow
def test_the_bound_is_met_and_means_what_it_says(workers, path):
    frame, _ = workers
    np.testing.assert_allclose(path.achieved[:4], path.unfairness[:4], atol=1e-9)
    assert path.status == ("converged",) * 4 + ("inactive",)
    for r in (0.02, 0.2):
        predicted = path.at(r).predict(frame)
        assert explained_by(predicted, frame) == pytest.approx(r, abs=1e-8)


@pytest.mark.slow
def test_the_limit_is_least_squares_without_the_attributes(workers, path):
    frame, y = workers
    expected = FairRidgeRegressor(0.0, sensitive=SENSITIVE).fit(frame, y)
    np.testing.assert_allclose(path.at(0.0).coef_, expected.coef_, rtol=1e-9)
    assert path.lambda_[0] == np.inf
    assert not path.alpha[0].any()
    near = SteinbergRegressor(sensitive=SENSITIVE, gamma=1e7).fit(frame, y)
    np.testing.assert_allclose(near.coef_, expected.coef_, rtol=1e-3)


@pytest.mark.slow
def test_information_is_told_by_attribute(workers):
    frame, y = workers
    model = SteinbergRegressor(0.1, sensitive=SENSITIVE).fit(frame, y)
    predicted = model.predict(frame)
    for name, value in model.mutual_information_.items():
        codes = np.unique(frame[name], return_inverse=True)[1]
        expected = mutual_information(predicted, codes, np.ones(len(frame))).value
        assert value == pytest.approx(expected, rel=1e-8)
        assert f"MI {name}:" in str(model.summary(details=True))
    assert list(model.mutual_information_) == SENSITIVE


def test_the_limit_equalizes_every_group_of_a_number_with_three_values():
    rng = np.random.default_rng(8)
    dose = rng.integers(0, 3, 200)
    x = rng.normal(size=(200, 3)) + np.outer((dose == 1) - 0.5 * (dose == 2), [1.0, 0.5, 0.0])
    y = x.sum(axis=1) + 0.5 * dose + rng.normal(size=200)
    Z = np.column_stack([dose, x])
    model = SteinbergRegressor(0.0, sensitive=[0]).fit(Z, y)
    predicted = model.predict(Z)
    means = [predicted[dose == k].mean() for k in range(3)]
    np.testing.assert_allclose(means, y.mean(), rtol=1e-10)
    # A straight line through the doses would leave the middle one apart.
    straight = FairRidgeRegressor(0.0, sensitive=[0]).fit(Z, y).predict(Z)
    assert abs(straight[dose == 1].mean() - y.mean()) > 0.1
    assert SteinbergRegressor(0.01, sensitive=[0]).fit(Z, y).unfairness_ <= 0.01 + 1e-9


@pytest.mark.slow
def test_groups_that_predictions_tell_apart_are_brought_together():
    rng = np.random.default_rng(10)
    group = np.repeat([0, 1], 60)
    x = rng.normal(size=(120, 2))
    y = 20.0 * group + x @ [1.0, 1.0] + 0.5 * rng.normal(size=120)
    Z = np.column_stack([group, x])
    unfair = SteinbergRegressor(1.0, sensitive=[0]).fit(Z, y)
    assert unfair.mutual_information_["x0"] == pytest.approx(np.log(2.0), abs=1e-6)
    # Predictions that tell the groups apart do so in full, up to the penalty that ends it.
    with pytest.warns(BoundWarning, match="room to spare"):
        model = SteinbergRegressor(0.05, sensitive=[0]).fit(Z, y)
    assert model.unfairness_ <= 0.05 + 1e-9
    assert (model.status_, model.converged_) == ("jumped", True)
    assert np.isfinite(model.coef_).all()


def test_a_perfect_fit_leaves_the_fair_limit_only():
    rng = np.random.default_rng(11)
    Z = np.column_stack([rng.integers(0, 2, 40), rng.normal(size=(40, 2))])
    y = Z @ [3.0, 1.0, -1.0]
    model = SteinbergRegressor(0.05, sensitive=[0]).fit(Z, y)
    assert model.lambda_ == np.inf
    assert model.unfairness_ == 0.0
    assert SteinbergRegressor(sensitive=[0], gamma=50.0).fit(Z, y).score(Z, y) == pytest.approx(1.0)


def test_bad_penalties_are_named(workers):
    frame, y = workers
    with pytest.raises(ValueError, match=r"gamma=-1.* at least 0"):
        SteinbergRegressor(sensitive=SENSITIVE, gamma=-1).fit(frame, y)
    with pytest.raises(ValueError, match=r"gamma=3 fixes the penalty; set gamma=None"):
        SteinbergRegressor(sensitive=SENSITIVE, gamma=3).path(frame, y, unfairness=[0.1])
    with pytest.raises(ValueError, match="tol=0"):
        SteinbergRegressor(sensitive=SENSITIVE, tol=0).fit(frame, y)


def test_the_summary_shows_a_given_penalty(workers):
    text = str(
        SteinbergRegressor(sensitive=SENSITIVE, gamma=25.0).fit(*workers).summary(details=True)
    )
    assert " 25" in next(line for line in text.splitlines() if "γ:" in line)
    assert "none" in next(line for line in text.splitlines() if "Bound r:" in line)
