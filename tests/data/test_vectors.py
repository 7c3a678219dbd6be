"""Responses, weights and offsets."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from fairridge.data import numeric_vector, one_per_row, weights


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1, 2, 3], dtype=object),
        pd.Series([1, 2, 3], index=[9, 4, 7]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pl.Series([1, 2, 3]),
        pa.chunked_array([[1, 2], [3]]),
        pd.DataFrame({"y": [1, 2, 3]}),
        pl.DataFrame({"y": [1, 2, 3]}),
    ],
    ids=lambda values: type(values).__name__,
)
def test_a_vector_comes_in_any_container(values):
    found = numeric_vector(values, 3, "y")
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.0, 3.0]


def test_a_column_of_an_array_is_read_with_the_usual_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        found = one_per_row(np.array([[1.0], [2.0]]), 2, "y")
    assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (3.0, "y is a single value"),
        ([1.0, 2.0], "X has 3 rows but y has 2"),
        ([[1.0, 2.0]] * 3, "1d array"),
        (["a", "b", "c"], "y must hold numbers"),
        ([1j, 2, 3], "Complex data"),
        (np.array(["a", 1, 2], dtype=object), "y must hold numbers"),
        (pd.Series(["a", "b", "c"]), "y must hold numbers"),
        (pl.Series(["a", "b", "c"]), "y must hold numbers"),
        (pd.Series(pd.date_range("2024", periods=3)), "y must hold numbers"),
        ([1.0, np.nan, 2.0], "y contains NaN"),
        ([1.0, None, 2.0], "y contains NaN"),
        (pd.Series([1, pd.NA, 2], dtype="Int64"), "y contains NaN"),
        (pd.Series([1, pd.NA, 2], dtype=object), "y contains NaN"),
        (pl.Series([1, None, 2]), "y contains NaN"),
        ([1.0, np.inf, 2.0], "y contains infinity"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_vector_of_numbers_is_refused_by_name(values, message):
    with pytest.raises(ValueError, match=message):
        numeric_vector(values, 3, "y")


def test_no_weights_stay_none():
    assert weights(None, 3) is None


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0)])
def test_one_weight_is_every_weight(value):
    assert weights(value, 3).tolist() == [2.0, 2.0, 2.0]


def test_weights_may_be_zero_but_not_all():
    assert weights([0, 1, 0], 3).tolist() == [0.0, 1.0, 0.0]
    assert weights([False, True, True], 3).tolist() == [0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="zero in every row"):
        weights([0, 0, 0], 3)


def test_a_negative_weight_is_refused_with_its_row():
    with pytest.raises(ValueError, match=r"negative value -0\.5 at row 1"):
        weights([1.0, -0.5, 2.0], 3)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_weight_that_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="sample_weight contains"):
        weights([1.0, value, 2.0], 3)
