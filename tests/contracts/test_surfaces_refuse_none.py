"""What one surface computes, none refuses."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fairridge import Monitor, audit, choose_bound, compare, cross_validate, report
from fairridge.rules import MeanGap
from tests.contracts.independent import ATTRIBUTES, N, people, seen, share, unfitted

EACH = {"sex": 0.02, "age": 0.03}
INTERVALS = {"cv": 0, "bootstrap": 0}


def alone(case, name):
    """What one attribute explains of the means."""
    column = case.S[:, [ATTRIBUTES.index(name)]]
    return share(case.means, column, case.mean_weight)


@pytest.mark.parametrize("new_rows", [True, False])
@pytest.mark.parametrize(("kind", "option"), [("two", "each"), ("counts", "each")])
def test_reports_of_bounds_per_attribute(new_rows, kind, option):
    case = seen(kind, "mean-parity", option, "weighted")
    settings = {"new_rows": True} if new_rows else INTERVALS
    page = report(case.model, case.X, case.y, **settings, **case.given)
    contents = page.contents
    html = page.html.replace("\N{NO-BREAK SPACE}", " ")
    texts = [page.summary, html] + ([] if new_rows else [page.card])
    for name, r in EACH.items():
        assert all(f"{name} explains at most {100 * r:.2f} %" in text for text in texts)
        value = alone(case, name)
        if new_rows:
            (one,) = [one for one in contents.bounds if one.measure.attributes == (name,)]
            assert (one.r, one.found.training) == (r, case.model.unfairness_[name])
            assert one.found.low < one.found.value < one.found.high
            found = one.found.value
        else:
            (one,) = [one for one in contents.each if one.measure.attributes == (name,)]
            assert one.bounds[contents.chosen] == r
            found = one.achieved[contents.chosen]
            assert f"{100 * found:.2f} % ({name})" in page.summary
        assert found == pytest.approx(value, rel=1e-7, abs=3e-8)


def test_attributes_without_a_bound_are_not_said_to_have_one():
    X, y, *_ = people()
    model = unfitted("two", {"definition": "mean-parity", "unfairness": {"sex": 0.0, "age": 1.0}})
    model.fit(X, y["two"])
    for settings in ({"new_rows": True}, INTERVALS):
        text = report(model, X, y["two"], **settings).summary
        assert "sex explains at most 0.00 %" in text
        assert "age explains at most" not in text


def test_bounds_keep_their_proportions():
    """r is the largest bound, and 1 is none; so are paths, comparisons and choices."""
    case = seen("two", "mean-parity", "each", "equal")
    path = case.model.path(case.X, case.y, unfairness=[0.0, 0.006, 0.03, 1.0])
    for r, bounds in (
        (0.0, {"sex": 0.0, "age": 0.0}),
        (0.006, {"sex": 0.004, "age": 0.006}),
        (0.03, EACH),
        (1.0, {"sex": 1.0, "age": 1.0}),
    ):
        model = path.at(r)
        assert model.unfairness == pytest.approx(bounds, rel=1e-15)
        for name, limit in bounds.items():
            found = alone(replace(case, model=model), name)
            assert found == pytest.approx(model.unfairness_[name], abs=1e-9)
            assert found <= limit + 1e-8
    np.testing.assert_allclose(path.at(0.03).coef_, case.model.coef_, rtol=1e-12)
    np.testing.assert_allclose(path.at(1.0).coef_, path.at(0.9).coef_, rtol=1e-6)


def test_validation_of_bounds_per_attribute():
    case = seen("two", "mean-parity", "each", "equal")
    folds = [(np.arange(N), np.arange(N))]
    record = cross_validate(case.model, case.X, case.y, unfairness=[0.03], folds=folds).records[0]
    piped = make_pipeline(FunctionTransformer(), case.model)
    other = cross_validate(piped, case.X, case.y, unfairness=[0.03], folds=folds).records[0]
    table = compare(case.X, case.y, sensitive=ATTRIBUTES, models={"each": case.model},
                    unfairness=0.03, folds=folds).records[-1]  # fmt: skip
    assert table["status"] == record["status"] == other["status"] == "converged"
    joint = share(case.means, case.S, case.mean_weight)
    for found in (record, other):
        assert found["train_achieved"] == pytest.approx(joint, rel=1e-7)
        for name in EACH:
            value = alone(case, name)
            assert found[f"train_achieved[{name}]"] == pytest.approx(value, rel=1e-7)
            expected = 1.0 - (1.0 - value) * (N - 1) / (N - 2)
            assert found[f"achieved[{name}]"] == pytest.approx(expected, rel=1e-7)
    assert table["train_share_of_means"] == pytest.approx(joint, rel=1e-7)


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
    assert contents.bounds[0].found.value == pytest.approx(audited.r_squared, rel=1e-12)
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
