"""Distances between groups, against scipy and by hand."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairridge.metrics.groups import Grouping
from fairridge.metrics.sorted_scores import SortedScores

numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
groups = st.lists(st.tuples(numbers, st.booleans(), st.integers(1, 4)), min_size=2, max_size=60)


def between(a, b, wa=None, wb=None):
    scores = np.concatenate([a, b]).astype(float)
    weight = np.concatenate(
        [np.ones(len(a)) if wa is None else wa, np.ones(len(b)) if wb is None else wb]
    )
    second = (np.arange(len(scores)) >= len(a)).astype(np.intp)
    return SortedScores(scores, weight).of_groups(Grouping("", ("a", "b"), second))[0]


@given(rows=groups)
def test_ks_and_wasserstein_are_scipys(rows):
    a = [x for x, inside, _ in rows if inside]
    b = [x for x, inside, _ in rows if not inside]
    if not (a and b):
        assert np.isnan(between(a, b).kolmogorov_smirnov)
        return
    found = between(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its p-value, which nobody asked for
        ks = stats.ks_2samp(a, b, method="exact").statistic
    np.testing.assert_allclose(found.kolmogorov_smirnov, ks, atol=1e-12)
    scale = max(1.0, np.ptp([*a, *b]))
    distance = stats.wasserstein_distance(a, b)
    np.testing.assert_allclose(found.wasserstein, distance, atol=1e-12 * scale)


@given(rows=groups)
def test_integer_weights_are_repeated_rows(rows):
    a = [(x, w) for x, inside, w in rows if inside]
    b = [(x, w) for x, inside, w in rows if not inside]
    if not (a and b):
        return
    (xa, wa), (xb, wb) = (np.array(part, dtype=float).T for part in (a, b))
    weighted = between(xa, xb, wa, wb)
    repeated = between(np.repeat(xa, wa.astype(int)), np.repeat(xb, wb.astype(int)))
    np.testing.assert_allclose(weighted.kolmogorov_smirnov, repeated.kolmogorov_smirnov, atol=1e-12)
    np.testing.assert_allclose(weighted.wasserstein, repeated.wasserstein, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(
        weighted.standardized_mean_difference,
        repeated.standardized_mean_difference,
        rtol=1e-6,
        atol=1e-9,
    )


def test_the_standardized_mean_difference_pools_the_deviations_within_groups():
    rng = np.random.default_rng(1)
    a, b = rng.normal(3.0, 1.0, 40), rng.normal(1.0, 2.0, 60)
    pooled = np.sqrt((40 * a.var() + 60 * b.var()) / 100)
    found = between(a, b).standardized_mean_difference
    np.testing.assert_allclose(found, (a.mean() - b.mean()) / pooled, rtol=1e-12)
    np.testing.assert_allclose(between(b, a).standardized_mean_difference, -found, rtol=1e-12)


@pytest.mark.parametrize("level", [0.1, 1e9 + 0.3])
def test_constant_scores_are_no_distance_apart(level):
    found = between(np.full(7, level), np.full(13, level))
    assert (found.standardized_mean_difference, found.wasserstein) == (0.0, 0.0)
    assert found.kolmogorov_smirnov == 0.0


def test_two_different_constants_are_infinitely_many_deviations_apart():
    found = between(np.full(3, 0.1), np.full(4, 0.7))
    assert found.standardized_mean_difference == -np.inf
    assert found.kolmogorov_smirnov == 1.0
    np.testing.assert_allclose(found.wasserstein, 0.6, rtol=1e-12)


def test_a_mean_far_from_zero_costs_no_digits():
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 100, 50), rng.integers(20, 120, 60)
    near, far = between(a, b), between(a + 1e9, b + 1e9)
    np.testing.assert_allclose(
        far.standardized_mean_difference, near.standardized_mean_difference, rtol=1e-12
    )
