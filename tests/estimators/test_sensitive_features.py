"""S as columns of X and S as an argument of its own give the same model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairridge import FairRidgeRegressor


@pytest.fixture
def parts(workers, worker_columns, frame_of):
    """Frames of X and of S."""
    S = {name: worker_columns[name] for name in workers.sensitive}
    X = {name: worker_columns[name] for name in worker_columns if name not in S}
    return frame_of(X), frame_of(S)


@pytest.fixture
def beside(workers, parts):
    X, S = parts
    return FairRidgeRegressor().fit(X, workers.y, sensitive_features=S)


def test_both_ways_give_the_same_model_and_path(workers, worker_columns, frame_of, parts, beside):
    together, (X, S) = frame_of(worker_columns), parts
    inside = FairRidgeRegressor(sensitive=workers.sensitive).fit(together, workers.y)
    for name in ("alpha_", "beta_", "fair_intercept_", "coef_", "lambda_", "unfairness_"):
        np.testing.assert_allclose(
            getattr(beside, name), getattr(inside, name), rtol=1e-12, err_msg=name
        )
    assert beside.coef_names_.tolist() == inside.coef_names_.tolist()
    predicted = beside.predict(X, sensitive_features=S)
    np.testing.assert_allclose(predicted, inside.predict(together), rtol=1e-12)
    assert beside.score(X, workers.y, sensitive_features=S) == pytest.approx(
        inside.score(together, workers.y), rel=1e-12
    )
    ours, theirs = (
        beside.path(X, workers.y, sensitive_features=S),
        inside.path(together, workers.y),
    )
    for name in ("lambda_", "alpha", "beta", "intercept", "achieved"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)
    np.testing.assert_allclose(
        ours.at(0.05).predict(X, sensitive_features=S), predicted, rtol=1e-12
    )


ONE_ATTRIBUTE = {
    "list": list,
    "column": lambda values: np.asarray(values).reshape(-1, 1),
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


def test_exactly_one_way_is_taken(numbers):
    neither, both = FairRidgeRegressor(), FairRidgeRegressor(sensitive=[0])
    for verb in ("fit", "path"):
        with pytest.raises(ValueError, match="which attributes are sensitive"):
            getattr(neither, verb)(numbers.X, numbers.y)
        with pytest.raises(ValueError, match="not both"):
            getattr(both, verb)(numbers.X, numbers.y, sensitive_features=numbers.S)
    model = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, numbers.y)
    with pytest.raises(ValueError, match="leave sensitive_features out"):
        model.predict(numbers.Z, sensitive_features=numbers.S)
    model = FairRidgeRegressor().fit(numbers.X, numbers.y, sensitive_features=numbers.S)
    for call in (lambda: model.predict(numbers.X), lambda: model.score(numbers.X, numbers.y)):
        with pytest.raises(ValueError, match="pass sensitive_features here too"):
            call()


def test_tables_that_do_not_fit_together_are_errors_that_name_the_column(
    workers, parts, beside, worker_columns, frame_of
):
    X, S = parts
    sex, age = workers.columns["sex"], workers.columns["age"]
    for other, message in (
        (S[:89], "X has 90 rows but sensitive_features has 89"),
        (frame_of({"sex": sex}), "sensitive_features has no column 'age'"),
        (frame_of({"sex": sex, "age": age, "race": sex}), "sensitive_features has column 'race'"),
        (frame_of({"sex": [None, *sex[1:]], "age": age}), "'sex' has 1 missing value"),
    ):
        with pytest.raises(ValueError, match=message):
            beside.predict(X, sensitive_features=other)
    with pytest.raises(ValueError, match="X has 90 rows but sensitive_features has 89"):
        FairRidgeRegressor().fit(X, workers.y, sensitive_features=S[:89])
    with pytest.raises(ValueError, match=r"'(age|sex)' is both in X and in sensitive_features"):
        FairRidgeRegressor().fit(frame_of(worker_columns), workers.y, sensitive_features=S)


def test_an_unseen_level_of_sensitive_features_is_an_error_or_their_average(workers):
    sex = workers.columns["sex"]
    model = FairRidgeRegressor().fit(
        workers.X, workers.y, sensitive_features=pd.Series(sex, name="sex")
    )

    def predicted(first):
        S = pd.Series([first, *sex[1:]], name="sex")
        return model.predict(workers.X, sensitive_features=S)

    with pytest.raises(ValueError, match="'sex' has the level 'q'"):
        predicted("q")
    model.set_params(unknown="base")
    f, m, q = (predicted(level) for level in "fmq")
    np.testing.assert_array_equal(q[1:], f[1:])
    share = np.mean([s == "m" for s in sex])
    np.testing.assert_allclose(q[0], f[0] + share * (m[0] - f[0]), rtol=1e-12)
