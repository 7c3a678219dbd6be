"""Whole pipelines in files: the last step as JSON, the others beside it."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import fairridge
from fairridge import FairRidgeClassifier

NUMBERS = ["skill", "tenure"]


@pytest.fixture(scope="module")
def hired():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 300)
    X = pd.DataFrame(
        {"sex": sex, "skill": rng.normal(size=300), "tenure": rng.gamma(2.0, size=300)}
    )
    y = np.where(rng.random(300) < 1 / (1 + np.exp(-X["skill"] - (sex == "m"))), "yes", "no")
    return X, y


def columns(*steps):
    """Return steps that keep names of columns, and S as it is."""
    numbers = make_pipeline(*steps)
    chosen = make_column_transformer(
        (numbers, NUMBERS), remainder="passthrough", verbose_feature_names_out=False
    )
    return chosen.set_output(transform="pandas")


@pytest.fixture(scope="module")
def fitted(hired):
    last = FairRidgeClassifier(0.02, sensitive="sex", blind=True)
    return Pipeline([("columns", columns(StandardScaler())), ("fair", last)]).fit(*hired)


# skops takes seconds to import.
WITH_SKOPS = pytest.param("skops", marks=pytest.mark.slow)


@pytest.mark.parametrize("learners", [WITH_SKOPS, "joblib"])
def test_a_loaded_pipeline_predicts_the_same(hired, fitted, tmp_path, learners):
    path = tmp_path / "hiring.json"
    fairridge.save(fitted, path, learners=learners)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["hiring.json", f"hiring.json.steps.{learners}"]
    again = fairridge.load(path, trusted=learners == "joblib")
    assert list(again.named_steps) == ["columns", "fair"]
    np.testing.assert_array_equal(again.predict_proba(hired[0]), fitted.predict_proba(hired[0]))
    assert str(again[-1].summary()) == str(fitted[-1].summary())
    if learners == "joblib":
        with pytest.raises(ValueError, match=r"steps in 'hiring.json.steps.joblib', a pickle"):
            fairridge.load(path)


def test_the_file_of_the_steps_is_the_one_that_was_written(fitted, tmp_path):
    path, steps = tmp_path / "hiring.json", tmp_path / "hiring.json.steps.joblib"
    fairridge.save(fitted, path, learners="joblib")
    steps.write_bytes(steps.read_bytes() + b" ")
    with pytest.raises(ValueError, match=r"steps in 'hiring\.json\.steps\.joblib', which is not"):
        fairridge.load(path)
    steps.unlink()
    with pytest.raises(ValueError, match="which is not beside it"):
        fairridge.load(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | {"name": "other"}), encoding="utf-8")
    with pytest.raises(ValueError, match="does not match its checksum"):
        fairridge.load(path)


@pytest.mark.parametrize("learners", [WITH_SKOPS, "joblib"])
def test_a_step_that_cannot_be_saved_is_named(hired, tmp_path, learners):
    path = tmp_path / "hiring.json"
    logs = FunctionTransformer(lambda X: X.assign(tenure=np.log(X["tenure"])))
    model = make_pipeline(logs, FairRidgeClassifier(0.02, sensitive="sex")).fit(*hired)
    with pytest.raises(TypeError, match="step 'functiontransformer' of the Pipeline"):
        fairridge.save(model, path, learners=learners)
    assert not list(tmp_path.iterdir())
    foreign = make_pipeline(columns(StandardScaler()), LogisticRegression())
    with pytest.raises(TypeError, match="LogisticRegression"):
        fairridge.save(foreign.fit(hired[0][NUMBERS], hired[1]), path, learners=learners)
