"""The largest correlation and covariance of S with the linear predictor."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, cross_validate
from fairridge.exceptions import DataWarning
from fairridge.fairness import MaximalCorrelation, MaximalCovariance

DEFINITIONS = (MaximalCorrelation(), MaximalCovariance())


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    S = rng.normal(size=(120, 2)) @ [[1.0, 0.5], [0.0, 3.0]] + [10.0, -2.0]
    X = rng.normal(size=(120, 3)) + 0.4 * S @ rng.normal(size=(2, 3))
    y = X @ [1.0, -1.0, 0.5] + S @ [1.0, -0.3] + rng.normal(size=120)
    return S, X, y


def expected(definition, S, eta, weight):
    mean = np.average(eta, weights=weight)
    found = []
    for s in S.T:
        s = s - np.average(s, weights=weight)
        cross = weight @ (s * (eta - mean))
        if isinstance(definition, MaximalCovariance):
            found.append(abs(cross) / (weight.sum() - 1.0))
        else:
            found.append(abs(cross) / np.sqrt((weight @ s**2) * (weight @ (eta - mean) ** 2)))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_values_are_those_of_the_rows(data, definition, weighted):
    S, X, y = data
    weight = np.random.default_rng(6).uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    model = FairRidgeRegressor(1.0, definition=definition)
    model.fit(X, y, sensitive_features=S, sample_weight=weight)
    by_column = expected(definition, S, model.predict(X, sensitive_features=S), weight)
    assert model.unfairness_ == pytest.approx(max(by_column), rel=1e-11)
    np.testing.assert_allclose(list(model.unfairness_components_.values()), by_column, rtol=1e-11)
    assert list(model.unfairness_components_) == [
        f"{definition.measure} with s{k}" for k in range(2)
    ]


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_the_largest_of_all_classes_counts(data, definition):
    S, X, y = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = FairRidgeClassifier(1.0, definition=definition).fit(X, labels, sensitive_features=S)
    scores = model.decision_function(X, sensitive_features=S)
    values = [max(expected(definition, S, eta, np.ones(len(y)))) for eta in scores.T]
    assert model.unfairness_ == pytest.approx(max(values), rel=1e-9)


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_constant_columns_have_no_association(data, definition):
    S, X, y = data
    constant = np.column_stack([np.full(len(y), 1e6 / 3.0), np.full(len(y), 7.0)])
    model = FairRidgeRegressor(1.0, definition=definition).fit(X, y, sensitive_features=constant)
    assert model.unfairness_ == 0.0
    both = FairRidgeRegressor(1.0, definition=definition)
    both.fit(X, y, sensitive_features=np.column_stack([S, constant]))
    alone = FairRidgeRegressor(1.0, definition=definition).fit(X, y, sensitive_features=S)
    assert both.unfairness_ == pytest.approx(alone.unfairness_, rel=1e-9)
    with pytest.warns(DataWarning, match="constant"):
        both.fit(X, y, sensitive_features=constant)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_held_out_rows_are_looked_at_themselves(data, definition):
    S, X, y = data
    train, test = np.arange(80), np.arange(80, 120)
    found = cross_validate(
        FairRidgeRegressor(definition=definition),
        X,
        y,
        sensitive_features=S,
        unfairness=[0.1],
        folds=[(train, test)],
    ).records[0]
    model = FairRidgeRegressor(0.1, definition=definition)
    model.fit(X[train], y[train], sensitive_features=S[train])
    eta = model.predict(X[test], sensitive_features=S[test])
    value = max(expected(definition, S[test], eta, np.ones(len(test))))
    assert found["achieved"] == pytest.approx(value, rel=1e-10)
