"""Intervals of differences, ratios, areas and shares: statsmodels, scipy, brute force, coverage."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairridge.metrics import audit
from fairridge.metrics.contrasts import (
    largest_difference,
    mean_limits,
    mean_ratio_limits,
    rate_difference_limits,
    rate_ratio_limits,
    ratios,
    smallest_ratio,
)
from fairridge.metrics.share_interval import explained_share
from fairridge.metrics.sorted_scores import ranking
from tests.zoo import LateModule, mean_interval, rate_interval

proportion = LateModule("statsmodels.stats.proportion")


largest_rate_difference = partial(largest_difference, rate_difference_limits)
smallest_rate_ratio = partial(smallest_ratio, rate_ratio_limits)
smallest_mean_ratio = partial(smallest_ratio, mean_ratio_limits)


def largest_mean_difference(groups, confidence):
    return largest_difference(mean_limits, [groups], confidence)


def rate_ratio(first, second, confidence):
    return ratios(rate_ratio_limits, [first], second, confidence)[0]


def mean_ratio(first, second, confidence):
    return ratios(mean_ratio_limits, [first], second, confidence)[0]


def rate(hits, n, confidence=0.95):
    return rate_interval(np.arange(n) < hits, np.ones(n), confidence)


counts = st.tuples(st.integers(2, 120), st.floats(0.02, 0.98)).map(
    lambda pair: (max(1, min(round(pair[0] * pair[1]), pair[0] - 1)), pair[0])
)


@settings(max_examples=40, deadline=None)
@given(first=counts, second=counts, confidence=st.floats(0.6, 0.99))
def test_two_groups_have_the_intervals_of_statsmodels(first, second, confidence):
    a, b = rate(*first), rate(*second)
    found = rate_ratio(a, b, confidence)
    options = {"alpha": 1 - confidence}
    low, high = proportion.confint_proportions_2indep(
        *first, *second, compare="ratio", method="score", **options
    )
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=1e-5)
    gap = largest_rate_difference([[a, b]], confidence)
    low, high = proportion.confint_proportions_2indep(
        *first, *second, compare="diff", method="newcomb", **options
    )
    assert gap.value == pytest.approx(abs(a.value - b.value))
    # An absolute difference: an interval around 0 is folded there.
    np.testing.assert_allclose(gap.high, max(high, -low), rtol=1e-9)
    np.testing.assert_allclose(gap.low, max(low, -high, 0.0), rtol=1e-9, atol=1e-12)


def test_nobody_selected_in_a_group():
    found = rate_ratio(rate(0, 40), rate(20, 40), 0.95)
    _, high = proportion.confint_proportions_2indep(0, 40, 20, 40, compare="ratio", method="score")
    assert found.value == found.low == 0.0
    assert found.high == pytest.approx(high, rel=1e-5)
    assert np.isnan(rate_ratio(rate(3, 40), rate(0, 40), 0.95).value)
    assert np.isnan(smallest_rate_ratio([rate(0, 40), rate(0, 30)], 0.95).value)


def test_means_have_welchs_interval():
    rng = np.random.default_rng(0)
    x, y = rng.normal(3.0, 1.0, 12), rng.normal(1.0, 4.0, 50)
    groups = [mean_interval(values, np.ones(len(values)), 0.95) for values in (x, y)]
    found = largest_mean_difference(groups, 0.9)
    expected = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose([found.low, found.high], [max(expected.low, 0.0), expected.high])
    one_row = mean_interval(np.array([2.0]), np.ones(1), 0.95)
    assert np.isnan(largest_mean_difference([groups[0], one_row], 0.9).high)


def test_ratios_of_means_are_differences_of_logarithms():
    rng = np.random.default_rng(2)
    a, b, c = (mean_interval(rng.gamma(2.0, m, 40), np.ones(40), 0.9) for m in (1.0, 1.6, 1.4))
    found = mean_ratio(a, b, 0.9)
    assert found.value == pytest.approx(a.value / b.value)
    # Symmetric on the scale of logarithms, and the inverse has the inverse interval.
    assert np.sqrt(found.low * found.high) == pytest.approx(found.value)
    other = mean_ratio(b, a, 0.9)
    assert (other.low, other.high) == pytest.approx((1.0 / found.high, 1.0 / found.low))
    error = np.hypot(a.error / a.value, b.error / b.value)
    assert np.log(found.high / found.value) == pytest.approx(
        stats.t.isf(0.05, 75) * error, rel=0.01
    )
    lowest = smallest_mean_ratio([a, b, c], 0.9)
    assert lowest.value == pytest.approx(min(a.value, c.value) / b.value)
    assert lowest.low < found.low
    assert np.isnan(
        smallest_mean_ratio([a, mean_interval(-np.ones(9), np.ones(9), 0.9)], 0.9).value
    )


def test_numbers_have_ratios_that_are_positive_by_nature():
    sex, rng = np.repeat(["f", "m"], 60), np.random.default_rng(1)
    salary = np.exp(10.0 + 0.2 * (sex == "m") + 0.1 * rng.normal(size=120))
    options = {"sensitive_features": sex}
    logs = np.log(salary)
    found = audit(logs, logs, **options)
    assert np.isnan(found.mean_ratio.value)
    assert np.isnan(found.attributes[0].groups[0].predicted_over_observed.value)
    assert found.mean_difference.value == pytest.approx(logs[60:].mean() - logs[:60].mean())
    assert "largest difference of mean predictions between groups: 0.1" in str(found)
    amounts = audit(salary, salary, kind="amounts", **options)
    assert amounts.mean_ratio.value == pytest.approx(salary[:60].mean() / salary[60:].mean())
    assert "lowest ratio of mean predictions" in str(amounts)
    assert "largest difference" not in str(amounts)
    assert np.isfinite(audit(salary, salary, exposure=salary, **options).mean_ratio.value)
    whole = np.round(10.0 * logs)
    assert np.isfinite(audit(whole, logs, **options).mean_ratio.value)
    assert np.isnan(audit(whole, logs, kind="regression", **options).mean_ratio.value)
    with pytest.raises(ValueError, match=r"kind='amounts', but .* negative"):
        audit(logs - 10.0, logs, kind="amounts", **options)


def test_extremes_of_several_groups_hold_for_all_pairs_together():
    groups = [rate(10, 50), rate(20, 60), rate(45, 80)]
    pairs = [largest_rate_difference([pair], 1 - 0.05 / 3) for pair in combinations(groups, 2)]
    found = largest_rate_difference([groups], 0.95)
    assert found.value == pytest.approx(45 / 80 - 10 / 50)
    assert found.low == pytest.approx(max(pair.low for pair in pairs))
    assert found.high == pytest.approx(max(pair.high for pair in pairs))
    ratios = [smallest_rate_ratio(pair, 1 - 0.05 / 3) for pair in combinations(groups, 2)]
    least = smallest_rate_ratio(groups, 0.95)
    assert least.low == pytest.approx(min(one.low for one in ratios))
    assert least.high == pytest.approx(min(one.high for one in ratios))
    # Two kinds of rates share the level.
    odds = largest_rate_difference([groups[:2], groups[1:]], 0.95)
    halves = [largest_rate_difference([part], 0.975) for part in (groups[:2], groups[1:])]
    assert odds.high == pytest.approx(max(half.high for half in halves))


def delong(positive, score):
    """Variance of the AUC by its definition, pair by pair."""
    x, y = score[positive], score[~positive]
    right = (x[:, None] > y) + 0.5 * (x[:, None] == y)
    variance = right.mean(axis=1).var(ddof=1) / len(x) + right.mean(axis=0).var(ddof=1) / len(y)
    return right.mean(), variance


def test_areas_have_delongs_interval():
    rng = np.random.default_rng(2)
    positive = rng.random(150) < 0.3
    score = np.round(rng.normal(size=150) + positive, 1)  # ties
    found = ranking(positive, score, np.full(150, 2.5), 0.9)
    area, variance = delong(positive, score)
    half = stats.norm.ppf(0.95) * np.sqrt(variance) / (area * (1 - area))
    ends = [1 / (1 + (1 - area) / area * np.exp(-sign * half)) for sign in (-1, 1)]
    np.testing.assert_allclose([found.auc.low, found.auc.high], ends, rtol=1e-10)
    assert found.auc.value == pytest.approx(area)
    assert found.gini.value == pytest.approx(2 * area - 1)
    ks = stats.ks_2samp(score[positive], score[~positive]).statistic
    assert found.ks_of_classes == pytest.approx(ks)


def test_weighted_areas_are_those_of_repeated_rows():
    rng = np.random.default_rng(3)
    positive, score = rng.random(60) < 0.5, np.round(rng.normal(size=60), 1)
    weight = rng.integers(1, 4, 60)
    repeated = np.repeat(np.arange(60), weight)
    found = ranking(positive, score, weight.astype(float), 0.95)
    other = ranking(positive[repeated], score[repeated], np.ones(len(repeated)), 0.95)
    assert found.auc.value == pytest.approx(other.auc.value)
    assert found.ks_of_classes == pytest.approx(other.ks_of_classes)


def test_areas_without_an_interval():
    perfect = ranking(np.arange(9) > 4, np.arange(9.0), np.ones(9), 0.95)
    assert perfect.auc.value == 1.0
    assert np.isnan(perfect.auc.low)
    assert np.isnan(ranking(np.ones(5, dtype=bool), np.arange(5.0), np.ones(5), 0.95).auc.value)


def test_scores_rank_and_labels_do_not():
    rng = np.random.default_rng(4)
    group, p = rng.choice(["a", "b"], 300), rng.random(300)
    y = (rng.random(300) < p).astype(int)
    found = audit(y, p, sensitive_features=group)
    assert found["s0"].groups[0].ranking.auc.value == pytest.approx(
        delong(y[group == "a"] == 1, p[group == "a"])[0]
    )
    assert {"auc", "auc_low", "gini", "gini_high", "ks_of_classes"} <= set(found.to_frame().columns)
    labels = audit(y, (p > 0.5).astype(int), sensitive_features=group).to_frame()
    assert not {"auc", "gini", "ks_of_classes"} & set(labels.columns)


def share_of(f, s, weight, confidence):
    return explained_share([(f, weight)], s, s[:, :0], confidence)[0]


def test_shares_of_normal_data_have_the_noncentral_interval():
    """With one normal column the odds have the unit 1/(n(1 − ρ)), about."""
    rng = np.random.default_rng(5)
    n = 40_000
    s = rng.normal(size=(n, 1))
    f = 0.3 * s + rng.normal(size=(n, 1))
    found = share_of(f, s, np.ones(n), 0.95)
    correlation = stats.pearsonr(s[:, 0], f[:, 0])
    assert found.value == pytest.approx(correlation.statistic**2, rel=1e-10)
    low, high = correlation.confidence_interval(0.95)
    np.testing.assert_allclose([found.low, found.high], [low**2, high**2], rtol=0.01)


def test_shares_that_may_be_nothing_begin_at_zero():
    rng = np.random.default_rng(6)
    s, weight = rng.normal(size=(100, 3)), np.ones(100)
    found = share_of(rng.normal(size=(100, 1)), s, weight, 0.95)
    assert found.low == 0.0 < found.value < found.high < 0.3
    explained = share_of(s[:, :1], s, weight, 0.95)
    assert explained.value == pytest.approx(1.0)
    assert np.isnan(explained.low)
    assert share_of(np.ones((100, 1)), s, weight, 0.95).value == 0.0


def test_intervals_are_in_everything_that_shows_an_audit():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 400)})
    p = np.clip(rng.random(400) * (0.7 + 0.3 * (frame["sex"] == "m")), 0, 1)
    y = (rng.random(400) < p).astype(int)
    found = audit(y, p, sensitive_features=frame, confidence=0.9)
    part = found["sex"]
    group = min(part.groups, key=lambda one: one.adverse_impact_ratio)
    best = max(part.groups, key=lambda one: one.adverse_impact_ratio)
    expected = rate_ratio(group.selection_rate, best.selection_rate, 0.9)
    assert group.impact_ratio == expected
    # With two groups nothing is simultaneous, and both ways of asking agree.
    assert part.parity_ratio.low == pytest.approx(expected.low)
    assert found.parity_ratio == part.parity_ratio
    table = found.to_frame()
    assert table["adverse_impact_ratio_low"].min() == pytest.approx(expected.low)
    assert part.flat()["demographic_parity_ratio_high"] == part.parity_ratio.high
    text = " ".join(str(found).split())
    assert f"[{expected.low:.3f}, {expected.high:.3f}]" in text
    share = found.means_share
    assert f"S (R²): {share.value:.3f} ({share.low:.3f} to {share.high:.3f})" in text
    assert "90 % intervals" in text
    assert f" {group.calibration.value:.5f} " in text
    assert "obs − pred" in text


# ---------------------------------------------------------------------- coverage


def covered(intervals, truth):
    return np.mean([one.low <= truth <= one.high for one in intervals])


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 0.2])
def test_shares_cover_the_truth(effect):
    """Skewed predictions with a spread that depends on a group of a quarter of the rows."""
    rng = np.random.default_rng(11)

    def sample(n):
        s = (rng.random(n) < 0.25).astype(float)
        f = effect * s + rng.gamma(2.0, 0.3 + 0.2 * s) - 2.0 * (0.3 + 0.2 * s)
        return s[:, None], f[:, None], rng.uniform(0.5, 1.5, n)

    between = effect**2 * 0.25 * 0.75
    within = 2.0 * (0.75 * 0.3**2 + 0.25 * 0.5**2)
    found = []
    for _ in range(600):
        s, f, weight = sample(300)
        found.append(share_of(f, s, weight, 0.9))
    # If there is nothing to find, only the lower end can miss it.
    level = 0.9 if effect else 0.95
    assert abs(covered(found, between / (between + within)) - level) <= 0.03
