"""Predictions that do not vary depend on nothing."""

import numpy as np
import pytest

from fairridge.families import Gaussian
from fairridge.metrics.groups import Grouping
from fairridge.metrics.measure import dependence
from fairridge.metrics.scored_rows import ScoredRows


@pytest.fixture
def people():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, 150)
    S = np.column_stack([codes, rng.normal(size=150)])
    y = (S @ [1.0, 0.5] + rng.normal(size=150))[:, None]
    return S, y, [Grouping("sex", ("f", "m"), codes)]


def scored(prediction, S, y):
    return ScoredRows(
        family=Gaussian(), scores=prediction[:, None], response=y, weight=np.ones(len(S)),
        sensitive=S, controls=S[:, :0], targets=y,
    )  # fmt: skip


@pytest.mark.parametrize("level", [0.0, 0.3, 1e6])
def test_rounding_is_no_dependence(people, level):
    S, y, groups = people
    prediction = level + 1e-14 * max(level, 1.0) * S[:, 0]
    found = dependence(scored(prediction, S, y), groups)
    assert found == dict.fromkeys(found, 0.0)


def test_a_small_prediction_is_no_rounding(people):
    S, y, groups = people
    small, large = (dependence(scored(size * S[:, 0], S, y), groups) for size in (1e-6, 1.0))
    assert small["max_correlation"] == pytest.approx(1.0)
    assert small["kolmogorov_smirnov"] == large["kolmogorov_smirnov"] == 1.0
    assert small["wasserstein"] == pytest.approx(1e-6 * large["wasserstein"])
