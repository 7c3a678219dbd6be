"""Frames out."""

import importlib.util

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge import FairRidgeRegressor, sources
from fairridge.data import frames, make_frame

TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
COLUMNS = {"r": [0.0, 0.5], "status": ["inactive", "converged"]}


def test_a_frame_is_made_in_the_library_asked_for(library):
    made = make_frame(COLUMNS, library)
    assert isinstance(made, TYPES[library])
    assert nw.from_native(made).to_dict(as_series=False) == COLUMNS


@pytest.mark.parametrize("missing", [(), ("pandas",), ("pandas", "polars")])
def test_the_first_library_at_hand_serves_where_none_was_asked_for(monkeypatch, missing):
    found = importlib.util.find_spec
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name in missing else found(name))
    assert isinstance(make_frame(COLUMNS), list(TYPES.values())[len(missing)])


def test_no_library_at_all_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install"):
        make_frame(COLUMNS)


def test_models_take_rows_and_responses_in_any_container():
    dense = pd.DataFrame({"s": [0.0, 0, 1, 1, 0, 2], "x": [1.0, 0, 0, 3, 4, 0]})
    y = pd.Series([1.0, 0, 0, 2, 5, 0], name="y")
    numbers = y.astype(int).tolist()
    sparse = dense.astype(pd.SparseDtype(float, 0.0))
    wanted = FairRidgeRegressor(sensitive=["s"]).fit(dense, y)
    for X, target in (
        (sparse, y.astype(pd.SparseDtype(float, 0.0))),
        (pa.RecordBatch.from_pandas(dense), pa.RecordBatch.from_pydict({"y": y.tolist()})),
        (pa.Table.from_pandas(dense), pa.chunked_array([numbers[:2], numbers[2:]])),
        (pl.from_pandas(dense), pl.DataFrame({"y": numbers})),
        (dense, pd.Series(numbers, index=[9, 4, 7, 1, 3, 2], dtype="Int64")),
        (dense, np.array(numbers, dtype=object)),
    ):
        model = FairRidgeRegressor(sensitive=["s"]).fit(X, target)
        assert model.feature_names_in_.tolist() == ["s", "x"]
        assert model.coef_ == pytest.approx(wanted.coef_, rel=1e-12)
        assert model.predict(X) == pytest.approx(wanted.predict(dense), rel=1e-12)
        source = sources.frame(X, sensitive="s", response="x")
        assert source.roles.kinds == {"s": "number", "x": "number"}
