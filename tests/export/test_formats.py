"""SQL in DuckDB, plain Python, ONNX and scikit-learn say what the model says."""

import sys

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from fairridge.export import to_onnx, to_sklearn, to_sql

from .formats import FORMATS, assert_same, in_onnx


@pytest.fixture(params=FORMATS)
def elsewhere(request):
    """Return a function that scores rows with a model in each format in turn."""
    return FORMATS[request.param]


def test_every_family_is_predicted_alike(elsewhere, model, workers):
    assert_same(elsewhere(model, workers.X), model, workers.X)


def test_names_and_levels_cannot_break_out(elsewhere, nasty):
    X = nasty.X.rename(columns={"linear_predictor": "eta"})
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive).fit(X, nasty.y)
    assert_same(elsewhere(model, X), model, X)


@pytest.mark.parametrize("name", ["sql", "python", "onnx"])
def test_the_link_is_written(name, workers):
    X = workers.X[["sex", "skill"]]
    model = FairRidgeClassifier(0.1, sensitive=["sex"], link="cloglog")
    model.fit(X, workers.y["binomial"])
    assert_same(FORMATS[name](model, X), model, X)
    with pytest.raises(ValueError, match="scikit-learn has no model with the cloglog link"):
        to_sklearn(model)


@pytest.mark.parametrize("labels", [[False, True], [3, 5, 8]])
def test_labels_keep_their_type(elsewhere, workers, labels):
    y = np.random.default_rng(0).choice(labels, len(workers.X))
    model = FairRidgeClassifier(0.3, sensitive=["sex"]).fit(workers.X, y)
    found = elsewhere(model, workers.X)
    assert np.asarray(found["prediction"]).dtype.kind == y.dtype.kind
    assert_same(found, model, workers.X)


def test_levels_may_be_numbers_in_any_order(elsewhere, workers):
    grade = pd.Categorical(
        np.random.default_rng(1).choice([30, 7, 12], len(workers.X)), [30, 7, 12]
    )
    X = workers.X[["sex", "skill"]].assign(grade=grade)
    y = workers.y["gaussian"] + 2.0 * grade.codes
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, y)
    assert_same(elsewhere(model, X.astype({"grade": int})), model, X)


@pytest.mark.parametrize("name", ["sql", "python", "onnx"])
@pytest.mark.parametrize("family", ["poisson", "quasi-binomial"])
def test_extreme_linear_predictors_stay_finite(name, workers, family):
    X = workers.X[["age", "skill"]]
    far = pd.DataFrame({"age": [40.0] * 5, "skill": [-5e3, -800.0, 0.0, 800.0, 5e3]})
    model = FairRidgeRegressor(0.1, sensitive=["age"], family=family).fit(X, workers.y[family])
    found = FORMATS[name](model, far)["prediction"]
    np.testing.assert_allclose(found, model.predict(far), rtol=1e-10)


@pytest.mark.parametrize("family", ["gaussian", "multinomial"])
def test_numbers_are_one_matrix_of_a_graph(workers, family):
    X = workers.X[["skill", "age", "hours"]]
    kind = FairRidgeClassifier if family == "multinomial" else FairRidgeRegressor
    model = kind(0.1, sensitive=["age"]).fit(X, workers.y[family])
    assert [entry.name for entry in to_onnx(model).graph.input] == ["X"]
    assert_same(in_onnx(model, X), model, X)


def test_inputs_of_a_graph_are_not_named_as_its_outputs(nasty):
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive).fit(nasty.X, nasty.y)
    with pytest.raises(ValueError, match="'linear_predictor' cannot be the name of an input"):
        to_onnx(model)


def test_without_the_extra_the_message_says_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'fairridge\[onnx\]'"):
        to_onnx(fitted("gaussian"))


@pytest.mark.parametrize(
    ("export", "message"),
    [
        (to_sql, "is a Interval, which SQL cannot compare"),
        (to_onnx, "column 'band' has levels such as Interval"),
    ],
)
def test_levels_that_are_no_text_or_number_are_refused(workers, export, message):
    X = workers.X[["skill", "sex"]].assign(band=pd.cut(workers.X["age"], 3))
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
    with pytest.raises(ValueError, match=message):
        export(model)


# ------------------------------------------------ a level and a column of the same encoded name

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
def namesakes(data):
    return FairRidgeClassifier(0.1, sensitive=["sex"]).fit(data.drop(columns="y"), data["y"])


def test_names_are_unique_wherever_they_show(namesakes, data, tmp_path):
    assert namesakes.coef_names_.tolist() == NAMES
    assert [row.term for row in namesakes.summary().coefficients] == ["(intercept)", *NAMES]
    path = namesakes.path(data.drop(columns="y"), data["y"], unfairness=[0.1])
    assert path.to_frame()["reg[b]"].item() == pytest.approx(namesakes.beta_[-1], rel=1e-6)
    data.to_parquet(tmp_path / "d.parquet")
    source = sources.parquet(tmp_path / "d.parquet", response="y", sensitive="sex")
    assert FairRidgeClassifier(0.1).fit(source).coef_names_.tolist() == NAMES
    fairridge.save(namesakes, tmp_path / "m.json")
    assert fairridge.load(tmp_path / "m.json")._design == namesakes._design


def test_names_that_meet_confuse_no_format(elsewhere, namesakes, data):
    X = data.drop(columns="y")
    assert_same(elsewhere(namesakes, X), namesakes, X)
