"""S as columns of X and S as an argument of its own give the same model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairridge import FairRidgeRegressor
from tests.zoo import LIBRARIES, crossed


@pytest.fixture
def parts(workers, worker_columns, frame_of):
    """Frames of X and of S."""
    S = {name: worker_columns[name] for name in workers.sensitive}
    X = {name: worker_columns[name] for name in worker_columns if name not in S}
    return frame_of(X), frame_of(S)


@crossed(library=LIBRARIES, r=[0.0, 0.05, 1.0], definition=["statistical-parity", "individual"])
def test_both_ways_give_the_same_model(workers, worker_columns, frame_of, parts, r, definition):
    together, (X, S) = frame_of(worker_columns), parts
    inside = FairRidgeRegressor(r, sensitive=workers.sensitive, definition=definition)
    inside.fit(together, workers.y)
    beside = FairRidgeRegressor(r, definition=definition)
    beside.fit(X, workers.y, sensitive_features=S)
    for name in ("alpha_", "beta_", "fair_intercept_", "coef_", "lambda_", "unfairness_"):
        np.testing.assert_allclose(
            getattr(beside, name), getattr(inside, name), rtol=1e-12, err_msg=name
        )
    assert beside.coef_names_.tolist() == inside.coef_names_.tolist()
    np.testing.assert_allclose(
        beside.predict(X, sensitive_features=S), inside.predict(together), rtol=1e-12
    )
    assert beside.score(X, workers.y, sensitive_features=S) == pytest.approx(
        inside.score(together, workers.y), rel=1e-12
    )


def test_both_ways_give_the_same_path(workers, worker_columns, frame_of, parts):
    X, S = parts
    inside = FairRidgeRegressor(sensitive=workers.sensitive).path(
        frame_of(worker_columns), workers.y
    )
    beside = FairRidgeRegressor().path(X, workers.y, sensitive_features=S)
    for name in ("lambda_", "alpha", "beta", "intercept", "achieved"):
        np.testing.assert_allclose(getattr(beside, name), getattr(inside, name), rtol=1e-12)
    np.testing.assert_allclose(
        beside.at(0.1).predict(X, sensitive_features=S),
        inside.at(0.1).predict(frame_of(worker_columns)),
        rtol=1e-12,
    )


def test_both_ways_give_the_same_model_of_arrays(numbers):
    inside = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, numbers.y)
    beside = FairRidgeRegressor().fit(numbers.X, numbers.y, sensitive_features=numbers.S)
    np.testing.assert_allclose(beside.coef_, inside.coef_, rtol=1e-12)
    assert beside.n_features_in_ == 4
    np.testing.assert_allclose(
        beside.predict(numbers.X, sensitive_features=numbers.S), inside.predict(numbers.Z)
    )


ONE_ATTRIBUTE = {
    "list": list,
    "array": np.asarray,
    "column": lambda values: np.asarray(values).reshape(-1, 1),
    "pandas series": lambda values: pd.Series(values, name="sex"),
    "pandas series without a name": pd.Series,
    "polars series": lambda values: pl.Series("sex", values),
    "pandas categorical": lambda values: pd.Series(values, dtype="category"),
    "frame": lambda values: pl.DataFrame({"sex": values}),
}


@pytest.mark.parametrize("kind", ONE_ATTRIBUTE)
def test_one_attribute_comes_in_any_container(workers, kind):
    S = ONE_ATTRIBUTE[kind](workers.columns["sex"])
    model = FairRidgeRegressor().fit(workers.X, workers.y, sensitive_features=S)
    Z = np.column_stack([workers.S[:, 0], workers.X])
    expected = FairRidgeRegressor(sensitive=[0]).fit(Z, workers.y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict(workers.X, sensitive_features=S), expected.predict(Z), rtol=1e-12
    )


def test_the_frames_may_come_from_two_libraries(workers):
    columns = workers.columns
    X = pl.DataFrame({name: columns[name] for name in ("region", "hours", "skill")})
    S = pd.DataFrame({name: columns[name] for name in workers.sensitive})
    model = FairRidgeRegressor().fit(X, workers.y, sensitive_features=S)
    together = pd.DataFrame({**{name: columns[name] for name in workers.sensitive},
                             **{name: columns[name] for name in X.columns}})  # fmt: skip
    expected = FairRidgeRegressor(sensitive=workers.sensitive).fit(together, workers.y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)


def test_columns_of_sensitive_features_may_be_in_any_order(workers, parts, frame_of):
    X, S = parts
    model = FairRidgeRegressor().fit(X, workers.y, sensitive_features=S)
    turned = frame_of({name: workers.columns[name] for name in reversed(workers.sensitive)})
    np.testing.assert_allclose(
        model.predict(X, sensitive_features=turned),
        model.predict(X, sensitive_features=S),
        rtol=1e-12,
    )


def test_neither_way_is_an_error(numbers):
    with pytest.raises(ValueError, match="which attributes are sensitive"):
        FairRidgeRegressor().fit(numbers.X, numbers.y)
    with pytest.raises(ValueError, match="which attributes are sensitive"):
        FairRidgeRegressor().path(numbers.X, numbers.y)


def test_both_ways_at_once_are_an_error(numbers):
    model = FairRidgeRegressor(sensitive=[0])
    with pytest.raises(ValueError, match="not both"):
        model.fit(numbers.X, numbers.y, sensitive_features=numbers.S)
    with pytest.raises(ValueError, match="not both"):
        model.path(numbers.X, numbers.y, sensitive_features=numbers.S)


def test_sensitive_features_are_required_after_they_were_given(workers, parts):
    X, S = parts
    model = FairRidgeRegressor().fit(X, workers.y, sensitive_features=S)
    with pytest.raises(ValueError, match="pass sensitive_features here too"):
        model.predict(X)
    with pytest.raises(ValueError, match="pass sensitive_features here too"):
        model.score(X, workers.y)


def test_sensitive_features_are_refused_after_they_were_columns(numbers):
    model = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, numbers.y)
    with pytest.raises(ValueError, match="leave sensitive_features out"):
        model.predict(numbers.Z, sensitive_features=numbers.S)
    with pytest.raises(ValueError, match="leave sensitive_features out"):
        model.score(numbers.Z, numbers.y, sensitive_features=numbers.S)


def test_sensitive_features_of_a_wrong_length_are_an_error(workers, parts):
    X, S = parts
    with pytest.raises(ValueError, match="X has 90 rows but sensitive_features has 89"):
        FairRidgeRegressor().fit(X, workers.y, sensitive_features=S[:89])
    model = FairRidgeRegressor().fit(X, workers.y, sensitive_features=S)
    with pytest.raises(ValueError, match="X has 90 rows but sensitive_features has 89"):
        model.predict(X, sensitive_features=S[:89])


def test_a_column_in_both_inputs_is_an_error_that_names_it(
    workers, parts, worker_columns, frame_of
):
    _, S = parts
    with pytest.raises(ValueError, match=r"'(age|sex)' is both in X and in sensitive_features"):
        FairRidgeRegressor().fit(frame_of(worker_columns), workers.y, sensitive_features=S)


def test_missing_and_extra_sensitive_features_are_errors_that_name_them(workers, parts, frame_of):
    X, S = parts
    model = FairRidgeRegressor().fit(X, workers.y, sensitive_features=S)
    sex, age = workers.columns["sex"], workers.columns["age"]
    with pytest.raises(ValueError, match="sensitive_features has no column 'age'"):
        model.predict(X, sensitive_features=frame_of({"sex": sex}))
    with pytest.raises(ValueError, match="sensitive_features has column 'race'"):
        model.predict(X, sensitive_features=frame_of({"sex": sex, "age": age, "race": sex}))


def test_sensitive_features_of_another_width_are_an_error(numbers):
    model = FairRidgeRegressor().fit(numbers.X, numbers.y, sensitive_features=numbers.S)
    with pytest.raises(ValueError, match=r"sensitive_features has 1 features, .* expecting 2"):
        model.predict(numbers.X, sensitive_features=numbers.S[:, :1])


@pytest.mark.parametrize("shape", [(0, 1), (80, 0), (80, 2, 2), ()])
def test_sensitive_features_that_are_no_table_are_an_error(numbers, shape):
    with pytest.raises(ValueError, match="sensitive_features"):
        FairRidgeRegressor().fit(numbers.X, numbers.y, sensitive_features=np.zeros(shape))


def test_an_unseen_level_of_sensitive_features_is_an_error_or_their_average(workers):
    sex = workers.columns["sex"]
    for unknown in ("error", "base"):
        model = FairRidgeRegressor(unknown=unknown)
        model.fit(workers.X, workers.y, sensitive_features=pd.Series(sex, name="sex"))
        new = pd.Series(["q", *sex[1:]], name="sex")
        if unknown == "error":
            with pytest.raises(ValueError, match="'sex' has the level 'q'"):
                model.predict(workers.X, sensitive_features=new)
        else:
            f, m = (
                model.predict(workers.X, sensitive_features=pd.Series([s, *sex[1:]], name="sex"))
                for s in "fm"
            )
            share = np.mean([s == "m" for s in sex])
            found = model.predict(workers.X, sensitive_features=new)
            np.testing.assert_array_equal(found[1:], f[1:])
            np.testing.assert_allclose(found[0], f[0] + share * (m[0] - f[0]), rtol=1e-12)
