"""Figures of real cross-validations show the means of their frames."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, cross_validate
from fairridge.reports import ModelCurve, plot_curves
from tests.zoo import LateModule

plt = LateModule("matplotlib.pyplot")

BOUNDS = [0.5, 0.0, 0.05]  # not in order


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(40)
    Z = rng.normal(size=(120, 4)) @ (np.eye(4) + 0.3)
    return Z, (Z @ [1.0, 0.5, -1.0, 1.0] + rng.logistic(size=120) > 0).astype(int)


@pytest.fixture(scope="module")
def result(data):
    models = {
        "linear": FairRidgeRegressor(sensitive=[0]),
        "both": FairRidgeRegressor(sensitive=[0, 1]),
        "logistic": FairRidgeClassifier(sensitive=[0]),
    }
    return cross_validate(models, *data, unfairness=BOUNDS, cv=4, repeats=2, random_state=0)


def drawn(ax):
    """Return x, y and the half-lengths of the intervals, by label."""
    found = {}
    for container, label in zip(*ax.get_legend_handles_labels(), strict=True):
        line, _, (bars,) = container.lines
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        found[label] = (*line.get_data(), (ends[:, 1] - ends[:, 0]) / 2, ends.mean(axis=1))
    return found


@pytest.mark.parametrize("measure", ["loss", "variance_share"])
def test_lines_are_means_and_bars_are_intervals(result, measure):
    _, ax = plt.subplots()
    assert result.plot(measure, ax=ax) is ax
    found, table = drawn(ax), result.to_frame()
    assert list(found) == ["linear", "both", "logistic"]
    for model, (x, mean, half, middle) in found.items():
        groups = table[table["model"] == model].groupby("unfairness")[measure]
        np.testing.assert_array_equal(x, sorted(BOUNDS))
        np.testing.assert_allclose(mean, groups.mean(), rtol=1e-12)
        np.testing.assert_allclose(middle, groups.mean(), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(half, 1.96 * groups.sem(), rtol=1e-9, atol=1e-12)


def test_the_axis_says_what_the_loss_is(result, data):
    ax = result.plot()
    assert ax.get_ylabel() == "RMSE, mean deviance"
    assert "unfairness" in ax.get_xlabel()
    alone = cross_validate(FairRidgeClassifier(sensitive=[0]), *data, unfairness=[0.1], cv=3)
    assert alone.plot().get_ylabel() == "mean deviance"
    assert alone.plot("f1").get_ylabel() == "f1"


@pytest.mark.parametrize(
    ("measure", "models"), [("auc", ["logistic"]), ("r_squared", ["linear", "both"])]
)
def test_models_without_a_measure_are_left_out(result, measure, models):
    assert list(drawn(result.plot(measure))) == models


def test_folds_without_a_measure_are_left_out(data):
    Z, y = data
    ones = np.flatnonzero(y)[:20]
    rest = np.setdiff1d(np.arange(120), ones)
    folds = [(rest, ones), (rest[30:], rest[:30]), (rest[:70], rest[70:])]
    model = FairRidgeClassifier(sensitive=[0])
    result = cross_validate(model, Z, y, unfairness=[0.1, 0.3], folds=folds)
    table = result.to_frame()
    assert table["auc"].isna().sum() == 2
    (curve,) = result.curves("auc")
    groups = table.groupby("unfairness")["auc"]
    np.testing.assert_allclose(curve.mean, groups.mean(), rtol=1e-12)
    np.testing.assert_allclose(curve.standard_error, groups.sem(), rtol=1e-12)


def test_a_measure_that_does_not_exist(result):
    with pytest.raises(ValueError, match="measure='status'"):
        result.plot("status")


def test_more_models_than_colors():
    bounds = np.array([0.0, 0.1])
    curves = [ModelCurve(f"model {k}", "loss", bounds, bounds + k, 0.1 * bounds) for k in range(40)]
    found = drawn(plot_curves(curves, "r", "loss", ""))
    assert list(found) == [curve.model for curve in curves]
