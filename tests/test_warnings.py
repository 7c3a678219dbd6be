"""Every warning points at the line that called the library, however deep it arises."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import fairridge
from fairridge import compare, cross_validate, sources
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.validation.report import case


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    s = rng.integers(0, 2, 120).astype(float)
    x = rng.normal(size=(120, 2)) + s[:, None]
    frame = pd.DataFrame({"s": s, "a": x[:, 0], "b": x[:, 1], "twin": 2.0 * x[:, 1]})
    wage = frame["a"] + s + rng.normal(size=120)
    hired = (rng.random(120) < 1 / (1 + np.exp(-wage))).astype(int)
    return frame, wage.to_numpy(), hired


def assert_points_here(call, category):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert category in {warning.category for warning in caught}
    assert {warning.filename for warning in caught} == {__file__}


LINEAR = [
    "FairRidgeRegressor",
    "KomiyamaRegressor",
    "SteinbergRegressor",
    "ConvexFairRegressor",
    "ZafarRegressor",
    "FairRidgeClassifier",
    "ZafarClassifier",
    "ConvexFairClassifier",
]


@pytest.mark.parametrize("method", ["fit", "path"])
@pytest.mark.parametrize("name", LINEAR)
def test_collinear_columns(people, name, method):
    frame, wage, hired = people
    model = getattr(fairridge, name)(0.3, sensitive="s")
    y = hired if name.endswith("Classifier") else wage
    options = {"unfairness": [0.3]} if method == "path" else {}
    assert_points_here(lambda: getattr(model, method)(frame, y, **options), DataWarning)


def test_fits_that_do_not_converge(people):
    frame, _, hired = people
    X = frame[["s", "a", "b"]]
    model = fairridge.FairRidgeClassifier(0.05, sensitive="s", max_iter=1)
    assert_points_here(lambda: model.fit(X, hired), ConvergenceWarning)
    mixture = fairridge.ReductionsClassifier(0.01, sensitive="s", max_iter=1)
    assert_points_here(lambda: mixture.fit(X, hired), ConvergenceWarning)


@pytest.mark.parametrize("method", ["predict", "score"])
def test_columns_without_names(people, method):
    frame, _, hired = people
    X = frame[["s", "a", "b"]]
    model = fairridge.FairRidgeClassifier(0.05, sensitive="s").fit(X, hired)
    y = [hired] if method == "score" else []
    assert_points_here(lambda: getattr(model, method)(X.to_numpy(), *y), UserWarning)


def test_functions(people, monkeypatch):
    monkeypatch.setattr(case, "POINTS", 5)
    frame, wage, _ = people
    options = {"sensitive": "s", "models": {}, "cv": 2}
    assert_points_here(lambda: compare(frame, wage, **options), DataWarning)
    model = fairridge.FairRidgeRegressor(0.05, sensitive="s")
    assert_points_here(lambda: fairridge.report(model, frame, wage, cv=2, bootstrap=0), DataWarning)


def test_rows_that_are_not_in_memory(people):
    frame, wage, _ = people
    source = sources.frame(frame.assign(wage=wage), response="wage", sensitive="s", batch_rows=50)
    assert_points_here(lambda: fairridge.FairRidgeRegressor().fit(source), DataWarning)


def test_what_another_library_calls_back(people):
    """Folds are run by joblib, which stands between the warning and the user."""
    frame, _, hired = people
    model = fairridge.ReductionsClassifier(0.01, sensitive="s", max_iter=1)
    X = frame[["s", "a"]]
    assert_points_here(
        lambda: cross_validate(model, X, hired, unfairness=[0.01], cv=2), ConvergenceWarning
    )


def test_bounds(people):
    frame, wage, _ = people
    zafar = fairridge.ZafarRegressor(0.0, sensitive="s")
    assert_points_here(lambda: zafar.fit(frame[["s", "a"]], wage), BoundWarning)
