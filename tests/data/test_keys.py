"""Keys and twins: columns that tell rows apart, or that tell the same twice."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor, load, save
from fairridge.exceptions import DataWarning

N = 400


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], N), "skill": rng.normal(size=N)})
    return X, X["skill"] + (X["sex"] == "m") + rng.normal(size=N)


def keys(kind):
    rng = np.random.default_rng(1)
    return {
        "counted": np.arange(N) + 1000,
        "random": rng.choice(10**6, N, replace=False),
        "repeated": np.sort(rng.choice(10 * N, N)),
    }[kind]


@pytest.mark.parametrize("kind", ["counted", "random", "repeated"])
def test_whole_numbers_that_tell_rows_apart(people, kind):
    X, y = people
    model = FairRidgeRegressor(0.05, sensitive="sex")
    with pytest.warns(DataWarning, match=r"column\(s\) 'id' look like keys"):
        model.fit(X.assign(id=keys(kind)), y)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(2).normal(size=N),
        np.sort(np.random.default_rng(2).integers(18, 70, N)),
        np.random.default_rng(2).permutation(N) / 7.0,
    ],
    ids=["numbers", "sorted ages", "fractions"],
)
def test_what_is_no_key(people, values):
    X, y = people
    FairRidgeRegressor(0.05, sensitive="sex").fit(X.assign(value=values), y)


@pytest.fixture
def employees(people):
    X, y = people
    hired = np.random.default_rng(3).uniform(0.0, 40.0, N)
    return X.assign(hired=hired, tenure=np.round(40.0 - hired, 1)), y


def test_twins_are_named_with_their_inflation(employees, tmp_path):
    X, y = employees
    model = FairRidgeRegressor(0.05, sensitive="sex")
    with pytest.warns(DataWarning, match=r"'hired', 'tenure' are almost linear .* up to 1"):
        model.fit(X, y)
    columns = np.column_stack([(X["sex"] == "m") * 1.0, X[["skill", "hired", "tenure"]]])
    expected = np.diag(np.linalg.inv(np.corrcoef(columns.T)))
    np.testing.assert_allclose(model.variance_inflation_, expected[1:], rtol=1e-6)
    table = model.summary().to_frame().set_index("term")["variance_inflation"]
    np.testing.assert_allclose(table[["skill", "hired", "tenure"]], expected[1:], rtol=1e-6)
    assert np.isnan(table["sex[m]"])
    text = str(model.summary())
    (line,) = (line for line in text.splitlines() if line.startswith("tenure"))
    assert line.endswith(f" {expected[3]:.3g}")
    assert "VIF: variance inflation factor" in text
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.variance_inflation_, model.variance_inflation_)


def test_a_penalty_settles_twins(employees):
    X, y = employees
    FairRidgeRegressor(0.05, sensitive="sex", predictor_penalty=1.0).fit(X, y)
