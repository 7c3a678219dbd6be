"""A level that was isolated has a coefficient like any other, in every export."""

import numpy as np
import pytest

import fairridge
from fairridge import FairRidgeClassifier
from fairridge.export import scorecard, to_onnx, to_sklearn, to_sql

from .test_onnx import run as run_graph
from .test_sql import run as run_query


@pytest.fixture(scope="module")
def isolated(workers):
    """Return a model, and its rows: two of the base level of one column, one of another."""
    X = workers.X.iloc[np.arange(720) % 240].reset_index(drop=True)
    X = X.assign(skill=X["skill"] + np.repeat([0.0, 0.1, 0.2], 240))
    y = np.tile(workers.y["binomial"], 3)
    X["region"] = X["region"].astype(str)
    X.loc[[3, 8], "region"], y[[3, 8]] = "atoll", "no"
    X["post"] = "usual"
    X.loc[5, "post"], y[5] = "unpaid", "yes"
    model = FairRidgeClassifier(0.05, sensitive=workers.sensitive).fit(X, y)
    assert model.isolated_ == {"region[atoll]": 2, "post[unpaid]": 1}
    return model, X


def test_every_export_predicts_the_same(isolated, tmp_path):
    model, X = isolated
    expected = model.predict_proba(X)[:, 1]
    assert expected[[3, 8]].mean() == pytest.approx(0.5 / 3.0)
    assert expected[5] == pytest.approx(1.5 / 2.0)
    query = run_query(to_sql(model, "duckdb"), X)
    np.testing.assert_allclose(query[f"probability_{model.classes_[1]}"], expected, rtol=1e-9)
    graph = run_graph(to_onnx(model), X)
    np.testing.assert_allclose(graph["probabilities"][:, 1], expected, rtol=1e-9)
    np.testing.assert_allclose(to_sklearn(model).predict_proba(X)[:, 1], expected, rtol=1e-9)
    card = scorecard(model, rounded=False)
    np.testing.assert_allclose(card.probability(card.score(X)), expected, rtol=1e-9)
    fairridge.save(model, tmp_path / "model.json")
    loaded = fairridge.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(X)[:, 1], expected)
    assert loaded.isolated_ == model.isolated_
    assert str(loaded.summary()) == str(model.summary())
