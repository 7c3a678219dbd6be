"""Parquet files by whatever name: each is found, and each once."""

import pytest

from fairridge import FairRidgeRegressor, sources

from .conftest import (
    ROLES,
    assert_same_model,
    in_memory,
    write_files,
)


@pytest.mark.parametrize("path", ["mix", "mix/", "./mix/../mix/", "../here/mix", "m*x", "*/"])
def test_a_folder_may_be_named_in_many_ways(small, tmp_path, monkeypatch, path):
    here = tmp_path / "here"
    for k, name in enumerate(
        ("part.parquet", "p_2.parquet", "sub.parquet/x.parquet", "m/ix.pq", "_no.parquet",
         ".no.parquet", "_no/x.parquet", ".no/x.parquet", "m/_no.parquet")
    ):  # fmt: skip
        file = here / "mix" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        small.iloc[40 * k : 40 * k + 40].to_parquet(file)
    monkeypatch.chdir(here)
    expected = in_memory(small.head(160))
    for place in (path, here / path):
        source = sources.parquet(place, **ROLES)
        assert source.n_rows == 160
        assert FairRidgeRegressor(0.05).fit(source).fair_intercept_ == pytest.approx(
            expected.fair_intercept_
        )
    monkeypatch.chdir(here / "mix")
    for place in (".", "../mix", here.as_uri() + "/mix/"):
        assert sources.parquet(place, **ROLES).n_rows == 160


def test_a_folder_with_a_mark_in_front_is_read_if_named(small, tmp_path, monkeypatch):
    write_files(small, tmp_path / "_old", cuts=(0, 100))
    monkeypatch.chdir(tmp_path)
    for place in ("_old", tmp_path / "_old"):
        assert sources.parquet(place, **ROLES).n_rows == 400


def test_every_file_is_read_once(folder, small, monkeypatch):
    monkeypatch.chdir(folder.parent)
    names = ["files", "files/*.parquet", "./files/part-0.parquet", folder, folder.as_uri()]
    source = sources.parquet(names, **ROLES)
    assert repr(source) == "ParquetRows(400 rows in 4 file(s))"
    assert_same_model(FairRidgeRegressor(0.05).fit(source), in_memory(small))
    assert sources.parquet("**", **ROLES).n_rows == 400
