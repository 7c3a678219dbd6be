"""The quasi-Poisson family against the Poisson family and statsmodels."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor
from tests.zoo import LateModule

sm = LateModule("statsmodels.api")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(70)
    Z = rng.normal(size=(250, 4)) @ (np.eye(4) + 0.3)
    mu = np.exp(0.8 + Z @ [0.3, -0.2, 0.3, 0.1])
    weight, offset = rng.integers(1, 4, 250), 0.4 * rng.normal(size=250)
    return Z, rng.poisson(mu * rng.gamma(2.0, 0.5, 250)), weight, offset


def model(r, family):
    return FairRidgeRegressor(r, sensitive=[0, 1], family=family)


def test_it_is_the_scaled_glm_of_statsmodels(data):
    Z, y, weight, offset = data
    ours = model(1.0, "quasi-poisson").fit(Z, y, sample_weight=weight, offset=offset)
    theirs = sm.GLM(
        y, sm.add_constant(Z), sm.families.Poisson(), offset=offset, freq_weights=weight
    ).fit(tol=1e-14, maxiter=200, scale="X2")
    np.testing.assert_allclose(np.append(ours.intercept_, ours.coef_), theirs.params, atol=1e-6)
    assert ours.dispersion_ == pytest.approx(theirs.scale, rel=1e-8)
    assert ours.dispersion_ > 1.5
    assert ours.loglik_ == pytest.approx(-0.5 * ours.deviance_ / theirs.scale, rel=1e-8)


def test_only_dispersion_and_likelihood_differ_from_poisson(data):
    Z, y, _, _ = data
    quasi, plain = (model(0.03, name).fit(Z, y) for name in ("quasi-poisson", "poisson"))
    np.testing.assert_array_equal(quasi.coef_, plain.coef_)
    assert (quasi.lambda_, quasi.deviance_) == (plain.lambda_, plain.deviance_)
    assert plain.dispersion_ == 1.0
    assert quasi.dispersion_ > 1.5
