"""Missing values in the models we compare with: a level of their own, as in our own models."""

import numpy as np
import pandas as pd
import pytest

from fairridge import (
    BarycenterClassifier,
    BarycenterRegressor,
    BlindExactRegressor,
    ConvexFairClassifier,
    ConvexFairRegressor,
    FairRidgeRegressor,
    KomiyamaRegressor,
    ReductionsClassifier,
    SteinbergRegressor,
    ZafarClassifier,
    ZafarRegressor,
    compare,
    load,
    save,
)

REGRESSORS = [
    KomiyamaRegressor, ZafarRegressor, SteinbergRegressor, BarycenterRegressor,
    ConvexFairRegressor, BlindExactRegressor,
]  # fmt: skip
LONG = (SteinbergRegressor, ReductionsClassifier)
CLASSIFIERS = [ZafarClassifier, ReductionsClassifier, BarycenterClassifier, ConvexFairClassifier]


@pytest.fixture(scope="module")
def gaps():
    """Rows with gaps, and the same with gaps written out by hand."""
    rng = np.random.default_rng(0)
    n = 150
    sex, job = rng.choice(["f", "m"], n).astype(object), rng.choice(["a", "b"], n).astype(object)
    x = rng.normal(size=n)
    y = x + (sex == "m") + rng.normal(size=n)
    sex[::9], job[::5], x[::7] = None, None, np.nan
    X = pd.DataFrame({"sex": sex, "job": job, "x": x})
    written = pd.DataFrame(
        {
            # A missing level is the last one: others stay the base.
            "sex": pd.Categorical(X["sex"].fillna("(missing)"), ["f", "m", "(missing)"]),
            "job": pd.Categorical(X["job"].fillna("(missing)"), ["a", "b", "(missing)"]),
            "x": X["x"].fillna(X["x"].mean()),
            "gone": X["x"].isna().astype(float),
        }
    )
    return X, written, y


def _of(model, y):
    return y > 0.0 if model in CLASSIFIERS else y


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(one, marks=[pytest.mark.slow] * (one in LONG))
        for one in (*REGRESSORS, *CLASSIFIERS)
    ],
)
def test_gaps_are_levels_and_columns_of_their_own(gaps, model):
    if model is ReductionsClassifier:
        pytest.importorskip("fairlearn")
    X, written, y = gaps
    found = model(0.2, sensitive="sex", missing="level").fit(X, _of(model, y))
    same = model(0.2, sensitive="sex").fit(written, _of(model, y))
    np.testing.assert_allclose(found.predict(X), same.predict(written), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match=r"have missing values .*'sex'"):
        model(0.2, sensitive="sex").fit(X, _of(model, y))


def test_people_whose_number_is_missing_are_a_group(gaps):
    X, _, y = gaps
    children = np.where(np.arange(len(y)) % 4 == 0, np.nan, np.arange(len(y)) % 3)
    rows, options = X.drop(columns="sex").assign(children=children), {"missing": "level"}
    found = BarycenterRegressor(0.2, sensitive="children", **options).fit(rows, y)
    names = ["children=0", "children=1", "children=2", "children=(missing)"]
    assert sorted(found.groups_) == sorted(names)
    other = SteinbergRegressor(0.2, sensitive="children", **options).fit(rows, y)
    assert list(other.mutual_information_) == ["children", "children[(missing)]"]


def test_files_keep_it(gaps, tmp_path):
    X, _, y = gaps
    model = KomiyamaRegressor(0.2, sensitive="sex", missing="level").fit(X, y)
    save(model, tmp_path / "m.json")
    np.testing.assert_array_equal(load(tmp_path / "m.json").predict(X), model.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_all_of_them_are_compared_on_rows_with_gaps(gaps, task):
    X, written, y = gaps
    y = y if task == "regression" else y > 0.0
    options = {"sensitive": ["sex"], "unfairness": [0.1], "cv": 2, "task": task}
    found = compare(X, y, missing="level", **options)
    same = compare(written, y, **options)
    assert found.skipped == same.skipped
    score = "rmse" if task == "regression" else "log_loss"
    for one, other in zip(found.records, same.records, strict=True):
        for name in (f"train_{score}", score, "train_share_of_means", "decision_gap"):
            np.testing.assert_allclose(one[name], other[name], rtol=1e-5, atol=1e-8)


def test_people_whose_number_is_missing_are_compared_as_a_group(gaps):
    X, _, y = gaps
    options = {"sensitive": ["x"], "models": ["FRRM"], "cv": 2, "unfairness": [0.1]}
    found = compare(X, y, missing="level", **options)
    (fair,) = [record for record in found.records if record["unfairness"] == 0.1]
    model = FairRidgeRegressor(0.1, sensitive=["x"], missing="level").fit(X, y)
    assert fair["train_share_of_means"] == pytest.approx(model.unfairness_, abs=1e-8)
    with pytest.raises(ValueError, match=r"have missing values .*'sex'"):
        compare(X, y, sensitive=["sex"], models=["FRRM"])
