"""Any model as what it predicts: linear, stacked, in a pipeline, or of another library."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairStackingClassifier
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.read_rows import read_rows
from fairridge.validation.scored_model import scored_model


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(8)
    n = 400
    S = pd.DataFrame({"man": rng.integers(0, 2, n).astype(float)})
    X = pd.DataFrame({"skill": rng.normal(size=n) + S["man"], "luck": rng.normal(size=n)})
    return X, S, X["skill"] + rng.normal(size=n)


def read(model, X, S, y, **given):
    known = scored_model(model)
    _, rows = read_rows(known, known.inner_rows(PassedRows(X, y, S, **given)))
    return known, rows


def test_the_modeled_class_is_last_by_code_and_probabilities_are_those_predicted(people):
    X, S, wage = people
    y = np.where(wage > 0, "yes", "no")
    model = FairRidgeClassifier(0.05, positive="no").fit(X, y, sensitive_features=S)
    known, rows = read(model, X, S, y)
    assert (known.fair, known.positive, rows.labels) == (True, "no", ("yes", "no"))
    predicted = model.predict_proba(X, sensitive_features=S)
    np.testing.assert_allclose(rows.shown, predicted[:, ::-1])
    np.testing.assert_allclose(rows.means[:, 0], predicted[:, 0])
    assert (rows.codes == (y == "no")).all()
    assert known.measure.attributes == ("man",)


def test_other_models_are_their_predictions(people):
    X, S, wage = people
    known, rows = read(LinearRegression().fit(X, wage), X, S, wage)
    assert (known.fair, known.linear, known.measure, known.classes) == (False, None, None, None)
    np.testing.assert_allclose(rows.means[:, 0], LinearRegression().fit(X, wage).predict(X))
    third = np.digitize(wage, [-1.0, 1.0])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, third)
    known, rows = read(model, X, S, third)
    assert (known.name, known.positive, rows.labels) == (
        "LogisticRegression",
        None,
        ("0", "1", "2"),
    )
    np.testing.assert_allclose(rows.means, model.predict_proba(X))


def test_a_stack_and_a_pipeline_are_read_through_to_the_linear_model(people):
    X, S, wage = people
    Z, y = X.assign(man=S["man"]), wage > 0
    stack = FairStackingClassifier(
        estimators=[("linear", LogisticRegression())], sensitive="man", unfairness=0.05,
        random_state=0,
    ).fit(Z, y)  # fmt: skip
    known, rows = read(stack, Z, None, y)
    assert (known.kind, known.linear) == ("stacked", stack.layer_)
    np.testing.assert_allclose(rows.means[:, 0], stack.predict_proba(Z)[:, 1])
    scaled = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaled, FairRidgeRegressor(0.05, sensitive="man")).fit(Z, wage)
    known, rows = read(model, Z, None, wage)
    assert known.linear is model[-1]
    np.testing.assert_allclose(rows.means[:, 0], model.predict(Z))


def test_rates_have_the_weights_of_their_exposure(people):
    X, S, wage = people
    rng = np.random.default_rng(0)
    exposure, weight = rng.uniform(0.5, 2.0, len(X)), rng.integers(0, 3, len(X)).astype(float)
    y = rng.poisson(exposure * np.exp(0.3 * wage))
    given = {"sample_weight": weight, "exposure": exposure}
    model = FairRidgeRegressor(0.05, family="poisson").fit(X, y, sensitive_features=S, **given)
    _, rows = read(model, X, S, y, **given)
    kept = weight > 0
    np.testing.assert_allclose(rows.means[:, 0], model.predict(X[kept], sensitive_features=S[kept]))
    np.testing.assert_allclose(rows.mean_weight, (weight * exposure)[kept])
    np.testing.assert_allclose(rows.numbers, (y / exposure)[kept])
    assert rows.amounts
