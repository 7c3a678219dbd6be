"""Tests of two groups against statsmodels and SciPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, skew

from fairridge.metrics import Estimate
from fairridge.metrics.contrasts import as_share, judged_estimates
from fairridge.metrics.groups import Grouping
from fairridge.rules import AdverseImpact, Group, MeanGap, OpportunityGap


def group(mean):
    return Group("", "", 40, 1.0, mean)


def ratio_p_value(first, second, ratio):
    return AdverseImpact(ratio).test(group(first), group(second))


def difference_p_value(first, second, maximum):
    return OpportunityGap(maximum).test(group(first), group(second))


def part_of(values, weight):
    everyone = Grouping("", ("all",), np.zeros(len(values), dtype=np.intp))
    return judged_estimates([everyone], weight, values)[1][0]


def shares(count, size):
    return part_of(np.repeat([1.0, 0.0], [count, size - count]), np.ones(size))


def test_a_gap_just_above_the_maximum_is_as_likely_as_one_just_below():
    """.054 against .05 says hardly more against the rule than .046 says for it."""
    ps = [
        difference_p_value(shares(500, 1000), shares(500 + k, 1000), 0.05) for k in (46, 50, 54, 90)
    ]
    assert ps == sorted(ps)
    assert ps[1] == pytest.approx(0.5)
    assert ps[2] == pytest.approx(1.0 - ps[0], abs=0.01)
    assert 0.5 < ps[2] < 0.62
    first, second = shares(500, 1000), shares(590, 1000)
    low, _ = OpportunityGap().limits(group(first), group(second), 1.0 - ps[3])
    assert low == pytest.approx(0.05, rel=1e-6)


def test_skewness_is_that_of_the_mean():
    """g of the rows over √n, in the sample's unbiased cumulants; weights of 1 and 2 are no rows."""
    values = np.random.default_rng(2).exponential(size=40)
    part = part_of(values, np.full(40, 3.0))
    assert part.skewness == pytest.approx(skew(values, bias=False) / np.sqrt(40))
    assert group(part).times(4.0).mean.skewness == pytest.approx(part.skewness / 2.0)
    weight = np.repeat([1.0, 2.0], 20)
    cubes = weight**3 @ (values - np.average(values, weights=weight)) ** 3
    uneven = part_of(values, weight)
    third = cubes / weight.sum() ** 3 / uneven.error**3
    n = uneven.size
    assert uneven.skewness == pytest.approx(third * n**2 / (n - 1.0) / (n - 2.0))


def test_weighted_rows_count_with_their_effective_number():
    """Shares of as many equal rows as have the sandwich variance."""
    rng = np.random.default_rng(1)
    chosen = (rng.random(400) < 0.5).astype(float)
    # Weights that go with the outcome, so that Kish's number is too large.
    weight = rng.uniform(0.5, 2.0, 400) * (1.0 + 2.0 * chosen)
    part = part_of(chosen, weight)
    mean = np.average(chosen, weights=weight)
    sandwich = weight**2 @ (chosen - mean) ** 2 / weight.sum() ** 2
    assert part.size == pytest.approx(weight.sum() ** 2 / (weight @ weight))
    assert as_share(part).size == pytest.approx(min(mean * (1 - mean) / sandwich, part.size))
    n = round(as_share(part).size)
    plain = Estimate(mean, size=n, error=np.sqrt(mean * (1 - mean) / (n - 1)))
    other = shares(60, 130)
    variance = mean * (1 - mean) / n * part.size / (part.size - 1)
    scaled = replace(part, error=np.sqrt(variance))
    assert ratio_p_value(scaled, other, 0.8) == pytest.approx(ratio_p_value(plain, other, 0.8))
    gap = difference_p_value(scaled, other, 0.4)
    assert gap == pytest.approx(difference_p_value(plain, other, 0.4))


def test_ends_of_intervals_are_where_tests_turn():
    first, second = shares(40, 100), shares(45, 110)
    low, high = AdverseImpact().limits(group(first), group(second), 0.1)
    assert ratio_p_value(first, second, low) == pytest.approx(0.1, rel=1e-6)
    assert ratio_p_value(first, second, high) == pytest.approx(0.9, rel=1e-6)
    low, high = OpportunityGap().limits(group(first), group(second), 0.1)
    assert difference_p_value(first, second, max(high, -low)) == pytest.approx(0.1, rel=1e-6)
    low, high = MeanGap().limits(group(first), group(second), 0.1)
    found = MeanGap(max(high, -low)).test(group(first), group(second))
    assert found == pytest.approx(0.1, rel=1e-6)


def test_nobody_selected_is_no_evidence_and_everybody_is_the_score_test():
    assert ratio_p_value(shares(0, 50), shares(0, 50), 0.8) == 1.0
    # Likeliest under H₀ are 0.8 and 1, so that only the first has a variance.
    expected = norm.sf((1.0 - 0.8) / np.sqrt(0.8 * 0.2 / 50 * 100 / 99))
    assert ratio_p_value(shares(50, 50), shares(50, 50), 0.8) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("heavier", [1.0, 3.0])
def test_tests_of_weighted_shares_keep_their_level(heavier):
    """A ratio of exactly 0.8 in the weighted population; rows with the outcome may weigh more."""
    rng = np.random.default_rng(0)

    def weighted(n, share):
        chance = share / (heavier * (1.0 - share) + share)
        chosen = (rng.random(n) < chance).astype(float)
        return part_of(chosen, np.where(chosen > 0, heavier, 1.0) * rng.lognormal(0.0, 0.6, n))

    passed = [
        ratio_p_value(weighted(120, 0.4), weighted(300, 0.5), 0.8) <= 0.1 for _ in range(1500)
    ]
    assert np.mean(passed) <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 1500)
