"""Predictions moved to the Wasserstein barycenter of the groups."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from fairridge import BarycenterRegressor
from fairridge.peers.barycenter.transport import barycenter_maps

SENSITIVE = ["sex", "race"]


def workers(n=300, seed=1):
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n)
    skill = rng.normal(size=n) * np.where(sex == "m", 2.0, 1.0) + 0.8 * (sex == "m")
    y = 2 * skill + 1.5 * (sex == "m") + (race == "b") + rng.normal(size=n)
    return pd.DataFrame({"sex": sex, "race": race, "skill": skill}), y


@pytest.fixture(scope="module")
def data():
    return workers()


def apart(one, other):
    """Kolmogorov–Smirnov distance, rounding apart."""
    one, other = np.sort(one.round(10)), np.sort(other.round(10))
    places = np.concatenate([one, other])
    shares = [np.searchsorted(part, places, side="right") / len(part) for part in (one, other)]
    return np.abs(shares[0] - shares[1]).max()


def members(frame):
    labels = "sex=" + frame["sex"] + ", race=" + frame["race"]
    return [np.flatnonzero(labels == label) for label in sorted(labels.unique())]


def moved(values, codes, weight=None):
    weight = np.ones(len(values)) if weight is None else weight
    maps = barycenter_maps(values, codes, weight, codes.max() + 1)
    return np.array([maps[g](v) for g, v in zip(codes, values, strict=True)])


# ----------------------------------------------------------------------------- the maps


@st.composite
def predictions(draw):
    n_groups = draw(st.integers(1, 4))
    sizes = [draw(st.integers(1, 12)) for _ in range(n_groups)]
    codes = np.repeat(np.arange(n_groups), sizes)
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    values = rng.normal(size=len(codes)) * 3.0 + codes
    return np.round(values, draw(st.sampled_from([0, 6]))), codes, rng.integers(1, 4, len(codes))


@given(predictions())
def test_every_atom_goes_to_the_mean_of_the_average_quantile_function(case):
    values, codes, weight = case
    found = moved(values, codes, weight.astype(float))
    # Direct: repeat rows to a common number of steps, and average the sorted values.
    sizes = [int(weight[codes == g].sum()) for g in range(codes.max() + 1)]
    steps = np.lcm.reduce(sizes)
    share = np.array(sizes) / sum(sizes)
    average = np.zeros(steps)
    for g, size in enumerate(sizes):
        column = np.sort(np.repeat(values[codes == g], weight[codes == g]))
        average += share[g] * np.repeat(column, steps // size)
    for g, size in enumerate(sizes):
        column = np.sort(np.repeat(values[codes == g], weight[codes == g]))
        means = average.reshape(size, -1).mean(axis=1)
        for value in np.unique(column):
            expected = means[column == value].mean()
            inside = (codes == g) & (values == value)
            np.testing.assert_allclose(found[inside], expected, rtol=1e-10, atol=1e-10)


def test_rounding_does_not_untie():
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1], 20)
    values = np.round(rng.normal(size=40), 1) + codes
    noise = values * (1.0 + 1e-15 * rng.integers(-2, 3, 40))
    np.testing.assert_allclose(moved(noise, codes), moved(values, codes), rtol=1e-9, atol=1e-12)


def test_new_predictions_are_interpolated_and_end_where_training_ended():
    codes = np.array([0, 0, 0, 1, 1, 1])
    maps = barycenter_maps(np.array([1.0, 2.0, 3.0, 20.0, 30.0, 40.0]), codes, np.ones(6), 2)
    np.testing.assert_allclose(
        maps[0](np.array([1.5, 0.0, 99.0])), [(10.5 + 16.0) / 2, 10.5, 21.5], rtol=1e-12
    )


# ---------------------------------------------------------------------------- the model


def test_at_zero_the_groups_are_alike(data):
    frame, y = data
    model = BarycenterRegressor(0.0, sensitive=SENSITIVE).fit(frame, y)
    predicted = model.predict(frame)
    groups = [predicted[rows] for rows in members(frame)]
    for one in groups:
        assert one.mean() == pytest.approx(predicted.mean(), rel=1e-10)
        for other in groups:
            assert apart(one, other) <= 1 / len(one) + 1 / len(other)
    assert model.unfairness_components_["explained_by_groups"] == pytest.approx(0.0, abs=1e-12)
    plain = LinearRegression().fit(pd.get_dummies(frame, dtype=float), y)
    base = plain.predict(pd.get_dummies(frame, dtype=float))
    assert max(apart(base[a], base[b]) for a in members(frame) for b in members(frame)) > 0.5


def test_at_one_it_is_the_regression(data):
    frame, y = data
    model = BarycenterRegressor(1.0, sensitive=SENSITIVE).fit(frame, y)
    dummies = pd.get_dummies(frame, dtype=float)
    expected = LinearRegression().fit(dummies, y).predict(dummies)
    np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-10)
    assert model.status_ == "inactive"
    assert model.training_score_ == pytest.approx(model.score(frame, y), rel=1e-12)


def test_in_between_it_keeps_the_share_of_unfairness(data):
    frame, y = data
    path = BarycenterRegressor(sensitive=SENSITIVE).path(frame, y, unfairness=[0.0, 0.09, 0.5, 1])
    fair, some, half, plain = (path.at(r).predict(frame) for r in (0.0, 0.09, 0.5, 1.0))
    np.testing.assert_allclose(some, 0.3 * plain + 0.7 * fair, rtol=1e-12, atol=1e-12)
    U = [np.mean((values - fair) ** 2) for values in (some, half, plain)]
    assert U[0] / U[2] == pytest.approx(0.09, rel=1e-10)
    assert U[1] / U[2] == pytest.approx(0.5, rel=1e-10)
    np.testing.assert_allclose(path.achieved, [0.0, 0.09, 0.5, 1.0], atol=1e-12)
    assert (np.diff(path.score) > 0).all()
    assert (np.diff(path.components["explained_by_groups"]) > 0).all()
    np.testing.assert_allclose(path.components["wasserstein"], [0.0, *U], rtol=1e-9)


def test_weights_need_a_regression_that_takes_them(data):
    frame, y = data
    model = BarycenterRegressor(sensitive=SENSITIVE, estimator=KNeighborsRegressor())
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        model.fit(frame, y, sample_weight=np.ones(len(y)))


def test_a_split_keeps_the_two_parts_apart(data):
    frame, y = data
    model = BarycenterRegressor(0.0, sensitive=SENSITIVE, split=0.5, random_state=0).fit(frame, y)
    used = sum(len(transport.support) for transport in model.maps_)
    sizes = [len(rows) for rows in members(frame)]
    assert used == sum(size - round(0.5 * size) for size in sizes)
    again = BarycenterRegressor(0.0, sensitive=SENSITIVE, split=0.5, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    other = BarycenterRegressor(0.0, sensitive=SENSITIVE, split=0.5, random_state=1).fit(frame, y)
    assert np.abs(other.predict(frame) - model.predict(frame)).max() > 1e-3


@pytest.mark.parametrize("split", [1.0, True, "half"])
def test_a_bad_split_is_named(data, split):
    with pytest.raises(ValueError, match="split="):
        BarycenterRegressor(sensitive=SENSITIVE, split=split).fit(*data)


def test_a_group_that_was_not_there_is_an_error(data):
    frame, y = data
    seen = ~((frame["sex"] == "f") & (frame["race"] == "c"))
    model = BarycenterRegressor(sensitive=SENSITIVE).fit(frame[seen], y[seen])
    assert len(model.groups_) == 5
    with pytest.raises(ValueError, match=r"group sex=f, race=c was not there at fit.*sex=m, race"):
        model.predict(frame)
    with pytest.raises(ValueError, match="'race' has the level 'z'"):
        model.predict(frame.assign(race="z"))
    model.set_params(unknown="base", unfairness=0.0).fit(frame[seen], y[seen])
    first = model.maps_[0]
    assert model.groups_[0] == "sex=f, race=a"
    np.testing.assert_array_equal(
        model.predict(frame[seen]), model.set_params(unknown="error").predict(frame[seen])
    )
    model.set_params(unknown="base")
    found = model.predict(frame)[~seen]
    assert (found >= first.image.min()).all()
    assert (found <= first.image.max()).all()
    numbers = np.column_stack([np.tile([0, 1], 20), np.arange(40.0)])
    coded = BarycenterRegressor(sensitive=[0]).fit(numbers, np.arange(40.0))
    with pytest.raises(ValueError, match="group x0=2 was not there at fit"):
        coded.predict([[2, 1.0]])


def test_labels_follow_the_base_level(data):
    frame, y = data
    frame = frame.assign(race=pd.Categorical(frame["race"], ["b", "c", "z", "a"]))
    model = BarycenterRegressor(sensitive="race").fit(frame, y)
    rows = dict(zip(model.groups_, model.summary().to_frame()["rows"], strict=True))
    expected = frame["race"].value_counts()
    assert rows == {f"race={level}": expected[level] for level in "abc"}
    half = pd.DataFrame({"s": [0.0, 1.0, np.nan] * 20, "x": np.arange(60.0)})
    model = BarycenterRegressor(sensitive="s", missing="level").fit(half, half["x"])
    assert model.groups_.tolist() == ["s=0", "s=(missing)", "s=1"]


def test_the_summary_has_a_row_for_each_group(data):
    frame, y = data
    table = BarycenterRegressor(0.0, sensitive="sex").fit(frame, y).summary().to_frame()
    assert table["group"].tolist() == ["sex=f", "sex=m"]
    assert table["share"].sum() == pytest.approx(1.0)
    assert table["mean"].tolist() == pytest.approx([y.mean()] * 2)
    # Least squares with the attribute reproduces the means of its groups.
    by_group = [y[frame["sex"] == "f"].mean(), y[frame["sex"] == "m"].mean()]
    assert table["plain_mean"].tolist() == pytest.approx(by_group)


def test_there_is_no_offset(data):
    frame, y = data
    model = BarycenterRegressor(sensitive="sex").fit(frame, y)
    with pytest.raises(ValueError, match="takes no offset"):
        model.predict(frame, offset=np.ones(len(y)))


def test_groups_that_differ_by_rounding_only_do_not_differ(data):
    frame, _ = data
    model = BarycenterRegressor(0.05, sensitive="sex").fit(frame, np.full(len(frame), 1 / 3))
    assert model.unfairness_ == 0.0
    assert model.status_ == "inactive"
