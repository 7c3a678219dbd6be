"""Predictions that do not vary depend on nothing."""

import numpy as np
import pytest

from fairridge.families.distances import AbsoluteDifference
from fairridge.metrics.dependence import dependence
from fairridge.metrics.groups import Grouping


@pytest.fixture
def people():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, 150)
    S = np.column_stack([codes, rng.normal(size=150)])
    y = (S @ [1.0, 0.5] + rng.normal(size=150))[:, None]
    return S, y, [Grouping("sex", ("f", "m"), codes)]


@pytest.mark.parametrize("level", [0.0, 0.3, 1e6])
def test_rounding_is_no_dependence(people, level):
    S, y, groups = people
    prediction = level + 1e-14 * max(level, 1.0) * S[:, 0]
    found = dependence(prediction, S, y, AbsoluteDifference(), y, groups, np.ones(len(S)))
    assert vars(found) == dict.fromkeys(vars(found), 0.0)


def test_a_small_prediction_is_no_rounding(people):
    S, y, groups = people
    others = S, y, AbsoluteDifference(), y, groups, np.ones(len(S))
    small, large = (dependence(size * S[:, 0], *others) for size in (1e-6, 1.0))
    assert small.r_squared == pytest.approx(1.0)
    assert small.kolmogorov_smirnov == large.kolmogorov_smirnov == 1.0
    assert small.wasserstein == pytest.approx(1e-6 * large.wasserstein)
