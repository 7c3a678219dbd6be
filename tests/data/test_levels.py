"""Codes and levels of categorical columns."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from fairridge.data import as_table


def column(data):
    return as_table(data).column(0)


def values(levels):
    return [None if code < 0 else levels.levels[code] for code in levels.codes]


def test_missing_strings_have_no_level(frame_of):
    found = column(frame_of({"c": ["b", None, "a"]}))
    assert found.levels == ("a", "b")
    assert found.codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize("levels", [["c", "a", "b"], ["z", "b", "y"]])
@pytest.mark.parametrize("codes", [[1, None, 2, 1], [2, 2]])
def test_declared_levels_keep_their_order(frame_of, categorical_of, codes, levels):
    found = column(frame_of({"c": categorical_of(codes, levels)}))
    assert found.levels == tuple(levels)
    assert found.codes.tolist() == [-1 if code is None else code for code in codes]
    assert found.codes.dtype == np.intp


def test_a_categorical_of_polars_has_no_order_of_its_own():
    found = column(pl.DataFrame({"c": pl.Series(["b", "a", None], dtype=pl.Categorical)}))
    assert found.levels == ("a", "b")
    assert found.codes.tolist() == [1, 0, -1]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_arrow_strings_may_have_any_type(kind):
    found = column(pa.table({"c": pa.array(["b", "a", None], kind)}))
    assert found.levels == ("a", "b")
    assert found.codes.tolist() == [1, 0, -1]


def test_chunks_and_slices_of_arrow_are_read_as_one():
    chunks = pa.chunked_array([["b", "a"], ["c"], ["a", None]])
    found = column(pa.table({"c": chunks}).slice(1))
    assert values(found) == ["a", "c", "a", None]
