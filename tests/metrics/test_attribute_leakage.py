"""How well predictors tell the sensitive attributes, where the answer is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.metrics.attribution import ALL

N, AREAS = 4000, 500


@pytest.fixture(scope="module")
def people():
    """500 areas with 0 or 1 of one race, mostly; a number 1 apart; nothing; a copy of age."""
    rng = np.random.default_rng(61)
    area = rng.integers(0, AREAS, N)
    mostly = rng.beta(0.3, 0.3, AREAS)
    race = np.where(rng.random(N) < mostly[area], "b", "w")
    frame = pd.DataFrame(
        {
            "race": race,
            "age": rng.normal(40.0, 10.0, N),
            "zip": [f"{10_000 + k}" for k in area],
            "score": rng.normal(size=N) + (race == "w"),
            "noise": rng.normal(size=N),
        }
    )
    frame["old"] = frame["age"] + rng.normal(0.0, 10.0, N)
    y = frame["score"] + frame["noise"] + 0.02 * frame["age"] + rng.normal(size=N)
    model = FairRidgeRegressor(0.05, sensitive=["race", "age"]).fit(frame, y)
    return model, frame, mostly[area]


@pytest.fixture(scope="module")
def telling(people):
    model, frame, _ = people
    return fairridge.proxies(model, frame).telling


def value(telling, predictor, attribute):
    return telling.values[telling.predictors.index(predictor), telling.attributes.index(attribute)]


@pytest.mark.slow
def test_known_dependences_are_found(telling):
    assert telling.predictors == ("zip", "score", "noise", "old", ALL)
    assert (telling.attributes, telling.measures) == (("race", "age"), ("AUC", "R²"))
    assert list(telling.to_frame()) == ["predictor", "tells race (AUC)", "tells age (R²)"]
    # Numbers one apart have the area of two normals, and a noisy copy half of the variance.
    area = norm.cdf(1.0 / np.sqrt(2.0))
    assert value(telling, "score", "race") == pytest.approx(area, abs=0.015)
    assert value(telling, "old", "age") == pytest.approx(0.5, abs=0.03)
    assert value(telling, "noise", "race") == pytest.approx(0.5, abs=0.03)
    assert value(telling, "noise", "age") == pytest.approx(0.0, abs=0.01)
    assert value(telling, "zip", "age") == pytest.approx(0.0, abs=0.02)


def test_500_levels_show(people, telling):
    from sklearn.metrics import roc_auc_score

    _, frame, known = people
    best = roc_auc_score(frame["race"] == "b", known)  # of somebody who knows every area
    assert best - 0.04 < value(telling, "zip", "race") < best
    assert value(telling, ALL, "race") > value(telling, "zip", "race")


@pytest.mark.slow
def test_the_table_of_terms_has_both_directions(people):
    model, frame, _ = people
    found = fairridge.proxies(model, frame, n_folds=2)
    table = found.to_frame()
    assert "tells race (AUC)" in table
    assert np.isnan(table["tells race (AUC)"].iloc[-1])
    assert len(table) == 5
    assert "tells race (AUC)" not in fairridge.proxies(model).to_frame()


def test_more_levels_than_two():
    rng = np.random.default_rng(62)
    group = rng.choice(["a", "b", "c"], 600)
    frame = pd.DataFrame({"group": group, "x": rng.normal(size=600) + 3.0 * (group == "c")})
    y = np.where(rng.random(600) < 0.5, "yes", "no")
    model = FairRidgeClassifier(0.05, sensitive=["group"]).fit(frame, y)
    found = fairridge.proxies(model, frame).telling
    # Of c against the others 0.98, of a and b against the others 0.74 each.
    assert found.values[0, 0] == pytest.approx((0.983 + 2 * 0.742) / 3, abs=0.03)


def test_attributes_apart_and_rows_of_one_kind():
    rng = np.random.default_rng(63)
    X, S = rng.normal(size=(80, 2)), rng.normal(size=(80, 1))
    model = FairRidgeRegressor(0.1).fit(X, X.sum(axis=1) + S[:, 0], sensitive_features=S)
    found = fairridge.proxies(model, X, sensitive_features=S).telling
    assert found.predictors == ("x0", "x1", ALL)
    assert np.isnan(fairridge.proxies(model, X, sensitive_features=0 * S).telling.values).all()


def test_bad_rows_and_folds_are_named(people):
    model, frame, _ = people
    with pytest.raises(ValueError, match="n_folds=1 must be a whole number, at least 2"):
        fairridge.proxies(model, frame, n_folds=1)
    # A number that was never missing may not be missing now.
    with pytest.raises(ValueError, match="'score'"):
        fairridge.proxies(model, frame.assign(score=np.nan))


@pytest.mark.slow
def test_missing_values_tell_and_are_told(people):
    """A number that is missing for one race says who is of that race."""
    _, frame, _ = people
    rng = np.random.default_rng(0)
    noise = frame["noise"].where(frame["race"] == "w", np.nan)
    frame = frame.assign(noise=noise, age=frame["age"].where(rng.random(N) < 0.9))
    frame["race"] = frame["race"].astype(object).where(rng.random(N) < 0.9, None)
    y = frame["score"] + rng.normal(size=N)
    model = FairRidgeRegressor(0.05, sensitive=["race", "age"], missing="level").fit(frame, y)
    found = fairridge.proxies(model, frame[["race", "age", "noise", "old", "zip", "score"]])
    table = found.telling.to_frame().set_index("predictor")
    # Of those whose race is known all are told, and of those whose race is missing none.
    assert table.loc["noise", "tells race (AUC)"] > 0.85
    known = frame["age"].notna()
    r = np.corrcoef(frame["age"][known], frame["old"][known])[0, 1]
    assert table.loc["old", "tells age (R²)"] == pytest.approx(r**2, abs=0.01)


@pytest.mark.slow
def test_weights_count_and_rows_of_weight_zero_are_absent():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.normal(size=300)})
    half = np.arange(300) < 150
    frame["x"] = np.where(half, frame["age"], 0.0) + 0.5 * rng.normal(size=300)
    y = frame["x"] + rng.normal(size=300)
    model = FairRidgeRegressor(0.5, sensitive=["sex", "age"]).fit(frame, y)
    plain = fairridge.proxies(model, frame).telling.values
    same = fairridge.proxies(model, frame, sample_weight=np.full(300, 2.0)).telling.values
    np.testing.assert_allclose(same, plain, atol=1e-12)
    known = fairridge.proxies(model, frame, sample_weight=half.astype(float)).telling.values
    alone = fairridge.proxies(model, frame[half]).telling.values
    np.testing.assert_allclose(known, alone, atol=1e-12)
    more = fairridge.proxies(model, frame, sample_weight=np.where(half, 5.0, 1.0)).telling.values
    assert plain[0, 1] < more[0, 1] < known[0, 1]
