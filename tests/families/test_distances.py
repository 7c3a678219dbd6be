"""Quadratic forms over pairs of rows, against all pairs."""

import numpy as np
import pytest

from fairridge.exceptions import DataWarning
from fairridge.families import distances
from fairridge.families.distances import (
    AbsoluteDifference,
    ClassDifference,
    Closeness,
    PairwiseDistance,
    SameOutcome,
    SquaredDifference,
)

N = 60


def all_pairs(S, y, v, distance):
    total = np.zeros((S.shape[1], S.shape[1]))
    for i in range(len(y)):
        for j in range(len(y)):
            gap = S[i] - S[j]
            total += v[i] * v[j] * distance(y[i], y[j]) * np.outer(gap, gap)
    return total


CASES = {
    "absolute": (AbsoluteDifference(), lambda a, b: abs(a - b)),
    "transformed": (AbsoluteDifference(np.exp), lambda a, b: abs(np.exp(a) - np.exp(b))),
    "squared": (SquaredDifference(), lambda a, b: (a - b) ** 2),
    "class": (ClassDifference(), lambda a, b: float(a != b)),
    "near": (Closeness(0.3), lambda a, b: np.exp(-abs(a - b) / 0.3)),
    "very near": (Closeness(0.002), lambda a, b: np.exp(-abs(a - b) / 0.002)),
    "general": (
        PairwiseDistance(lambda a, b: np.abs(a - b) ** 1.5),
        lambda a, b: abs(a - b) ** 1.5,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ties", [False, True])
def test_forms_equal_the_sum_over_all_pairs(case, ties):
    rng = np.random.default_rng(5)
    S, y, v = rng.normal(size=(N, 3)) + 4.0, rng.normal(size=N), rng.uniform(0.2, 2, N)
    if ties:
        y = np.round(y)
    ours, plain = CASES[case]
    np.testing.assert_allclose(
        ours.form(S.copy(), y[:, None], v), all_pairs(S, y, v, plain), rtol=1e-10
    )


def test_the_input_is_left_alone():
    rng = np.random.default_rng(7)
    S, y, v = rng.normal(size=(N, 2)), rng.normal(size=(N, 1)), np.ones(N)
    kept = S.copy(), y.copy(), v.copy()
    for ours, _ in CASES.values():
        ours.form(S, y, v)
    for array, original in zip((S, y, v), kept, strict=True):
        np.testing.assert_array_equal(array, original)


def test_a_general_distance_warns_of_many_rows(monkeypatch):
    monkeypatch.setattr(distances, "MAX_PAIRED_ROWS", 10)
    rng = np.random.default_rng(8)
    with pytest.warns(DataWarning, match="pairs of rows"):
        CASES["general"][0].form(rng.normal(size=(N, 1)), rng.normal(size=(N, 1)), np.ones(N))


def test_pairs_with_the_same_outcome():
    rng = np.random.default_rng(9)
    S, v = rng.normal(size=(N, 3)) + 4.0, rng.uniform(0.2, 2, N)
    y = rng.poisson(1.5, N).astype(float)
    y[0] = 99.0  # an outcome that only one row has is compared with nobody
    ours = SameOutcome().form(S, y[:, None], v)
    np.testing.assert_allclose(ours, all_pairs(S, y, v, lambda a, b: a == b), rtol=1e-12)
    times = np.column_stack([y, rng.integers(0, 2, N)])  # of several columns, all must agree
    expected = all_pairs(S, times, v, lambda a, b: float((a == b).all()))
    np.testing.assert_allclose(SameOutcome().form(S, times, v), expected, rtol=1e-12)


def test_same_outcome_needs_ties():
    with pytest.raises(ValueError, match="no two rows have the same y; use Closeness"):
        SameOutcome().form(np.ones((N, 1)), np.arange(float(N))[:, None], np.ones(N))


def test_the_default_scale_of_closeness_is_the_deviation_of_y():
    rng = np.random.default_rng(10)
    S, y, v = rng.normal(size=(N, 2)), rng.normal(size=(N, 1)), rng.uniform(0.2, 2, N)
    scale = np.sqrt(np.cov(y[:, 0], aweights=v, bias=True))
    form = Closeness().form(S, y, v)
    np.testing.assert_allclose(form, Closeness(scale).form(S, y, v), rtol=1e-12)
    np.testing.assert_allclose(form, Closeness().form(S, 1e200 * y + 1e201, v), rtol=1e-12)


def test_closeness_keeps_digits_where_neighbors_have_nearly_the_same_S():
    # Sums of squares would cancel: s moves by 1e-7 between rows, and has a size of 1.
    y = np.r_[np.arange(15.0), 1e7 + np.arange(15.0)]
    S, v = 1e-7 * y[:, None], np.ones(30)
    expected = all_pairs(S, y, v, lambda a, b: np.exp(-abs(a - b)))
    np.testing.assert_allclose(Closeness(1.0).form(S, y[:, None], v), expected, rtol=1e-7)


@pytest.mark.parametrize("scale", [0.0, np.nan, "wide", True])
def test_a_scale_is_a_positive_number(scale):
    with pytest.raises(ValueError, match="scale="):
        Closeness(scale)
