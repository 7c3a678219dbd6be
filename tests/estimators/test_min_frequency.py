"""Rare levels of predictors become "(other)", where unknown ones go, too."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from fairridge.export import scorecard, to_onnx, to_sklearn, to_sql

from ..export.test_onnx import run as run_graph
from ..export.test_sql import run as run_query


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    towns = np.repeat(["a", "b", "c", "d", "e"], [200, 150, 30, 15, 5])
    group = rng.choice(["f", "m"], 400, p=[0.99, 0.01])
    group[:2] = "m"
    frame = pd.DataFrame(
        {"s": rng.normal(size=400), "group": group, "town": rng.permutation(towns)}
    )
    frame["floor"] = pd.Categorical(rng.choice([1, 2, 3], 400, p=[0.48, 0.5, 0.02]), [1, 2, 3, 4])
    frame["x"] = rng.normal(size=400) + 0.4 * frame["s"]
    eta = frame["x"] + frame["s"] + (frame["town"] == "b")
    return frame, eta + rng.normal(size=400)


@pytest.mark.parametrize("least", [20, 30, 31, 0.05, 1])
def test_levels_are_merged_as_scikit_learn_does(rows, least):
    frame, y = rows
    frame = frame[["s", "town", "x"]]
    model = FairRidgeRegressor(0.1, sensitive="s", min_frequency=least).fit(frame, y)
    (found,) = OneHotEncoder(min_frequency=least).fit(frame[["town"]]).infrequent_categories_
    rare = [] if found is None else list(found)
    kept = [level for level in "abcde" if level not in rare]
    names = [name for name in model.predictor_names_ if name.startswith("town")]
    others = [*kept[1:], "(other)"] if rare else kept[1:]
    assert names == [f"town[{level}]" for level in others]
    merged = frame.assign(town=frame["town"].where(~frame["town"].isin(rare), "(rest)"))
    other = FairRidgeRegressor(0.1, sensitive="s").fit(merged, y)
    np.testing.assert_allclose(model.predict(frame), other.predict(merged), rtol=1e-9)


def test_unknown_levels_are_other_whatever_else_they_would_be(rows):
    frame, y = rows
    frame = frame[["s", "town", "x"]]
    model = FairRidgeRegressor(0.1, sensitive="s", min_frequency=20).fit(frame, y)
    new = frame.head(3).assign(town=["e", "new", "(other)"], x=0.5, s=0.1)
    a, b, c = model.predict(new)
    assert a == b == c
    # A column without rare levels has no level "(other)".
    plain = frame.assign(town=np.where(frame["x"] > 0, "a", "b"))
    model.fit(plain, y)
    with pytest.raises(ValueError, match="'new', which was not there at fit"):
        model.predict(plain.head(1).assign(town="new"))


def test_levels_of_sensitive_attributes_stay(rows):
    frame, y = rows
    model = FairRidgeRegressor(0.1, sensitive=["town"], min_frequency=0.2).fit(frame, y)
    assert list(model.sensitive_names_) == [f"town[{level}]" for level in "bcde"]


def test_weights_count_as_rows(rows):
    frame, y = rows
    weight = np.where(frame["town"] == "e", 10.0, 1.0)
    again = np.repeat(np.arange(400), weight.astype(int))
    options = {"sensitive": "s", "min_frequency": 40}
    ours = FairRidgeRegressor(0.1, **options).fit(frame, y, sample_weight=weight)
    theirs = FairRidgeRegressor(0.1, **options).fit(frame.iloc[again], y.iloc[again])
    assert list(ours.predictor_names_) == list(theirs.predictor_names_)
    assert "town[e]" in ours.predictor_names_
    assert "town[c]" not in ours.predictor_names_


def test_rare_levels_without_events_no_longer_decide(rows):
    frame, y = rows
    y = ((y > y.median()) & ~frame["town"].isin(["d", "e"])).astype(int)
    model = FairRidgeClassifier(0.05, sensitive="s", min_frequency=40).fit(frame, y)
    assert (model.status_, model.isolated_) == ("converged", {})


def test_rows_in_files(rows, tmp_path):
    frame, y = rows
    frame.assign(y=y, floor=frame["floor"].astype(str)).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive="s", batch_rows=90)
    ours = FairRidgeRegressor(0.1, min_frequency=0.06).fit(source)
    theirs = FairRidgeRegressor(0.1, sensitive="s", min_frequency=0.06)
    theirs.fit(frame.assign(floor=frame["floor"].astype(str)), y)
    assert "town[c]" in ours.predictor_names_
    assert "town[d]" not in ours.predictor_names_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    levels = source.count_levels()
    moments = sources.moments(source, level_counts=levels)
    with pytest.raises(ValueError, match="min_frequency needs the rows"):
        FairRidgeRegressor(0.1, min_frequency=0.06).fit(moments)


@pytest.mark.parametrize("least", [20, 199.5])
def test_every_export_predicts_the_same(rows, least, tmp_path):
    frame, y = rows
    frame = frame.assign(floor=frame["floor"].astype(int).astype("category"))
    y = (y > 0).astype(int)
    model = FairRidgeClassifier(0.1, sensitive=["s"], min_frequency=least).fit(frame, y)
    new = frame.copy()
    new.loc[:3, "town"] = "new"
    expected = model.predict_proba(new)[:, 1]
    query = run_query(to_sql(model, "duckdb"), new)
    np.testing.assert_allclose(query[f"probability_{model.classes_[1]}"], expected, rtol=1e-9)
    graph = run_graph(to_onnx(model), new)
    np.testing.assert_allclose(graph["probabilities"][:, 1], expected, rtol=1e-9)
    np.testing.assert_allclose(to_sklearn(model).predict_proba(new)[:, 1], expected, rtol=1e-9)
    card = scorecard(model, rounded=False)
    np.testing.assert_allclose(card.probability(card.score(new)), expected, rtol=1e-9)
    fairridge.save(model, tmp_path / "model.json")
    loaded = fairridge.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(new)[:, 1], expected)


@pytest.mark.parametrize("least", [0, -1, "few", np.nan])
def test_what_is_no_frequency_is_refused(rows, least):
    with pytest.raises((TypeError, ValueError), match="min_frequency"):
        FairRidgeRegressor(0.1, sensitive="s", min_frequency=least).fit(*rows)
