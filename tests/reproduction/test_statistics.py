import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from reproduction.statistics import compare, interval, outcome


def test_the_interval_is_students():
    values = np.array([1.0, 2.0, 4.0, 3.5])
    found = interval(values)
    expected = ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert interval(values[:1]).low == interval(values[:1]).high == 1.0


def runs(first, second):
    return pd.DataFrame(
        {"model": name, "run": k, "rmse": value}
        for name, values in (("a", first), ("b", second))
        for k, value in enumerate(values)
    )


@pytest.mark.parametrize(
    ("shift", "expected"),
    [(-0.01, "lower"), (0.01, "higher"), (0.0, "equal"), (0.004, "equal"), (-0.004, "equal")],
)
def test_models_are_compared_run_by_run(shift, expected):
    # The runs differ far more than the models do.
    level = np.array([1.0, 1.2, 0.9, 1.1])
    wiggle = 1e-6 * np.array([1, -1, -1, 1])
    table = runs(level + shift + wiggle, level)
    found = compare(table, "a", "b", "rmse")
    assert outcome(found) == expected
    assert found.mean == pytest.approx(shift / 1.05, abs=1e-9)
    assert found.half < 1e-5


def test_a_difference_that_varies_in_sign_is_none():
    table = runs([1.1, 0.9, 1.1, 0.9], [1.0, 1.0, 1.0, 1.0])
    assert outcome(compare(table, "a", "b", "rmse")) == "equal"
