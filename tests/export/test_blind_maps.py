"""Blind models whose bound is on features of S: nothing of that is needed to predict."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import SplineTransformer

from fairridge import FairRidgeRegressor, load, save


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(2)
    n = 500
    age, sex = rng.uniform(20, 60, n), rng.choice(["f", "m"], n)
    X = pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "skill": rng.normal(size=n) + (age - 40.0) ** 2 / 400.0,
            "luck": rng.normal(size=n),
            "town": rng.choice(["x", "y", "z"], n),
        }
    )
    return X, (X["skill"] + X["luck"] + 0.5 * (sex == "m") + rng.normal(size=n)).to_numpy()


@pytest.fixture(scope="module")
def model(people):
    options = {"sensitive": ["sex", "age"], "sensitive_map": SplineTransformer(), "blind": True}
    return FairRidgeRegressor(0.02, **options).fit(*people)


def test_numbers_of_two_values_are_levels(people):
    X, y = people
    coded = X.assign(sex=(X["sex"] == "m") * 1.0)
    options = {"sensitive": ["sex", "age"], "sensitive_map": SplineTransformer(n_knots=3)}
    names = FairRidgeRegressor(0.1, **options).fit(coded, y).sensitive_names_.tolist()
    assert names == [*(f"age_sp_{k}" for k in range(5)), "sex"]


def test_a_column_transformer_says_itself_what_it_maps(people):
    X, y = people
    everything = ColumnTransformer(
        [("all", SplineTransformer(n_knots=2, degree=1), slice(0, None))]
    )
    options = {"sensitive": ["sex", "age"], "sensitive_map": everything}
    names = FairRidgeRegressor(0.1, **options).fit(X, y).sensitive_names_
    assert len(names) == 4
    with pytest.raises(ValueError, match=r"sensitive_map maps numbers, and there are levels only"):
        FairRidgeRegressor(0.1, sensitive="sex", sensitive_map=SplineTransformer()).fit(X, y)


def test_a_file_predicts_and_is_saved_again(model, people, tmp_path):
    X, y = people
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    new = X.drop(columns=["sex", "age"])
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    assert str(loaded.summary()) == str(model.summary())
    save(loaded, tmp_path / "again.json")
    np.testing.assert_array_equal(load(tmp_path / "again.json").predict(new), model.predict(new))
    with pytest.raises(ValueError, match=r"SplineTransformer' was not saved .* set the parameter"):
        loaded.fit(X, y)
    refitted = loaded.set_params(sensitive_map=SplineTransformer()).fit(X, y)
    np.testing.assert_allclose(refitted.coef_, model.coef_)
