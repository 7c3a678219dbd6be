"""Intersections of sensitive attributes: a tuple in `sensitive`."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import PolynomialFeatures

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from fairridge.export import scorecard, to_sql
from fairridge.stacking import FairStackingRegressor
from tests.zoo import LateModule

duckdb = LateModule("duckdb")

N = 400
BOTH = ["sex", "race", ("sex", "race")]


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n)
    age = rng.uniform(20, 60, n)
    # Only one of six groups is far from the others.
    skill = rng.normal(size=n) + 2.0 * ((sex == "f") & (race == "b"))
    y = skill + 0.01 * age + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"skill": skill, "sex": sex, "race": race, "age": age}), y


def between(prediction, X, columns):
    """Share of the variance that is between groups."""
    means = (
        pd.Series(prediction).groupby([X[name].to_numpy() for name in columns]).transform("mean")
    )
    return means.var() / np.var(prediction, ddof=1)


@pytest.mark.parametrize("sensitive", [BOTH, ["race", ("race", "sex")]])
def test_bound_holds_for_all_groups_of_an_intersection(sensitive):
    X, y = people()
    plain = FairRidgeRegressor(0.0, sensitive=["sex", "race"]).fit(X, y)
    model = FairRidgeRegressor(0.0, sensitive=sensitive).fit(X, y)
    assert between(plain.predict(X), X, ["sex", "race"]) > 0.1
    assert between(model.predict(X), X, ["sex", "race"]) < 1e-12
    assert len(model.sensitive_names_) == 5
    assert set(model.sensitive_names_[-2:]) <= {
        "sex[m] × race[b]", "sex[m] × race[c]", "race[b] × sex[m]", "race[c] × sex[m]",
    }  # fmt: skip
    # Products come last in coef_, and the intercept belongs to it.
    own = pd.DataFrame(
        {"skill": X["skill"], "sex[m]": X["sex"] == "m", "race[b]": X["race"] == "b"}
        | {"race[c]": X["race"] == "c", "age": X["age"]}
    ).astype(float)
    for name in model.coef_names_[-2:]:
        left, right = name.split(" × ")
        own[name] = own[left] * own[right]
    eta = model.intercept_ + own[list(model.coef_names_)].to_numpy() @ model.coef_
    np.testing.assert_allclose(eta, model.predict(X), atol=1e-10)


def test_columns_of_an_intersection_are_those_made_by_hand():
    X, y = people()
    by_hand = X.assign(both=X["sex"] + X["race"]).drop(columns=["sex", "race"])
    expected = FairRidgeRegressor(0.05, sensitive="both", definition="mean-parity").fit(by_hand, y)
    model = FairRidgeRegressor(0.05, sensitive=BOTH, definition="mean-parity").fit(X, y)
    np.testing.assert_allclose(model.predict(X), expected.predict(by_hand), rtol=1e-6)
    numbers = FairRidgeRegressor(0.0, sensitive=[("sex", "age")]).fit(X, y)
    assert list(numbers.sensitive_names_) == ["sex[m]", "age", "sex[m] × age"]
    products = (X["sex"] == "m") * X["age"]
    assert abs(np.corrcoef(numbers.predict(X), products)[0, 1]) < 1e-8


def test_three_columns_have_products_of_any_two_and_of_all():
    X, y = people()
    X["old"] = np.where(X["age"] > 40, "yes", "no")
    model = FairRidgeRegressor(0.0, sensitive=[("sex", "race", "old")]).fit(X, y)
    assert between(model.predict(X), X, ["sex", "race", "old"]) < 1e-12
    assert len(model.sensitive_names_) == 2 * 3 * 2 - 1


def test_bounds_of_each_attribute_may_name_an_intersection():
    X, y = people()
    bounds = {"sex": 0.05, "sex × race": 0.03}
    model = FairRidgeRegressor(bounds, sensitive=BOTH, definition="mean-parity").fit(X, y)
    assert model.unfairness_["sex × race"] == pytest.approx(0.03, abs=1e-6)
    found = between(model.predict(X), X, ["sex", "race"])
    assert found == pytest.approx(model.unfairness_["sex × race"], rel=1e-6)


def test_a_group_that_nobody_is_in_has_no_column():
    X, y = people()
    keep = ~((X["sex"] == "m") & (X["race"] == "c"))
    model = FairRidgeRegressor(0.0, sensitive=BOTH).fit(X[keep], y[keep])
    assert list(model.sensitive_names_) == ["sex[m]", "race[b]", "race[c]", "sex[m] × race[b]"]
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.slow
def test_stacked_models_take_intersections():
    X, y = people()
    model = FairStackingRegressor(None, 0.0, sensitive=BOTH, cv=2, random_state=0).fit(X, y)
    S = model.layer_inputs(X)["sensitive_features"]
    assert list(S.columns) == ["sex", "race", "sex[m] × race[b]", "sex[m] × race[c]"]
    own = model.layer_inputs(X, out_of_fold=True)
    prediction = model.layer_.predict(own["X"], sensitive_features=own["sensitive_features"])
    assert between(prediction, X, ["sex", "race"]) < 1e-9


def test_products_are_saved_and_written(tmp_path):
    X, y = people()
    hired = y > 0.5
    model = FairRidgeClassifier(0.03, sensitive=BOTH).fit(X, hired)
    assert "sex[m] × race[b]" in str(model.summary())
    assert len(model.inference(X, hired).names) == 8
    fairridge.save(model, tmp_path / "model.json")
    again = fairridge.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    rows = duckdb.query_df(X, "data", to_sql(model)).df()
    np.testing.assert_allclose(rows["linear_predictor"], model.decision_function(X), atol=1e-9)
    X.assign(y=hired).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive=BOTH)
    there = FairRidgeClassifier(0.03).fit(source)
    np.testing.assert_allclose(there.predict_proba(X), model.predict_proba(X), rtol=1e-7)
    with pytest.raises(ValueError, match="scorecard needs a model that adds up single columns"):
        scorecard(model)


def test_stacked_models_refuse_a_map_of_intersections():
    X, y = people()
    model = FairStackingRegressor(sensitive=BOTH, sensitive_map=PolynomialFeatures(2))
    with pytest.raises(ValueError, match="leave the intersections out"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("sensitive", "error"),
    [
        ([("sex",)], "at least two columns"),
        ([("sex", "sex")], "more than once"),
        ([("sex", "wealth")], "no column 'wealth'"),
    ],
)
def test_bad_intersections_are_named(sensitive, error):
    X, y = people()
    with pytest.raises(ValueError, match=error):
        FairRidgeRegressor(sensitive=sensitive).fit(X, y)
