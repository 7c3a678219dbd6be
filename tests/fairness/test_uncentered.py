"""Statistical parity on S as it is coded, far from zero, against arithmetic with more exponents."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.exceptions import DataWarning
from fairridge.fairness import StatisticalParity
from fairridge.families import Tweedie

SHIFT = 1000.0
POWERS = {"poisson": 1.0, "tweedie": 1.4, "gamma": 2.0}

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).maxexp <= 1024, reason="this machine has no wider floating point"
)


def deviance(power, y, eta):
    """The deviance, in extended precision: exponents up to 11,000."""
    y, eta = y.astype(np.longdouble), eta.astype(np.longdouble)
    mu, log = np.exp(eta), np.log(np.where(y > 0, y, 1))
    if power == 1.0:
        rows = y * (log - eta) - y + mu
    elif power == 2.0:
        rows = eta - log + y / mu - 1
    else:
        a, b = 1 - power, 2 - power
        rows = y**b / (a * b) - y * mu**a / a + mu**b / b
    return 2 * rows.sum()


def test_the_share_is_exact_where_deviances_of_outcomes_overflow():
    """1 − exp(−e^η) of η in the hundreds: the deviance of y = 0 is 2e^η."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=200)
    x = rng.normal(size=200) + s
    y = (rng.random(200) < -np.expm1(-np.exp(0.5 * x - s - 0.5))).astype(int)
    S, X = s[:, None] + SHIFT, x[:, None]
    model = FairRidgeClassifier(
        1.0, link="cloglog", definition=StatisticalParity(center=False)
    ).fit(X, y, sensitive_features=S)
    assert model.fair_intercept_ > 800.0
    sensitive = S @ model.alpha_
    rest = model.decision_function(X, sensitive_features=S) - model.fair_intercept_ - sensitive

    def deviance_at(eta):
        t = np.exp((model.fair_intercept_ + eta).astype(np.longdouble))
        return -2 * np.where(y == 1, np.log(-np.expm1(-np.minimum(t, 1000))), -t).sum()

    with_both, without, null = map(deviance_at, (sensitive + rest, rest, 0.0 * rest))
    expected = float((with_both - without) / (with_both - null))
    assert model.unfairness_ == pytest.approx(expected, rel=1e-9)


def problem(family):
    rng = np.random.default_rng(0)
    s = rng.normal(size=200)
    x = rng.normal(size=200) + s
    mean = np.exp(0.5 * x - 3.0 * s)
    y = rng.poisson(mean).astype(float) if family == "poisson" else rng.gamma(4.0, mean / 4.0)
    if family == "tweedie":
        y[rng.random(200) < 0.3] = 0.0
    return s[:, None] + SHIFT, x[:, None], y


@pytest.mark.parametrize("family", POWERS)
def test_the_share_is_exact_where_deviances_overflow(family):
    S, X, y = problem(family)
    model = FairRidgeRegressor(
        1.0,
        family=Tweedie(POWERS[family]) if family == "tweedie" else family,
        definition=StatisticalParity(center=False),
    ).fit(X, y, sensitive_features=S)
    assert abs(model.fair_intercept_) > 1400.0
    # Rounding of an intercept of thousands is all that may differ.
    expected = float(share_of(POWERS[family], model, S, X, y))
    assert model.unfairness_ == pytest.approx(expected, rel=1e-9)


def share_of(power, model, S, X, y):
    sensitive = S @ model.alpha_
    rest = X @ model.coef_[1:] + S @ model.coef_[:1]
    rest += model.intercept_ - model.fair_intercept_ - sensitive
    with_both, without, null = (
        deviance(power, y, model.fair_intercept_ + eta)
        for eta in (sensitive + rest, rest, 0.0 * rest)
    )
    return (with_both - without) / (with_both - null)


def separated(shift):
    """No counts where x is less than s, by as little as 0.01 or as much as 10."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=200) + shift
    gap = np.where(rng.random(200) < 0.5, 0.0, 10.0 ** rng.uniform(-2.0, 1.0, size=200))
    y = np.where(gap > 0.0, 0.0, rng.poisson(2.0, size=200)).astype(float)
    return s[:, None], (s - gap)[:, None], y


UNCENTERED = StatisticalParity(center=False)


@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_the_share_is_exact_where_counts_are_separated(shift):
    S, X, y = separated(shift)
    with pytest.warns(DataWarning, match="separate the responses"):
        model = FairRidgeRegressor(1.0, family="poisson", definition=UNCENTERED).fit(
            X, y, sensitive_features=S
        )
    assert model.beta_[0] > 50.0
    expected = float(share_of(1.0, model, S, X, y))
    assert model.unfairness_ == pytest.approx(expected, rel=1e-6)
    if expected > 0.5:
        bounded = FairRidgeRegressor(0.5, family="poisson", definition=UNCENTERED)
        bounded.fit(X, y, sensitive_features=S)
        assert bounded.unfairness_ == pytest.approx(0.5, abs=1e-9)
        assert float(share_of(1.0, bounded, S, X, y)) == pytest.approx(0.5, rel=1e-6)


def test_nagelkerke_beyond_floating_point_is_an_error():
    S, X, y = problem("poisson")
    definition = StatisticalParity(center=False, measure="nagelkerke")
    with pytest.raises(ValueError, match=r"beyond floating point.*code S nearer to 0"):
        FairRidgeRegressor(0.2, family="poisson", definition=definition).fit(
            X, y, sensitive_features=S
        )
