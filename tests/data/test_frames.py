"""Frames out."""

import importlib.util

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge.data import as_table, frames, make_frame

TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
COLUMNS = {"r": [0.0, 0.5], "status": ["inactive", "converged"]}


def test_a_frame_is_made_in_the_library_asked_for(library):
    made = make_frame(COLUMNS, library)
    assert isinstance(made, TYPES[library])
    assert nw.from_native(made).to_dict(as_series=False) == COLUMNS


def test_the_library_of_a_table_can_be_asked_for(frame_of, library):
    made = make_frame(COLUMNS, as_table(frame_of({"a": [1]})).backend)
    assert isinstance(made, TYPES[library])


@pytest.mark.parametrize("missing", [(), ("pandas",), ("pandas", "polars")])
def test_the_first_library_at_hand_serves_where_none_was_asked_for(monkeypatch, missing):
    found = importlib.util.find_spec
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name in missing else found(name))
    assert isinstance(make_frame(COLUMNS), list(TYPES.values())[len(missing)])


def test_no_library_at_all_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install"):
        make_frame(COLUMNS)
