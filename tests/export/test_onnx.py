"""ONNX graphs, run in onnxruntime against `predict`."""

import sys

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import to_onnx
from tests.zoo import LateModule

onnxruntime = LateModule("onnxruntime")


def run(graph, rows):
    """Run a graph on a frame, or on a matrix where it wants one."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    kinds = {"tensor(double)": np.float64, "tensor(string)": object, "tensor(int64)": np.int64}
    feed = {
        entry.name: np.asarray(rows if entry.name == "X" else rows[[entry.name]]).astype(
            kinds[entry.type]
        )
        for entry in session.get_inputs()
    }
    names = [entry.name for entry in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


@pytest.fixture
def assert_same(expected_of, assert_same_numbers):
    def check(out, model, X, **options):
        expected = expected_of(model, X, **options)
        eta = expected["linear_predictor"].reshape(len(X), -1)
        assert_same_numbers(out["linear_predictor"], eta)
        if expected["prediction"].dtype.kind == "f":
            assert_same_numbers(out["prediction"][:, 0], expected["prediction"])
        else:
            assert out["prediction"][:, 0].tolist() == expected["prediction"].tolist()
        if "probabilities" in expected:
            assert_same_numbers(out["probabilities"], expected["probabilities"])

    return check


def test_graphs_predict_what_the_model_predicts(model, workers, assert_same):
    assert_same(run(to_onnx(model), workers.X), model, workers.X)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial", "multinomial"])
def test_numbers_are_one_matrix(workers, family, assert_same):
    X = workers.X[["skill", "age", "hours"]]
    if family in ("binomial", "multinomial"):
        model = FairRidgeClassifier(0.1, sensitive=["age"])
    else:
        model = FairRidgeRegressor(0.1, sensitive=["age"], family=family)
    model.fit(X, workers.y[family])
    graph = to_onnx(model)
    assert [entry.name for entry in graph.graph.input] == ["X"]
    assert_same(run(graph, X), model, X)


def test_separate_sensitive_features_come_first(workers, assert_same):
    S, X = workers.X[["age"]], workers.X[["skill", "hours"]]
    model = FairRidgeRegressor(0.1).fit(X, workers.y["gaussian"], sensitive_features=S)
    out = run(to_onnx(model), pd.concat([S, X], axis=1))
    assert_same(out, model, X, sensitive_features=S)


def test_names_and_levels_cannot_break_out(nasty, assert_same):
    X = nasty.X.rename(columns={"linear_predictor": "eta"})
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive).fit(X, nasty.y)
    assert_same(run(to_onnx(model), X), model, X)
    clash = FairRidgeClassifier(0.1, sensitive=nasty.sensitive).fit(nasty.X, nasty.y)
    with pytest.raises(ValueError, match="'linear_predictor' cannot be the name of an input"):
        to_onnx(clash)


@pytest.mark.parametrize("labels", [[False, True], [3, 8], [3, 5, 8]])
def test_labels_keep_their_type(workers, labels, assert_same):
    y = np.random.default_rng(0).choice(labels, len(workers.X))
    model = FairRidgeClassifier(0.3, sensitive=["sex"]).fit(workers.X, y)
    out = run(to_onnx(model), workers.X)
    assert out["prediction"].dtype.kind == y.dtype.kind
    assert_same(out, model, workers.X)


def test_integer_levels_are_integers(workers, assert_same):
    grade = pd.Categorical(np.random.default_rng(1).choice([30, 7, 12], len(workers.X)))
    X = workers.X[["sex", "skill"]].assign(grade=grade)
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
    assert_same(run(to_onnx(model), X), model, X)
    odd = X.assign(grade=pd.cut(workers.X["age"], 3))
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(odd, workers.y["gaussian"])
    with pytest.raises(ValueError, match=r"column 'grade' has levels such as Interval"):
        to_onnx(model)


def test_unseen_levels_do_what_they_do_in_the_model(workers, assert_same):
    rows = workers.X.head(3).astype({"region": object}).assign(region=["west", "mars", "east"])
    strict = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(workers.X, workers.y["gaussian"])
    with pytest.raises(Exception, match="Unknown Category"):
        run(to_onnx(strict), rows)
    lenient = FairRidgeRegressor(0.1, sensitive=["sex"], unknown="base")
    lenient.fit(workers.X, workers.y["gaussian"])
    assert_same(run(to_onnx(lenient), rows), lenient, rows)


def test_extreme_linear_predictors_stay_finite(workers):
    X = workers.X[["age", "skill"]]
    far = pd.DataFrame({"age": [40.0] * 5, "skill": [-5e3, -800.0, 0.0, 800.0, 5e3]})
    for family in ("poisson", "quasi-binomial"):
        model = FairRidgeRegressor(0.1, sensitive=["age"], family=family)
        model.fit(X, workers.y[family])
        out = run(to_onnx(model), far)["prediction"][:, 0]
        np.testing.assert_allclose(out, model.predict(far), rtol=1e-10)


def test_without_the_extra_the_message_says_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'fairridge\[onnx\]'"):
        to_onnx(fitted("gaussian"))
