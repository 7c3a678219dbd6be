"""Frames of every library hold the same data."""

import sys

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge import datasets

NAMES = [info.name for info in datasets.available()]
TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


def levels(native):
    if isinstance(native, pd.Series):
        return list(native.cat.categories)
    if isinstance(native, pl.Series):
        return native.dtype.categories.to_list()
    return native.combine_chunks().dictionary.to_pylist()


def codes(native):
    """Which level every row has; -1 where there is none."""
    if isinstance(native, pl.Series):
        return native.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return native.combine_chunks().indices.fill_null(-1).to_numpy(zero_copy_only=False)


@pytest.mark.parametrize("backend", ["polars", "pyarrow"])
@pytest.mark.parametrize("name", NAMES)
def test_backends_agree(name, backend):
    data = datasets.load(name, backend=backend)
    assert isinstance(data.frame, TYPES[backend])
    assert isinstance(data.X, TYPES[backend])
    frame = nw.from_native(data.frame)
    expected = datasets.load(name, backend="pandas").frame
    assert frame.columns == list(expected.columns)
    for column in frame.columns:
        series = frame.get_column(column)
        if isinstance(expected[column].dtype, pd.CategoricalDtype):
            assert levels(series.to_native()) == levels(expected[column])
            np.testing.assert_array_equal(codes(series.to_native()), expected[column].cat.codes)
        else:
            np.testing.assert_array_equal(series.to_numpy(), expected[column])
            assert series.dtype == (nw.Int64 if expected[column].dtype == "int64" else nw.Float64)


def test_pandas_categories_are_not_ranked():
    assert not datasets.load_bank(backend="pandas").frame["month"].cat.ordered


@pytest.mark.parametrize("backend", ["pandas", "pyarrow"])
def test_survival_response_has_time_and_event(backend):
    y = nw.from_native(datasets.load_rossi(backend=backend).y)
    assert y.columns == ["time", "event"]
    assert y.get_column("time").to_list()[:3] == [20, 17, 25]
    assert y.get_column("event").to_list()[:3] == [1, 1, 1]


def test_first_installed_library_is_used(monkeypatch):
    assert isinstance(datasets.load_rossi().frame, pd.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)  # Python's way to say: not installed
    assert isinstance(datasets.load_rossi().frame, pl.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    assert isinstance(datasets.load_rossi().frame, pa.Table)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"none of pandas, polars and pyarrow.*fairridge\[data\]"):
        datasets.load_rossi()
    with pytest.raises(ImportError, match="no polars"):
        datasets.load_rossi(backend="polars")


def test_unknown_backend():
    with pytest.raises(ValueError, match="pandas, polars, pyarrow or None, not 'dask'"):
        datasets.load_rossi(backend="dask")
