"""Derivatives of predicted means, against differences."""

import numpy as np
import pytest

from fairridge.families import Binomial, Gaussian, Multinomial, Poisson
from fairridge.families.sums import PredictedMeans

FAMILIES = {
    "identity": Gaussian(),
    "log": Poisson(),
    "logit": Binomial(),
    "probit": Binomial("probit"),
    "cloglog": Binomial("cloglog"),
    "softmax": Multinomial(4),
}


@pytest.fixture(params=FAMILIES)
def family(request):
    return FAMILIES[request.param]


@pytest.fixture
def eta(family):
    return np.random.default_rng(3).normal(size=(20, family.n_predictors)) * 1.5


def moved(means, eta, c, h):
    shift = np.zeros(eta.shape[1])
    shift[c] = h
    return means(np.zeros((len(eta), 1)), eta + shift, 2)


def test_second_derivatives(family, eta):
    means = PredictedMeans(family)
    found = means(np.zeros((20, 1)), eta, 2)
    multipliers = np.random.default_rng(4).normal(size=found.values.shape)
    bent = found.bend(multipliers)
    for c in range(eta.shape[1]):
        ahead, behind = (
            np.einsum("nk,nkm->nm", multipliers, moved(means, eta, c, h).first)
            for h in (1e-5, -1e-5)
        )
        np.testing.assert_allclose(bent[:, c], (ahead - behind) / 2e-5, atol=1e-8)
        ahead, behind = (moved(means, eta, c, h).values for h in (1e-5, -1e-5))
        np.testing.assert_allclose(found.first[:, :, c], (ahead - behind) / 2e-5, atol=1e-8)


def test_a_reference_keeps_the_digits_of_large_means():
    eta = np.log(1e9 + np.arange(5.0))[:, None]
    means = PredictedMeans(Poisson(), None, (1e9,))
    np.testing.assert_allclose(means(eta, eta, 0).values[:, 0], np.arange(5.0), atol=1e-4)
