"""What is kept of the distribution of columns."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeRegressor, sources
from fairridge.data import Slab
from fairridge.data.design import NumberSample, share_between


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 600
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n, p=[0.7, 0.3]),
            "skill": rng.normal(size=n),
            "count": rng.integers(0, 3, n).astype(float),
            "region": pd.Categorical(rng.choice(list("abc"), n), categories=list("cab")),
        }
    )
    frame["y"] = frame["skill"] + (frame["sex"] == "m") + rng.normal(size=n)
    return frame


def profiles(model):
    return {one.name: one for one in model._profiles}


def test_levels_have_shares_and_numbers_deciles(frame):
    X, w = frame.drop(columns="y"), np.arange(len(frame)) % 3  # rows of weight zero are absent
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, frame["y"], sample_weight=w)
    found = profiles(model)
    assert list(found) == ["sex", "skill", "count", "region"]
    weighted = pd.Series(w).groupby(frame["sex"]).sum() / w.sum()
    assert found["sex"].levels == ("f", "m")
    np.testing.assert_allclose(found["sex"].shares, weighted[["f", "m"]])
    by_region = pd.Series(w).groupby(frame["region"], observed=True).sum() / w.sum()
    np.testing.assert_allclose(found["region"].shares, by_region[["c", "a", "b"]])
    skill = frame["skill"].to_numpy()
    repeated = np.sort(np.repeat(skill, w))
    deciles = repeated[np.ceil(np.arange(1, 10) / 10 * len(repeated)).astype(int) - 1]
    np.testing.assert_array_equal(found["skill"].edges, deciles)
    np.testing.assert_allclose(found["skill"].shares, 0.1, atol=2 / w.sum())
    assert found["count"].edges.tolist() == [0.0, 1.0, 2.0]  # distinct, though there are nine
    assert found["count"].shares[-1] == 0.0
    assert found["skill"].n_rows == (w > 0).sum()


def test_rows_elsewhere_leave_the_same_in_as_many_passes(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    rows = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive=["sex"])
    here = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(frame.drop(columns="y"), frame["y"])
    there = FairRidgeRegressor(0.1).fit(rows)
    assert there.n_iter_ <= 2
    for name, one in profiles(here).items():
        other = profiles(there)[name]
        assert (one.levels, one.n_rows) == (other.levels, other.n_rows)
        np.testing.assert_array_equal(one.edges, other.edges)
        np.testing.assert_allclose(one.shares, other.shares, atol=1e-12)


@pytest.mark.parametrize("in_memory", [True, False])
def test_intersections_are_not_taken_for_columns(frame, in_memory):
    frame = frame.assign(race=np.resize(["u", "v", "w"], len(frame)))
    found = []
    for sensitive in (["sex", "race"], [("sex", "race")]):
        if in_memory:
            model = FairRidgeRegressor(0.1, sensitive=sensitive)
            model.fit(frame.drop(columns="y"), frame["y"])
        else:
            rows = sources.frame(frame, response="y", sensitive=sensitive)
            model = FairRidgeRegressor(0.1).fit(rows)
        found.append(profiles(model))
    plain, crossed = found
    assert crossed.keys() == plain.keys()
    for name, one in crossed.items():
        np.testing.assert_array_equal(one.edges, plain[name].edges)
        np.testing.assert_allclose(one.shares, plain[name].shares, atol=1e-12)
    page = fairridge.report(model, frame.drop(columns="y"), frame["y"], new_rows=True)
    assert {one.name: round(one.psi, 12) for one in page.contents.drift} == dict.fromkeys(plain, 0)


def test_samples_of_many_rows_are_small_and_add():
    values = np.arange(10_000.0)[:, None]
    parts = [NumberSample.of([Slab(part)], len(part), None, 64) for part in np.split(values, 10)]
    total = sum(parts[1:], start=parts[0])
    assert 32 <= len(total.values) <= 64
    assert total.stride * len(total.values) == pytest.approx(10_000, rel=0.1)
    # Every part has its share, whenever it was added.
    np.testing.assert_allclose(
        np.histogram(total.values, 10)[0] / len(total.values), 0.1, atol=0.03
    )
    edges = np.array([2499.5, 4999.5])
    assert share_between(edges, values[:, 0], np.ones(10_000)).tolist() == [0.25, 0.25, 0.5]


def test_files_keep_them_and_older_files_do_without(frame, tmp_path):
    X, path = frame.drop(columns="y"), tmp_path / "model.json"
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, frame["y"])
    fairridge.save(model, path)
    for one, other in zip(fairridge.load(path)._profiles, model._profiles, strict=True):
        assert (one.name, one.levels) == (other.name, other.levels)
        np.testing.assert_array_equal(one.shares, other.shares)
    document = json.loads(path.read_text())
    document.pop("checksum")
    del document["fitted"]["_profiles"]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps(document | {"checksum": hashlib.sha256(text.encode()).hexdigest()}))
    old = fairridge.load(path)
    assert old._profiles == ()
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    page = fairridge.report(old, X, frame["y"], new_rows=True)
    assert page.contents.drift == ()
    assert "earlier version" in page.summary
