"""The shape of the paper's figures for its binomial example (section 4.4)."""

import numpy as np
import pytest
from scipy.special import expit

from fairridge import FairRidgeClassifier, FairRidgeRegressor

SENSITIVE = [0, 1, 2]


@pytest.fixture(scope="module")
def data(paper_example):
    S, X, _ = paper_example
    eta = 1.0 + X @ [0.5, 0.6, 0.7] + S @ [0.8, 0.9, 1.0]
    y = np.random.default_rng(44).random(len(eta)) < expit(eta)
    return np.column_stack([S, X]), y.astype(int)


@pytest.fixture(scope="module")
def path(data):
    return FairRidgeClassifier(sensitive=SENSITIVE).path(*data, unfairness=np.linspace(0, 1, 51))


@pytest.mark.slow
def test_sensitive_coefficients_grow_from_zero_to_the_unconstrained_ones(path, data):
    free = FairRidgeClassifier(1.0, sensitive=SENSITIVE).fit(*data)
    np.testing.assert_array_equal(path.alpha[0], 0.0)
    np.testing.assert_allclose(path.alpha[-1], free.alpha_, rtol=1e-10)
    active = path.lambda_ > 0
    assert (np.diff(path.alpha[active], axis=0) > 0).all()
    assert 0.5 < path.unfairness[~active].min() < 1.0
    np.testing.assert_allclose(path.alpha[~active], np.tile(free.alpha_, ((~active).sum(), 1)))


@pytest.mark.slow
def test_predictor_coefficients_grow_with_the_bound(path):
    active = path.lambda_ > 0
    assert (np.diff(np.linalg.norm(path.beta[active], axis=1)) > 0).all()
    # Each of them, too, as far as a figure can show: in this sample β₃ falls by 2e-5 at first.
    assert (np.diff(path.beta[active], axis=0) > -2e-5).all()
    assert (np.diff(path.beta[active & (path.unfairness > 0.15)], axis=0) > 0).all()
    assert (path.beta[-1] > 1.1 * path.beta[0]).all()
    assert (np.diff(path.beta[~active], axis=0) == 0).all()


def test_the_bound_is_met_on_the_whole_path(path):
    active = path.lambda_ > 0
    np.testing.assert_allclose(path.achieved[active], path.unfairness[active], atol=1e-10)
    assert (path.achieved[~active] <= path.unfairness[~active]).all()
    assert (np.diff(path.lambda_[active][1:]) < 0).all()
    assert (np.diff(path.deviance) <= 1e-9).all()


def test_the_unconstrained_model_finds_the_true_coefficients(data):
    free = FairRidgeClassifier(1.0, sensitive=SENSITIVE).fit(*data)
    truth = [0.8, 0.9, 1.0, 0.5, 0.6, 0.7]
    np.testing.assert_allclose(free.coef_[0], truth, atol=0.35)
    assert abs(free.intercept_[0] - 1.0) < 0.3


def test_without_unfairness_predictions_on_the_link_are_uncorrelated_with_S(data):
    Z, y = data
    fair = FairRidgeClassifier(0.0, sensitive=SENSITIVE).fit(Z, y)
    eta, S = fair.decision_function(Z), Z[:, :3] - Z[:, :3].mean(0)
    np.testing.assert_allclose(S.T @ eta, 0.0, atol=1e-8)
    # The mean is not linear in η, so probabilities are only nearly uncorrelated.
    correlations = [np.corrcoef(column, expit(eta))[0, 1] for column in S.T]
    assert np.abs(correlations).max() < 0.1


def test_a_ridge_on_the_predictors_shrinks_them_everywhere(data):
    bounds = np.linspace(0, 1, 11)
    plain = FairRidgeClassifier(sensitive=SENSITIVE).path(*data, unfairness=bounds)
    model = FairRidgeClassifier(sensitive=SENSITIVE, predictor_penalty=100.0)
    ridged = model.path(*data, unfairness=bounds)
    assert (np.linalg.norm(ridged.beta, axis=1) < np.linalg.norm(plain.beta, axis=1)).all()


@pytest.fixture(scope="module")
def quasi(data):
    model = FairRidgeRegressor(sensitive=SENSITIVE, family="quasi-binomial")
    return model.path(*data, unfairness=[0.0, 0.3, 0.8, 1.0])


def test_quasi_binomial_coefficients_are_the_binomial_ones(quasi, data):
    binomial = FairRidgeClassifier(sensitive=SENSITIVE).path(*data, unfairness=[0.0, 0.3, 0.8, 1.0])
    np.testing.assert_allclose(quasi.alpha, binomial.alpha, rtol=1e-8)
    np.testing.assert_allclose(quasi.beta, binomial.beta, rtol=1e-8)
    np.testing.assert_allclose(quasi.lambda_, binomial.lambda_, rtol=1e-8)


def test_quasi_binomial_predictor_coefficients_are_not_constant_in_the_bound(quasi):
    # The paper says they are, since the scale is free. It is, but it does not enter them.
    assert (np.diff(quasi.beta[1:], axis=0) > 1e-2).all()
    assert (quasi.beta[-1] > 1.1 * quasi.beta[0]).all()


def test_quasi_binomial_differs_in_its_dispersion_only(data):
    Z, y = data
    quasi = FairRidgeRegressor(0.2, sensitive=SENSITIVE, family="quasi-binomial").fit(Z, y)
    binomial = FairRidgeClassifier(0.2, sensitive=SENSITIVE).fit(Z, y)
    assert binomial.dispersion_ == 1.0
    mu = quasi.predict(Z)
    np.testing.assert_allclose(mu, binomial.predict_proba(Z)[:, 1], rtol=1e-9)
    pearson = ((y - mu) ** 2 / (mu * (1 - mu))).sum()
    assert quasi.dispersion_ == pytest.approx(pearson / (len(y) - 7), rel=1e-10)
    assert abs(quasi.dispersion_ - 1.0) > 1e-3
    assert quasi.deviance_ == pytest.approx(binomial.deviance_, rel=1e-10)
