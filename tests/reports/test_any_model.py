"""Reports on models that are known by their predictions only, and on pipelines."""

from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairridge import BarycenterRegressor, FairRidgeRegressor, audit, report
from tests.zoo import r_squared


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    n = 600
    sex = rng.choice(["f", "m"], n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m")
    wage = pd.Series(2.0 * skill + rng.normal(size=n), name="wage")
    X = pd.DataFrame({"skill": skill, "luck": rng.normal(size=n)})
    return X, pd.DataFrame({"sex": sex}), wage


def test_a_classifier_is_compared_between_groups(people, tmp_path):
    X, S, wage = people
    high = pd.Series(np.where(wage > 0, "yes", "no"), name="hired")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, high)
    path = tmp_path / "page.html"
    page = report(model, X, high, path, sensitive_features=S, bootstrap=20)
    own = audit(high, model.predict_proba(X), sensitive_features=S)
    shown = page.contents.main.audits[0]
    assert shown.demographic_parity_difference == pytest.approx(own.demographic_parity_difference)
    assert shown.r_squared == pytest.approx(own.r_squared)
    (share,) = (m for m in page.contents.measures if m.key == "share_of_means")
    plain = r_squared(model.predict_proba(X)[:, 1], (S["sex"] == "m").to_numpy(float)[:, None])
    n = len(X)
    assert share.value == pytest.approx(plain)
    assert share.adjusted == pytest.approx(1 - (1 - plain) * (n - 1) / (n - 2))
    assert share.low < share.value < share.high
    text = unescape(path.read_text(encoding="utf-8"))
    assert "Pipeline of 2 steps, with LogisticRegression has no bound on unfairness" in text
    assert "What needs a fair ridge model is left out" in text
    assert "none: the model has no bound" in text
    assert "hired = yes" in text
    for other in ("new rows", "Drift", "nan"):
        assert other not in text


def test_numbers_and_several_classes(people):
    X, S, wage = people
    page = report(
        LinearRegression().fit(X, wage), X, wage, sensitive_features=S, bootstrap=0, threshold=0.0
    )
    accuracy = {measure.key: measure.value for measure in page.contents.accuracy}
    assert accuracy["r_squared"] == pytest.approx(LinearRegression().fit(X, wage).score(X, wage))
    rate = page.contents.main.audits[0].overall.selection_rate.value
    assert rate == pytest.approx((LinearRegression().fit(X, wage).predict(X) > 0).mean())
    third = np.digitize(wage, [-1.0, 1.0])
    forest = RandomForestClassifier(5, random_state=0).fit(X, third)
    several = report(forest, X, third, sensitive_features=S, bootstrap=0)
    assert [sample.outcome for sample in several.contents.samples] == ["0", "1", "2"]
    accuracy = {measure.key: measure.value for measure in several.contents.accuracy}
    assert accuracy["accuracy"] == pytest.approx(forest.score(X, third))


def test_models_of_this_library_that_are_not_linear(people):
    X, S, wage = people
    model = BarycenterRegressor(0.0, sensitive="sex").fit(X.assign(sex=S["sex"]), wage)
    page = report(model, X.assign(sex=S["sex"]), wage, bootstrap=0)
    (share,) = (m for m in page.contents.measures if m.key == "share_of_means")
    assert abs(share.value) < 0.01
    assert page.contents.subject.sensitive == ("sex",)
    assert page.contents.subject.predictors == ("skill", "luck")


def test_a_pipeline_has_the_report_of_its_last_step(people):
    X, S, wage = people
    both = X.assign(sex=S["sex"])
    columns = ColumnTransformer(
        [("sex", OneHotEncoder(drop="first"), ["sex"])], remainder="passthrough"
    ).set_output(transform="pandas")
    columns.set_params(sex__sparse_output=False, verbose_feature_names_out=False)
    model = make_pipeline(columns, FairRidgeRegressor(0.05, sensitive="sex_m"))
    page = report(model, both, wage, cv=2, bootstrap=0)
    assert page.contents.subject.sensitive == ("sex_m",)
    assert page.contents.achieved[page.contents.chosen] == pytest.approx(0.05)
    model.fit(both, wage)
    new = report(model, both[:300], wage[:300], new_rows=True, bootstrap=0)
    assert new.contents.subject.definition == "statistical-parity"


def test_what_a_report_on_other_models_needs(people):
    X, S, wage = people
    with pytest.raises(NotFittedError):
        report(LinearRegression(), X, wage, sensitive_features=S)
    model = LinearRegression().fit(X, wage)
    with pytest.raises(ValueError, match="does not say which columns are sensitive"):
        report(model, X, wage)
    with pytest.raises(TypeError, match="no linear predictor that an offset"):
        report(model, X, wage, sensitive_features=S, offset=wage)
    with pytest.raises(ValueError, match="pass y"):
        report(model, X, None, sensitive_features=S)
    classes = LogisticRegression().fit(X, wage > 0)
    with pytest.raises(
        ValueError, match="has the label 'maybe', which is not a class of the model"
    ):
        report(classes, X, np.full(len(X), "maybe"), sensitive_features=S)
