"""Intervals against statsmodels and scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping
from tests.zoo import LateModule, mean_interval, rate_interval

proportion = LateModule("statsmodels.stats.proportion")


def ratio_of_totals(predicted, observed, weight, confidence):
    everyone = Grouping("", ("all",), np.zeros(len(weight), dtype=np.intp))
    table = GroupTable.of([everyone], weight, predicted, observed, observed - predicted)
    return table.totals(0, confidence, amounts=False)[0]


@given(n=st.integers(1, 300), hits=st.integers(0, 300), confidence=st.floats(0.5, 0.999))
def test_rates_have_wilsons_interval(n, hits, confidence):
    hits = min(hits, n)
    found = rate_interval(np.arange(n) < hits, np.ones(n), confidence)
    low, high = proportion.proportion_confint(hits, n, alpha=1 - confidence, method="wilson")
    assert found.value == hits / n
    np.testing.assert_allclose([found.low, found.high], [low, high], atol=1e-12)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.high > found.low


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_means_have_students_interval(confidence):
    values = np.random.default_rng(0).normal(5.0, 2.0, 23)
    found = mean_interval(values, np.ones(23), confidence)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(confidence)
    np.testing.assert_allclose(
        [found.value, found.low, found.high], [values.mean(), *expected], rtol=1e-12
    )


def test_unequal_weights_count_as_fewer_rows():
    weight = np.array([1.0, 1.0, 2.0])
    assert GroupTable.of([Grouping.everyone(len(weight))], weight).sizes[0] == 16.0 / 6.0
    found = rate_interval(np.array([True, False, True]), weight, 0.9)
    low, high = proportion.proportion_confint(0.75 * 16 / 6, 16 / 6, alpha=0.1, method="wilson")
    np.testing.assert_allclose([found.value, found.low, found.high], [0.75, low, high], rtol=1e-12)


def test_nothing_to_estimate_from_is_not_a_number():
    nothing = np.zeros(0)
    for found in (
        mean_interval(nothing, nothing, 0.95),
        rate_interval(nothing > 0, nothing, 0.95),
    ):
        assert np.isnan([found.value, found.low, found.high]).all()
    single = mean_interval(np.array([3.0]), np.ones(1), 0.95)
    assert single.value == 3.0
    assert np.isnan([single.low, single.high]).all()


@pytest.mark.parametrize("df", [0.0084388625563383, 1e-3, 1e-6])
def test_hardly_more_than_one_row_has_no_width_without_an_error(df):
    # At the first of these degrees of freedom SciPy's quantile is infinite.
    weight, values = np.array([1.0, (1.0 - np.sqrt(1.0 - df**2)) / df]), np.full(2, 2.0)
    assert GroupTable.of([Grouping.everyone(len(weight))], weight).sizes[0] - 1.0 == pytest.approx(
        df, rel=1e-3
    )
    found = mean_interval(values, weight, 0.95)
    assert found.low == found.value == found.high == 2.0
    ratio = ratio_of_totals(values, values / 2.0, weight, 0.95)
    assert ratio.low == ratio.value == ratio.high == 2.0


def test_a_ratio_of_totals_has_the_interval_of_the_delta_method():
    rng = np.random.default_rng(0)
    weight = np.ones(50)
    found = []
    for _ in range(400):
        mean = rng.uniform(0.5, 1.5, 50)
        one = ratio_of_totals(rng.poisson(mean).astype(float), mean, weight, 0.9)
        found.append(one.low <= 1.0 <= one.high)
    assert 0.86 <= np.mean(found) <= 0.94
    one = ratio_of_totals(2.0 * mean, mean, weight, 0.9)
    np.testing.assert_allclose([one.value, one.low, one.high], 2.0)
    none = ratio_of_totals(np.zeros(50), mean, weight, 0.9)
    assert none.value == 0.0
    assert np.isnan([none.low, none.high]).all()
    for pair in ((mean, np.zeros(50)), (-mean, mean), (mean, -mean)):
        assert np.isnan(ratio_of_totals(*pair, weight, 0.9).value)


def test_groups_of_amounts_vary_as_all_of_them_do_at_least():
    rng = np.random.default_rng(0)
    group = Grouping("g", ("few", "many"), np.repeat([0, 1], [20, 980]))
    expected = np.repeat([2.0, 1.0], [20, 980])
    observed = expected * np.append(rng.uniform(0.9, 1.1, 20), rng.exponential(size=980))
    table = GroupTable.of([group], np.ones(1000), expected, observed, observed - expected)
    own, alike = (table.totals(0, 0.95, amounts=amounts) for amounts in (False, True))
    few, many = own
    ratio = many.value
    of_many = np.var(ratio * observed[20:] - expected[20:])
    of_few = np.var(few.value * observed[:20] - expected[:20])
    of_all = 4.0 * (0.98 * of_many + 0.02 * of_few / 4.0)
    half = stats.t.ppf(0.975, 19) * np.sqrt(of_all / 19.0) / 2.0
    assert alike[0].high == pytest.approx(few.value * np.exp(half))
    assert alike[0].low == pytest.approx(few.value / np.exp(half))
    assert few.high < 1.1 * few.value < alike[0].high
    assert alike[1] == many
