"""Deviances, means and log-likelihoods of the families, against statsmodels and by hand."""

import numpy as np
import pytest

from fairridge.families import (
    Binomial,
    Gamma,
    NegativeBinomial,
    Poisson,
    QuasiBinomial,
    Tweedie,
)
from tests.zoo import LateModule, statsmodels_family

sm = LateModule("statsmodels.api")


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


def test_quasi_loglik_is_scaled_by_the_dispersion():
    y = np.array([[0.2], [0.9]])
    for family in (QuasiBinomial(), Tweedie()):
        assert family.loglik(6.0, y, np.ones(2), 2.0) == pytest.approx(-1.5)


@pytest.mark.parametrize("power", [1.0, 2.0, float("nan")])
def test_a_tweedie_power_outside_the_interval_is_refused(power):
    with pytest.raises(ValueError, match="strictly between 1 and 2"):
        Tweedie(power)
