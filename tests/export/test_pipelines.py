"""Pipelines elsewhere: all steps, or the name of the one that cannot go."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import to_onnx, to_sklearn, to_sql

rt = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")


class Doubled(TransformerMixin, BaseEstimator):
    """A step of one's own."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return 2.0 * np.asarray(X)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "skill": rng.normal(size=n)})
    X["years"] = np.where(rng.random(n) < 0.1, np.nan, rng.gamma(2.0, 4.0, n))
    return X, (X["skill"] + rng.normal(size=n) > 0).to_numpy()


@pytest.fixture(scope="module")
def model(people):
    prepare = make_column_transformer(
        (OneHotEncoder(drop="first", sparse_output=False), ["sex"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["skill", "years"]),
    )
    return make_pipeline(prepare, FairRidgeClassifier(0.02, sensitive=[0])).fit(*people)


def test_scikit_learn_alone(model, people):
    X, _ = people
    plain = to_sklearn(model)
    np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), rtol=1e-9)
    assert not any(type(step).__module__.startswith("fairridge") for _, step in plain.steps)
    assert [name for name, _ in plain.steps] == [name for name, _ in model.steps]


def test_a_graph_of_all_steps(model, people):
    X, _ = people
    session = rt.InferenceSession(to_onnx(model, X).SerializeToString())
    kinds = {"sex": str, "skill": np.float32, "years": np.float32}
    rows = {name: X[[name]].to_numpy().astype(kind) for name, kind in kinds.items()}
    _, probabilities = session.run(None, rows)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-5)


def test_an_array_is_one_input(people):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 3))
    y = Z @ [1.0, 2.0, 0.5] + rng.normal(size=200)
    model = make_pipeline(StandardScaler(), FairRidgeRegressor(0.1, sensitive=[0])).fit(Z, y)
    session = rt.InferenceSession(to_onnx(model, Z).SerializeToString())
    (found,) = session.run(None, {"X": Z.astype(np.float32)})
    np.testing.assert_allclose(found[:, 0], model.predict(Z), atol=1e-4)


def test_what_cannot_be_exported_is_named(model, people):
    X, y = people
    numbers = X[["skill"]].assign(sex=(X["sex"] == "m") * 1.0)
    own = make_pipeline(Doubled(), FairRidgeClassifier(0.1, sensitive=[1])).fit(numbers, y)
    with pytest.raises(ValueError, match="step 'doubled' is a Doubled, which is not of scikit"):
        to_onnx(own, numbers)
    with pytest.raises(ValueError, match="needs some rows"):
        to_onnx(model)
    with pytest.raises(TypeError, match=r"Steps 'columntransformer' are not columns"):
        to_sql(model)
    imputed = make_pipeline(SimpleImputer(add_indicator=True), FairRidgeClassifier(sensitive=[1]))
    with pytest.raises(ValueError, match="leaves out what add_indicator=True adds"):
        to_onnx(imputed.fit(numbers, y), numbers)
