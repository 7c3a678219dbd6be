"""Watching predictions on new rows."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, Monitor


def rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    s = (rng.random(n) < 0.4).astype(float)
    X = rng.normal(size=(n, 2))
    X[:, 0] += (0.6 + shift) * s
    return np.column_stack([s, X]), 1.0 * s + X @ [1.0, -0.5] + rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return FairRidgeRegressor(0.05, sensitive=[0]).fit(*rows(4000, 0))


def test_wealth_stays_low_while_the_bound_holds(model):
    monitor = Monitor(model)
    state = monitor.update(rows(8000, 1)[0])
    assert state.n_rows == 8000
    assert not state.alarm
    assert 0.0 < state.wealth < 100.0


def test_an_alarm_where_people_have_changed(model):
    monitor = Monitor(model)
    state = monitor.update(rows(6000, 2, shift=2.0)[0])
    assert state.alarm
    assert state.wealth > 100.0


def test_batches_of_any_size_are_one_stream(model):
    Z, _ = rows(501, 3, shift=1.0)
    whole, parts = Monitor(model), Monitor(model)
    expected = whole.update(Z)
    for part in np.array_split(Z, [3, 4, 100, 333]):
        found = parts.update(part)
    assert found == expected


def test_a_saved_state_goes_on_where_it_stopped(model, tmp_path):
    Z, _ = rows(800, 4, shift=1.0)
    whole, first = Monitor(model, 0.1, 0.05), Monitor(model, 0.1, 0.05)
    expected = whole.update(Z)
    first.update(Z[:401])
    first.save(tmp_path / "state.json")
    second = Monitor.load(tmp_path / "state.json", model)
    assert second.update(Z[401:]) == expected
    assert "Monitor(unfairness=0.1, wealth=" in repr(second)


def test_other_files_and_other_models_are_refused(model, tmp_path):
    path = tmp_path / "state.json"
    Monitor(model).save(path)
    other = FairRidgeRegressor(0.05, sensitive=[0]).fit(*rows(500, 9))
    with pytest.raises(ValueError, match="monitor of another model"):
        Monitor.load(path, other)
    text = path.read_text()
    for damaged in ("{}", "[1", text.replace('"Sf": [', '"Sf": [1.0, '), "\x00"):
        path.write_text(damaged)
        with pytest.raises(ValueError, match="is not the state of a fairridge monitor"):
            Monitor.load(path, model)


def test_which_models_can_be_watched():
    Z, y = rows(600, 5)
    classes = FairRidgeClassifier(0.05, sensitive=[0]).fit(Z, y > 0)
    with pytest.raises(ValueError, match="does not bound R² of predicted means"):
        Monitor(classes)
    assert Monitor(classes, 0.05).update(Z).n_rows == 600
    means = FairRidgeClassifier(0.05, sensitive=[0], definition="mean-parity").fit(Z, y > 0)
    assert Monitor(means).unfairness == 0.05
    three = FairRidgeClassifier(0.05, sensitive=[0]).fit(Z, np.digitize(y, [-0.5, 0.5]))
    with pytest.raises(TypeError, match="several classes"):
        Monitor(three, 0.05)
    for probability in (0.0, 1.0, 5, float("nan"), True):
        with pytest.raises(ValueError, match=r"false_alarm=.* between 0 and 1"):
            Monitor(means, false_alarm=probability)


@pytest.mark.slow
def test_false_alarms_are_rare_and_changes_are_found(model):
    quiet = sum(Monitor(model, 0.06, 0.05).update(rows(6000, s)[0]).alarm for s in range(100, 150))
    found = sum(
        Monitor(model, 0.06, 0.05).update(rows(6000, s, shift=1.0)[0]).alarm
        for s in range(200, 220)
    )
    assert quiet / 50 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 50)
    assert found == 20
