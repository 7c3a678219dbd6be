"""Linear forms, and what every export does at the edges."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import fairridge
from fairridge import (
    BarycenterRegressor,
    ConvexFairClassifier,
    FairRidgeClassifier,
    FairRidgeRegressor,
    ReductionsClassifier,
    estimators,
    peers,
)
from fairridge.exceptions import DataWarning
from fairridge.export import linear_form, reasons, scorecard, to_onnx, to_sklearn, to_sql
from tests.zoo import LateModule

duckdb = LateModule("duckdb")


@pytest.fixture
def blind(workers):
    """A model in which S has no weight."""
    model = ConvexFairClassifier(0.5, sensitive=["sex"])
    return model.fit(workers.X.drop(columns="age"), workers.y["binomial"])


def test_inputs_stand_in_the_order_of_the_fit(fitted, workers):
    form = linear_form(fitted("gaussian"), "a test")
    assert [column.name for column in form.columns][:2] == workers.sensitive
    assert [column.name for column in form.inputs] == workers.X.columns.tolist()
    assert form.names == tuple(workers.X.columns)
    assert [column.role for column in form.columns] == ["sensitive"] * 2 + ["predictor"] * 4


def test_what_has_no_weight_need_not_be_there(blind, workers):
    both = workers.X.drop(columns="age")
    X = both.drop(columns="sex")
    with duckdb.connect() as connection:
        connection.register("data", X)
        out = connection.execute(to_sql(blind)).df()
    eta = out["linear_predictor"]
    assert to_sklearn(blind).predict(X).tolist() == out["prediction"].tolist()
    names = {entry.name for entry in to_onnx(blind).graph.input}
    assert names == set(X.columns)
    np.testing.assert_allclose(eta, blind.decision_function(X), rtol=1e-10, atol=1e-12)
    for rows in (X, both, both.iloc[:, ::-1]):
        found = reasons(blind, rows, top=None)
        np.testing.assert_allclose(found.linear_predictor, eta, rtol=1e-10, atol=1e-12)
        card = scorecard(blind, rounded=False)
        np.testing.assert_allclose(card.score(rows), card.offset + card.factor * eta, rtol=1e-10)
    apart = ConvexFairClassifier(0.5)
    apart.fit(X, workers.y["binomial"], sensitive_features=both[["sex"]])
    for options in ({}, {"sensitive_features": both[["sex"]]}):
        found = reasons(apart, X, top=None, **options)
        np.testing.assert_allclose(found.linear_predictor, eta, rtol=1e-6)
        scores = scorecard(apart, rounded=False).score(X, **options)
        np.testing.assert_allclose(scores, card.score(X), rtol=1e-6)
    assert not any(line.role == "sensitive" for line in card.lines)


def test_what_has_weight_is_required(fitted, workers):
    model = fitted("binomial")
    form = linear_form(model, "a test")
    assert form.without_sensitive() is form
    with pytest.raises(ValueError, match="X has no column 'sex'"):
        reasons(model, workers.X.drop(columns="sex"))


def test_models_of_sensitive_attributes_alone(workers, tmp_path):
    X = workers.X[["sex", "age"]]
    for r in (0.0, 0.4, 1.0):
        model = FairRidgeRegressor(r, sensitive=["sex", "age"]).fit(X, workers.y["gaussian"])
        expected = model.predict(X)
        with duckdb.connect() as connection:
            connection.register("data", X)
            out = connection.execute(to_sql(model)).df()["prediction"]
        np.testing.assert_allclose(out, expected, rtol=1e-12)
        np.testing.assert_allclose(to_sklearn(model).predict(X), expected, rtol=1e-12)
        assert reasons(model, X).attributes == ()
        assert len(reasons(model, X).to_frame()) == 0
        assert fairridge.proxies(model).predictors == ()
        assert fairridge.attribution(model).total in (0.0, pytest.approx(1.0))
        fairridge.save(model, tmp_path / "model.json")
        again = fairridge.load(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict(X), expected)


def test_a_constant_response_is_explained_by_nothing(workers):
    with pytest.warns(DataWarning, match="response is constant"):
        model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(workers.X, np.ones(len(workers.X)))
    assert fairridge.attribution(model).total == 0.0
    assert not fairridge.proxies(model).total.any()
    assert not reasons(model, workers.X).ranking[0]


def test_collinear_columns_are_split_and_written(workers, tmp_path):
    X = workers.X[["sex", "skill"]].assign(twice=2.0 * workers.X["skill"], one=1.0)
    with pytest.warns(DataWarning, match="linear combinations"):
        model = FairRidgeClassifier(0.1, sensitive=["sex"]).fit(X, workers.y["binomial"])
    found = reasons(model, X, top=None)
    np.testing.assert_allclose(found.linear_predictor, model.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(found.contributions[:, found.attributes.index("one")], 0.0)
    with duckdb.connect() as connection:
        connection.register("data", X)
        out = connection.execute(to_sql(model)).df()
    np.testing.assert_allclose(out["linear_predictor"], model.decision_function(X), rtol=1e-10)


def test_weights_move_the_means(workers):
    weight = np.random.default_rng(0).integers(0, 4, len(workers.X))
    model = FairRidgeRegressor(0.1, sensitive=["sex"])
    model.fit(workers.X, workers.y["gaussian"], sample_weight=weight)
    rows = np.repeat(workers.X.index, weight)
    repeated = FairRidgeRegressor(0.1, sensitive=["sex"])
    repeated.fit(workers.X.loc[rows], workers.y["gaussian"].loc[rows])
    np.testing.assert_allclose(
        reasons(model, workers.X).contributions,
        reasons(repeated, workers.X).contributions,
        rtol=1e-7,
        atol=1e-9,
    )


def test_models_from_a_path_are_exported_too(workers):
    path = FairRidgeRegressor(sensitive=["sex"]).path(workers.X, workers.y["gaussian"])
    model = path.at(0.05)
    np.testing.assert_allclose(fairridge.attribution(model).total, 0.05, rtol=1e-8)
    assert "SELECT" in to_sql(model)


VERBS = {
    "to_sql": lambda model, X, y: to_sql(model),
    "to_onnx": lambda model, X, y: to_onnx(model),
    "to_sklearn": lambda model, X, y: to_sklearn(model),
    "scorecard": lambda model, X, y: scorecard(model),
    "reasons": lambda model, X, y: reasons(model, X),
    "attribution": lambda model, X, y: fairridge.attribution(model),
    "proxies": lambda model, X, y: fairridge.proxies(model),
    "save": lambda model, X, y: fairridge.save(model, "model.json"),
    "report": lambda model, X, y: fairridge.report(model, X, y),
}


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "report"])
def test_unfitted_models_say_so(verb, workers):
    with pytest.raises(NotFittedError):
        VERBS[verb](FairRidgeRegressor(sensitive=["sex"]), workers.X, workers.y["gaussian"])


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "report"])
@pytest.mark.parametrize(
    "model",
    [BarycenterRegressor(sensitive=["sex"]), ReductionsClassifier(), LinearRegression(), {}],
    ids=lambda model: type(model).__name__,
)
def test_unsuitable_models_are_a_type_error(verb, model, workers):
    message = f"{verb} needs a linear model of fairridge.*{type(model).__name__} is not one"
    with pytest.raises(TypeError, match=message):
        VERBS[verb](model, workers.X, workers.y["gaussian"])


def test_verbs_are_not_methods():
    names = {*VERBS, "load", "audit"}
    for home in (estimators, peers):
        for name in home.__all__:
            assert not names & set(dir(getattr(home, name)))


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
    y = next(
        workers.y[family]
        for family in ("gaussian", "binomial", "cox")
        if _fits(estimator, X, workers.y[family])
    )
    model = estimator(unfairness=0.1, sensitive=["sex"]).fit(X, y)
    if not hasattr(model, "coef_"):
        with pytest.raises(TypeError, match="save needs a linear model"):
            fairridge.save(model, tmp_path / "model.json")
        return
    fairridge.save(model, tmp_path / "model.json")
    again = fairridge.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with duckdb.connect() as connection:
        connection.register("data", X)
        out = connection.execute(to_sql(model)).df()["prediction"]
    if model.predict(X).dtype.kind == "f":
        np.testing.assert_allclose(out, model.predict(X), rtol=1e-10, atol=1e-12)
    else:
        assert out.tolist() == model.predict(X).tolist()


def _fits(estimator, X, y):
    """Whether a response is of the kind an estimator models."""
    try:
        estimator(unfairness=0.1, sensitive=["sex"]).fit(X, y)
    except (ValueError, TypeError, KeyError):
        return False
    return True


def test_both_kinds_of_names_are_needed_for_names(workers):
    S, X = workers.X[["age"]].to_numpy(), workers.X[["skill", "hours"]]
    model = FairRidgeRegressor(0.1).fit(X, workers.y["gaussian"], sensitive_features=S)
    form = linear_form(model, "a test")
    assert form.names is None
    plain = to_sklearn(model)
    assert not hasattr(plain, "feature_names_in_")
    both = np.column_stack([S, X])
    np.testing.assert_allclose(
        plain.predict(both), model.predict(X, sensitive_features=S), rtol=1e-10
    )
    frame = pd.DataFrame(both, columns=["s0", "skill", "hours"])
    with duckdb.connect() as connection:
        connection.register("data", frame)
        out = connection.execute(to_sql(model)).df()["prediction"]
    np.testing.assert_allclose(out, model.predict(X, sensitive_features=S), rtol=1e-10)
