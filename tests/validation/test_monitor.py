"""Watching predictions on new rows."""

import json
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairridge import FairRidgeClassifier, FairRidgeRegressor, Monitor
from fairridge.outputs import checksum
from fairridge.validation.betting import (
    LARGEST_LOSS,
    Directions,
    EProcess,
    StreamColumns,
    _gains,
    _largest_losses,
)


def rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    s = (rng.random(n) < 0.4).astype(float)
    X = rng.normal(size=(n, 2))
    X[:, 0] += (0.6 + shift) * s
    return np.column_stack([s, X]), 1.0 * s + X @ [1.0, -0.5] + rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return FairRidgeRegressor(0.05, sensitive=[0]).fit(*rows(4000, 0))


def test_batches_of_any_size_are_one_stream(model):
    Z, _ = rows(501, 3, shift=1.0)
    whole, parts = Monitor(model, shuffle=False), Monitor(model, shuffle=False)
    expected = whole.update(Z)
    for part in np.array_split(Z, [3, 4, 100, 333]):
        found = parts.update(part)
    assert found == expected


def test_states_of_earlier_versions_go_on_in_the_order_of_their_rows(model, tmp_path):
    Z, _ = rows(800, 4, shift=1.0)
    before = Monitor(model, 0.1, 0.05, shuffle=False)
    before.update(Z[:400])
    before.save(tmp_path / "state.json")
    text = json.loads((tmp_path / "state.json").read_text())
    del text["shuffle"]
    (process,) = text.pop("processes")
    text |= {"format": 3, **process}
    (tmp_path / "state.json").write_text(json.dumps(text | {"checksum": checksum(text)}))
    after = Monitor.load(tmp_path / "state.json", model)
    assert not after.shuffle
    assert after.update(Z[400:]) == before.update(Z[400:])


def of_days(rng, common, tie, days=200):
    """Rows of days that have an effect in common, or different people."""
    women = 0.5 + tie * rng.choice([-1, 1], days)
    s = (rng.random((days, 20)) < women[:, None]) * 1.0
    effect = common * rng.normal(size=(days, 1)) + (4.0 * (women - 0.5))[:, None]
    x = rng.normal(size=s.shape) + 0.4 * s * (tie == 0.0) + effect
    return np.column_stack([s.ravel(), x.ravel()])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("common", "tie", "factor"), [(2.0, 0.0, 1.02), (0.5, 0.35, 0.4)], ids=["effect", "people"]
)
def test_days_that_differ_neither_raise_false_alarms_nor_hide_what_they_share(common, tie, factor):
    """Eight rows of one day show another share than rows of all days."""
    Z, y = rows(2000, 0)
    model = FairRidgeRegressor(0.05, sensitive=[0]).fit(Z[:, :2], y)
    many = of_days(np.random.default_rng(9), common, tie, 20_000)
    bound = factor * np.corrcoef(model.predict(many), many[:, 0])[0, 1] ** 2
    alarms = {True: 0, False: 0}
    for shuffle in alarms:
        for seed in range(40):
            watch = Monitor(model, bound, 0.1, shuffle=shuffle)
            for part in np.array_split(of_days(np.random.default_rng(seed), common, tie), 4):
                state = watch.update(part)
            alarms[shuffle] += state.alarm
    holds = factor > 1.0
    assert alarms[True] <= 9 if holds else alarms[True] >= 38
    assert alarms[False] >= 12 if holds else alarms[False] <= 2


def test_too_few_rows_to_shuffle_are_refused(model):
    Z, _ = rows(20, 4)
    with pytest.raises(ValueError, match=r"an update of 1 row cannot be shuffled: pass at least 8"):
        Monitor(model).update(Z[:1])
    assert Monitor(model, shuffle=False).update(Z[:1]).n_rows == 1


# ---------------------------------------------------------------------- what is watched


def classes(n, seed, shift=0.0):
    Z, y = rows(n, seed, shift)
    rng = np.random.default_rng(seed + 10_000)
    frame = pd.DataFrame({"s": np.where(Z[:, 0] > 0, "a", "b"), "x": Z[:, 1], "c": Z[:, 2]})
    return frame, np.where(y + rng.normal(size=n) > 0.5, "yes", "no")


def test_what_bounds_no_variance_is_watched_for_a_given_bound_only():
    X, y = classes(600, 0)
    model = FairRidgeClassifier(0.05, sensitive=["s"]).fit(X, y)
    with pytest.raises(ValueError, match="does not bound R² of predicted means"):
        Monitor(model)
    for wrong in (0.0, 5, True):
        with pytest.raises(ValueError, match=r"false_alarm=.* between 0 and 1"):
            Monitor(model, 0.1, false_alarm=wrong)
    words = "share of the variance of the predicted probabilities due to s"
    assert Monitor(model, 0.1).watches == words


def test_mean_opportunity_is_watched_among_rows_of_the_class():
    """Other rows change nothing, and depend on S by more than the bound in training already."""
    X, y = classes(4000, 0)
    model = FairRidgeClassifier(0.002, sensitive=["s"], definition="mean-opportunity").fit(X, y)
    X, y = classes(20_000, 1)
    monitor, among = Monitor(model), Monitor(model)
    found = monitor.update(X, y=y)
    assert not found.alarm
    assert found.n_rows == 20_000
    assert among.update(X[y == "yes"], y=y[y == "yes"]).wealth == found.wealth
    with pytest.raises(ValueError, match=r"among people of class yes.*Pass y, once it is known"):
        monitor.update(X)
    with pytest.raises(ValueError, match=r"y has the label 'maybe', which is not a class"):
        monitor.update(X[:2], y=["maybe", "yes"])


def three_classes(n, seed, shift=0.0):
    Z, y = rows(n, seed, shift)
    return Z, np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.8])]


@pytest.mark.parametrize(
    ("definition", "n_classes"),
    [("mean-parity", 3), ("mean-odds", 2), ("mean-opportunity", 3)],
)
def test_several_scores_are_watched_together(definition, n_classes):
    """On new rows shares are up to 0.056; a smaller bound raises an alarm."""
    Z, y = three_classes(4000, 0)
    y = np.where(y == "c", "b", y) if n_classes == 2 else y
    model = FairRidgeClassifier(0.05, sensitive=[0], definition=definition).fit(Z, y)
    Z, y = three_classes(24_000, 1)
    y = np.where(y == "c", "b", y) if n_classes == 2 else y
    monitor, strict = Monitor(model, 0.1), Monitor(model, 0.01)
    assert not monitor.update(Z, y=y).alarm
    assert strict.update(Z, y=y).alarm


def test_probabilities_of_several_classes_have_exact_guarantees():
    """Losses have limits if S is categorical and scores are probabilities."""
    rng = np.random.default_rng(0)
    s, x = np.where(rng.random(6000) < 0.4, "f", "m"), rng.normal(size=6000)
    X = pd.DataFrame({"s": s, "x": x + 0.5 * (s == "m")})
    y = np.digitize(X["x"] + rng.normal(size=6000), [-0.5, 0.8])
    model = FairRidgeClassifier(0.02, sensitive="s", definition="mean-parity").fit(X, y)
    other = LogisticRegression().fit(X[["x"]], y)
    monitors = [Monitor(model), Monitor(other, 0.02, X=X[["x"]], sensitive_features=X[["s"]])]
    for monitor, given in zip(monitors, [(X,), (X[["x"]], X[["s"]])], strict=True):
        assert monitor._streams[0].columns.limited
        state = monitor.update(*given)
        assert state.n_surprises == 0
        assert state.alarm == (monitor is monitors[1])


def given_controls(n, seed, gap=0.0):
    """S and the score depend on c, and the score on S beyond that by a gap."""
    rng = np.random.default_rng(seed)
    c = rng.normal(size=n)
    s = (rng.random(n) < 1 / (1 + np.exp(-2.0 * c))).astype(float)
    x = rng.normal(size=n) + gap * s
    return pd.DataFrame({"s": s, "c": c, "x": x}), 2.0 * c + x + rng.normal(size=n)


def test_a_partial_share_is_watched_given_controls():
    model = FairRidgeRegressor(0.02, sensitive=["s"], controls=["c"])
    model.fit(*given_controls(4000, 0))
    state = Monitor(model).update(given_controls(20_000, 1)[0])
    assert not state.alarm
    # What S explains without regard to c is far beyond the bound.
    X = given_controls(20_000, 1)[0]
    assert np.corrcoef(model.predict(X), X["s"])[0, 1] ** 2 > 0.2
    assert Monitor(model).update(given_controls(20_000, 1, gap=1.0)[0]).alarm


def lognormal(n, seed, gap):
    rng = np.random.default_rng(seed)
    s = (rng.random(n) < 0.4).astype(float)
    return np.column_stack([s, np.exp(rng.normal(size=n) + gap * s)])


# g for R² of exp(z + gs) on s: what groups explain of a mixture of two lognormals.
GAPS = {0.03: 0.46973, 0.12: 1.1182}


@pytest.fixture(scope="module")
def identity():
    """A model whose predictions are its predictor, whatever the bound."""
    Z = np.random.default_rng(0).normal(size=(4000, 2))
    return FairRidgeRegressor(1.0, sensitive=[0]).fit(Z, Z[:, 1])


@pytest.mark.slow
def test_heavy_tails_do_not_raise_alarms(identity):
    """R² of .03 under a bound of .05: that of values cut at four deviations is larger."""
    for seed in range(4):
        Z = lognormal(40_000, seed, GAPS[0.03])
        assert not Monitor(identity, 0.05, 0.05).update(Z).alarm
    assert Monitor(identity, 0.05, 0.05).update(lognormal(10_000, 0, GAPS[0.12])).alarm


def test_a_change_is_found_after_a_long_quiet_time(model):
    """10,000 rows under the bound; gamblers who start at the change need less than 5,000."""
    monitor = Monitor(model, 0.05)
    assert not monitor.update(rows(10_000, 0)[0]).alarm
    assert monitor.update(rows(5000, 100, shift=0.8)[0]).alarm


# ---------------------------------------------------------------------- weights


def test_rows_of_weight_zero_are_absent(model):
    Z, _ = rows(900, 6, shift=1.0)
    weight = np.ones(900)
    weight[::3] = 0.0
    weighted, fewer = Monitor(model), Monitor(model)
    assert weighted.update(Z, sample_weight=weight) == fewer.update(Z[weight > 0])
    assert fewer.state.n_rows == 600


def test_weights_stand_for_the_population(model):
    """Half of the rows come from a group that is watched with a tenth of its weight."""
    calm, shifted = rows(8000, 7)[0], rows(8000, 8, shift=2.0)[0]
    Z = np.stack([calm, shifted], axis=1).reshape(16_000, 3)
    weight = np.tile([1.0, 0.01], 8000)
    assert Monitor(model, 0.07).update(Z).alarm
    assert not Monitor(model, 0.07).update(Z, sample_weight=weight).alarm


def test_numbers_whose_squares_overflow_are_refused(model):
    Z, _ = rows(20, 0)
    monitor = Monitor(model)
    with pytest.raises(ValueError, match="divide the weights by their mean"):
        monitor.update(Z, sample_weight=np.full(20, 1e100))
    Z[7, 1] = 1e200
    with pytest.raises(ValueError, match=r"row 7 is more than 1e\+60 standard deviations"):
        monitor.update(Z)
    assert monitor.state.n_rows == 0


# ---------------------------------------------------------------------- bets


def test_the_expectation_of_a_bet_is_known():
    """All 4⁸ samples of eight rows from four kinds of people, each with its probability."""
    kinds = np.array([[0.0, 0.2], [0.0, 0.6], [1.0, 0.3], [1.0, 0.9]])
    chance = np.array([0.4, 0.3, 0.1, 0.2])
    mean = chance @ kinds
    covariance = (kinds - mean).T @ (chance[:, None] * (kinds - mean))
    there = Directions(np.array([[[1.3, 0.0]]]), np.array([[[0.0, 2.0]]]))
    which = np.array(list(product(range(4), repeat=8)))
    sample = kinds[which]
    centered = sample - sample.mean(axis=1, keepdims=True)
    scatters = np.einsum("bmi,bmj->bij", centered, centered)
    gains = _gains(there, scatters, 0.09)[:, 0]
    expected = 7.0 * (
        1.3 * 2.0 * covariance[0, 1] - 0.15 * (1.69 * covariance[0, 0] + 4.0 * covariance[1, 1])
    )
    assert chance[which].prod(axis=1) @ gains == pytest.approx(expected, rel=1e-10)
    # ... and no sample loses more than the limit by which stakes are chosen.
    columns = StreamColumns(0, (slice(0, 1),), np.ones(2))
    process = EProcess.new(2)
    assert -gains.min() <= LARGEST_LOSS * _largest_losses(process, columns, there, 0.09)[0]


@pytest.mark.slow
def test_false_alarms_are_rare_and_changes_are_found(model):
    quiet = sum(Monitor(model, 0.06, 0.05).update(rows(6000, s)[0]).alarm for s in range(100, 150))
    found = sum(
        Monitor(model, 0.06, 0.05).update(rows(6000, s, shift=1.0)[0]).alarm
        for s in range(200, 210)
    )
    assert quiet / 50 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 50)
    assert found == 10


def test_a_damaged_state_and_one_of_another_version_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 3))
    model = FairRidgeRegressor(0.05, sensitive=[0]).fit(Z, Z.sum(axis=1))
    monitor = Monitor(model)
    monitor.update(Z[:30])
    path = tmp_path / "state.json"
    monitor.save(path)
    good = json.loads(path.read_text())
    assert Monitor.load(path, model).state == monitor.state
    changes = [(key, value) for key in good for value in (None, "x", 10**400)]
    for text in [*(json.dumps(good | {key: value}) for key, value in changes), "{}", "[1", "\x00"]:
        path.write_text(text)
        with pytest.raises(ValueError, match=re.escape(repr(str(path)))):
            Monitor.load(path, model)
    text = json.dumps(good)
    path.write_text(text.replace('"worst": [', '"worst": [1.0, '))
    with pytest.raises(ValueError, match="its checksum does not match"):
        Monitor.load(path, model)
    path.write_text(text.replace('"format": 5, ', ""))
    with pytest.raises(ValueError, match=r"another version of fairridge.*begin another state"):
        Monitor.load(path, model)


# ------------------------------------------------------------ models of any library


def named_rows(n, seed, shift=0.0):
    Z, y = rows(n, seed, shift)
    frame = pd.DataFrame(Z[:, 1:], columns=["skill", "age"])
    return frame, pd.DataFrame({"sex": np.where(Z[:, 0] > 0, "m", "f")}), y


def test_a_pipeline_is_watched_as_its_last_step_is(model):
    pipeline = make_pipeline(StandardScaler(), FairRidgeRegressor(0.05, sensitive=[0]))
    pipeline.fit(*rows(4000, 0))
    Z, _ = rows(600, 3, shift=1.0)
    own, found = Monitor(model).update(Z), Monitor(pipeline).update(Z)
    assert found.wealth == pytest.approx(own.wealth, rel=1e-6)
    assert Monitor(pipeline).unfairness == 0.05


def test_other_models_are_watched_like_ours():
    """Least squares is the fair model without a bound."""
    X, S, y = named_rows(4000, 0)
    both = X.assign(sex=(S["sex"] == "m") * 1.0)
    theirs = LinearRegression().fit(both, y)
    ours = FairRidgeRegressor(1.0).fit(X, y, sensitive_features=S)
    new, groups, _ = named_rows(3000, 5)
    for r, alarm in ((0.5, False), (0.1, True)):
        watched = Monitor(theirs, r, X=both, sensitive_features=S)
        state = watched.update(new.assign(sex=(groups["sex"] == "m") * 1.0), groups)
        own = Monitor(ours, r).update(new, groups)
        assert state.alarm == own.alarm == alarm
        assert np.log(state.wealth) == pytest.approx(np.log(own.wealth), rel=0.05, abs=0.05)
    assert watched.watches == "share of the variance of the predictions due to sex"


def test_the_state_of_another_model_is_saved_and_found_again(tmp_path):
    X, S, y = named_rows(1000, 0)
    plain, earlier = LinearRegression().fit(X, y), {"X": X, "sensitive_features": S}
    monitor = Monitor(plain, 0.2, **earlier)
    new, groups, _ = named_rows(800, 5)
    monitor.update(new[:500], groups[:500])
    monitor.save(tmp_path / "state.json")
    loaded = Monitor.load(tmp_path / "state.json", plain, **earlier)
    # Columns of S are found by their names.
    shuffled = groups.assign(other=1.0)[["other", "sex"]]
    assert loaded.update(new[500:], shuffled[500:]) == monitor.update(new[500:], groups[500:])
    changed = LinearRegression().fit(X, y + X["age"])
    with pytest.raises(ValueError, match="monitor of another model"):
        Monitor.load(tmp_path / "state.json", changed, **earlier)


def test_what_other_models_need():
    X, S, y = named_rows(300, 0)
    plain = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="bounds nothing; give the bound to watch as unfairness"):
        Monitor(plain, X=X, sensitive_features=S)
    with pytest.raises(ValueError, match=r"earlier rows; pass some as X and sensitive_features"):
        Monitor(plain, 0.1)
    monitor = Monitor(plain, 0.1, X=X, sensitive_features=S)
    with pytest.raises(ValueError, match="needs sensitive_features"):
        monitor.update(X)
    with pytest.raises(ValueError, match="lacks the column 'sex'"):
        monitor.update(X, S.rename(columns={"sex": "gender"}))
    with pytest.raises(ValueError, match="has 2 columns, and had 1 before"):
        monitor.update(X, np.column_stack([S, S]))
    with pytest.raises(ValueError, match="'d'"):
        monitor.update(X, S.assign(sex="d"))
    with pytest.raises(TypeError, match="no linear predictor that an offset"):
        monitor.update(X, S, offset=y)


@pytest.fixture(scope="module")
def of_attributes():
    """A model with a bound for each of two attributes, and new rows that differ in one of them."""

    def people(n, seed, shift=0.0):
        rng = np.random.default_rng(seed)
        s, t = (rng.random((2, n)) < 0.4).astype(float)
        x = rng.normal(size=n) + 0.6 * s + shift * t
        frame = pd.DataFrame({"s": s, "t": t, "x": x})
        return frame, x + s + rng.normal(size=n)

    X, y = people(4000, 0)
    model = FairRidgeRegressor(
        {"s": 0.05, "t": 0.02}, sensitive=["s", "t"], definition="mean-parity"
    )
    return model.fit(X, y), people


def test_bounds_of_attributes_are_watched_together(of_attributes):
    model, people = of_attributes
    same, other = Monitor(model, shuffle=False), Monitor(model, shuffle=False)
    assert same.unfairness == {"s": 0.05, "t": 0.02}
    assert same.watches == (
        "share of the variance of the predictions due to s; "
        "share of the variance of the predictions due to t"
    )
    X, shifted = people(8000, 1)[0], people(8000, 2, shift=1.5)[0]
    assert not same.update(X).alarm
    assert other.update(shifted).alarm
    # Each process has the wealth of a monitor of its attribute alone, and half of the stake.
    of_s, of_t = (process.log_wealth - np.log(2.0) for process in other._processes)
    assert of_t > of_s
    assert other.state.wealth == pytest.approx(np.exp(of_t))
