"""Codes and levels of categorical columns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge.data import Levels, as_table


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


@pytest.mark.parametrize("index", [pa.int8(), pa.uint32()], ids=str)
def test_arrow_dictionaries_may_have_any_index(index):
    codes = [1, None, 0]
    chunk = pa.DictionaryArray.from_arrays(pa.array(codes, index), pa.array(["u", "t"]))
    found = column(pa.table({"c": chunk}))
    assert found.levels == ("u", "t")
    assert found.codes.tolist() == [-1 if code is None else code for code in codes]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_arrow_strings_may_have_any_type(kind):
    found = column(pa.table({"c": pa.array(["b", "a", None], kind)}))
    assert found.levels == ("a", "b")
    assert found.codes.tolist() == [1, 0, -1]


def test_chunks_and_slices_of_arrow_are_read_as_one():
    chunks = pa.chunked_array([["b", "a"], ["c"], ["a", None]])
    found = column(pa.table({"c": chunks}).slice(1))
    assert values(found) == ["a", "c", "a", None]


@pytest.mark.parametrize("levels", [(3, 1, 2), (True, False), (0.5, 0.25)])
def test_pandas_levels_need_not_be_strings(levels):
    found = column(pd.DataFrame({"c": pd.Categorical.from_codes([1, 0, 1], list(levels))}))
    assert found.levels == levels
    assert found.codes.tolist() == [1, 0, 1]


def test_recoding_keeps_values_and_marks_what_is_not_there():
    levels = Levels(np.array([0, 1, 2, -1]), ("a", "b", "c"))
    found = levels.recode(("c", "q", "a"))
    assert found.codes.tolist() == [2, -2, 0, -1]
    assert found.levels == ("c", "q", "a")
    assert levels.codes.tolist() == [0, 1, 2, -1]
