"""Missing values and infinities are errors that name where they are."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge import FairRidgeRegressor

N = 40


@pytest.fixture
def columns():
    rng = np.random.default_rng(40)
    return {
        "number": rng.normal(size=N).tolist(),
        "count": rng.integers(0, 9, N).tolist(),
        "flag": (rng.random(N) < 0.5).tolist(),
        "text": rng.choice(["a", "b"], N).tolist(),
        "level": rng.choice(["u", "v", "w"], N).tolist(),
        "s": rng.normal(size=N).tolist(),
    }


@pytest.fixture
def y():
    return np.random.default_rng(41).normal(size=N)


@pytest.fixture
def build(frame_of, categorical_of):
    """Return a function that builds a frame, with a declared column where there are levels."""

    def frame(columns):
        return frame_of(columns | {"level": categorical_of(columns["level"], ["u", "v", "w"])})

    return frame


def spoiled(columns, name, value, row=5):
    values = list(columns[name])
    values[row] = value
    return columns | {name: values}


@pytest.mark.parametrize("name", ["number", "count", "flag", "text", "level"])
@pytest.mark.parametrize("role", ["sensitive", "predictor"])
def test_a_missing_value_at_fit_is_an_error_that_names_the_column(columns, y, build, name, role):
    model = FairRidgeRegressor(sensitive=name if role == "sensitive" else "s")
    with pytest.raises(ValueError, match=f"'{name}' has 1 missing value"):
        model.fit(build(spoiled(columns, name, None)), y)


@pytest.mark.parametrize("name", ["number", "count", "flag", "text", "level", "s"])
def test_a_missing_value_at_predict_is_an_error_that_names_the_column(columns, y, build, name):
    model = FairRidgeRegressor(sensitive="s").fit(build(columns), y)
    with pytest.raises(ValueError, match=f"'{name}' has 1 missing value"):
        model.predict(build(spoiled(columns, name, None)))


def test_a_missing_level_is_no_unknown_level(columns, y, build):
    model = FairRidgeRegressor(sensitive="s", unknown="base").fit(build(columns), y)
    for name in ("text", "level"):
        with pytest.raises(ValueError, match=f"'{name}' has 1 missing value"):
            model.predict(build(spoiled(columns, name, None)))


EMPTY_TEXT = {
    "pandas": pd.Series([None] * N, dtype="str"),
    "polars": pl.Series([None] * N, dtype=pl.String),
    "pyarrow": pa.nulls(N, pa.string()),
}


@pytest.mark.parametrize("name", ["text", "level"])
def test_a_column_without_any_value_is_an_error_that_names_it(columns, y, build, name, library):
    empty = EMPTY_TEXT[library] if name == "text" else [None] * N
    with pytest.raises(ValueError, match=f"'{name}' has no values at all"):
        FairRidgeRegressor(sensitive="s").fit(build(columns | {name: empty}), y)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "has 1 missing value"),
        (np.inf, "contains infinity"),
        (-np.inf, "contains infinity"),
    ],
)
@pytest.mark.parametrize("name", ["number", "s"])
def test_no_number_is_an_error_that_names_the_column(columns, y, build, name, value, message):
    with pytest.raises(ValueError, match=f"'{name}' {message}"):
        FairRidgeRegressor(sensitive="s").fit(build(spoiled(columns, name, value)), y)
    model = FairRidgeRegressor(sensitive="s").fit(build(columns), y)
    with pytest.raises(ValueError, match=f"'{name}' {message}"):
        model.predict(build(spoiled(columns, name, value)))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "has 1 missing value"),
        (np.inf, "contains infinity"),
        (-np.inf, "contains infinity"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("row", [0, 39, 79])
@pytest.mark.parametrize("position", [0, 2, 5])
def test_no_number_in_an_array_is_an_error(numbers, value, message, dtype, row, position):
    Z = numbers.Z.astype(dtype)
    model = FairRidgeRegressor(sensitive=[0]).fit(Z, numbers.y)
    Z[row, position] = value
    with pytest.raises(ValueError, match=f"'x{position}' {message}"):
        FairRidgeRegressor(sensitive=[0]).fit(Z, numbers.y)
    with pytest.raises(ValueError, match=f"'x{position}' {message}"):
        model.predict(Z)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_number_in_the_first_of_many_rows_is_an_error_and_nothing_else(value):
    # Several blocks of rows, so that threads are at work, and zeros: 0·∞ is no number.
    Z = np.random.default_rng(42).integers(0, 3, size=(3 * 2**17, 4)).astype(float)
    y = Z.sum(axis=1)
    Z[7, 2] = value
    with pytest.raises(ValueError, match=r"'x2' (has 1 missing value|contains infinity)"):
        FairRidgeRegressor(sensitive=[0]).fit(Z, y)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=str)
@pytest.mark.parametrize("values", [["a", "b"], [1.0, 2.0], [1, 2], [True, False]], ids=str)
def test_any_missing_value_among_objects_is_found(y, missing, values):
    column = pd.Series([missing, *(values * N)[: N - 1]], dtype=object)
    frame = pd.DataFrame({"x": column, "s": np.arange(N) ** 0.5})
    with pytest.raises(ValueError, match="'x' has 1 missing value"):
        FairRidgeRegressor(sensitive="s").fit(frame, y)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "string", "int64[pyarrow]"])
def test_missing_values_of_extension_types_are_found(y, dtype):
    values = ["1", "0"] * (N // 2) if dtype == "string" else [1, 0] * (N // 2)
    column = pd.Series(values, dtype=dtype)
    column[3] = pd.NA
    frame = pd.DataFrame({"x": column, "s": np.arange(N) ** 0.5})
    with pytest.raises(ValueError, match="'x' has 1 missing value"):
        FairRidgeRegressor(sensitive="s").fit(frame, y)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_values_in_an_object_array_are_found(y, missing):
    Z = np.array([["a", 1.0], ["b", 2.0]] * (N // 2), dtype=object)
    for position in (0, 1):
        broken = Z.copy()
        broken[4, position] = missing
        with pytest.raises(ValueError, match=f"'x{position}' has 1 missing value"):
            FairRidgeRegressor(sensitive=[0]).fit(broken, y)


RESPONSES = {
    "NaN": lambda y: np.r_[np.nan, y[1:]],
    "None": lambda y: [None, *y[1:]],
    "pandas NA": lambda y: pd.Series([pd.NA, *y[1:]]),
    "nullable pandas": lambda y: pd.Series([pd.NA, *y[1:]], dtype="Float64"),
    "polars null": lambda y: pl.Series([None, *y[1:]]),
    "pyarrow dictionary": lambda y: pa.chunked_array(
        [pa.array([None, *y[1:]])]
    ).dictionary_encode(),
    "masked": lambda y: np.ma.array(y, mask=np.arange(len(y)) == 0),
}


@pytest.mark.parametrize("kind", RESPONSES)
@pytest.mark.parametrize("argument", ["y", "offset", "sample_weight"])
def test_a_missing_value_in_a_vector_is_an_error_that_names_it(numbers, kind, argument):
    given = {"y": numbers.y} | {argument: RESPONSES[kind](np.ones(80))}
    with pytest.raises(ValueError, match=f"{argument} contains NaN or missing values"):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, **given)


@pytest.mark.parametrize("argument", ["y", "offset", "sample_weight"])
def test_infinity_in_a_vector_is_an_error_that_names_it(numbers, argument):
    given = {"y": numbers.y} | {argument: np.r_[np.inf, np.ones(79)]}
    with pytest.raises(ValueError, match=f"{argument} contains infinity"):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, **given)


@pytest.mark.parametrize(
    "y", [["a"] * 80, np.array(["a", "b"] * 40, dtype=object), np.zeros(80, dtype="M8[D]")]
)
def test_a_response_that_is_no_number_is_an_error(numbers, y):
    with pytest.raises(ValueError, match=r"y holds text|y must hold numbers"):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, y)


def test_missing_sensitive_features_are_an_error_that_names_the_column(numbers):
    S = pd.DataFrame(numbers.S, columns=["s", "t"])
    model = FairRidgeRegressor().fit(numbers.X, numbers.y, sensitive_features=S)
    S.loc[3, "t"] = np.nan
    with pytest.raises(ValueError, match="'t' has 1 missing value"):
        FairRidgeRegressor().fit(numbers.X, numbers.y, sensitive_features=S)
    with pytest.raises(ValueError, match="'t' has 1 missing value"):
        model.predict(numbers.X, sensitive_features=S)


def test_numbers_too_large_to_square_are_an_error_that_names_the_column(numbers):
    Z = numbers.Z.copy()
    Z[:, 3] *= 1e200
    with pytest.raises(ValueError, match="'x3' holds numbers too large"):
        FairRidgeRegressor(sensitive=[0]).fit(Z, numbers.y)


def test_predictions_that_overflow_are_an_error(numbers):
    model = FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, 1e10 * numbers.y)
    with pytest.raises(ValueError, match="overflow"):
        model.predict(np.full((1, 6), 1e308))
