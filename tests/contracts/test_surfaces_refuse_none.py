"""What one surface computes, none refuses; those that do are named here."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from fairridge import Monitor, audit, choose_bound, cross_validate, report
from fairridge.rules import MeanGap
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


def test_reports_of_rates_of_other_libraries(rates):
    model, X, counts, exposure = rates
    given = {"sensitive_features": X[ATTRIBUTES], "exposure": exposure}
    contents = report(model, X, counts, **given).contents
    audited = audit(counts, exposure * model.predict(X), learned=False, **given)
    assert contents.bound_on.value == pytest.approx(audited.r_squared, rel=1e-12)
    shown = contents.main.audits[0]
    for part, expected in zip(shown.attributes, audited.attributes, strict=True):
        for group, other in zip(part.groups, expected.groups, strict=True):
            for key in ("mean_prediction", "mean_response", "predicted_over_observed"):
                values = [getattr(each, key) for each in (group, other)]
                assert values[0].value == pytest.approx(values[1].value, rel=1e-12)
    assert dict(contents.subject.record)["Exposure"].startswith("given")
    errors = np.asarray(counts) - exposure * model.predict(X)
    rmse = next(one.value for one in contents.accuracy if one.key == "rmse")
    assert rmse == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-12)


def test_monitors_of_rates_of_other_libraries(rates):
    """Exposures are weights of rates."""
    model, X, _, exposure = rates
    monitors = [Monitor(model, 0.5, X=X, sensitive_features=X[ATTRIBUTES]) for _ in range(2)]
    found = monitors[0].update(X, X[ATTRIBUTES], exposure=exposure)
    assert not found.alarm
    assert found == monitors[1].update(X, X[ATTRIBUTES], sample_weight=exposure)


def test_choices_of_rates_of_other_libraries(rates):
    """Held-out rows decide about rates, weighted by exposure."""
    model, X, counts, exposure = rates
    own, held = slice(0, 300), slice(300, 600)
    found = choose_bound(
        model,
        X[own],
        counts[own],
        X[held],
        counts[held],
        rule=MeanGap(10.0),
        sensitive_features=X[["sex"]][own],
        sensitive_features_held=X[["sex"]][held],
        exposure=exposure[own],
        exposure_held=exposure[held],
    )
    rate, weight, sex = model.predict(X[held]), exposure[held], X["sex"][held].to_numpy()
    means = [np.average(rate[sex == s], weights=weight[sex == s]) for s in (0.0, 1.0)]
    assert abs(found.nearest.value) == pytest.approx(abs(means[1] - means[0]), rel=1e-12)


def test_classes_of_other_libraries_have_no_exposure():
    X, y, _, exposure = people()
    model = LogisticRegression().fit(X[["hours", "x"]], y["two"])
    given = {"sensitive_features": X[ATTRIBUTES]}
    with pytest.raises(TypeError, match="not for classes"):
        report(model, X[["hours", "x"]], y["two"], exposure=exposure, **given)
    monitor = Monitor(model, 0.5, X=X[["hours", "x"]], **given)
    with pytest.raises(TypeError, match="not for classes"):
        monitor.update(X[["hours", "x"]], X[ATTRIBUTES], exposure=exposure)
