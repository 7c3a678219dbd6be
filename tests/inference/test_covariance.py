"""Covariances against statsmodels, and under changes that must not change them."""

import numpy as np
import pytest

from fairridge.fairness import StatisticalParity
from fairridge.families import Binomial, Gaussian, Poisson
from tests.zoo import LateModule

from .problems import draw, inferred

sm = LateModule("statsmodels.api")

PARITY = StatisticalParity()


def design(data):
    return sm.add_constant(np.hstack(data[:2]))


@pytest.mark.parametrize("covariance", ["HC0", "HC1", "HC3"])
def test_without_a_bound_it_is_that_of_least_squares(covariance):
    data = draw(Gaussian(), n=120)
    theirs = sm.OLS(data[2][:, 0], design(data)).fit(cov_type=covariance)
    ours = inferred(Gaussian(), data, PARITY, 1.0, covariance=covariance)
    np.testing.assert_allclose(ours.estimate, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(("family", "model"), [(Binomial(), "Logit"), (Poisson(), "Poisson")])
def test_without_a_bound_it_is_that_of_a_glm(family, model):
    data = draw(family, n=150)
    theirs = getattr(sm, model)(data[2][:, 0], design(data)).fit(cov_type="HC0", disp=0, tol=1e-12)
    ours = inferred(family, data, PARITY, 1.0, covariance="HC0")
    np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.confidence_interval(), theirs.conf_int(), rtol=1e-6, atol=1e-8)


def test_clusters_are_those_of_least_squares():
    data = draw(Gaussian(), n=120)
    groups = np.random.default_rng(3).integers(0, 15, 120)
    options = {"groups": groups, "use_correction": False}
    theirs = sm.OLS(data[2][:, 0], design(data)).fit(cov_type="cluster", cov_kwds=options)
    labels = np.array([f"household {k}" for k in groups])
    ours = inferred(Gaussian(), data, PARITY, 1.0, clusters=labels)
    np.testing.assert_allclose(ours.covariance, theirs.cov_params() * 15 / 14, rtol=1e-8)
    assert ours.facts.df == 14
    assert ours.facts.covariance == "cluster"


@pytest.mark.parametrize(("covariance", "r"), [("HC0", 0.0), ("HC1", 0.05), ("HC3", 0.05)])
def test_frequency_weights_are_repeated_rows(covariance, r):
    data = draw(Gaussian())
    counts = np.random.default_rng(1).integers(1, 4, 60)
    repeated = tuple(np.repeat(part, counts, axis=0) for part in data)
    ours = inferred(
        Gaussian(), data, PARITY, r, counts.astype(float), covariance=covariance, frequency=True
    )
    theirs = inferred(Gaussian(), repeated, PARITY, r, covariance=covariance)
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-8)
    np.testing.assert_allclose(ours.fair.covariance, theirs.fair.covariance, rtol=1e-8)


def test_frequency_weights_of_clustered_rows_are_repeated_rows():
    data, counts = draw(Gaussian()), np.random.default_rng(1).integers(1, 4, 60)
    groups = np.arange(60) // 3
    repeated = tuple(np.repeat(part, counts, axis=0) for part in data)
    weight = counts.astype(float)
    ours = inferred(Gaussian(), data, PARITY, 0.05, weight, clusters=groups, frequency=True)
    theirs = inferred(Gaussian(), repeated, PARITY, 0.05, clusters=np.repeat(groups, counts))
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-8)


def test_a_predictor_that_s_explains_almost_altogether():
    S, X, y, targets = draw(Gaussian(), n=200)
    X[:, 2] = S @ [1.0, 2.0] + 1e-6 * X[:, 2]
    data = (S, X, y, targets)
    theirs = sm.OLS(y[:, 0], design(data)).fit(cov_type="HC1")
    ours = inferred(Gaussian(), data, PARITY, 1.0)
    np.testing.assert_allclose(ours.standard_errors, theirs.bse, rtol=1e-7)
