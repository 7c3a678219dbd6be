"""Attributions and proxies of a model with controls are of what the controls leave."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, attribution, load, proxies, save


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(0), 1_000
    level = rng.integers(1, 6, n)
    sex = np.where(rng.random(n) < 0.3 + 0.08 * level, "m", "f")
    X = pd.DataFrame(
        {
            "level": level,
            "sex": sex,
            "race": rng.choice(list("abc"), n),
            "hours": rng.normal(size=n) + 0.5 * (sex == "m"),
            "site": rng.choice(["north", "south", "west"], n),
        }
    )
    eta = 0.3 * level + 0.4 * (sex == "m") + 0.3 * X["hours"] + 0.5 * (X["site"] == "west")
    return X, eta + 0.5 * rng.normal(size=n), rng.uniform(0.5, 2.0, n)


def residuals(columns, controls, weight):
    root = np.sqrt(weight)[:, None]
    C = np.column_stack([np.ones(len(controls)), controls]) * root
    return (columns * root - C @ np.linalg.lstsq(C, columns * root, rcond=None)[0]) / root


def explained(values, columns, weight):
    """R² of each column of values on columns, all centered."""
    root = np.sqrt(weight)[:, None]
    fitted = columns @ np.linalg.lstsq(columns * root, values * root, rcond=None)[0]
    return (weight @ fitted**2) / (weight @ values**2)


def test_what_is_attributed_is_what_is_bounded(people, tmp_path):
    X, y, weight = people
    model = FairRidgeRegressor(0.02, sensitive=["sex", "race"], controls="level")
    model.fit(X, y, sample_weight=weight)
    found = attribution(model)
    assert found.total == pytest.approx(model.unfairness_, abs=1e-10)
    assert found.shares.sum() == pytest.approx(found.total, abs=1e-12)
    everyone = attribution(model, controls=())
    assert everyone.total == pytest.approx(model.dependence_["share_of_eta"], abs=1e-10)
    # Alone: the R² of what the control leaves of the predictions.
    C = X[["level"]].to_numpy(float)
    left = residuals(model.predict(X)[:, None], C, weight)
    sex = residuals((X[["sex"]] == "m").to_numpy(float), C, weight)
    assert found.alone[0] == pytest.approx(explained(left, sex, weight)[0], rel=1e-8)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_allclose(attribution(again).shares, found.shares, rtol=1e-12)
    np.testing.assert_allclose(proxies(again).explained, proxies(model).explained, rtol=1e-12)


def test_a_control_is_no_proxy(people):
    X, y, weight = people
    model = FairRidgeRegressor(0.02, sensitive=["sex", "race"], controls="level")
    model.fit(X, y, sample_weight=weight)
    found, everyone = proxies(model, X), proxies(model, controls=())
    assert found.predictors == ("hours", "site")
    assert everyone.predictors == ("level", "hours", "site")
    assert list(found.telling.predictors)[:2] == ["hours", "site"]
    C = X[["level"]].to_numpy(float)
    S = residuals(pd.get_dummies(X[["sex", "race"]]).to_numpy(float)[:, [1, 3, 4]], C, weight)
    hours = residuals(X[["hours"]].to_numpy(float), C, weight)
    assert found.explained[0] == pytest.approx(explained(hours, S, weight)[0], rel=1e-8)
    np.testing.assert_allclose(found.entering.sum(axis=1) - found.entering[:, -1], 1.0)


def test_of_three_classes(people):
    X, y, _ = people
    classes = np.array(["lo", "mid", "hi"])[np.digitize(y, [0.5, 1.5])]
    model = FairRidgeClassifier(0.02, sensitive="sex", controls=["level", "site"])
    found = proxies(model.fit(X.drop(columns="race"), classes))
    assert found.predictors == ("hours",)
    assert found.labels == ("hi", "lo", "mid")


def test_crossed_attributes_have_their_share(people):
    X, y, _ = people
    model = FairRidgeRegressor(0.02, sensitive=["sex", "race", ("sex", "race")]).fit(X, y)
    found = attribution(model)
    assert found.attributes == ("sex", "race", "sex × race")
    assert found.total == pytest.approx(model.unfairness_, abs=1e-10)


def test_other_controls_are_refused(people):
    X, y, _ = people
    model = FairRidgeRegressor(0.02, sensitive=["sex", "race"], controls="level").fit(X, y)
    for explain in (attribution, proxies):
        with pytest.raises(ValueError, match="leave them out for those of the model, or pass"):
            explain(model, controls=("hours",))
