"""One view of frames and arrays."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairridge.data import as_table, table
from fairridge.data.table import in_place

TEXTS = ["U3", "S3", object] + ["T"] * (np.lib.NumpyVersion(np.__version__) >= "2.0.0")


@pytest.mark.parametrize("dtype", ["f4", "?"])
def test_numeric_columns_of_arrays_and_pandas_are_not_copied(dtype):
    array = np.ones((5, 3), dtype=dtype)
    assert np.shares_memory(as_table(array).column(1), array)
    frame = pd.DataFrame(array, columns=list("abc"))
    assert np.shares_memory(as_table(frame).column(1), frame["b"].to_numpy())


@pytest.mark.parametrize("small", [0, 100])
def test_columns_of_a_frame_keep_their_types(monkeypatch, small):
    """Whether the frame is read as one array or column by column."""
    monkeypatch.setattr(table, "SMALL_FRAME_NUMBERS", small)
    whole = pd.DataFrame({"a": [2**60 + 1, 2], "b": [3, 4]})
    for frame in (
        whole,
        whole.astype({"b": "f8"}),
        whole.astype({"b": "?"}),
        whole.astype("Int64"),
    ):
        read = as_table(frame)
        for k, name in enumerate("ab"):
            np.testing.assert_array_equal(read.column(k), frame[name].to_numpy())
        assert int(read.column(0)[0]) == 2**60 + 1


def test_missing_numbers_become_nan(frame_of):
    table = as_table(frame_of({"i": [1, None, 3], "f": [0.5, None, 1.5], "b": [True, None, False]}))
    for position, expected in enumerate(([1, np.nan, 3], [0.5, np.nan, 1.5], [1, np.nan, 0])):
        np.testing.assert_array_equal(np.asarray(table.column(position), float), expected)


@pytest.mark.parametrize("series", [pd.Series([1, 2]), pl.Series([1, 2])])
def test_a_series_without_a_name_is_called_after_its_argument(series):
    assert as_table(series, argument="sensitive_features").names == ("sensitive_features",)


def test_one_dimension_is_one_column_for_sensitive_features_only():
    assert as_table([1, 2, 3], argument="sensitive_features").shape == (3, 1)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        as_table([1, 2, 3])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5, True], [1.0, 2.5, 1.0]),
        ([1, None, np.nan], [1.0, np.nan, np.nan]),
    ],
)
def test_objects_that_are_numbers_are_read_as_numbers(values, expected):
    column = as_table(np.array(values, dtype=object).reshape(-1, 1)).column(0)
    np.testing.assert_array_equal(column, expected)
    assert column.dtype == np.float64


@pytest.mark.parametrize("dtype", TEXTS, ids=str)
def test_arrays_of_strings_of_any_kind_are_levels(dtype):
    column = as_table(np.array([["b"], ["a"], ["b"]], dtype=dtype)).column(0)
    assert column.levels == ("a", "b")
    assert column.codes.tolist() == [1, 0, 1]


def test_mixed_strings_and_numbers_are_refused_by_name():
    with pytest.raises(ValueError, match="column 'x0' mixes strings"):
        as_table(np.array([["a"], [1.0]], dtype=object)).column(0)
    with pytest.raises(ValueError, match="column 'c' mixes strings"):
        as_table(pd.DataFrame({"c": ["a", 1.0]}, dtype=object)).column(0)


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match=r"0 .* minimum of 1 is required for sensitive_features"):
        as_table(np.zeros((0, 2)), argument="sensitive_features")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ({"a": 1}, TypeError, r"column 'c' holds {'a': 1}.* Convert it to numbers"),
        (10**400, ValueError, r"column 'c' holds 1000.*…: int too large to convert"),
    ],
)
def test_objects_that_are_no_numbers_are_named(value, error, message):
    frame = pd.DataFrame({"b": [1.0, 2.0], "c": pd.Series([1.5, value], dtype=object)})
    with pytest.raises(error, match=message):
        as_table(frame).column(1)
    with pytest.raises(error, match=message.replace("column 'c'", "y")):
        table.numeric_vector(np.array([1.5, value], dtype=object), 2, "y")


def test_unsigned_integers_of_64_bits_are_numbers():
    large = np.array([2**63, 2**64 - 1], dtype=np.uint64)
    for values in (large, pd.Series(large), pd.Series(large, dtype="UInt64"), pl.Series(large)):
        column = as_table(values, argument="sensitive_features").column(0)
        np.testing.assert_array_equal(np.asarray(column, dtype=np.float64), large.astype(float))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1, 2]}, r"X is a dict; pass a frame, such as pandas.DataFrame\(X\)"),
        ((row for row in [[1], [2]]), "X is a generator; pass a list"),
    ],
)
def test_containers_that_are_no_tables_are_named(data, message):
    with pytest.raises(TypeError, match=message):
        as_table(data)


def test_column_names_of_several_levels_are_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=pd.MultiIndex.from_product([["a"], ["b", "c"]]))
    with pytest.raises(TypeError, match=r"X has column names of several levels.*\('a', 'b'\)"):
        as_table(frame)
    joined = frame.set_axis(["_".join(map(str, name)) for name in frame.columns], axis=1)
    assert as_table(joined).names == ("a_b", "a_c")
    series = as_table(frame["a", "b"], argument="sensitive_features")
    assert series.names == ("a_b",)


def test_arrays_of_dask_become_arrays_of_numpy():
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    values = np.arange(6.0).reshape(3, 2)
    assert not in_place(dask.from_array(values))
    np.testing.assert_array_equal(as_table(dask.from_array(values)).source, values)
