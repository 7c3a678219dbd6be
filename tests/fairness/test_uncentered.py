"""Statistical parity on S as it is coded, far from zero, against arithmetic with more exponents."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor
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


def test_nagelkerke_beyond_floating_point_is_an_error():
    S, X, y = problem("poisson")
    definition = StatisticalParity(center=False, measure="nagelkerke")
    with pytest.raises(ValueError, match=r"beyond floating point.*code S nearer to 0"):
        FairRidgeRegressor(0.2, family="poisson", definition=definition).fit(
            X, y, sensitive_features=S
        )
