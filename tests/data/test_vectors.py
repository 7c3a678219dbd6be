"""Responses, weights and offsets."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from fairridge.data import as_table, numeric_vector, one_per_row, weights
from fairridge.data.levels import Levels
from fairridge.data.table import labels


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
        (["a", "b", "c"], "y holds text such as 'a'"),
        ([1j, 2, 3], "Complex data"),
        (pl.Series(["a", "b", "c"]), "y holds text such as 'a'"),
        (pd.Series(pd.date_range("2024", periods=3)), "y must hold numbers"),
        ([1.0, np.nan, 2.0], "y contains NaN"),
        (pd.Series([1, pd.NA, 2], dtype="Int64"), "y contains NaN"),
        (pl.Series([1, None, 2]), "y contains NaN"),
        ([1.0, np.inf, 2.0], "y contains infinity"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_vector_of_numbers_is_refused_by_name(values, message):
    with pytest.raises(ValueError, match=message):
        numeric_vector(values, 3, "y")


def test_one_weight_is_every_weight():
    assert weights(2, 3).tolist() == [2.0, 2.0, 2.0]


HOLDING_NULL = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["a", None, "b"]))
MISSING_LABELS = {
    "pyarrow dictionary": pa.chunked_array([pa.array(["a", None, "b", "a"])]).dictionary_encode(),
    "null in a dictionary": pa.chunked_array([HOLDING_NULL]),
    "pyarrow frame": pa.table({"y": pa.array([1, None, 2, 1]).dictionary_encode()}),
    "polars category": pl.Series(["a", None, "b", "a"], dtype=pl.Categorical),
    "masked": np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]),
}


@pytest.mark.parametrize("kind", MISSING_LABELS)
def test_missing_labels_are_no_class_and_their_rows_are_named(kind):
    with pytest.raises(ValueError, match=r"missing values or infinity in row 1 \(counted from 0\)"):
        labels(MISSING_LABELS[kind], 4, "y")


def test_rows_are_named_as_given_and_not_as_kept():
    with pytest.raises(ValueError, match=r"in rows 2, 3, 4, 5, 6 and 2 more"):
        numeric_vector([1.0, 1.0] + [np.nan] * 7, 9, "y", slice(1, None))


def test_a_null_in_a_dictionary_is_no_level():
    found = as_table(pa.table({"s": HOLDING_NULL})).column(0)
    assert isinstance(found, Levels)
    assert found.levels == ("a", "b")
    assert found.codes.tolist() == [0, -1, 1, 0]


def test_a_value_that_a_dictionary_holds_twice_is_one_level():
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "a", "b"]))
    found = as_table(pa.table({"s": twice})).column(0)
    assert isinstance(found, Levels)
    assert (found.levels, found.codes.tolist()) == (("a", "b"), [0, 0, 1])


@pytest.mark.parametrize("name", ["Int128", "Decimal"])
def test_numbers_that_numpy_lacks_are_read(name):
    if not hasattr(pl, name):
        pytest.skip(f"this version of polars has no {name}")
    series = pl.Series([1, 2, 3]).cast(pl.Decimal(38, 2) if name == "Decimal" else pl.Int128)
    assert numeric_vector(series, 3, "y").tolist() == [1.0, 2.0, 3.0]
    assert as_table(series.alias("x").to_frame()).column(0).tolist() == [1.0, 2.0, 3.0]
    if name == "Int128":
        assert labels(series, 3, "y").tolist() == [1, 2, 3]


def test_weights_of_rows_that_add_nothing_are_refused():
    assert weights([1e-59, 1.0, 0.0], 3).tolist() == [1e-59, 1.0, 0.0]
    with pytest.raises(ValueError, match=r"goes from 1e-200 to 1e\+100: .* give them the weight 0"):
        weights([1e-200, 1.0, 1e100], 3)
