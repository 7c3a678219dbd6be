"""Levels whose rows all have one outcome: isolated, warned of, or refused."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival, sources
from fairridge.exceptions import DataWarning
from fairridge.fairness import MeanParity, StatisticalParity
from fairridge.models import Isolation
from tests import zoo
from tests.zoo import LateModule, crossed

hazard_regression = LateModule("statsmodels.duration.hazard_regression")
sm = LateModule("statsmodels.api")

N, RARE = 1500, 11
FAMILIES = [
    "binomial",
    "probit",
    "cloglog",
    "multinomial",
    "poisson",
    "tweedie",
    "quasi-binomial",
    "cox",
]
# Where the rare rows are: a level, the base level, and either value of a 0/1 column.
PLACES = {"z": "job[z]", "0": "job[0]", "True": "flag[1]", "False": "flag[0]"}


def make(place="z", seed=3):
    """Return a frame, its linear predictor, and which rows are rare."""
    rng = np.random.default_rng(seed)
    rare = np.isin(np.arange(N), rng.choice(N, RARE, replace=False))
    s = rng.normal(size=N) + rare
    x = rng.normal(size=N) + 0.5 * s
    job = rng.choice(["a", "b", "c"], N).astype(object)
    flag = rng.random(N) < 0.4
    if place in ("z", "0"):
        job[rare] = place
    else:
        flag = rare if place == "True" else ~rare
    frame = pd.DataFrame({"s": s, "x": x, "job": job, "flag": flag})
    return frame, -0.4 + 0.6 * s + 0.5 * x + 0.3 * (job == "b"), rare


def respond(family, eta, rare, seed=5):
    """Draw responses; those of rare rows are all the same."""
    rng = np.random.default_rng(seed)
    n = len(eta)
    if family in ("binomial", "probit", "cloglog"):
        return np.where(rare, 0, rng.random(n) < expit(eta)).astype(int)
    if family == "multinomial":
        return np.where(rare, 2, np.digitize(eta + rng.logistic(size=n), [-1.0, 0.5]))
    if family in ("poisson", "tweedie"):
        return np.where(rare, 0.0, rng.poisson(np.exp(eta / 2)) * (1.7 if family[0] == "t" else 1))
    if family == "quasi-binomial":
        return np.where(rare, 1.0, rng.beta(2.0, 2.0, n))
    time = rng.exponential(np.exp(-eta))
    return np.column_stack([time, ~rare & (rng.random(n) < 0.7)])


def fair(family, r, **options):
    return zoo.model_of(family, r, **{"sensitive": "s"} | options)


def means(model, frame):
    return model.predict_proba(frame) if hasattr(model, "predict_proba") else model.predict(frame)


def assert_half_an_event(model, frame, y, rare):
    """Check the mean prediction of isolated rows against the rule."""
    m, predicted = rare.sum(), means(model, frame)[rare]
    if isinstance(model, FairRidgeSurvival):
        hazards = model.predict_cumulative_hazard_function(frame[rare], times=np.sort(y[rare, 0]))
        assert np.diag(hazards[np.argsort(y[rare, 0])]).sum() == pytest.approx(0.5, rel=1e-9)
    elif hasattr(model, "classes_"):
        c = int(y[rare][0])
        assert predicted[:, c].mean() == pytest.approx((m + 0.5) / (m + 1), rel=1e-10)
    elif model.family_.link == "log":
        unit = y[~rare].mean() if model.family_.name == "tweedie" else 1.0
        assert predicted.sum() == pytest.approx(0.5 * unit, rel=1e-9)
    else:
        assert predicted.mean() == pytest.approx((m + 0.5) / (m + 1), rel=1e-10)


@crossed(family=FAMILIES, place=PLACES, r=[0.05, 1.0])
def test_others_get_the_model_without_these_rows(family, place, r):
    frame, eta, rare = make(place)
    y = respond(family, eta, rare)
    model = fair(family, r).fit(frame, y)
    # Without its rows the level does not exist; a constant column is a warning.
    columns = ["s", "x", "job"] if place in ("True", "False") else list(frame)
    other = fair(family, r).fit(frame.loc[~rare, columns], y[~rare])
    assert model.isolated_ == {PLACES[place]: RARE}
    assert other.isolated_ == {}
    theirs, ours = means(other, frame.loc[~rare, columns]), means(model, frame[~rare])
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)
    assert model.unfairness_ == pytest.approx(other.unfairness_, abs=1e-11)
    assert model.converged_
    assert_half_an_event(model, frame, y, rare)


OTHERS = {
    "blind": {"blind": True},
    "blind means": {"blind": True, "definition": "mean-parity"},
    "a control": {"controls": "job"},
    "another control": {"controls": "x"},
    "means given a control": {"controls": "job", "definition": "mean-parity"},
}


@crossed(
    kind=OTHERS,
    family=["binomial", "multinomial", "poisson", "cox"],
    place=PLACES,
    r=[0.02, 1.0],
    # Cox models predict no means.
    allowed=lambda kind, family, place, r: family != "cox" or "mean" not in kind,
)
def test_blind_models_and_those_with_controls_isolate_too(kind, family, place, r):
    frame, eta, rare = make(place)
    y = respond(family, eta, rare)
    model = fair(family, r, **OTHERS[kind]).fit(frame, y)
    columns = ["s", "x", "job"] if place in ("True", "False") else list(frame)
    other = fair(family, r, **OTHERS[kind]).fit(frame.loc[~rare, columns], y[~rare])
    assert model.isolated_ == {PLACES[place]: RARE}
    theirs, ours = means(other, frame.loc[~rare, columns]), means(model, frame[~rare])
    if "means" in kind:
        # Totals are those of all rows: the others make up for half an event.
        every = means(model, frame)
        observed = (y[:, None] == model.classes_) if every.ndim > 1 else y
        np.testing.assert_allclose(every.sum(axis=0), observed.sum(axis=0), rtol=1e-10)
        np.testing.assert_allclose(ours.sum(axis=0), theirs.sum(axis=0), atol=0.5 + 1e-9)
        np.testing.assert_allclose(ours, theirs, rtol=0.02)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-11)
    gap = 1e-10 if r < 1.0 or "means" not in kind else 1e-3
    assert model.unfairness_ == pytest.approx(other.unfairness_, abs=gap)
    assert model.converged_
    assert model.loglik_ != pytest.approx(other.loglik_, abs=1e-3)  # it is of all rows
    assert_half_an_event(model, frame, y, rare)


@pytest.mark.parametrize("kind", OTHERS)
def test_their_values_with_isolated_rows_are_said(kind):
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    model = FairRidgeClassifier(0.02, sensitive="s", **OTHERS[kind]).fit(frame, y)
    value = model.unfairness_components_["all_rows"]
    assert value != pytest.approx(model.unfairness_, abs=1e-9)
    of_means = OTHERS[kind].get("definition") == "mean-parity"
    score = model.predict_proba(frame)[:, 1] if of_means else model.decision_function(frame)
    s, given = frame["s"].to_numpy(), np.ones((N, 1))
    if OTHERS[kind].get("controls") == "job":
        given = pd.get_dummies(frame["job"]).to_numpy(float)
    s, score = (v - given @ np.linalg.lstsq(given, v, rcond=None)[0] for v in (s, score))
    if of_means or kind == "blind":
        assert value == pytest.approx(np.corrcoef(s, score)[0, 1] ** 2, rel=1e-8)


@pytest.mark.parametrize("kind", ["blind", "a control"])
def test_levels_void_their_bounds_too(kind):
    """Nearly all that varies of η is the level then, whatever the others are told."""
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    model = FairRidgeClassifier(0.05, sensitive="s", separation="warn", **OTHERS[kind])
    with pytest.warns(DataWarning, match="separate the responses"):
        model.fit(frame, y)
    assert (model.status_, model.converged_, model.isolated_) == ("separated", False, {})
    if kind == "blind":
        score = model.decision_function(frame)[~rare]
        assert np.corrcoef(frame["s"][~rare], score)[0, 1] ** 2 > 0.1
    with pytest.raises(ValueError, match="same outcome"):
        model.set_params(separation="error").fit(frame, y)


def test_a_path_says_what_was_isolated():
    frame, eta, rare = make("z")
    model = FairRidgeClassifier(sensitive="s")
    path = model.path(frame, respond("binomial", eta, rare), unfairness=[0.0, 0.1])
    assert path.isolated == {"job[z]": RARE}
    assert "11 row(s) of 'job[z]' isolated" in repr(path)
    assert "'job[z]' isolated" in path.plot().get_xlabel()
    path = model.path(frame[~rare], respond("binomial", eta, rare)[~rare], unfairness=[0.0, 0.1])
    assert path.isolated == {}
    assert "isolated" not in repr(path)
    assert "isolated" not in path.plot().get_xlabel()


@pytest.mark.slow
def test_without_a_bound_others_have_the_limit_of_maximum_likelihood():
    frame, eta, rare = make("0")
    D = pd.get_dummies(frame.drop(columns="s"), columns=["job"], dtype=float).drop(columns="job_a")
    D = D.assign(s=frame["s"], one=1.0).astype(float)
    D = D.drop(columns="job_0")[~rare]
    y = respond("binomial", eta, rare)
    limit = sm.GLM(y[~rare], D, sm.families.Binomial()).fit(tol=1e-14).predict(D)
    ours = FairRidgeClassifier(1.0, sensitive="s").fit(frame, y).predict_proba(frame[~rare])[:, 1]
    np.testing.assert_allclose(ours, limit, rtol=1e-9)

    times = respond("cox", eta, rare)
    model = FairRidgeSurvival(1.0, sensitive="s").fit(frame, times)
    D = D.drop(columns="one")
    theirs = hazard_regression.PHReg(times[~rare, 0], D, status=times[~rare, 1]).fit(tol=1e-12)
    score, limit = model.predict(frame[~rare]), D.to_numpy() @ theirs.params
    np.testing.assert_allclose(score - score.mean(), limit - limit.mean(), atol=1e-7)


def test_levels_that_decide_once_others_are_gone():
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    frame["town"] = np.where(np.arange(N) % 2, "north", "south")
    few = np.flatnonzero(~rare)[:3]
    frame.loc[few, "town"] = "isle"
    frame.loc[np.flatnonzero(rare)[:2], "town"] = "isle"  # without events, among events
    y[few] = 1
    model = FairRidgeClassifier(0.05, sensitive="s").fit(frame, y)
    assert model.isolated_ == {"job[z]": RARE, "town[isle]": 3}
    ours = model.predict_proba(frame)[:, 1]
    assert ours[rare].mean() == pytest.approx(0.5 / (RARE + 1), rel=1e-10)
    assert ours[few].mean() == pytest.approx(3.5 / 4.0, rel=1e-10)
    kept = ~rare & ~np.isin(np.arange(N), few)
    other = FairRidgeClassifier(0.05, sensitive="s").fit(frame[kept], y[kept])
    np.testing.assert_allclose(ours[kept], other.predict_proba(frame[kept])[:, 1], rtol=1e-10)


def test_a_level_of_a_sensitive_attribute_stays():
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    with pytest.warns(DataWarning, match=r"'job\[z\]' separate"):
        model = FairRidgeClassifier(1.0, sensitive="job").fit(frame, y)
    assert model.isolated_ == {}


def test_a_number_that_only_looks_like_a_level_stays():
    """Mean and variance of 0/1, and a third value."""
    frame, eta, rare = make("z")
    frame["number"] = np.where(rare, 2.0, np.where(np.arange(N) % 2, 1.0, 0.0))
    n1, n2 = (frame["number"] == 1.0).sum(), RARE
    # x solves: the mean of squares is the mean.
    frame["number"] = frame["number"].where(frame["number"] != 1.0, 1.0)
    root = (1.0 + np.sqrt(1.0 - 4.0 * 2.0 * n2 / n1)) / 2.0
    frame.loc[frame["number"] == 1.0, "number"] = root
    numbers = frame["number"].to_numpy()
    assert np.mean(numbers**2) == pytest.approx(numbers.mean(), rel=1e-12)
    y = respond("binomial", eta, rare)
    model = FairRidgeClassifier(0.05, sensitive="s").fit(frame, y)
    assert model.isolated_ == {"job[z]": RARE}


# -------------------------------------------------------------- other choices


def test_nothing_is_isolated_under_a_penalty():
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    options = {"sensitive": "s", "predictor_penalty": 100.0}
    model = FairRidgeClassifier(0.05, **options).fit(frame, y)
    theirs = FairRidgeClassifier(0.05, separation="error", **options).fit(frame, y)
    assert model.isolated_ == theirs.isolated_ == {}
    assert model.status_ == "converged"
    np.testing.assert_array_equal(model.coef_, theirs.coef_)


@pytest.mark.parametrize("reason", ["asked", "too many", "the last outcome"])
def test_a_bound_that_levels_void_is_separated(reason):
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    separation = "isolate"
    if reason == "asked":
        separation = "warn"
    elif reason == "too many":
        frame.loc[frame.index[:20], "job"], y[:20] = "z", 0
    else:
        y = rare.astype(int)
    with pytest.warns(DataWarning, match="min_frequency=.*predictor_penalty.*mean-parity") as found:
        model = FairRidgeClassifier(0.05, sensitive="s", separation=separation).fit(frame, y)
    assert len(found) == 1
    assert "job[z]" in str(found[0].message)
    assert (model.status_, model.converged_, model.isolated_) == ("separated", False, {})
    assert "separated" in str(model.summary(details=True))


def test_levels_are_refused_by_name():
    for place, name in PLACES.items():
        frame, eta, rare = make(place)
        y = respond("binomial", eta, rare)
        with pytest.raises(ValueError, match="same outcome") as caught:
            FairRidgeClassifier(0.05, sensitive="s", separation="error").fit(frame, y)
        assert repr(name) in str(caught.value)
    frame["flag"] = np.arange(N) % 3 == 0
    FairRidgeClassifier(0.05, sensitive="s", separation="error").fit(frame, y)


def test_an_unknown_choice_is_refused():
    frame, _, rare = make()
    with pytest.raises(ValueError, match="separation='drop'"):
        FairRidgeClassifier(separation="drop", sensitive="s").fit(frame, rare)


# ------------------------------------------------------------- what it touches


@pytest.mark.parametrize(
    "options",
    [{"definition": name} for name in ("statistical-parity", "individual", "mean-parity")]
    + list(OTHERS.values()),
)
def test_models_do_not_depend_on_other_bounds(options):
    frame, eta, rare = make("False")
    y = respond("binomial", eta, rare)
    model = FairRidgeClassifier(0.05, sensitive="s", **options)
    path = model.path(frame, y, unfairness=[0.0, 0.05, 0.4, 1.0])
    model.fit(frame, y)
    np.testing.assert_allclose(path.beta[1], model.beta_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(path.at(0.05).coef_, model.coef_, rtol=1e-6, atol=1e-8)
    assert path.deviance[1] == pytest.approx(model.deviance_, rel=1e-9)
    assert path.at(0.05).isolated_ == {"flag[0]": RARE}


def test_deviances_are_of_all_rows():
    frame, eta, rare = make("z")
    for family in ("binomial", "cox"):
        y = respond(family, eta, rare)
        model = fair(family, 0.05).fit(frame, y)
        score = means(model, frame)
        if family == "binomial":
            likelihood = np.log(np.where(y == 1, score[:, 1], score[:, 0])).sum()
            null = sm.GLM(y, np.ones(N), sm.families.Binomial()).fit().deviance
            assert model.explained_deviance_ == pytest.approx(1 + 2 * likelihood / null, rel=1e-9)
        else:
            likelihood = hazard_regression.PHReg(y[:, 0], score[:, None], status=y[:, 1]).loglike(
                np.ones(1)
            )
        assert model.deviance_ == pytest.approx(-2.0 * likelihood, rel=1e-9)
        assert model.loglik_ == pytest.approx(likelihood, rel=1e-9)


def test_a_weight_is_a_number_of_rows():
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    weight = np.random.default_rng(1).integers(0, 3, N).astype(float)
    rows = np.repeat(np.arange(N), weight.astype(int))
    ours = FairRidgeClassifier(0.05, sensitive="s").fit(frame, y, sample_weight=weight)
    theirs = FairRidgeClassifier(0.05, sensitive="s").fit(frame.iloc[rows], y[rows])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    assert ours.isolated_ == {"job[z]": (rare & (weight > 0)).sum()}
    assert theirs.isolated_ == {"job[z]": weight[rare].sum()}


def test_offsets_are_part_of_the_expected_events():
    frame, eta, rare = make("z")
    y, exposure = respond("poisson", eta, rare), np.linspace(0.5, 2.0, N)
    model = FairRidgeRegressor(0.05, sensitive="s", family="poisson")
    model.fit(frame, y, offset=np.log(exposure))
    expected = model.predict(frame, offset=np.log(exposure))
    assert expected[rare].sum() == pytest.approx(0.5, rel=1e-10)


def test_the_summary_names_levels_and_rows():
    frame, eta, rare = make("z")
    text = str(
        FairRidgeClassifier(sensitive="s")
        .fit(frame, respond("binomial", eta, rare))
        .summary(details=True)
    )
    assert "Isolated rows" in text
    assert "'job[z]'" in text


@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_the_value_with_isolated_rows_is_said(definition):
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    model = FairRidgeClassifier(0.05, sensitive="s", definition=definition).fit(frame, y)
    value = model.unfairness_components_["all_rows"]
    assert 1e-9 < abs(value - model.unfairness_) < 0.02
    if definition == "mean-parity":
        r = np.corrcoef(frame["s"], model.predict_proba(frame)[:, 1])[0, 1]
        assert value == pytest.approx(r**2, rel=1e-9)
    assert "With isolated rows" in str(model.summary(details=True))


@pytest.mark.parametrize("kind", ["binomial", "poisson"])
@pytest.mark.parametrize("definition", [StatisticalParity(measure="deviance"), MeanParity()])
def test_sums_over_isolated_rows_are_added_to_those_known(kind, definition, monkeypatch):
    frame, eta, rare = make("z")
    y = respond(kind, eta, rare)
    options = {"sensitive": "s", "definition": definition}
    model = FairRidgeClassifier(0.05, **options)
    if kind == "poisson":
        model = FairRidgeRegressor(0.05, family="poisson", **options)
    added = model.fit(frame, y).unfairness_components_["all_rows"]
    monkeypatch.setattr(Isolation, "on_all_rows", lambda self, fit: fit.on(self.all_rows))
    again = model.fit(frame, y).unfairness_components_["all_rows"]
    assert added == pytest.approx(again, rel=1e-10)


@pytest.mark.slow
def test_the_report_says_what_became_of_the_bound(tmp_path):
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    options = {"cv": 0, "bootstrap": 0}
    model = FairRidgeClassifier(0.05, sensitive="s").fit(frame, y)
    fairridge.report(model, frame, y, tmp_path / "one.html", **options)
    text = (tmp_path / "one.html").read_text()
    assert re.search(r"11 row\(s\) of \S*job\[z\]\S* are isolated", text)
    assert "void: levels decide the response" not in text
    with pytest.warns(DataWarning, match="separate the responses"):
        model = model.set_params(separation="warn").fit(frame, y)
    fairridge.report(model, frame, y, tmp_path / "two.html", **options)
    assert "void: levels decide the response" in (tmp_path / "two.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "options"),
    [(family, {}) for family in ("binomial", "multinomial", "poisson", "cox")]
    + [("binomial", options) for options in OTHERS.values()],
)
@pytest.mark.parametrize("place", ["0", "True"])
def test_rows_in_files(family, options, place, tmp_path):
    frame, eta, rare = make(place)
    y = respond(family, eta, rare)
    names, data = ["y"], frame.assign(y=y if y.ndim == 1 else 0.0)
    if family == "cox":
        order, names = np.argsort(-y[:, 0]), ["time", "event"]
        data = frame.assign(time=y[:, 0], event=y[:, 1]).iloc[order]
        frame, y = frame.iloc[order], y[order]
    data.to_parquet(tmp_path / "rows.parquet", index=False)
    source = sources.parquet(
        tmp_path / "rows.parquet", response=names, sensitive=["s"], batch_rows=400
    )
    ours = fair(family, 0.05, sensitive=None, **options).fit(source)
    theirs = fair(family, 0.05, **options).fit(frame, y)
    assert ours.isolated_ == theirs.isolated_ == {PLACES[place]: RARE}
    np.testing.assert_allclose(means(ours, frame), means(theirs, frame), rtol=1e-8)
    assert ours.deviance_ == pytest.approx(theirs.deviance_, rel=1e-10)
    assert ours.n_rows_ == N


def test_training_sets_of_cross_validation_isolate_their_own():
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    found = fairridge.cross_validate(
        FairRidgeClassifier(sensitive="s"),
        frame,
        y,
        unfairness=[0.05, 1.0],
        cv=3,
        n_jobs=1,
        random_state=0,
    )
    assert {record["status"] for record in found.records} <= {"converged", "inactive"}
    train = np.arange(N) % 2 == 0
    folds = [(np.flatnonzero(train), np.flatnonzero(~train))]
    model = FairRidgeClassifier(0.05, sensitive="s")
    found = fairridge.cross_validate(model, frame, y, unfairness=[0.05], folds=folds)
    model.fit(frame[train], y[train])
    assert found.records[0]["train_loss"] == pytest.approx(model.deviance_ / train.sum(), rel=1e-9)
    proba = model.predict_proba(frame[~train])
    loss = -2.0 * np.log(proba[np.arange(len(proba)), y[~train]]).mean()
    assert found.records[0]["loss"] == pytest.approx(loss, rel=1e-7)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("kind", [{}, {"controls": ["x"]}, {"blind": True}])
def test_no_certificate_with_isolated_levels(family, kind):
    frame, eta, rare = make()
    model = fair(family, 0.3, definition=StatisticalParity(measure="variance"), **kind)
    y = respond(family, eta, rare)
    with pytest.raises(ValueError, match="levels whose rows all have the same outcome"):
        clone(model).set_params(confidence=0.9).fit(frame, y)
    assert clone(model).fit(frame, y).isolated_ == {"job[z]": RARE}


@pytest.mark.parametrize("kind", [{"controls": ["x"]}, {"blind": True}])
def test_inference_finds_a_model_with_isolated_levels_again(kind):
    frame, eta, rare = make()
    y = respond("binomial", eta, rare)
    model = fair("binomial", 0.3, **kind).fit(frame, y)
    without = fair("binomial", 0.3, **kind).fit(frame[~rare], y[~rare])
    tables = model.inference(frame, y), without.inference(frame[~rare], y[~rare])
    ours, theirs = (found.to_frame().set_index("term")["standard_error"] for found in tables)
    np.testing.assert_allclose(ours[theirs.index], theirs, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:level")
@pytest.mark.parametrize(
    ("family", "definition"),
    [("poisson", "mean-parity"), ("binomial", "mean-odds"), ("multinomial", "mean-parity")],
)
def test_totals_hold_with_isolated_levels(family, definition):
    """The other rows make up for what rows of these levels are given."""
    rng = np.random.default_rng(0)
    n = 1500
    frame = pd.DataFrame({"s": rng.choice(["f", "m"], n), "level": rng.choice(list("abc"), n)})
    frame["x"] = rng.normal(size=n) + (frame["s"] == "m")
    frame.loc[:5, "level"], frame.loc[6:9, "level"] = "z", "y"
    x = frame["x"].to_numpy()
    scores = np.column_stack([0.0 * x, x, -x]) + rng.gumbel(size=(n, 3))
    y = {
        "poisson": rng.poisson(np.exp(0.3 * x - 0.5)).astype(float),
        "binomial": (scores[:, 1] > scores[:, 0]).astype(int),
        "multinomial": scores.argmax(axis=1),
    }[family]
    y[:6], y[6:10] = 0, 0 if family == "poisson" else 1
    model = zoo.model_of(family, 0.01, sensitive=["s"], definition=definition).fit(frame, y)
    assert set(model.isolated_) == {"level[y]", "level[z]"}
    assert model.unfairness_ == pytest.approx(0.01, abs=1e-10)
    if family == "poisson":
        assert model.predict(frame).sum() == pytest.approx(y.sum(), rel=1e-10)
    else:
        found = model.predict_proba(frame)
        np.testing.assert_allclose(found.sum(axis=0), np.bincount(y), rtol=1e-10)
        assert found[:6, 0].mean() == pytest.approx(6.5 / 7.0, rel=1e-9)
