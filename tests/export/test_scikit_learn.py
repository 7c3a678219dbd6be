"""Plain scikit-learn estimators: which they are, and that they need nothing of ours."""

import pickle

import numpy as np
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

from .formats import assert_same, in_scikit_learn

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


def test_they_travel_without_fairridge(family, model, workers):
    plain = to_sklearn(model)
    inner = plain.regressor_ if isinstance(plain, TransformedTargetRegressor) else plain[-1]
    assert type(inner) is LAST_STEPS[family]
    again = pickle.dumps(plain)
    assert b"fairridge" not in again
    np.testing.assert_array_equal(pickle.loads(again).predict(workers.X), plain.predict(workers.X))


@pytest.mark.parametrize("family", ["tweedie", "multinomial"])
def test_numbers_need_no_pipeline(workers, family):
    X = workers.X[["skill", "age", "hours", "manager"]]
    if family == "multinomial":
        model = FairRidgeClassifier(0.1, sensitive=["age"])
    else:
        model = FairRidgeRegressor(0.1, family=Tweedie(1.7), sensitive=["age"])
    model.fit(X, workers.y[family])
    plain = to_sklearn(model)
    assert not isinstance(plain, Pipeline)
    np.testing.assert_array_equal(np.atleast_2d(plain.coef_), np.atleast_2d(model.coef_))
    assert plain.feature_names_in_.tolist() == X.columns.tolist()
    assert_same(in_scikit_learn(model, X), model, X)
