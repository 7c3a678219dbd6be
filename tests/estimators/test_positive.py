"""The class that is modeled: chosen at fit, and named wherever its probability is."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fairridge import FairRidgeClassifier, load, save, sources
from fairridge.export import scorecard, to_onnx, to_sql


@pytest.fixture(scope="module")
def credit():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "income": rng.normal(size=300)})
    eta = X["income"] + 0.8 * (X["sex"] == "m") + rng.logistic(size=300)
    return X, pd.Series(np.where(eta > 0, "GOOD", "BAD"), name="risk")


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_the_other_class_is_the_model_of_relabeled_rows(credit, link):
    X, y = credit
    model = FairRidgeClassifier(0.05, sensitive="sex", link=link, positive="BAD").fit(X, y)
    swapped = y.map({"GOOD": "0 good", "BAD": "1 bad"})
    same = FairRidgeClassifier(0.05, sensitive="sex", link=link).fit(X, swapped)
    assert (model.classes_.tolist(), model.positive_) == (["BAD", "GOOD"], "BAD")
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X)[:, ::-1], rtol=1e-12)
    assert (model.predict(X) == "BAD").tolist() == (same.predict(X) == "1 bad").tolist()
    assert model.score(X, y) == same.score(X, swapped)


def test_of_the_logit_only_signs_change(credit):
    X, y = credit
    model = FairRidgeClassifier(0.05, sensitive="sex").fit(X, y)
    other = clone(model).set_params(positive="BAD").fit(X, y)
    np.testing.assert_allclose(other.coef_, -model.coef_, rtol=1e-7)
    assert other.unfairness_ == pytest.approx(model.unfairness_)
    named = clone(model).set_params(positive="GOOD").fit(X, y)
    np.testing.assert_array_equal(named.coef_, model.coef_)


def test_rows_in_files_have_the_same_order(credit, tmp_path):
    X, y = credit
    model = FairRidgeClassifier(0.05, sensitive="sex", positive="BAD").fit(X, y)
    X.assign(risk=y).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(tmp_path / "rows.parquet", response="risk", sensitive="sex")
    streamed = FairRidgeClassifier(0.05, positive="BAD").fit(source)
    assert (streamed.classes_.tolist(), streamed.positive_) == (["BAD", "GOOD"], "BAD")
    np.testing.assert_allclose(streamed.coef_, model.coef_, rtol=1e-6)
    streamed.predict_proba(source).write(tmp_path / "scores.parquet")
    scores = pd.read_parquet(tmp_path / "scores.parquet")[["probability_BAD", "probability_GOOD"]]
    np.testing.assert_allclose(scores, model.predict_proba(X), rtol=1e-5)


def test_everything_that_is_written_names_the_class(credit, tmp_path):
    X, y = credit
    model = FairRidgeClassifier(0.05, sensitive="sex", positive="BAD").fit(X, y)
    assert dict(model.summary(details=True).facts)["Probability of"] == "BAD, not GOOD"
    assert 'AS "probability_BAD"' in to_sql(model)
    properties = {p.key: json.loads(p.value) for p in to_onnx(model).metadata_props}
    assert properties == {"classes": ["BAD", "GOOD"], "positive": "BAD"}
    points = scorecard(model, favorable="GOOD")
    assert points.to_frame()["level"][0] == "odds of GOOD"
    np.testing.assert_allclose(
        points.probability(points.score(X)), model.predict_proba(X)[:, 1], atol=0.1
    )
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert (again.positive, again.positive_) == ("BAD", "BAD")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_labels_that_are_not_there_are_refused(credit):
    X, y = credit
    with pytest.raises(ValueError, match="positive='bad debt' is not a class of y: 'BAD', 'GOOD'"):
        FairRidgeClassifier(sensitive="sex", positive="bad debt").fit(X, y)
    three = np.where(X["income"] > 1, "BEST", y)
    with pytest.raises(ValueError, match="positive='BAD' is for two classes, and y has 3"):
        FairRidgeClassifier(sensitive="sex", positive="BAD").fit(X, three)
