import numpy as np
import pandas as pd
import pytest
from scipy.stats import t, ttest_1samp

from reproduction.statistics import Interval, cells, interval, outcome


def test_the_interval_over_runs_is_students():
    values = np.array([1.0, 2.0, 4.0, 3.5])
    found = interval(np.repeat(values, 2) + [0.5, -0.5] * 4, np.repeat(np.arange(4), 2))
    expected = ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx(tuple(expected))
    assert interval([1.0, 3.0], [0, 0]).half == 0.0
    assert interval([1.0], [0]) == Interval(1.0, 0.0, 0.0)


def test_the_interval_for_new_samples_is_nadeau_and_bengios():
    values = np.random.default_rng(0).normal(size=30)
    found = interval(values, np.repeat(np.arange(3), 10))
    factor = 1 / 30 + 1 / 9  # folds of all runs, and validation to training rows
    assert found.new == pytest.approx(t.ppf(0.95, 29) * values.std(ddof=1) * np.sqrt(factor))
    assert found.wider == found.new > found.half


@pytest.mark.slow
def test_new_samples_are_covered_and_repetitions_are_not_enough():
    """The difference of two means of the same rows is 0 in the population."""
    covered = np.zeros(2)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(2, 60))
        values, run = [], []
        for number in range(10):
            for test in np.array_split(rng.permutation(60), 10):
                # Losses of a fitted mean of each column, on the validation rows.
                train = np.setdiff1d(np.arange(60), test)
                losses = [np.mean((c[test] - c[train].mean()) ** 2) for c in (x, y)]
                values.append(losses[0] - losses[1])
                run.append(number)
        found = interval(values, run)
        covered += np.abs(found.mean) <= [found.half, found.new]
    assert covered[0] / 300 < 0.2
    assert covered[1] / 300 > 0.85


def runs(first, second):
    return pd.DataFrame(
        {"case": "c", "r": 0.1, "model": name, "run": k // 2, "fold": k % 2, "rmse": value}
        for name, values in (("a", first), ("b", second))
        for k, value in enumerate(values)
    )


@pytest.mark.parametrize(
    ("shift", "expected"),
    [(-0.01, "lower"), (0.01, "higher"), (0.0, "equal"), (0.004, "equal"), (-0.004, "equal")],
)
def test_models_are_compared_fold_by_fold(shift, expected):
    # The folds differ far more than the models do.
    level = np.array([1.0, 1.2, 0.9, 1.1])
    wiggle = 1e-6 * np.array([1, -1, -1, 1])
    found = cells(runs(level + shift + wiggle, level), "a", "b", "rmse").iloc[0]
    assert found["outcome"] == expected
    assert found["mean"] == pytest.approx(shift / 1.05, abs=1e-9)
    assert max(found["half"], found["new"]) < 1e-5


def test_a_difference_that_varies_in_sign_is_none():
    table = runs([1.1, 0.9, 1.1, 0.9], [1.0, 1.0, 1.0, 1.0])
    assert cells(table, "a", "b", "rmse")["outcome"].tolist() == ["unclear"]
    # The means of both runs are the same and above zero: sure on these rows, and on no others.
    table = runs([1.11, 0.95, 1.11, 0.95], [1.0, 1.0, 1.0, 1.0])
    found = cells(table, "a", "b", "rmse").iloc[0]
    assert found["half"] < 1e-12 < abs(found["mean"]) < found["new"]
    assert found["outcome"] == "unclear"
    assert outcome(Interval(0.03, 1e-3, 0.0)) == "higher"
    # What is called a tie decides.
    assert outcome(Interval(0.004, 1e-3, 0.0)) == "equal"
    assert outcome(Interval(0.004, 1e-3, 0.0), tie=0.0025) == "higher"
    assert outcome(Interval(0.001, 2e-3, 0.0)) == "equal"
