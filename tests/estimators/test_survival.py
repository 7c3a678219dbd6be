"""The fair Cox model: inputs, other programs' answers, hazards, concordance, defects."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge import FairRidgeSurvival
from fairridge.datasets import load_rossi
from fairridge.metrics import concordance_index
from fairridge.search import SEPARATION_RIDGE
from tests.zoo import LateModule, quietly

estimator_checks = LateModule("sklearn.utils.estimator_checks")
hazard_regression = LateModule("statsmodels.duration.hazard_regression")


@pytest.fixture(scope="module")
def data():
    """Ties, censoring, and two sensitive attributes out of five columns."""
    rng = np.random.default_rng(70)
    Z = rng.normal(size=(150, 5)) @ (0.4 * rng.normal(size=(5, 5)) + np.eye(5)) + 1.0
    eta = Z @ [0.5, -0.3, 0.4, 0.0, -0.2]
    time = np.ceil(10.0 * rng.exponential(np.exp(-eta))) / 10.0
    return Z, np.column_stack([time, rng.random(150) < 0.7])


def fair(r=0.05, **options):
    return FairRidgeSurvival(r, **{"sensitive": [0, 1], **options})


def test_no_attribute_means_the_model_of_the_others_where_rows_leave_early(data):
    """What only a row in no risk set tells apart must not hold the predictors."""
    Z, y = data[0][:30, :3].copy(), data[1][:30].copy()
    Z[:, 2] = Z[:, 0]
    Z[0, 2] += 3.0
    y[0], y[1:, 1] = [1e-3, 0.0], 1.0
    model = fair(0.0).fit(Z, y)
    S = Z[:, :2] - Z[:, :2].mean(0)
    U = Z[:, 2:] - Z[:, 2:].mean(0)
    U -= S @ np.linalg.lstsq(S, U, rcond=None)[0]
    score = hazard_regression.PHReg(y[:, 0], U, status=y[:, 1]).score(model.beta_)
    ridge = SEPARATION_RIDGE * len(U) * U.var() * model.beta_
    assert np.abs(score - ridge).max() < 1e-8


# ------------------------------------------------------- other programs' answers


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("shifted", [False, True])
def test_the_unconstrained_model_is_that_of_statsmodels(data, ties, shifted):
    Z, y = data
    offset = np.random.default_rng(71).normal(size=150) if shifted else None
    ours = fair(1.0, ties=ties).fit(Z, y, offset=offset)
    theirs = hazard_regression.PHReg(y[:, 0], Z, status=y[:, 1], ties=ties, offset=offset)
    fitted = theirs.fit(tol=1e-12)
    np.testing.assert_allclose(ours.coef_, fitted.params, atol=1e-6)
    assert ours.loglik_ == pytest.approx(theirs.loglike(ours.coef_), rel=1e-12)
    assert np.abs(theirs.score(ours.coef_)).max() < 1e-8
    assert ours.deviance_ == pytest.approx(-2.0 * ours.loglik_)


# Recidivism of 432 prisoners (Rossi et al. 1980), with Efron's ties, as published by Fox and
# Weisberg, An R Companion to Applied Regression, web appendix on Cox models.
ROSSI = {
    "fin": -0.37942,
    "age": -0.05744,
    "race": 0.31390,
    "wexp": -0.14980,
    "mar": -0.43370,
    "paro": -0.08487,
    "prio": 0.09150,
}


def test_published_coefficients_of_the_recidivism_study():
    frame = load_rossi().frame
    codes = frame[list(ROSSI)].apply(lambda c: c.cat.codes if hasattr(c, "cat") else c)
    X, y = codes.astype(float), np.column_stack([frame["week"], frame["arrest"]]).astype(float)
    model = FairRidgeSurvival(1.0, sensitive=["race"], ties="efron").fit(X, y)
    for name, value in zip(model.coef_names_, model.coef_, strict=True):
        assert value == pytest.approx(ROSSI[name], abs=6e-6)
    assert model.loglik_ == pytest.approx(-658.7477, abs=1e-3)
    assert model.score(X, y) == pytest.approx(0.64, abs=5e-3)


# ------------------------------------------------------------------------ inputs

FORMS = {
    "structured": lambda t, e: np.array(
        list(zip(t, e, strict=True)), dtype=[("time", float), ("event", bool)]
    ),
    "structured, other names": lambda t, e: np.array(
        list(zip(e, t, strict=True)), dtype=[("cens", bool), ("days", float)]
    ),
    "pandas, event first": lambda t, e: pd.DataFrame({"event": e * 1, "time": t}),
    "pandas, nullable": lambda t, e: pd.DataFrame({"days": t, "died": e}).convert_dtypes(),
    "polars": lambda t, e: pl.DataFrame({"time": t, "event": e}),
    "arrow": lambda t, e: pa.table({"time": t, "event": e}),
}


@pytest.mark.parametrize("form", FORMS)
def test_times_and_events_may_come_in_any_form(data, form):
    Z, y = data
    expected = fair().fit(Z, y)
    given = FORMS[form](y[:, 0], y[:, 1] == 1.0)
    model = fair().fit(Z, given)
    np.testing.assert_array_equal(model.alpha_, expected.alpha_)
    assert model.score(Z, given) == expected.score(Z, y)


def with_row(y, column, value):
    y = y.copy()
    y[4, column] = value
    return y


IMPOSSIBLE = {
    "one column": (lambda y: y[:, 0], "time and event"),
    "no names": (lambda y: pd.DataFrame({"a": y[:, 0], "b": y[:, 1]}), "time and event"),
    "two events": (lambda y: pd.DataFrame({"a": y[:, 0] > 1, "b": y[:, 1] == 1}), "time and event"),
    "too few rows": (lambda y: y[:10], "inconsistent numbers of samples"),
    "a missing time": (lambda y: with_row(y, 0, np.nan), r"y \(time\) contains NaN"),
    "an infinite time": (lambda y: with_row(y, 0, np.inf), r"y \(time\) contains infinity"),
    "a missing truth value": (
        lambda y: pl.DataFrame({"days": y[:, 0], "died": [None, *(y[1:, 1] == 1).tolist()]}),
        r"y \(event\) contains NaN",
    ),
    "dates": (
        lambda y: pd.DataFrame({"time": pd.Timestamp("2020-01-01"), "event": y[:, 1] == 1}),
        r"y \(time\) must hold numbers",
    ),
    "a time of zero": (lambda y: with_row(y, 0, 0.0), "times must be positive; y has 0"),
    "a third kind of event": (lambda y: with_row(y, 1, 2.0), "events must be 0"),
    "no events": (lambda y: np.column_stack([y[:, 0], 0.0 * y[:, 1]]), "no events"),
    "nothing": (lambda y: None, "requires y"),
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_impossible_responses_are_refused(data, kind):
    Z, y = data
    make, message = IMPOSSIBLE[kind]
    with pytest.raises(ValueError, match=message):
        fair().fit(Z, make(y))


# ------------------------------------------------------------------- predictions


def test_predictions_are_log_hazard_ratios_to_the_mean(data):
    Z, y = data
    model = fair(0.1).fit(Z, y)
    np.testing.assert_allclose(model.predict(Z), (Z - Z.mean(0)) @ model.coef_, atol=1e-12)
    weight = np.random.default_rng(72).uniform(0.5, 2.0, 150)
    model.fit(Z, y, sample_weight=weight)
    assert abs(np.average(model.predict(Z), weights=weight)) < 1e-12


def test_the_cumulative_hazard_is_breslows(data):
    Z, y = data
    model = fair(0.1).fit(Z, y)
    risk = np.exp(model.predict(Z))
    times = np.unique(y[y[:, 1] == 1, 0])
    steps = [
        np.count_nonzero((y[:, 0] == t) & (y[:, 1] == 1)) / risk[y[:, 0] >= t].sum() for t in times
    ]
    np.testing.assert_array_equal(model.event_times_, times)
    np.testing.assert_allclose(model.cumulative_hazard_, np.cumsum(steps), rtol=1e-10)
    H = model.predict_cumulative_hazard_function(Z[:4])
    np.testing.assert_allclose(H, np.outer(risk[:4], np.cumsum(steps)), rtol=1e-10)
    np.testing.assert_allclose(model.predict_survival_function(Z[:4]), np.exp(-H), rtol=1e-12)


def test_survival_is_one_before_the_first_event_and_a_step_function(data):
    Z, y = data
    model = fair(0.1).fit(Z, y)
    first, second = model.event_times_[:2]
    times = [0.0, first - 1e-9, first, (first + second) / 2, second, 1e9]
    S = model.predict_survival_function(Z[:5], times=times)
    turned = model.predict_survival_function(Z[:5], times=times[::-1])
    np.testing.assert_array_equal(turned[:, ::-1], S)
    with pytest.raises(ValueError, match="times must be a list of numbers"):
        model.predict_survival_function(Z, times=[1.0, np.nan])
    assert S.shape == (5, 6)
    np.testing.assert_array_equal(S[:, :2], 1.0)
    assert (S[:, 2] < 1.0).all()
    np.testing.assert_array_equal(S[:, 2], S[:, 3])
    assert (S[:, 4] < S[:, 3]).all()
    np.testing.assert_array_equal(S[:, 5], model.predict_survival_function(Z[:5])[:, -1])
    assert (np.diff(model.predict_survival_function(Z), axis=1) < 0).all()


def test_an_offset_multiplies_the_hazard(data):
    Z, y = data
    offset = np.random.default_rng(73).normal(size=150)
    model = fair(0.1).fit(Z, y, offset=offset)
    np.testing.assert_allclose(model.predict(Z, offset=offset) - model.predict(Z), offset)
    H, plain = (
        model.predict_cumulative_hazard_function(Z, offset=o, times=[1.0]) for o in (offset, None)
    )
    np.testing.assert_allclose(H[:, 0], plain[:, 0] * np.exp(offset), rtol=1e-10)
    # Expected events equal events.
    at = np.searchsorted(model.event_times_, y[:, 0], side="right")
    exposed = np.append(0.0, model.cumulative_hazard_)[at]
    assert np.exp(model.predict(Z, offset=offset)) @ exposed == pytest.approx(y[:, 1].sum())


def test_the_score_is_the_concordance_index(data):
    Z, y = data
    weight = np.random.default_rng(74).uniform(0.0, 2.0, 150)
    weight[::7] = 0.0
    model = fair(0.1).fit(Z, y)
    eta = model.predict(Z)
    assert model.score(Z, y) == concordance_index(y[:, 0], y[:, 1], eta)
    assert 0.5 < model.score(Z, y) < 0.8
    found = model.score(Z, y, sample_weight=weight)
    assert found == pytest.approx(concordance_index(y[:, 0], y[:, 1], eta, weight))


# --------------------------------------------------------------------- defects


def assert_sound(model, Z, r):
    # A third of the rows in a level without events are too many to be isolated.
    assert model.converged_ == (model.status_ != "separated")
    assert model.status_ in ("inactive", "converged", "separated")
    assert -1e-12 <= model.unfairness_ <= r + 1e-10
    for value in (model.deviance_, model.loglik_, model.coef_, model.cumulative_hazard_):
        assert np.isfinite(value).all()
    assert not np.isnan(model.predict_survival_function(Z)).any()


@pytest.mark.parametrize(("r", "ties"), [(0.05, "breslow"), (1.0, "breslow"), (1.0, "efron")])
def test_one_time_for_all_rows(data, ties, r):
    Z, y = data
    model = quietly(fair(r, ties=ties).fit, Z, np.column_stack([np.full(150, 3.0), y[:, 1]]))
    assert_sound(model, Z, r)
    assert model.event_times_.tolist() == [3.0]
    if r == 1.0:
        theirs = hazard_regression.PHReg(np.full(150, 3.0), Z, status=y[:, 1], ties=ties)
        assert np.abs(theirs.score(model.coef_)).max() < 1e-8
