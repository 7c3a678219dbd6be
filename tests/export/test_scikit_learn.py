"""Plain scikit-learn estimators against the models they come from."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from sklearn.pipeline import Pipeline

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import to_sklearn
from fairridge.families import Tweedie

LAST_STEPS = {
    "gaussian": LinearRegression,
    "poisson": PoissonRegressor,
    "gamma": GammaRegressor,
    "tweedie": TweedieRegressor,
    "quasi-binomial": Pipeline,
    "binomial": LogisticRegression,
    "multinomial": LogisticRegression,
    "cox": LinearRegression,
}


@pytest.fixture
def assert_same(expected_of, assert_same_numbers):
    def check(plain, model, rows, X=None, **options):
        expected = expected_of(model, rows if X is None else X, **options)
        if expected["prediction"].dtype.kind == "f":
            assert_same_numbers(plain.predict(rows), expected["prediction"])
        else:
            assert plain.predict(rows).tolist() == expected["prediction"].tolist()
        if "probabilities" in expected:
            assert_same_numbers(plain.predict_proba(rows), expected["probabilities"])
            np.testing.assert_array_equal(plain.classes_, model.classes_)

    return check


def test_pipelines_predict_what_the_model_predicts(family, model, workers, assert_same):
    plain = to_sklearn(model)
    assert_same(plain, model, workers.X)
    inner = plain.regressor_ if isinstance(plain, TransformedTargetRegressor) else plain[-1]
    assert type(inner) is LAST_STEPS[family]
    if family == "tweedie":
        assert inner.power == 1.3


def test_they_travel_without_fairridge(model, workers):
    plain = to_sklearn(model)
    again = pickle.dumps(plain)
    assert b"fairridge" not in again
    np.testing.assert_array_equal(pickle.loads(again).predict(workers.X), plain.predict(workers.X))


@pytest.mark.parametrize("family", ["gaussian", "tweedie", "binomial", "multinomial"])
def test_numbers_need_no_pipeline(workers, family, assert_same):
    X = workers.X[["skill", "age", "hours", "manager"]]
    options = {"sensitive": ["age"]}
    if family in ("binomial", "multinomial"):
        model = FairRidgeClassifier(0.1, **options)
    else:
        chosen = Tweedie(1.7) if family == "tweedie" else family
        model = FairRidgeRegressor(0.1, family=chosen, **options)
    model.fit(X, workers.y[family])
    plain = to_sklearn(model)
    assert not isinstance(plain, Pipeline)
    np.testing.assert_array_equal(np.atleast_2d(plain.coef_), np.atleast_2d(model.coef_))
    assert plain.feature_names_in_.tolist() == X.columns.tolist()
    assert_same(plain, model, X)


def test_arrays_need_no_names(workers, assert_same):
    X = workers.X[["skill", "age", "hours"]].to_numpy()
    model = FairRidgeRegressor(0.1, sensitive=[1]).fit(X, workers.y["gaussian"])
    plain = to_sklearn(model)
    assert not hasattr(plain, "feature_names_in_")
    assert_same(plain, model, X)
    mixed = workers.X[["sex", "skill", "hours"]].to_numpy(dtype=object)
    model = FairRidgeRegressor(0.1, sensitive=[0]).fit(mixed, workers.y["gaussian"])
    assert_same(to_sklearn(model), model, mixed)


def test_separate_sensitive_features_come_first(workers, assert_same):
    S, X = workers.X[["sex", "age"]], workers.X[["region", "skill"]]
    model = FairRidgeClassifier(0.1).fit(X, workers.y["binomial"], sensitive_features=S)
    assert_same(to_sklearn(model), model, pd.concat([S, X], axis=1), X, sensitive_features=S)
    numbers = workers.X[["age"]], workers.X[["hours", "skill"]]
    model = FairRidgeRegressor(0.1).fit(
        numbers[1], workers.y["gaussian"], sensitive_features=numbers[0]
    )
    plain = to_sklearn(model)
    assert plain.feature_names_in_.tolist() == ["age", "hours", "skill"]
    both = pd.concat(numbers, axis=1)
    assert_same(plain, model, both, numbers[1], sensitive_features=numbers[0])


def test_polars_frames_work(workers, assert_same):
    X = pl.from_pandas(workers.X[["sex", "skill", "hours"]])
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"].to_numpy())
    assert_same(to_sklearn(model), model, X)


def test_unseen_levels_do_what_they_do_in_the_model(workers, assert_same_numbers):
    rows = workers.X.head(3).astype({"region": object}).assign(region=["west", "mars", "east"])
    strict = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(workers.X, workers.y["gaussian"])
    with pytest.raises(ValueError, match="unknown categories"):
        to_sklearn(strict).predict(rows)
    lenient = FairRidgeRegressor(0.1, sensitive=["sex"], unknown="base")
    lenient.fit(workers.X, workers.y["gaussian"])
    assert_same_numbers(to_sklearn(lenient).predict(rows), lenient.predict(rows))


def test_levels_that_are_numbers_may_be_declared_in_any_order(workers, assert_same):
    rng = np.random.default_rng(0)
    grade = pd.Categorical(rng.choice([3, 1, 2], len(workers.X)), [3, 1, 2])
    X = workers.X[["sex", "skill"]].assign(grade=grade)
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(
        X, workers.y["gaussian"] + 2.0 * grade.codes
    )
    assert_same(to_sklearn(model), model, X)
