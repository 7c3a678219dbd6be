"""The Brier score of censored times: without censoring by hand, with it against the truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid

import fairridge
from fairridge import FairRidgeSurvival, audit
from fairridge.metrics.brier import brier_terms, integrated_brier_score


def scores_of(time, event, survival, times):
    """Return the Brier scores of rows that count alike."""
    return brier_terms(time, event, survival, times, np.ones(len(time))).mean(axis=0)


def test_two_rows_by_hand():
    # The first is censored at 1, so the second stands for both after it: G = 1/2.
    found = scores_of(
        np.array([1.0, 2.0, 3.0]),
        np.array([0.0, 1.0, 1.0]),
        np.full((3, 2), 0.5),
        np.array([0.5, 2.5]),
    )
    np.testing.assert_allclose(found, [0.25, (0.25 * 1.5 + 0.25 * 1.5) / 3])


@pytest.fixture(scope="module")
def study():
    rng, n = np.random.default_rng(3), 400
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "x": rng.normal(size=n)})
    death = rng.exponential(np.exp(-0.9 * X["x"]))
    lost = rng.exponential(2.0, n)
    y = pd.DataFrame({"time": np.minimum(death, lost), "event": death <= lost})
    return X, y, FairRidgeSurvival(0.05, sensitive=["sex"]).fit(X, y)


FORMS = {
    "other names": lambda y: y[["event", "time"]].set_axis(["died", "days"], axis=1),
    "a structured array": lambda y: np.array(
        list(zip(y["event"], y["time"], strict=True)), dtype=[("died", bool), ("days", float)]
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_audit_of_times_takes_what_fit_takes(study, form):
    X, y, model = study
    given = FORMS[form](y)
    fitted = FairRidgeSurvival(0.05, sensitive=["sex"]).fit(X, given)
    np.testing.assert_array_equal(fitted.predict(X), model.predict(X))
    survival = np.array([0.3, 0.6]), np.full((len(X), 2), 0.5)
    options = {"sensitive_features": X["sex"], "survival": survival}
    found, same = (audit(each, model.predict(X), **options) for each in (given, y))
    assert found.overall.brier.value == same.overall.brier.value > 0.0
    assert str(found) == str(same)


def test_medians_are_where_survival_crosses_one_half(study):
    X, _, model = study
    medians, curves = model.predict_median(X), model.predict_survival_function(X)
    for median, curve in zip(medians, curves, strict=True):
        below = np.flatnonzero(curve <= 0.5)
        assert median == (model.event_times_[below[0]] if len(below) else np.inf)
    assert np.isinf(medians).any()
    assert np.isfinite(medians).any()
    order = np.argsort(model.predict(X))
    assert (np.diff(np.nan_to_num(medians[order], posinf=1e9)) <= 0.0).all()


@pytest.mark.slow
def test_reports_have_the_brier_score(study):
    X, y, model = study
    time, event = y["time"].to_numpy(), y["event"].to_numpy(float)
    baseline = model.event_times_, np.log(model.cumulative_hazard_)
    wanted = integrated_brier_score(time, event, model.predict(X), np.ones(len(y)), baseline)
    page = fairridge.report(model, X, y, cv=2, bootstrap=0).contents
    (curve,) = [one for one in page.accuracy if one.name == "Integrated Brier score"]
    assert curve.training[page.chosen] == pytest.approx(wanted, rel=1e-6)
    assert not curve.larger_is_better
    assert wanted < curve.held_out[page.chosen] < 0.25
    new = fairridge.report(model, X, y, new_rows=True).contents
    (measure,) = [one for one in new.accuracy if one.key == "brier"]
    assert measure.value == pytest.approx(wanted, rel=1e-6)


def test_audits_have_the_brier_score_of_groups():
    rng, n = np.random.default_rng(5), 400
    sex, x = rng.choice(["f", "m"], n), rng.normal(size=n)
    death, lost = rng.exponential(np.exp(-x)), rng.exponential(2.0, n)
    y = pd.DataFrame({"event": (death <= lost) * 1.0, "time": np.minimum(death, lost)})
    X = pd.DataFrame({"sex": sex, "x": x})
    model = FairRidgeSurvival(0.05, sensitive="sex").fit(X, y)
    times = np.linspace(0.1, 1.5, 15)
    S = model.predict_survival_function(X, times=times)
    weight = np.where(x > 2.0, 0.0, 1.0)
    given = {"sensitive_features": X["sex"], "sample_weight": weight}
    found = audit(y, model.predict(X), survival=(times, S), **given)
    kept = weight > 0.0
    time, event = y["time"].to_numpy()[kept], y["event"].to_numpy()[kept]
    scores = scores_of(time, event, S[kept], times)
    expected = trapezoid(scores, times) / (times[-1] - times[0])
    assert found.overall.brier.value == pytest.approx(expected)
    assert found.overall.brier.low < expected < found.overall.brier.high
    for group in found["sex"].groups:
        rows = kept & (sex == group.group)
        own = y["time"].to_numpy()[rows], y["event"].to_numpy()[rows], S[rows], times
        expected = trapezoid(scores_of(*own), times)
        assert group.brier.value == pytest.approx(expected / (times[-1] - times[0]))
    assert "Brier" in str(found)
    assert not found.favorable.high
    assert "brier" not in audit(y, model.predict(X), **given).to_frame()


@pytest.mark.slow
def test_groups_that_are_censored_differently_have_the_score_of_their_survival():
    """Two groups of the same survival: nearly all of one are censored, few of the other."""
    n, t = 20_000, np.linspace(0.1, 1.5, 15)
    group = np.repeat(["a", "b"], n)
    within = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        death = rng.exponential(size=2 * n)
        lost = rng.exponential(np.where(group == "a", 10.0, 1.0 / 1.2))
        y = np.column_stack([np.minimum(death, lost), death <= lost])
        survival = t, np.tile(np.exp(-t), (2 * n, 1))
        found = audit(y, np.zeros(2 * n), sensitive_features=pd.Series(group), survival=survival)
        within.append([one.brier for one in next(iter(found.attributes)).groups])
    for scores in zip(*within, strict=True):
        mean = np.mean([score.value for score in scores])
        assert mean == pytest.approx(trapezoid_mean(t), abs=0.001)
        assert sum(score.low <= trapezoid_mean(t) <= score.high for score in scores) >= 17


def trapezoid_mean(t):
    """The score of S(t) = exp(−t) where it is true: the mean of S(1 − S)."""
    return trapezoid(np.exp(-t) * (1.0 - np.exp(-t)), t) / (t[-1] - t[0])


def test_a_group_that_is_lost_before_the_last_time_has_no_score():
    time = np.array([1.0, 2.0, 3.0, 9.0, 1.0, 2.0])
    y = np.column_stack([time, [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]])
    survival = np.array([0.5, 2.5]), np.full((6, 2), 0.5)
    groups = pd.Series(list("aaaabb"), name="g")
    found = audit(y, np.zeros(6), sensitive_features=groups, survival=survival)
    first, second = (group.brier.value for group in found["g"].groups)
    assert 0.0 < first < 1.0
    assert np.isnan(second)


@pytest.mark.parametrize(
    ("times", "change", "message"),
    [
        ([1.0], lambda S: S, "at least two times"),
        ([1.0, 9.0], lambda S: S, "must lie before"),
        ([1.0, 2.0], lambda S: S[:3], "must have 4 rows and 2 columns"),
        ([1.0, 2.0], lambda S: 2.0 * S, "of probabilities"),
    ],
)
def test_survival_that_cannot_be_judged_is_refused(times, change, message):
    y = np.column_stack([[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 1.0, 1.0]])
    survival = times, change(np.full((4, len(times)), 0.6))
    with pytest.raises(ValueError, match=message):
        audit(y, np.zeros(4), sensitive_features=list("abab"), survival=survival)
    with pytest.raises(ValueError, match="two columns, time and event"):
        audit(y[:, 0], np.zeros(4), sensitive_features=list("abab"), survival=survival)
