"""The definitions of the paper choose a point on one path of models."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor

DEFINITIONS = ("statistical-parity", "equality-of-opportunity", "individual")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(71)
    S = rng.normal(size=(300, 2)) + 1.0
    X = rng.normal(size=(300, 3)) + S @ rng.normal(size=(2, 3)) * 0.5
    y = X.sum(axis=1) + S @ [1.0, -1.5] + 2.0 * rng.normal(size=300)
    return np.column_stack([S, X]), y


@pytest.mark.parametrize("r", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("ridge", [0.0, 50.0])
def test_equality_of_opportunity_is_statistical_parity_on_another_scale(data, r, ridge):
    Z, y = data
    options = {"sensitive": [0, 1], "predictor_penalty": ridge}
    ours = FairRidgeRegressor(r, definition="equality-of-opportunity", **options).fit(Z, y)
    assert ours.bound_active_
    S, X = (part - part.mean(axis=0) for part in (Z[:, :2], Z[:, 2:]))

    def after_sensitive(columns):
        return columns - S @ np.linalg.lstsq(S, columns, rcond=None)[0]

    k = np.corrcoef(after_sensitive(X) @ ours.beta_, after_sensitive(y))[0, 1] ** 2
    odds = k * r / (1.0 - r)
    parity = FairRidgeRegressor(odds / (1.0 + odds), **options).fit(Z, y)
    np.testing.assert_allclose(parity.coef_, ours.coef_, rtol=1e-10)


@pytest.mark.parametrize("r", [0.0, 0.05, 0.3])
def test_coefficients_agree_to_rounding_at_the_same_share(data, r):
    Z, y = data
    ours = FairRidgeRegressor(r, sensitive=[0, 1], definition="equality-of-opportunity").fit(Z, y)
    share = ours.unfairness_components_["r_squared_sensitive"]
    parity = FairRidgeRegressor(share, sensitive=[0, 1]).fit(Z, y)
    np.testing.assert_allclose(parity.coef_, ours.coef_, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("definition", DEFINITIONS[1:])
@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.slow
def test_a_model_is_the_one_of_statistical_parity_at_its_own_share(data, definition, classes):
    Z, y = data
    estimator = FairRidgeClassifier if classes else FairRidgeRegressor
    y = (y > 0).astype(float) if classes else y
    ours = estimator(0.2, sensitive=[0, 1], definition=definition).fit(Z, y)
    assert ours.bound_active_
    path = estimator(sensitive=[0, 1]).path(Z, y, unfairness=np.linspace(0.0, 1.0, 2001))
    log_penalty = np.log(path.lambda_[1:][path.lambda_[1:] > 0])[::-1]
    alpha = path.alpha[1:][path.lambda_[1:] > 0][::-1].reshape(len(log_penalty), -1)
    at = [np.interp(np.log(ours.lambda_), log_penalty, column) for column in alpha.T]
    np.testing.assert_allclose(at, np.ravel(ours.alpha_), rtol=1e-3)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_no_bound_on_the_linear_predictor_leaves_anything_of_S_at_zero(data, definition):
    Z, y = data
    found = FairRidgeRegressor(0.0, sensitive=[0, 1], definition=definition).fit(Z, y)
    np.testing.assert_array_equal(found.alpha_, 0.0)
