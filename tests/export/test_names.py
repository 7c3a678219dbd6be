"""A level and a column of the same encoded name, in everything that a model becomes."""

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeClassifier, sources
from fairridge.export import scorecard, to_sklearn, to_sql
from tests.zoo import LateModule

duckdb = LateModule("duckdb")

NAMES = ["sex", "reg[b]_2", "reg[c]", "reg[b]"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    return pd.DataFrame({
        "sex": rng.integers(0, 2, 300).astype(float),
        "reg": rng.choice(list("abc"), 300),
        "reg[b]": rng.normal(size=300),
        "y": rng.integers(0, 2, 300),
    })  # fmt: skip


@pytest.fixture(scope="module")
def model(data):
    return FairRidgeClassifier(0.1, sensitive=["sex"]).fit(data.drop(columns="y"), data["y"])


def test_names_are_unique_wherever_they_show(model, data, tmp_path):
    assert model.coef_names_.tolist() == NAMES
    assert [row.term for row in model.summary().coefficients] == ["(intercept)", *NAMES]
    path = model.path(data.drop(columns="y"), data["y"], unfairness=[0.1])
    assert path.to_frame()["reg[b]"].item() == pytest.approx(model.beta_[-1], rel=1e-6)
    assert path.to_frame()["reg[b]_2"].item() == pytest.approx(model.beta_[0], rel=1e-6)
    data.to_parquet(tmp_path / "d.parquet")
    source = sources.parquet(tmp_path / "d.parquet", response="y", sensitive="sex")
    assert FairRidgeClassifier(0.1).fit(source).coef_names_.tolist() == NAMES


def test_exports_agree_with_the_model(model, data, tmp_path):
    X = data.drop(columns="y")
    probability = model.predict_proba(X)[:, 1]
    with duckdb.connect() as connection:
        connection.register("data", X)
        found = connection.execute(to_sql(model)).df()
    np.testing.assert_allclose(found[f"probability_{model.classes_[1]}"], probability, rtol=1e-12)
    plain = to_sklearn(model).predict_proba(X)[:, 1]
    np.testing.assert_allclose(plain, probability, rtol=1e-12)
    card = scorecard(model, rounded=False)
    odds = np.log(probability / (1.0 - probability))
    scores = np.asarray(card.score(X), dtype=float)
    assert np.corrcoef(scores, odds)[0, 1] == pytest.approx(1.0, abs=1e-12)
    fairridge.save(model, tmp_path / "m.json")
    loaded = fairridge.load(tmp_path / "m.json")
    assert loaded.coef_names_.tolist() == NAMES
    assert loaded._design == model._design
    np.testing.assert_array_equal(loaded.predict_proba(X)[:, 1], probability)
