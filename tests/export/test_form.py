"""Linear forms, and what every export does at the edges."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import fairridge
from fairridge import (
    ConvexFairClassifier,
    FairRidgeRegressor,
    ReductionsClassifier,
)
from fairridge.export import reasons, scorecard, to_onnx, to_sklearn, to_sql

from .formats import run_query


@pytest.fixture
def blind(workers):
    """A model in which S has no weight."""
    model = ConvexFairClassifier(0.5, sensitive=["sex"])
    return model.fit(workers.X.drop(columns="age"), workers.y["binomial"])


def test_what_has_no_weight_need_not_be_there(blind, workers):
    both = workers.X.drop(columns="age")
    X = both.drop(columns="sex")
    out = run_query(to_sql(blind), X)
    eta = out["linear_predictor"]
    assert to_sklearn(blind).predict(X).tolist() == out["prediction"].tolist()
    names = {entry.name for entry in to_onnx(blind).graph.input}
    assert names == set(X.columns)
    np.testing.assert_allclose(eta, blind.decision_function(X), rtol=1e-10, atol=1e-12)
    for rows in (X, both):
        found = reasons(blind, rows, top=None)
        np.testing.assert_allclose(found.linear_predictor, eta, rtol=1e-10, atol=1e-12)
        card = scorecard(blind, rounded=False)
        np.testing.assert_allclose(card.score(rows), card.offset + card.factor * eta, rtol=1e-10)
    apart = ConvexFairClassifier(0.5)
    apart.fit(X, workers.y["binomial"], sensitive_features=both[["sex"]])
    found = reasons(apart, X, top=None)
    np.testing.assert_allclose(found.linear_predictor, eta, rtol=1e-6)
    assert not any(line.role == "sensitive" for line in card.lines)


def test_models_of_sensitive_attributes_alone(workers, tmp_path):
    X = workers.X[["sex", "age"]]
    for r in (0.0, 0.4):
        model = FairRidgeRegressor(r, sensitive=["sex", "age"]).fit(X, workers.y["gaussian"])
        expected = model.predict(X)
        out = run_query(to_sql(model), X)["prediction"]
        np.testing.assert_allclose(out, expected, rtol=1e-12)
        np.testing.assert_allclose(to_sklearn(model).predict(X), expected, rtol=1e-12)
        assert reasons(model, X).attributes == ()
        assert len(reasons(model, X).to_frame()) == 0
        assert fairridge.proxies(model).predictors == ()
        assert fairridge.attribution(model).total in (0.0, pytest.approx(1.0))
        fairridge.save(model, tmp_path / "model.json")
        again = fairridge.load(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict(X), expected)


def test_other_controls_are_refused(workers):
    model = FairRidgeRegressor(0.02, sensitive=["sex"], controls="hours")
    model.fit(workers.X, workers.y["gaussian"])
    assert "hours" not in fairridge.proxies(model).predictors
    assert "hours" in fairridge.proxies(model, controls=()).predictors
    for explain in (fairridge.attribution, fairridge.proxies):
        with pytest.raises(ValueError, match="leave them out for those of the model, or pass"):
            explain(model, controls=("skill",))


VERBS = {
    "to_sql": lambda model, X, y: to_sql(model),
    "to_onnx": lambda model, X, y: to_onnx(model),
    "to_sklearn": lambda model, X, y: to_sklearn(model),
    "scorecard": lambda model, X, y: scorecard(model),
    "reasons": lambda model, X, y: reasons(model, X),
    "attribution": lambda model, X, y: fairridge.attribution(model),
    "proxies": lambda model, X, y: fairridge.proxies(model),
    "save": lambda model, X, y: fairridge.save(model, "model.json"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_unfitted_models_say_so(verb, workers):
    with pytest.raises(NotFittedError):
        VERBS[verb](FairRidgeRegressor(sensitive=["sex"]), workers.X, workers.y["gaussian"])


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "model",
    [ReductionsClassifier(), LinearRegression()],
    ids=lambda model: type(model).__name__,
)
def test_unsuitable_models_are_a_type_error(verb, model, workers):
    message = f"{verb} needs a linear model of fairridge.*{type(model).__name__} is not one"
    with pytest.raises(TypeError, match=message):
        VERBS[verb](model, workers.X, workers.y["gaussian"])


PUBLIC = [
    getattr(fairridge, name)
    for name in fairridge.__all__
    if isinstance(getattr(fairridge, name), type)
    and hasattr(getattr(fairridge, name), "fit")
    and not name.startswith("FairStacking")  # saved with their learners: tests/stacking
]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", PUBLIC, ids=lambda estimator: estimator.__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_model_is_saved_exactly_or_refused_clearly(estimator, workers, tmp_path):
    X = workers.X[["sex", "skill", "region"]]
    kinds = {"Classifier": "binomial", "Survival": "cox"}
    kind = next((kinds[end] for end in kinds if estimator.__name__.endswith(end)), "gaussian")
    y = workers.y[kind]
    model = estimator(unfairness=0.1, sensitive=["sex"]).fit(X, y)
    if not hasattr(model, "coef_"):
        with pytest.raises(TypeError, match="save needs a linear model"):
            fairridge.save(model, tmp_path / "model.json")
        return
    fairridge.save(model, tmp_path / "model.json")
    again = fairridge.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    out = run_query(to_sql(model), X)["prediction"]
    if model.predict(X).dtype.kind == "f":
        np.testing.assert_allclose(out, model.predict(X), rtol=1e-10, atol=1e-12)
    else:
        assert out.tolist() == model.predict(X).tolist()
