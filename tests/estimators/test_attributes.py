"""What a fitted model offers, and frames that come out in the library of the one that went in."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from fairridge import FairRidgeRegressor

FLOATS = (
    "fair_intercept_", "intercept_", "lambda_", "unfairness_", "deviance_", "loglik_",
    "explained_deviance_",
)  # fmt: skip
TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.fixture(params=[0.0, 0.05, 1.0])
def bound(request):
    return request.param


@pytest.fixture
def frame(workers, worker_columns, frame_of):
    return frame_of(worker_columns)


@pytest.fixture
def model(workers, frame, bound):
    return FairRidgeRegressor(bound, sensitive=workers.sensitive).fit(frame, workers.y)


def test_names_shapes_and_types_belong_together(model, workers, worker_columns):
    assert model.sensitive_names_.tolist() == workers.sensitive_names
    assert model.predictor_names_.tolist() == workers.predictor_names
    names = workers.sensitive_names + workers.predictor_names
    assert sorted(model.coef_names_) == sorted(names)
    assert model.feature_names_in_.tolist() == list(worker_columns)
    assert model.n_features_in_ == len(worker_columns)
    assert model.alpha_.shape == (2,)
    assert model.beta_.shape == model.explained_by_sensitive_.shape == (7,)
    assert model.coef_.shape == (9,)
    for name in FLOATS:
        assert isinstance(getattr(model, name), float), name
    assert isinstance(model.status_, str)
    assert type(model.bound_active_) is type(model.converged_) is bool
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ >= 1
    assert all(isinstance(value, float) for value in model.unfairness_components_.values())


def test_coefficients_reproduce_predictions(model, workers, frame):
    names = workers.sensitive_names + workers.predictor_names
    encoded = dict(zip(names, np.column_stack([workers.S, workers.X]).T, strict=True))
    Z = np.column_stack([encoded[name] for name in model.coef_names_])
    found = model.predict(frame)
    np.testing.assert_allclose(found, model.intercept_ + Z @ model.coef_, rtol=1e-11)
    S, X = workers.S, workers.X - workers.X.mean(axis=0)
    centered = S - S.mean(axis=0)
    U = X - centered @ np.linalg.lstsq(centered, X, rcond=None)[0]
    by_parts = model.fair_intercept_ + S @ model.alpha_ + U @ model.beta_
    np.testing.assert_allclose(found, by_parts, rtol=1e-11)
    ours, theirs = np.var(S @ model.alpha_), np.var(U @ model.beta_)
    assert model.unfairness_ == pytest.approx(ours / (ours + theirs), abs=1e-12)
    assert model.explained_by_sensitive_ == pytest.approx(1.0 - U.var(axis=0) / X.var(axis=0))


def test_measures_of_fit_are_those_of_the_predictions(model, workers, frame):
    residual, n = workers.y - model.predict(frame), len(workers.y)
    rss = float(residual @ residual)
    assert model.deviance_ == pytest.approx(rss, rel=1e-11)
    assert model.loglik_ == pytest.approx(-n / 2 * (np.log(2 * np.pi * rss / n) + 1), rel=1e-11)
    assert model.explained_deviance_ == pytest.approx(1 - rss / (n * workers.y.var()), rel=1e-11)
    assert model.score(frame, workers.y) == pytest.approx(model.explained_deviance_, rel=1e-11)


@pytest.mark.parametrize("sensitive", [[0, 1], [4, 2, 0], [-1]])
def test_coef_is_in_the_order_of_the_input(numbers, sensitive):
    model = FairRidgeRegressor(1.0, sensitive=sensitive).fit(numbers.Z, numbers.y)
    expected = LinearRegression().fit(numbers.Z, numbers.y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert model.intercept_ == pytest.approx(expected.intercept_, rel=1e-9)
    assert model.coef_names_.tolist() == [f"x{k}" for k in range(6)]
    assert model.sensitive_names_.tolist() == [f"x{k % 6}" for k in sensitive]
    assert not hasattr(model, "feature_names_in_")


def test_a_model_that_is_not_fitted_says_so(numbers):
    model = FairRidgeRegressor(sensitive=[0])
    model.path(numbers.Z, numbers.y)  # which leaves it as it is
    for call in (
        lambda: model.predict(numbers.Z),
        lambda: model.score(numbers.Z, numbers.y),
        model.summary,
    ):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize("r", [0.0, 0.02, 0.0375, 1.0])
def test_a_model_taken_from_a_path_is_the_fitted_one(workers, frame, r, library):
    model = FairRidgeRegressor(sensitive=workers.sensitive, predictor_penalty=0.5)
    at = model.path(frame, workers.y, unfairness=[0.0, 0.02, 1.0]).at(r)
    fitted = FairRidgeRegressor(r, sensitive=workers.sensitive, predictor_penalty=0.5)
    fitted.fit(frame, workers.y)
    assert at.get_params() == fitted.get_params()
    np.testing.assert_allclose(at.predict(frame), fitted.predict(frame), rtol=1e-11)
    for name in (*FLOATS, "n_rows_", "n_features_in_"):
        assert getattr(at, name) == pytest.approx(getattr(fitted, name), rel=1e-10), name
    assert at.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
    assert (at.status_, at.bound_active_) == (fitted.status_, fitted.bound_active_)
    assert isinstance(at.summary().to_frame(), TYPES[library])


# ---------------------------------------------------------------------------- frames


def column(frame, name):
    return nw.from_native(frame).get_column(name).to_list()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_path_comes_out_as_it_went_in(workers, frame, library, weighted):
    weight = np.arange(len(workers.y)) % 3 if weighted else None
    bounds = [0.0, 0.01, 0.3, 1.0]
    path = FairRidgeRegressor(sensitive=workers.sensitive).path(
        frame, workers.y, unfairness=bounds, sample_weight=weight
    )
    assert len(path) == 4
    assert path.unfairness.tolist() == bounds
    assert (path.alpha.shape, path.beta.shape) == ((4, 2), (4, 7))
    assert (path.lambda_[0], path.lambda_[-1]) == (np.inf, 0.0)
    assert path.sensitive_names == tuple(workers.sensitive_names)
    assert path.predictor_names == tuple(workers.predictor_names)
    out = path.to_frame()
    assert isinstance(out, TYPES[library])
    names = nw.from_native(out).columns
    assert names[:7] == [
        "unfairness", "lambda_", "achieved", "status", "deviance", "r_squared", "intercept"
    ]  # fmt: skip
    assert names[7:] == workers.sensitive_names + workers.predictor_names
    for name, values in (
        ("unfairness", path.unfairness),
        ("lambda_", path.lambda_),
        ("achieved", path.achieved),
        ("deviance", path.deviance),
        ("r_squared", path.score),
        ("intercept", path.intercept),
        ("sex[m]", path.alpha[:, 0]),
        ("skill", path.beta[:, -1]),
    ):
        np.testing.assert_array_equal(column(out, name), values)
    assert column(out, "status") == list(path.status)


def test_a_summary_comes_out_as_the_last_fit_went_in(workers, frame, library):
    model = FairRidgeRegressor(sensitive=[0])
    model.fit(np.column_stack([workers.S, workers.X]), workers.y)
    assert isinstance(model.summary().to_frame(), pd.DataFrame)
    model.set_params(sensitive=workers.sensitive).fit(frame, workers.y)
    out = model.summary().to_frame()
    assert isinstance(out, TYPES[library])
    assert column(out, "term") == ["(intercept)", *model.coef_names_]
    assert column(out, "role") == ["", *["sensitive"] * 2, *["predictor"] * 7]
    np.testing.assert_array_equal(
        column(out, "coefficient"), np.r_[model.fair_intercept_, model.alpha_, model.beta_]
    )
    np.testing.assert_array_equal(column(out, "raw"), np.r_[model.intercept_, model.coef_])
    np.testing.assert_array_equal(
        column(out, "explained_by_sensitive")[3:], model.explained_by_sensitive_
    )


@pytest.mark.parametrize(
    ("predictor", "sensitive"),
    [("x", "unfairness"), ("intercept", "coef_intercept"), ("status", "status_")],
)
def test_no_coefficient_is_lost_to_a_name_that_is_taken(numbers, predictor, sensitive):
    frame = pd.DataFrame({sensitive: numbers.S[:, 0], predictor: numbers.X[:, 0]})
    path = FairRidgeRegressor(sensitive=sensitive).path(frame, numbers.y, unfairness=[0.2, 1.0])
    out = path.to_frame()
    assert out.shape == (2, 9)
    np.testing.assert_array_equal(out.iloc[:, 7:], np.hstack([path.alpha, path.beta]))
    assert out["unfairness"].tolist() == [0.2, 1.0]
    two_arrays = {"sensitive_features": numbers.S, "unfairness": [0.1]}
    out = FairRidgeRegressor().path(numbers.X, numbers.y, **two_arrays).to_frame()
    assert (out.shape, out.columns.is_unique) == ((1, 13), True)
