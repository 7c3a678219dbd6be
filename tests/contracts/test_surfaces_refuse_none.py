"""What one surface computes, none refuses; those that do are named here."""

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor

from fairridge import Monitor, cross_validate, report
from tests.contracts.independent import ATTRIBUTES, N, people, seen


def refused(reason, error):
    return pytest.mark.xfail(strict=True, reason=reason, raises=error)


@pytest.mark.parametrize(
    "new_rows",
    [
        pytest.param(rows, marks=refused("reports take one bound for all of S", ValueError))
        for rows in (True, False)
    ],
)
def test_reports_of_bounds_per_attribute(new_rows):
    case = seen("two", "mean-parity", "each", "equal")
    settings = {} if new_rows else {"cv": 0, "bootstrap": 0}
    page = report(case.model, case.X, case.y, new_rows=new_rows, **settings)
    for said in ("sex explains at most 2.00 %", "age explains at most 3.00 %"):
        assert said in page.summary


@refused("cross_validate takes one bound for all of S", ValueError)
def test_validation_of_bounds_per_attribute():
    case = seen("two", "mean-parity", "each", "equal")
    everyone = [(np.arange(N), np.arange(N))]
    bounds = [case.model.unfairness]
    found = cross_validate(case.model, case.X, case.y, unfairness=bounds, folds=everyone)
    assert len(found.records) == 1


@pytest.fixture
def rates():
    """A model of another library for rates, fitted with exposures as weights."""
    X, y, _, exposure = people()
    X = X.assign(sex=X["sex"] == "m").astype(float)
    model = PoissonRegressor().fit(X, y["counts"] / exposure, sample_weight=exposure)
    return model, X, y["counts"], exposure


@refused("reports of other libraries' models take no exposure; audit does", TypeError)
def test_reports_of_rates_of_other_libraries(rates):
    model, X, counts, exposure = rates
    given = {"sensitive_features": X[ATTRIBUTES], "exposure": exposure}
    found = report(model, X, counts / exposure, **given)
    assert len(found.contents.measures) > 0


@refused("monitors of other libraries' models take no exposure; audit does", TypeError)
def test_monitors_of_rates_of_other_libraries(rates):
    model, X, _, exposure = rates
    monitor = Monitor(model, 0.5, X=X, sensitive_features=X[ATTRIBUTES])
    assert not monitor.update(X, X[ATTRIBUTES], exposure=exposure).alarm
