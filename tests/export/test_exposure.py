"""Exports of models with an exposure: the rate, and the count where an exposure is named."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import to_onnx, to_python, to_sql
from fairridge.export.dialects import DIALECTS
from tests.zoo import LateModule

from .formats import compiled, run_query

onnxruntime = LateModule("onnxruntime")


@pytest.fixture(scope="module")
def claims():
    rng = np.random.default_rng(11)
    n = 200
    X = pd.DataFrame({"s": rng.choice(["a", "b"], n), "x": rng.normal(size=n)})
    e = rng.uniform(0.1, 1.0, n)
    return X, rng.poisson(e * np.exp(0.5 * X["x"])), e, rng.normal(size=n) / 3


@pytest.fixture(scope="module")
def model(claims):
    X, y, e, _ = claims
    return FairRidgeRegressor(0.05, sensitive="s", family="poisson").fit(X, y, exposure=e)


def test_queries_give_rates_or_counts(claims, model):
    X, _, e, offset = claims
    table = X.assign(years=e, more=offset)
    rates, counts = to_sql(model), to_sql(model, exposure="years", offset="more", keep=["years"])
    assert rates.startswith("/* prediction: a rate, per unit of exposure */")
    assert counts.startswith("/* prediction: a count or amount of the row */")
    for text, expected in (
        (rates, model.predict(X)),
        (counts, model.predict(X, exposure=e, offset=offset)),
    ):
        found = run_query(text, table)["prediction"]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    unpaid = run_query(counts, table.assign(years=np.where(np.arange(len(e)) % 2, e, 0.0)))
    assert unpaid["prediction"].isna().tolist() == [True, False] * (len(e) // 2)


def test_every_dialect_writes_a_logarithm(model):
    for name in DIALECTS:
        found = to_sql(model, name, exposure="years")
        assert ("LOG(" if name == "sqlserver" else "LN(") in found
    with pytest.raises(ValueError, match="both the offset and the exposure"):
        to_sql(model, offset="years", exposure="years")


def test_modules_give_rates_or_counts(claims, model):
    X, _, e, offset = claims
    assert "the predicted rate, times the exposure" in to_python(model)
    predict, row = compiled(model), X.iloc[3].to_dict()
    assert predict(row)["prediction"] == pytest.approx(model.predict(X)[3], rel=1e-12)
    found = predict(row, offset=offset[3], exposure=e[3])["prediction"]
    assert found == pytest.approx(model.predict(X, exposure=e, offset=offset)[3], rel=1e-12)
    for wrong in (0.0, float("nan")):
        with pytest.raises(ValueError, match="not a positive number"):
            predict(row, exposure=wrong)


def test_graphs_give_rates_or_counts(claims, model):
    X, _, e, offset = claims
    inputs = {"s": X[["s"]].to_numpy(dtype=object), "x": X[["x"]].to_numpy()}
    more = {"years": e[:, None], "more": offset[:, None]}
    for graph, given, expected, what in (
        (to_onnx(model), inputs, model.predict(X), "rate"),
        (
            to_onnx(model, offset="more", exposure="years"),
            inputs | more,
            model.predict(X, exposure=e, offset=offset),
            "count",
        ),
    ):
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        assert {p.key: p.value for p in graph.metadata_props} == {"prediction": what}
        (found,) = session.run(["prediction"], given)
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
    for name in ("x", "", "prediction"):
        with pytest.raises(ValueError, match="rename it"):
            to_onnx(model, exposure=name)


def test_other_links_have_no_exposure(claims):
    X, y, _, offset = claims
    model = FairRidgeClassifier(sensitive="s").fit(X, y > 0, offset=offset)
    for write in (to_sql, to_onnx):
        with pytest.raises(ValueError, match="exposure is for families with the log link"):
            write(model, exposure="years")
    assert not to_sql(model).startswith("/*")
