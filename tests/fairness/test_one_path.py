"""The definitions of the paper choose a point on one path of models."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.fairness import StatisticalParity
from tests.zoo import r_squared


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(71)
    S = rng.normal(size=(300, 2)) + 1.0
    X = rng.normal(size=(300, 3)) + S @ rng.normal(size=(2, 3)) * 0.5
    y = X.sum(axis=1) + S @ [1.0, -1.5] + 2.0 * rng.normal(size=300)
    return np.column_stack([S, X]), y


@pytest.mark.parametrize("ridge", [0.0, 50.0])
def test_equality_of_opportunity_is_statistical_parity_on_another_scale(data, ridge):
    (Z, y), r = data, 0.05
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


@pytest.mark.parametrize(
    ("definition", "classes"), [("equality-of-opportunity", True), ("individual", False)]
)
def test_a_model_is_the_one_of_statistical_parity_at_its_own_share(data, definition, classes):
    Z, y = data
    estimator = FairRidgeClassifier if classes else FairRidgeRegressor
    y = (y > 0).astype(float) if classes else y
    ours = estimator(0.2, sensitive=[0, 1], definition=definition).fit(Z, y)
    assert ours.bound_active_
    share = r_squared(Z @ np.ravel(ours.coef_), Z[:, :2])
    variance = StatisticalParity(measure="variance")
    parity = estimator(share, sensitive=[0, 1], definition=variance).fit(Z, y)
    np.testing.assert_allclose(parity.coef_, ours.coef_, rtol=1e-6)
