"""Frames come out in the library of the frame that went in."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge import FairRidgeRegressor

TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.fixture
def frame(worker_columns, frame_of):
    return frame_of(worker_columns)


def column(frame, name):
    return nw.from_native(frame).get_column(name).to_list()


def test_a_path_comes_out_as_it_went_in(workers, frame, library):
    path = FairRidgeRegressor(sensitive=workers.sensitive).path(frame, workers.y)
    out = path.to_frame()
    assert isinstance(out, TYPES[library])
    names = nw.from_native(out).columns
    assert names[:7] == [
        "unfairness", "lambda_", "achieved", "status", "deviance", "r_squared", "intercept"
    ]  # fmt: skip
    assert names[7:] == workers.sensitive_names + workers.predictor_names
    for name, values in (
        ("unfairness", path.unfairness),
        ("lambda_", path.lambda_),
        ("achieved", path.achieved),
        ("r_squared", path.score),
        ("sex[m]", path.alpha[:, 0]),
        ("skill", path.beta[:, -1]),
    ):
        np.testing.assert_array_equal(column(out, name), values)
    assert column(out, "status") == list(path.status)


def test_a_summary_comes_out_as_it_went_in(workers, frame, library):
    model = FairRidgeRegressor(sensitive=workers.sensitive).fit(frame, workers.y)
    out = model.summary().to_frame()
    assert isinstance(out, TYPES[library])
    assert column(out, "term") == ["(intercept)", *model.coef_names_]
    assert column(out, "role") == ["", *["sensitive"] * 2, *["predictor"] * 7]
    np.testing.assert_array_equal(
        column(out, "coefficient"), np.r_[model.fair_intercept_, model.alpha_, model.beta_]
    )
    np.testing.assert_array_equal(column(out, "raw"), np.r_[model.intercept_, model.coef_])
    np.testing.assert_array_equal(
        column(out, "explained_by_sensitive")[3:], model.explained_by_sensitive_
    )


def test_a_model_taken_from_a_path_keeps_the_library(workers, frame, library):
    path = FairRidgeRegressor(sensitive=workers.sensitive).path(frame, workers.y)
    assert isinstance(path.at(0.1).summary().to_frame(), TYPES[library])


def test_absent_rows_keep_the_library(workers, frame, library):
    weight = np.arange(len(workers.y)) % 3
    path = FairRidgeRegressor(sensitive=workers.sensitive).path(
        frame, workers.y, sample_weight=weight
    )
    assert isinstance(path.to_frame(), TYPES[library])


def test_the_last_fit_decides(workers, frame, library):
    model = FairRidgeRegressor(sensitive=[0])
    model.fit(np.column_stack([workers.S, workers.X]), workers.y)
    assert isinstance(model.summary().to_frame(), pd.DataFrame)
    assert isinstance(model.fit(frame, workers.y).summary().to_frame(), TYPES[library])


@pytest.mark.parametrize(
    ("predictor", "sensitive"),
    [
        ("intercept", "s"),
        ("x", "unfairness"),
        ("intercept", "coef_intercept"),
        ("status", "status_"),
    ],
)
def test_no_coefficient_is_lost_to_a_name_that_is_taken(numbers, predictor, sensitive):
    frame = pd.DataFrame({sensitive: numbers.S[:, 0], predictor: numbers.X[:, 0]})
    path = FairRidgeRegressor(sensitive=sensitive).path(frame, numbers.y, unfairness=[0.2, 1.0])
    out = path.to_frame()
    assert out.shape == (2, 9)
    np.testing.assert_array_equal(out.iloc[:, 7:], np.hstack([path.alpha, path.beta]))
    assert out["unfairness"].tolist() == [0.2, 1.0]


def test_no_coefficient_is_lost_where_both_inputs_are_arrays(numbers):
    path = FairRidgeRegressor().path(
        numbers.X, numbers.y, sensitive_features=numbers.S, unfairness=[0.1]
    )
    out = path.to_frame()
    np.testing.assert_array_equal(out.iloc[:, 7:], np.hstack([path.alpha, path.beta]))
    assert out.columns.is_unique
