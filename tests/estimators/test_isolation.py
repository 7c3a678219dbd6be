"""Levels whose rows all have one outcome: isolated, warned of, or refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival, report
from fairridge.exceptions import DataWarning
from tests import zoo
from tests.zoo import LateModule

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


@pytest.mark.parametrize("r", [0.05, 1.0])
@pytest.mark.parametrize(
    ("family", "place"), list(zip(FAMILIES, [*PLACES, *PLACES], strict=True)), ids=str
)
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
    text = str(model.summary(details=True))
    assert all(part in text for part in ("Isolated rows", f"'{PLACES[place]}'", "With isolated"))


OTHERS = {
    "blind": {"blind": True},
    "blind means": {"blind": True, "definition": "mean-parity"},
    "a control": {"controls": "job"},
    "another control": {"controls": "x"},
    "means given a control": {"controls": "job", "definition": "mean-parity"},
}


@pytest.mark.parametrize(
    ("kind", "family", "place", "r"),
    [
        ("blind", "binomial", "z", 0.02),
        ("blind", "cox", "False", 1.0),
        ("blind means", "poisson", "0", 0.02),
        ("blind means", "multinomial", "True", 1.0),
        ("a control", "multinomial", "z", 0.02),
        ("a control", "cox", "0", 0.02),
        ("another control", "poisson", "True", 0.02),
        ("means given a control", "binomial", "False", 0.02),
        ("means given a control", "multinomial", "z", 1.0),
    ],
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


# -------------------------------------------------------------- other choices


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
    if reason == "asked":
        page = report(model, frame, y, cv=0, bootstrap=0).html
        assert "void: levels decide the response" in page


# ------------------------------------------------------------- what it touches


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


def test_levels_that_all_have_one_outcome_are_refused_if_asked_for():
    frame, eta, rare = make("z")
    y = respond("binomial", eta, rare)
    model = FairRidgeClassifier(0.05, sensitive="s", separation="error")
    with pytest.raises(ValueError, match=r"'job\[z\]'.*same outcome"):
        model.fit(frame, y)
    model.fit(frame[~rare], y[~rare])
    # Under a penalty on predictors no level decides anything.
    options = {"predictor_penalty": 100.0}
    plain = FairRidgeClassifier(0.05, sensitive="s", **options).fit(frame, y)
    same = model.set_params(**options).fit(frame, y)
    assert (plain.isolated_, same.isolated_, plain.status_) == ({}, {}, "converged")
    np.testing.assert_array_equal(plain.coef_, same.coef_)
    with pytest.raises(ValueError, match="separation='drop'"):
        model.set_params(separation="drop").fit(frame, y)


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


def test_offsets_are_part_of_the_expected_events():
    frame, eta, rare = make("z")
    y, exposure = respond("poisson", eta, rare), np.linspace(0.5, 2.0, N)
    model = FairRidgeRegressor(0.05, sensitive="s", family="poisson")
    model.fit(frame, y, offset=np.log(exposure))
    expected = model.predict(frame, offset=np.log(exposure))
    assert expected[rare].sum() == pytest.approx(0.5, rel=1e-10)
