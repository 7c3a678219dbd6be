"""Weights count rows: integer weights are repeated rows, zero weights are absent rows.

Efron's ties in Cox models are the exception; see tests/families/test_cox.py.
"""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor

FITTED = (
    "alpha_", "beta_", "fair_intercept_", "coef_", "intercept_", "lambda_", "unfairness_",
    "deviance_", "loglik_", "explained_deviance_", "explained_by_sensitive_",
)  # fmt: skip


def assert_same(model, expected, rtol=1e-10):
    for name in FITTED:
        np.testing.assert_allclose(
            getattr(model, name), getattr(expected, name), rtol=rtol, atol=rtol, err_msg=name
        )
    assert model.status_ == expected.status_
    assert model.unfairness_components_ == pytest.approx(
        expected.unfairness_components_, rel=1e-9, abs=1e-10
    )


@pytest.mark.parametrize("r", [0.0, 0.05, 1.0])
def test_real_weights_solve_the_weighted_problem(numbers, oracle, assert_solves, r):
    weight = np.random.default_rng(52).exponential(size=80)
    model = FairRidgeRegressor(r, sensitive=[0, 1])
    model.fit(numbers.Z, numbers.y, sample_weight=weight)
    assert_solves(model, oracle(numbers.S, numbers.X, numbers.y, r, weight=weight))


@pytest.fixture
def absent():
    """Weights with three zeros, and those rows."""
    weight = np.ones(80)
    rows = [0, 13, 79]
    weight[rows] = 0.0
    return weight, rows


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_numbers_in_absent_rows_do_not_matter(numbers, absent, value):
    weight, rows = absent
    Z = numbers.Z.copy()
    Z[rows, 3], Z[rows, 0] = value, -value
    model = FairRidgeRegressor(sensitive=[0, 1]).fit(Z, numbers.y, sample_weight=weight)
    kept = np.flatnonzero(weight)
    assert_same(
        model, FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z[kept], numbers.y[kept]), 1e-12
    )
    assert model.n_rows_ == 77


@pytest.mark.parametrize("argument", ["y", "offset"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_in_absent_rows_do_not_matter(numbers, absent, argument, value):
    weight, rows = absent
    given = {"y": numbers.y.copy(), "offset": np.cos(np.arange(80.0))}
    kept = np.flatnonzero(weight)
    expected = FairRidgeRegressor(sensitive=[0, 1]).fit(
        numbers.Z[kept], given["y"][kept], offset=given["offset"][kept]
    )
    given[argument][rows] = value
    model = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, **given, sample_weight=weight)
    assert_same(model, expected, 1e-12)


def test_a_level_of_absent_rows_is_unseen_where_it_was_not_declared(absent):
    weight, rows = absent
    group = np.where(np.arange(80) % 2, "b", "a").astype(object)
    group[rows] = "only here"
    frame = pd.DataFrame({"group": group, "x": np.arange(80.0) ** 2})
    model = FairRidgeRegressor(sensitive="group")
    model.fit(frame, np.arange(80.0), sample_weight=weight)
    with pytest.raises(ValueError, match="'only here', which was not there at fit"):
        model.predict(frame)


def test_one_present_row_is_too_few(numbers):
    with pytest.raises(ValueError, match="at least two rows with positive weight"):
        FairRidgeRegressor(sensitive=[0]).fit(
            numbers.Z, numbers.y, sample_weight=np.arange(80) == 3
        )


BAD = {
    "negative": (np.r_[np.ones(79), -0.5], r"negative value -0\.5 at row 79"),
    "all zero": (np.zeros(80), "zero in every row"),
    "zero": (0.0, "zero in every row"),
    "negative number": (-1.0, "negative value -1 at row 0"),
    "strings": (["a"] * 80, "sample_weight must hold numbers"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_weights_are_an_error_at_fit(numbers, kind):
    weight, message = BAD[kind]
    with pytest.raises(ValueError, match=message):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, numbers.y, sample_weight=weight)
    with pytest.raises(ValueError, match=message):
        FairRidgeRegressor(sensitive=[0]).path(numbers.Z, numbers.y, sample_weight=weight)


def test_an_offset_is_taken_off_the_response(numbers):
    offset = np.sin(np.arange(80.0)) * 3.0
    model = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, numbers.y, offset=offset)
    expected = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, numbers.y - offset)
    assert_same(model, expected, 1e-12)
    np.testing.assert_allclose(
        model.predict(numbers.Z, offset=offset), expected.predict(numbers.Z) + offset, rtol=1e-12
    )
    path = FairRidgeRegressor(sensitive=[0, 1]).path(
        numbers.Z, numbers.y, offset=offset, unfairness=[0.05]
    )
    np.testing.assert_allclose(path.alpha[0], expected.alpha_, rtol=1e-12)
