"""Cox's partial likelihood: published answers, risk sets written out, ties, hazards."""

import numpy as np
import pytest
from scipy.optimize import brentq

from fairridge.families import Cox
from tests.zoo import LateModule

hazard_regression = LateModule("statsmodels.duration.hazard_regression")

# Remission of leukemia under 6-MP and placebo, weeks (Freireich et al. 1963); negative: censored.
TREATED = [6, 6, 6, -6, 7, -9, 10, -10, -11, 13, 16, -17, -19, -20, 22, 23, -25, -32, -32, -34, -35]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


@pytest.fixture(scope="module")
def leukemia():
    weeks = np.array(TREATED + PLACEBO, dtype=float)
    placebo = np.repeat([0.0, 1.0], [len(TREATED), len(PLACEBO)])
    return np.column_stack([np.abs(weeks), weeks > 0]), placebo


@pytest.fixture(scope="module")
def tied():
    """Few distinct times, with events and censoring at all of them, in random order."""
    rng = np.random.default_rng(9)
    y = np.column_stack([rng.integers(1, 7, 60), rng.random(60) < 0.6]).astype(float)
    return y, rng.normal(size=(60, 1)), rng.uniform(0.3, 2.0, 60)


def deviance_by_hand(ties, y, eta, weight):
    time, event = y[:, 0], y[:, 1] == 1.0
    risk, total = weight * np.exp(eta), 0.0
    for t in np.unique(time[event]):
        dying, m = event & (time == t), np.count_nonzero(event & (time == t))
        taken = np.arange(m) / m if ties == "efron" else np.zeros(m)
        denominators = risk[time >= t].sum() - taken * risk[dying].sum()
        total += (weight * eta)[dying].sum() - weight[dying].mean() * np.log(denominators).sum()
    return -2.0 * total


@pytest.mark.parametrize(("ties", "published"), [("efron", 1.57213), ("breslow", 1.50919)])
def test_published_log_hazard_ratio_of_the_leukemia_trial(leukemia, ties, published):
    y, placebo = leukemia

    def slope(beta):
        return (
            placebo
            @ Cox(ties).deviance_terms(y, (beta * placebo)[:, None], np.ones(42), 1).gradient[:, 0]
        )

    assert brentq(slope, 0.0, 3.0, xtol=1e-12) == pytest.approx(published, abs=6e-6)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_the_deviance_is_that_of_the_risk_sets(tied, ties):
    y, eta, weight = tied
    found = Cox(ties).deviance_terms(y, eta, weight, 0).deviance
    assert found == pytest.approx(deviance_by_hand(ties, y, eta[:, 0], weight), rel=1e-12)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_the_derivatives_are_those_of_statsmodels(tied, ties):
    y, _, _ = tied
    Z = np.random.default_rng(10).normal(size=(60, 3))
    beta = np.array([0.3, -0.5, 0.1])
    theirs = hazard_regression.PHReg(y[:, 0], Z, status=y[:, 1], ties=ties)
    sums = Cox(ties).deviance_terms(y, (Z @ beta)[:, None], np.ones(60), 2)
    assert Cox(ties).loglik(sums.deviance, y, np.ones(60), 1.0) == pytest.approx(
        theirs.loglike(beta), rel=1e-12
    )
    np.testing.assert_allclose(sums.gradient[:, 0] @ Z, -2.0 * theirs.score(beta), atol=1e-10)
    H = (Z * sums.curvature[:, :, 0]).T @ Z - sums.coupling(Z)
    np.testing.assert_allclose(H, -2.0 * theirs.hessian(beta), atol=1e-9)


def test_a_weight_is_a_repeated_row_with_breslows_ties_alone(tied):
    y, eta, _ = tied
    counts = np.arange(60) % 3 + 1

    def deviances(ties, counts):
        weighted = Cox(ties).deviance_terms(y, eta, counts.astype(float), 0).deviance
        rows = np.repeat(np.arange(60), counts)
        return weighted, Cox(ties).deviance_terms(
            y[rows], eta[rows], np.ones(len(rows)), 0
        ).deviance

    weighted, repeated = deviances("breslow", counts)
    assert weighted == pytest.approx(repeated, rel=1e-12)
    # Repeated events are ties, each of which sees fewer of the others than one event of weight m.
    weighted, repeated = deviances("efron", counts)
    assert weighted > repeated + 1.0
    # Censored rows are never among the ties.
    weighted, repeated = deviances("efron", np.where(y[:, 1] == 1.0, 1, counts))
    assert weighted == pytest.approx(repeated, rel=1e-12)


class TestBaseline:
    def test_without_predictors_it_is_nelson_and_aalens(self, leukemia):
        y = leukemia[0][:21]
        times, hazard = Cox().baseline_hazard(y, np.zeros((21, 1)), np.ones(21))
        # 3/21, 1/17, 1/15, 1/12, 1/11, 1/7, 1/6
        np.testing.assert_array_equal(times, [6, 7, 10, 13, 16, 22, 23])
        steps = [3 / 21, 1 / 17, 1 / 15, 1 / 12, 1 / 11, 1 / 7, 1 / 6]
        np.testing.assert_allclose(np.exp(hazard), np.cumsum(steps), rtol=1e-13)


def test_an_unknown_treatment_of_ties_is_refused():
    with pytest.raises(ValueError, match="ties='exact' is not known; use 'breslow' or 'efron'"):
        Cox("exact")
