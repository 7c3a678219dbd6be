import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from reproduction.statistics import Interval, cells, interval


def test_the_interval_over_runs_is_students():
    values = np.array([1.0, 2.0, 4.0, 3.5])
    found = interval(np.repeat(values, 2) + [0.5, -0.5] * 4, np.repeat(np.arange(4), 2))
    expected = ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx(tuple(expected))
    assert interval([1.0, 3.0], [0, 0]).half == 0.0
    assert interval([1.0], [0]) == Interval(1.0, 0.0, 0.0)


def runs(first, second):
    return pd.DataFrame(
        {"case": "c", "r": 0.1, "model": name, "run": k // 2, "fold": k % 2, "rmse": value}
        for name, values in (("a", first), ("b", second))
        for k, value in enumerate(values)
    )


@pytest.mark.parametrize(
    ("shift", "expected"),
    [(-0.01, "lower"), (0.01, "higher"), (0.004, "equal")],
)
def test_models_are_compared_fold_by_fold(shift, expected):
    # The folds differ far more than the models do.
    level = np.array([1.0, 1.2, 0.9, 1.1])
    wiggle = 1e-6 * np.array([1, -1, -1, 1])
    found = cells(runs(level + shift + wiggle, level), "a", "b", "rmse").iloc[0]
    assert found["outcome"] == expected
    assert found["mean"] == pytest.approx(shift / 1.05, abs=1e-9)
    assert max(found["half"], found["new"]) < 1e-5
