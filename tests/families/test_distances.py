"""Quadratic forms over pairs of rows, against all pairs."""

import numpy as np
import pytest

from fairridge.exceptions import DataWarning
from fairridge.families import distances
from fairridge.families.distances import (
    AbsoluteDifference,
    ClassDifference,
    PairwiseDistance,
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


@pytest.mark.parametrize("case", CASES)
def test_forms_do_not_see_the_origin_of_S(case):
    rng = np.random.default_rng(6)
    S, y, v = rng.normal(size=(N, 2)), np.round(rng.normal(size=(N, 1)), 1), np.ones(N)
    form = CASES[case][0].form
    np.testing.assert_allclose(form(S + 1e4, y, v), form(S, y, v), rtol=1e-8)


def test_the_input_is_left_alone():
    rng = np.random.default_rng(7)
    S, y, v = rng.normal(size=(N, 2)), rng.normal(size=(N, 1)), np.ones(N)
    kept = S.copy(), y.copy(), v.copy()
    for ours, _ in CASES.values():
        ours.form(S, y, v)
    for array, original in zip((S, y, v), kept, strict=True):
        np.testing.assert_array_equal(array, original)


def test_a_general_distance_warns_of_many_rows(monkeypatch):
    monkeypatch.setattr(distances, "MANY_ROWS", 10)
    rng = np.random.default_rng(8)
    with pytest.warns(DataWarning, match="pairs of rows"):
        CASES["general"][0].form(rng.normal(size=(N, 1)), rng.normal(size=(N, 1)), np.ones(N))
