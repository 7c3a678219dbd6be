"""Tests of two groups against statsmodels and SciPy."""

import numpy as np
import pytest
from scipy.stats import norm, ttest_ind

from fairridge.metrics.proportions import (
    difference_p_value,
    mean_gap_p_value,
    part_of,
    ratio_p_value,
)
from tests.zoo import LateModule

proportion = LateModule("statsmodels.stats.proportion")

COUNTS = [((40, 100), (60, 110)), ((5, 60), (9, 200)), ((90, 100), (70, 90)), ((30, 31), (28, 40))]


def shares(count, size):
    return part_of(np.repeat([1.0, 0.0], [count, size - count]), np.ones(size))


@pytest.mark.parametrize(("first", "second"), COUNTS)
@pytest.mark.parametrize("ratio", [0.8, 1.0])
def test_ratios_are_the_score_test(first, second, ratio):
    theirs = proportion.test_proportions_2indep(
        *first, *second, value=ratio, compare="ratio", method="score", alternative="larger"
    )
    ours = ratio_p_value(shares(*first), shares(*second), ratio)
    assert ours == pytest.approx(theirs.pvalue, rel=1e-8)


@pytest.mark.parametrize(("first", "second"), COUNTS)
def test_differences_are_newcombes_interval(first, second):
    maximum = 0.35
    p = difference_p_value(shares(*first), shares(*second), maximum)
    low, high = proportion.confint_proportions_2indep(
        *first, *second, compare="diff", method="newcomb", alpha=2 * p
    )
    assert max(high, -low) == pytest.approx(maximum, rel=1e-9)


def test_a_difference_beyond_the_limit_is_never_accepted():
    assert difference_p_value(shares(10, 100), shares(60, 100), 0.3) == 1.0


def test_means_are_welchs_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.1, 1.0, 80), rng.normal(0.0, 2.0, 130)
    gap = a.mean() - b.mean()
    # H₀: the gap is 0.9 or more; the nearer end decides.
    side = ttest_ind(a - np.sign(gap) * 0.9, b, equal_var=False)
    theirs = side.pvalue / 2 if abs(gap) < 0.9 else 1 - side.pvalue / 2
    ours = mean_gap_p_value(part_of(a, np.ones(80)), part_of(b, np.ones(130)), 0.9)
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_weights_have_the_sandwich_variance():
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, 400)
    a, b = (rng.random(200) < 0.5).astype(float), (rng.random(200) < 0.45).astype(float)
    first, second = part_of(a, weight[:200]), part_of(b, weight[200:])
    means = np.average(a, weights=weight[:200]), np.average(b, weights=weight[200:])
    errors = [
        (w**2 @ (v - m) ** 2) / w.sum() ** 2
        for v, w, m in zip((a, b), (weight[:200], weight[200:]), means, strict=True)
    ]
    z = (np.log(means[0] / means[1]) - np.log(0.8)) / np.sqrt(
        errors[0] / means[0] ** 2 + errors[1] / means[1] ** 2
    )
    assert ratio_p_value(first, second, 0.8) == pytest.approx(norm.sf(z), rel=1e-12)


def test_nobody_selected_is_no_evidence_and_everybody_is_the_score_test():
    assert ratio_p_value(shares(0, 50), shares(0, 50), 0.8) == 1.0
    # Likeliest under H₀ are 0.8 and 1, so that only the first has a variance.
    expected = norm.sf((1.0 - 0.8) / np.sqrt(0.8 * 0.2 / 50 * 100 / 99))
    assert ratio_p_value(shares(50, 50), shares(50, 50), 0.8) == pytest.approx(expected)
