"""Models with audit reports."""

from __future__ import annotations

import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.validation.report import case as report_case

COLUMNS = ["age", "sex", "income", "score", "region"]
QUICK = {"cv": 3, "bootstrap": 8}


@pytest.fixture(autouse=True)
def few_bounds(monkeypatch):
    """Fewer bounds than usual where a test makes its own report; the shared ones have all."""
    monkeypatch.setattr(report_case, "POINTS", 8)


@pytest.fixture(scope="session")
def people_X(people):
    return people[COLUMNS]


def small(model, X, y):
    """Report few bounds and folds, for tests that any report serves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_case, "POINTS", 8)
        return fairridge.report(model, X, y, cv=2, bootstrap=2)


@pytest.fixture(scope="session")
def small_report(people, people_X):
    model = FairRidgeRegressor(0.05, sensitive=["sex", "age"])
    return small(model, people_X, people["gaussian"])


@pytest.fixture(scope="session")
def small_report_of_classes(people, people_X):
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"])
    return small(model, people_X, people["binomial"])


@pytest.fixture(scope="session")
def gaussian_report(people, people_X):
    model = FairRidgeRegressor(0.05, sensitive=["sex", "age"])
    return fairridge.report(model, people_X, people["gaussian"], **QUICK)


@pytest.fixture(scope="session")
def binomial_report(people, people_X):
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"])
    return fairridge.report(model, people_X, people["binomial"], **QUICK)
