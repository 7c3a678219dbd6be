"""Deviances, means and log-likelihoods of the families, against statsmodels and by hand."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from fairridge.families import (
    Binomial,
    Gamma,
    Gaussian,
    Multinomial,
    NegativeBinomial,
    Poisson,
    QuasiBinomial,
    Tweedie,
)
from fairridge.search.setup import resolve_regression_family
from tests.zoo import LateModule, statsmodels_family

sm = LateModule("statsmodels.api")

OURS = {
    "binomial": Binomial(),
    "probit": Binomial("probit"),
    "cloglog": Binomial("cloglog"),
    "quasi-binomial": QuasiBinomial(),
    "gamma": Gamma(),
    "gaussian": Gaussian(),
    "poisson": Poisson(),
    "tweedie": Tweedie(1.3),
}


@pytest.fixture(params=OURS)
def case(request):
    """A family, statsmodels' version of it, a response, linear predictors and weights."""
    ours, theirs = OURS[request.param], statsmodels_family(request.param, power=1.3)
    rng = np.random.default_rng(4)
    y = {
        "binomial": rng.integers(0, 2, 30),
        "probit": rng.integers(0, 2, 30),
        "cloglog": rng.integers(0, 2, 30),
        "quasi-binomial": rng.integers(0, 6, 30) / 5.0,
        "gamma": rng.gamma(2.0, 1.0, 30),
        "gaussian": rng.normal(size=30),
        "poisson": rng.poisson(1.5, 30),
        "tweedie": rng.gamma(2.0, 1.0, 30) * rng.integers(0, 2, 30),
    }[request.param].astype(float)
    return ours, theirs, y, rng.normal(size=30), rng.uniform(0.5, 2.0, 30)


def test_the_deviance_is_that_of_statsmodels(case):
    ours, theirs, y, eta, weight = case
    found = ours.deviance_terms(y[:, None], eta[:, None], weight, 0).deviance
    expected = theirs.deviance(y, theirs.fitted(eta), freq_weights=weight)
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_mean_is_that_of_statsmodels_and_undoes_the_link(case):
    ours, theirs, _, eta, _ = case
    np.testing.assert_allclose(ours.mean(eta), theirs.fitted(eta), rtol=1e-13)
    np.testing.assert_allclose(ours.to_eta(ours.mean(eta)), eta, rtol=1e-10, atol=1e-12)


def test_pearson_is_that_of_statsmodels(case):
    ours, theirs, y, eta, weight = case
    found = ours.pearson(y[:, None], eta[:, None], weight)
    if found is None:
        assert ours.name in ("binomial", "gaussian", "poisson")
        return
    mu = theirs.fitted(eta)
    assert found == pytest.approx(weight @ ((y - mu) ** 2 / theirs.variance(mu)), rel=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("family", [Poisson(), Gamma(), Tweedie(1.2), Tweedie(1.8)], ids=str)
def test_large_and_small_responses_leave_all_digits(family, size):
    # With ρ = μ/y − 1, d = y^(2−p)·(ρ² − ⅔pρ³ + …): not a difference of terms of size y.
    y, rho = np.array([[size]]), 1e-5
    deviance = family.deviance_terms(y, np.log(y) + np.log1p(rho), np.ones(1), 0).deviance
    expected = size ** (2.0 - family.power) * (rho**2 - 2.0 / 3.0 * family.power * rho**3)
    assert deviance == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
@pytest.mark.parametrize("family", [Binomial(), QuasiBinomial()], ids=str)
def test_the_deviance_of_a_separated_outcome_is_small_and_not_zero(family, outcome):
    eta = np.array([[60.0 if outcome else -60.0]])
    found = family.deviance_terms(np.array([[outcome]]), eta, np.ones(1), 0).deviance
    assert found == pytest.approx(2.0 * np.exp(-60.0), rel=1e-12)


NULL = {
    "poisson": Poisson(),
    "gamma": Gamma(),
    "tweedie": Tweedie(1.3),
    "quasi-binomial": QuasiBinomial(),
    "probit": QuasiBinomial("probit"),
    "negative-binomial": NegativeBinomial(0.7),
}


@pytest.mark.parametrize("spread", [None, 0.0, 2.0])
@pytest.mark.parametrize("name", NULL)
def test_the_null_model_keeps_its_offset(name, spread):
    family, theirs = NULL[name], statsmodels_family(name, power=1.3, dispersion=0.7)
    rng = np.random.default_rng(12)
    shares = rng.integers(0, 5, 50) / 4.0
    y = {"poisson": rng.poisson(2.0, 50), "quasi-binomial": shares, "probit": shares}.get(
        name, rng.gamma(2.0, 1.0, 50)
    )[:, None] * 1.0
    weight = rng.uniform(0.5, 2.0, 50)
    offset = None if spread is None else 2.0 + spread * rng.normal(size=50)
    level = family.null_level(y, weight, offset)
    fitted = sm.GLM(y[:, 0], np.ones(50), theirs, offset=offset, freq_weights=weight)
    assert level == pytest.approx(fitted.fit(tol=1e-14, maxiter=500).params[0], abs=1e-6)
    shift = 0.0 if offset is None else offset[:, None]
    slope = family.deviance_terms(y, np.zeros_like(y) + level + shift, weight, 1).gradient.sum()
    assert abs(slope) < 1e-9 * weight.sum()


@pytest.mark.parametrize("offset", [None, np.array([-1000.0, 1000.0])])
def test_a_null_model_may_lie_at_infinity(offset):
    nothing, ones = np.zeros((2, 1)), np.ones(2)
    for family in (Poisson(), Tweedie(), QuasiBinomial()):
        assert family.null_level(nothing, ones, offset) == -np.inf
    assert QuasiBinomial().null_level(nothing + 1.0, ones, offset) == np.inf


def test_loglik_is_a_sum_of_log_densities():
    rng = np.random.default_rng(5)
    eta, weight, n = rng.normal(size=(40, 1)), rng.integers(1, 4, 40).astype(float), 40

    def ours(family, y, dispersion=1.0):
        y = np.asarray(y, float)[:, None]
        return family.loglik(
            family.deviance_terms(y, eta, weight, 0).deviance, y, weight, dispersion
        )

    mu = np.exp(eta[:, 0])
    counts, amounts = rng.poisson(mu), rng.gamma(3.0, mu / 3.0)
    outcomes = rng.integers(0, 2, n)
    p = 1 / (1 + 1 / mu)
    assert ours(Poisson(), counts) == pytest.approx(weight @ stats.poisson(mu).logpmf(counts))
    assert ours(Binomial(), outcomes) == pytest.approx(weight @ stats.bernoulli(p).logpmf(outcomes))
    density = stats.gamma(1 / 0.4, scale=0.4 * mu).logpdf(amounts)
    assert ours(Gamma(), amounts, 0.4) == pytest.approx(weight @ density)


def test_gaussian_loglik_is_at_its_own_variance():
    y, eta = np.array([[1.0], [2.0], [4.0]]), np.array([[1.5], [1.5], [3.0]])
    deviance = Gaussian().deviance_terms(y, eta, np.ones(3), 0).deviance
    expected = stats.norm(eta, np.sqrt(deviance / 3)).logpdf(y).sum()
    assert Gaussian().loglik(deviance, y, np.ones(3), 1.0) == pytest.approx(expected)


def test_quasi_loglik_is_scaled_by_the_dispersion():
    y = np.array([[0.2], [0.9]])
    for family in (QuasiBinomial(), Tweedie()):
        assert family.loglik(6.0, y, np.ones(2), 2.0) == pytest.approx(-1.5)


class TestMultinomial:
    def test_the_deviance_is_that_of_the_probabilities(self):
        rng = np.random.default_rng(7)
        phi, weight = rng.normal(size=(25, 3)), rng.uniform(0.5, 2.0, 25)
        codes, family = rng.integers(0, 4, 25), Multinomial(4)
        P = softmax(phi @ family.contrasts.T, axis=1)
        np.testing.assert_allclose(family.mean(phi), P, rtol=1e-13)
        expected = -2.0 * weight @ np.log(P[np.arange(25), codes])
        found = family.deviance_terms(codes[:, None].astype(float), phi, weight, 0).deviance
        assert found == pytest.approx(expected, rel=1e-12)
        assert family.loglik(found, codes, weight, 1.0) == pytest.approx(-expected / 2)


@pytest.mark.parametrize(
    ("family", "y", "message"),
    [
        (Poisson(), [1.0, -2.0], "zero or positive; y has -2"),
        (Poisson(), [0.0, 0.0], "y is 0 in every row"),
        (Tweedie(), [1.0, -0.5], "zero or positive; y has -0.5"),
        (Tweedie(), [0.0, 0.0], "y is 0 in every row"),
        (Gamma(), [1.0, 0.0], "must be positive; y has 0"),
        (NegativeBinomial(), [1.0, -2.0], "negative-binomial response must be zero or positive"),
        (Binomial(), [1.0, 2.0], r"lies in \[0, 1\]; y has 2"),
        (QuasiBinomial(), [0.5, -1.0], r"lies in \[0, 1\]; y has -1"),
        (QuasiBinomial(), [0.0, 0.0], "y is 0 in every row"),
        (QuasiBinomial(), [1.0, 1.0], "y is 1 in every row"),
    ],
)
def test_impossible_responses_are_refused(family, y, message):
    with pytest.raises(ValueError, match=message):
        family.check(np.array(y))


@pytest.mark.parametrize("power", [1.0, 2.0, float("nan")])
def test_a_tweedie_power_outside_the_interval_is_refused(power):
    with pytest.raises(ValueError, match="strictly between 1 and 2"):
        Tweedie(power)


@pytest.mark.parametrize(
    ("family", "hint"),
    [
        ("binomial", "FairRidgeClassifier"),
        ("multinomial", "FairRidgeClassifier"),
        ("cox", "FairRidgeSurvival"),
        ("weibull", "There are gamma, gaussian"),
        (Poisson, "derived from SinglePredictor, can be passed"),
        (3, "derived from SinglePredictor, can be passed"),
    ],
)
def test_families_of_other_responses_are_refused_with_a_hint(family, hint):
    with pytest.raises(ValueError, match=hint):
        resolve_regression_family(family)
