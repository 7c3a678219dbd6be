"""Missing values and infinities are errors that name where they are."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge import FairRidgeRegressor

N = 40
Y = np.random.default_rng(41).normal(size=N)


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
def build(frame_of, categorical_of):
    """Return a function that builds a frame, with a declared column where there are levels."""

    def frame(columns):
        return frame_of(columns | {"level": categorical_of(columns["level"], ["u", "v", "w"])})

    return frame


def spoiled(columns, name, value, row=5):
    values = list(columns[name])
    values[row] = value
    return columns | {name: values}


@pytest.mark.parametrize("name", ["number", "count", "flag", "text", "level", "s"])
def test_a_missing_value_is_an_error_that_names_the_column(columns, build, name):
    gap, message = build(spoiled(columns, name, None)), f"'{name}' has 1 missing value"
    for role in ("s", name):
        with pytest.raises(ValueError, match=message):
            FairRidgeRegressor(sensitive=role).fit(gap, Y)
    # It is no unknown level either.
    model = FairRidgeRegressor(sensitive="s", unknown="base").fit(build(columns), Y)
    with pytest.raises(ValueError, match=message):
        model.predict(gap)


EMPTY_TEXT = {
    "pandas": pd.Series([None] * N, dtype="str"),
    "polars": pl.Series([None] * N, dtype=pl.String),
    "pyarrow": pa.nulls(N, pa.string()),
}


@pytest.mark.parametrize("name", ["text", "level"])
def test_a_column_without_any_value_is_an_error_that_names_it(columns, build, name, library):
    empty = EMPTY_TEXT[library] if name == "text" else [None] * N
    with pytest.raises(ValueError, match=f"'{name}' has no values at all"):
        FairRidgeRegressor(sensitive="s").fit(build(columns | {name: empty}), Y)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("name", ["number", "s"])
def test_infinity_is_an_error_that_names_the_column(columns, build, name, value):
    model = FairRidgeRegressor(sensitive="s").fit(build(columns), Y)
    for call in (model.predict, lambda X: model.fit(X, Y)):
        with pytest.raises(ValueError, match=f"'{name}' contains infinity"):
            call(build(spoiled(columns, name, value)))


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "has 1 missing value"), (-np.inf, "contains infinity")]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("row", "position"), [(0, 0), (39, 2), (79, 5)])
def test_no_number_in_an_array_is_an_error(numbers, value, message, dtype, row, position):
    Z = numbers.Z.astype(dtype)
    model = FairRidgeRegressor(sensitive=[0]).fit(Z, numbers.y)
    Z[row, position] = value
    for call in (model.predict, lambda X: model.fit(X, numbers.y)):
        with pytest.raises(ValueError, match=f"'x{position}' {message}"):
            call(Z)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_number_in_the_first_of_many_rows_is_an_error_and_nothing_else(value):
    # Several blocks of rows, so that threads are at work, and zeros: 0·∞ is no number.
    Z = np.random.default_rng(42).integers(0, 3, size=(3 * 2**17, 4)).astype(float)
    y = Z.sum(axis=1)
    Z[7, 2] = value
    with pytest.raises(ValueError, match=r"'x2' (has 1 missing value|contains infinity)"):
        FairRidgeRegressor(sensitive=[0]).fit(Z, y)


@pytest.mark.parametrize(
    "column",
    [
        *(pd.Series([gap, *("a", "b") * 20][:N], dtype=object) for gap in (None, pd.NA, pd.NaT)),
        *(pd.Series([gap, *(1.0, 2) * 20][:N], dtype=object) for gap in (np.nan, pd.NA)),
        pd.Series([None, *(True, False) * 20][:N], dtype=object),
        *(pd.Series([None, *(1, 0) * 20][:N], dtype=t) for t in ("Int64", "boolean")),
        pd.Series([None, *("1", "0") * 20][:N], dtype="string"),
        pd.Series([None, *(1, 0) * 20][:N], dtype="int64[pyarrow]"),
    ],
    ids=lambda column: f"{column.dtype}, {column[0]}, {column[1]}",
)
def test_any_missing_value_of_pandas_is_found(column):
    frame = pd.DataFrame({"x": column, "s": np.arange(N) ** 0.5})
    with pytest.raises(ValueError, match="'x' has 1 missing value"):
        FairRidgeRegressor(sensitive="s").fit(frame, Y)


def test_predictions_that_overflow_are_an_error(numbers):
    model = FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, 1e10 * numbers.y)
    with pytest.raises(ValueError, match="overflow"):
        model.predict(np.full((1, 6), 1e308))
