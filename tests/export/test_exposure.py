"""Exports of models with an exposure: the rate, and the count where an exposure is named."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import to_onnx, to_python, to_sklearn, to_sql
from fairridge.export.dialects import DIALECTS
from tests.zoo import LateModule

duckdb = LateModule("duckdb")
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


def query(text, frame):
    with duckdb.connect() as connection:
        connection.register("data", frame)
        return connection.execute(text).df()


def test_queries_give_rates_or_counts(claims, model):
    X, _, e, offset = claims
    table = X.assign(years=e, more=offset)
    rates, counts = to_sql(model), to_sql(model, exposure="years", offset="more", keep=["years"])
    assert rates.startswith("/* prediction: a rate, per unit of exposure */")
    assert counts.startswith("/* prediction: a count or amount of the row */")
    np.testing.assert_allclose(query(rates, table)["prediction"], model.predict(X), rtol=1e-12)
    expected = model.predict(X, exposure=e, offset=offset)
    np.testing.assert_allclose(query(counts, table)["prediction"], expected, rtol=1e-12)
    unpaid = query(counts, table.assign(years=np.where(np.arange(len(e)) % 2, e, 0.0)))
    assert unpaid["prediction"][::2].isna().all()
    np.testing.assert_allclose(unpaid["prediction"][1::2], expected[1::2], rtol=1e-12)


def test_every_dialect_writes_a_logarithm(model):
    for name in DIALECTS:
        found = to_sql(model, name, exposure="years")
        assert ("LOG(" if name == "sqlserver" else "LN(") in found
    with pytest.raises(ValueError, match="both the offset and the exposure"):
        to_sql(model, offset="years", exposure="years")


def test_modules_give_rates_or_counts(claims, model):
    X, _, e, offset = claims
    module = {}
    source = to_python(model)
    assert "the predicted rate, times the exposure" in source
    exec(compile(source, "score", "exec"), module)
    row = X.iloc[3].to_dict()
    assert module["predict"](row)["prediction"] == pytest.approx(model.predict(X)[3], rel=1e-12)
    found = module["predict"](row, offset=offset[3], exposure=e[3])["prediction"]
    assert found == pytest.approx(model.predict(X, exposure=e, offset=offset)[3], rel=1e-12)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not a positive number"):
            module["predict"](row, exposure=wrong)


@pytest.mark.parametrize("numeric", [False, True])
def test_graphs_give_rates_or_counts(claims, model, numeric):
    X, y, e, offset = claims
    inputs = {"s": X[["s"]].to_numpy(dtype=object), "x": X[["x"]].to_numpy()}
    if numeric:
        X = np.column_stack([X["s"] == "b", X["x"]]).astype(float)
        model = FairRidgeRegressor(0.05, sensitive=[0], family="poisson").fit(X, y, exposure=e)
        inputs = {"X": X}
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
    for name in ("X" if numeric else "x", "", "prediction"):
        with pytest.raises(ValueError, match="rename it"):
            to_onnx(model, exposure=name)


def test_scikit_learn_gives_rates(claims, model):
    X, *_ = claims
    np.testing.assert_allclose(to_sklearn(model).predict(X), model.predict(X), rtol=1e-12)


def test_other_links_have_no_exposure(claims):
    X, y, _, offset = claims
    model = FairRidgeClassifier(sensitive="s").fit(X, y > 0, offset=offset)
    for write in (to_sql, to_onnx):
        with pytest.raises(ValueError, match="exposure is for families with the log link"):
            write(model, exposure="years")
    assert not to_sql(model).startswith("/*")
    # Offsets are inputs of graphs, too.
    session = onnxruntime.InferenceSession(to_onnx(model, offset="more").SerializeToString())
    (found,) = session.run(
        ["probabilities"],
        {
            "s": X[["s"]].to_numpy(dtype=object),
            "x": X[["x"]].to_numpy(),
            "more": offset[:, None],
        },
    )
    np.testing.assert_allclose(found, model.predict_proba(X, offset=offset), rtol=1e-10)
