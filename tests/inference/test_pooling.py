"""Meta-analysis against statsmodels, pooled rows and simulation."""

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.inference import pool


def party(seed, slope=2.0, n=300, model=None, y=None):
    rng = np.random.default_rng(seed)
    sex, skill = rng.integers(0, 2, n), rng.normal(size=n)
    X = np.column_stack([sex, skill + sex, rng.normal(size=n)])
    wage = slope * skill + sex + rng.normal(size=n)
    model = FairRidgeRegressor(0.05, sensitive=[0]) if model is None else model
    target = wage if y is None else y(wage)
    return model.fit(X, target).inference(X, target)


@pytest.fixture(scope="module")
def parties():
    return [party(seed, slope, n) for seed, (slope, n) in
            enumerate([(2.0, 300), (2.5, 200), (1.2, 400), (2.0, 250)])]  # fmt: skip


@pytest.mark.parametrize("effects", ["fixed", "random"])
def test_every_coefficient_is_that_of_statsmodels(parties, effects):
    found = pool(parties, effects)
    assert found.names == parties[0].names
    for k in range(len(found.names)):
        y = np.array([one.estimate[k] for one in parties])
        v = np.array([one.standard_errors[k] ** 2 for one in parties])
        # With a tolerance near rounding statsmodels takes an overshoot for τ² = 0.
        theirs = combine_effects(y, v, method_re="iterated", atol=1e-8)
        mean, error = (
            (theirs.mean_effect_fe, theirs.sd_eff_w_fe)
            if effects == "fixed"
            else (theirs.mean_effect_re, theirs.sd_eff_w_re)
        )
        assert found.estimate[k] == pytest.approx(mean, rel=1e-8)
        assert found.standard_errors[k] == pytest.approx(error, rel=1e-7)
        assert found.heterogeneity[k] == pytest.approx(theirs.q)
        if effects == "random":
            assert found.between[k] == pytest.approx(max(theirs.tau2, 0.0), rel=1e-6, abs=1e-10)
        else:
            assert found.between[k] == 0.0
        which = 0 if effects == "fixed" else 1
        ends = theirs.conf_int(alpha=0.1, use_t=effects == "random")[which]
        assert found.confidence_interval(0.9)[k] == pytest.approx(ends, rel=1e-6)


def test_parties_that_differ_are_found(parties):
    fixed, mixed = pool(parties), pool(parties, "random")
    k = fixed.names.index("x1")
    assert fixed.heterogeneity_p_values[k] < 1e-6
    assert mixed.between[k] > 0.05
    assert mixed.standard_errors[k] > 2 * fixed.standard_errors[k]
    assert 0.5 < fixed.i_squared[k] < 1.0
    assert "Most different between models: 'x1'" in str(mixed)
    table = mixed.to_frame()
    assert list(table["term"]) == list(mixed.names)
    assert table["between"].to_numpy() == pytest.approx(mixed.between)


def test_many_parties_are_nearly_one_model():
    rng = np.random.default_rng(8)
    sex, skill = rng.integers(0, 2, 4000), rng.normal(size=4000)
    X = np.column_stack([sex, skill + sex])
    y = (rng.random(4000) < 1 / (1 + np.exp(-skill - sex))).astype(int)
    fit = FairRidgeClassifier(0.02, sensitive=[0])
    found = pool([
        fit.fit(X[part], y[part]).inference(X[part], y[part])
        for part in np.array_split(np.arange(4000), 4)
    ])  # fmt: skip
    whole = fit.fit(X, y).inference(X, y)
    assert (np.abs(found.estimate - whole.estimate) < whole.standard_errors).all()
    np.testing.assert_allclose(found.standard_errors, whole.standard_errors, rtol=0.1)
    assert found.n_rows == 4000


@pytest.mark.slow
def test_intervals_of_random_effects_cover_the_mean(parties):
    """Estimates of three parties whose coefficients vary as much as their errors, or five times."""
    rng = np.random.default_rng(3)
    for between in (0.1, 0.5):
        covered = 0
        for _ in range(1000):
            errors = rng.uniform(0.05, 0.15, size=3)
            estimates = rng.normal(2.0, np.hypot(between, errors))
            low, high = pool(
                [estimated(parties[0], *one) for one in zip(estimates, errors, strict=True)],
                "random",
            ).confidence_interval()[2]
            covered += low < 2.0 < high
        # Three Monte Carlo errors are 2 %. Where τ² is small, intervals are too wide: it may be
        # estimated as zero, and then their variance is that of fixed effects.
        assert covered / 1000 >= 0.93
        assert between < 0.5 or covered / 1000 <= 0.98


def estimated(one, value, error):
    """Return what a party found, with another coefficient and its standard error."""
    estimate, covariance = one.estimate.copy(), one.covariance.copy()
    estimate[2], covariance[2, 2] = value, error**2
    return replace(one, raw=replace(one.raw, estimate=estimate, covariance=covariance))


def test_coefficients_fixed_at_zero_stay_there(parties):
    kept = parties[0].raw.covariance.copy()
    kept[1] = kept[:, 1] = 0.0
    zero = [
        replace(one, raw=replace(one.raw, estimate=one.estimate * [1, 0, 1, 1], covariance=kept))
        for one in parties
    ]
    found = pool(zero, "random")
    assert found.estimate[1] == found.standard_errors[1] == found.between[1] == 0.0
    assert np.isnan(found.to_frame()["p_value"][1])  # there is nothing to test
    with pytest.raises(ValueError, match=r"inferences\[1\] has no standard error of 'x0'"):
        pool([parties[0], zero[0]])


def test_what_cannot_be_combined_is_refused(parties):
    with pytest.raises(ValueError, match="at least two inferences, but 1 given"):
        pool(parties[:1])
    with pytest.raises(ValueError, match="effects='mixed'"):
        pool(parties, "mixed")
    with pytest.raises(TypeError, match=r"inferences\[1\] is FairRidgeRegressor"):
        pool([parties[0], FairRidgeRegressor()])
    other = party(9, model=FairRidgeRegressor(0.1, sensitive=[0]))
    with pytest.raises(ValueError, match=r"inferences\[1\] has unfairness 0.1"):
        pool([parties[0], other])
    classes = party(9, model=FairRidgeClassifier(0.05, sensitive=[0]), y=lambda y: (y > 0) * 1)
    with pytest.raises(ValueError, match=r"inferences\[1\] has family 'binomial'"):
        pool([parties[0], classes])
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    fewer = FairRidgeRegressor(0.05, sensitive=[0]).fit(X, y).inference(X, y)
    with pytest.raises(ValueError, match=r"other coefficients than inferences\[0\]: 'x2'"):
        pool([parties[0], fewer])
