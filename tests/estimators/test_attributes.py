"""What a fitted model offers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from fairridge import FairRidgeRegressor

FLOATS = (
    "fair_intercept_", "intercept_", "lambda_", "unfairness_", "deviance_", "loglik_",
    "explained_deviance_",
)  # fmt: skip


@pytest.fixture(params=[0.0, 0.05, 1.0])
def bound(request):
    return request.param


@pytest.fixture
def frame(workers, worker_columns, frame_of):
    return frame_of(worker_columns)


@pytest.fixture
def model(workers, frame, bound):
    return FairRidgeRegressor(bound, sensitive=workers.sensitive).fit(frame, workers.y)


def test_names_and_shapes_belong_together(model, workers, worker_columns):
    assert model.sensitive_names_.tolist() == workers.sensitive_names
    assert model.predictor_names_.tolist() == workers.predictor_names
    names = workers.sensitive_names + workers.predictor_names
    assert sorted(model.coef_names_) == sorted(names)
    assert model.feature_names_in_.tolist() == list(worker_columns)
    assert model.n_features_in_ == len(worker_columns)
    assert model.alpha_.shape == (2,)
    assert model.beta_.shape == model.explained_by_sensitive_.shape == (7,)
    assert model.coef_.shape == (9,)


def test_numbers_are_plain_numbers(model):
    for name in FLOATS:
        assert isinstance(getattr(model, name), float), name
    assert isinstance(model.status_, str)
    assert type(model.bound_active_) is type(model.converged_) is bool
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ >= 1
    assert all(isinstance(value, float) for value in model.unfairness_components_.values())


def test_fit_returns_the_model(workers, frame):
    model = FairRidgeRegressor(sensitive=workers.sensitive)
    assert model.fit(frame, workers.y) is model


def test_raw_coefficients_reproduce_predictions(model, workers, frame):
    names = workers.sensitive_names + workers.predictor_names
    encoded = dict(zip(names, np.column_stack([workers.S, workers.X]).T, strict=True))
    Z = np.column_stack([encoded[name] for name in model.coef_names_])
    by_hand = model.intercept_ + Z @ model.coef_
    np.testing.assert_allclose(model.predict(frame), by_hand, rtol=1e-11)


def test_fair_coefficients_reproduce_predictions(model, workers, frame):
    S, X = workers.S, workers.X - workers.X.mean(axis=0)
    centered = S - S.mean(axis=0)
    U = X - centered @ np.linalg.lstsq(centered, X, rcond=None)[0]
    np.testing.assert_allclose(
        model.predict(frame), model.fair_intercept_ + S @ model.alpha_ + U @ model.beta_, rtol=1e-11
    )
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


def test_states_follow_the_bound(model, bound):
    if bound == 0.0:
        assert (model.lambda_, model.unfairness_, model.status_) == (np.inf, 0.0, "converged")
        np.testing.assert_array_equal(model.alpha_, 0.0)
    elif bound == 1.0:
        assert (model.lambda_, model.status_, model.bound_active_) == (0.0, "inactive", False)
    else:
        assert model.unfairness_ == pytest.approx(bound, abs=1e-10)
        assert (model.status_, model.bound_active_) == ("converged", True)
        assert 0.0 < model.lambda_ < np.inf
    assert model.converged_ is True


@pytest.mark.parametrize("sensitive", [[0, 1], [3, 1], [5], [4, 2, 0], [-1]])
def test_coef_is_in_the_order_of_the_input(numbers, sensitive):
    model = FairRidgeRegressor(1.0, sensitive=sensitive).fit(numbers.Z, numbers.y)
    expected = LinearRegression().fit(numbers.Z, numbers.y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert model.intercept_ == pytest.approx(expected.intercept_, rel=1e-9)
    assert model.coef_names_.tolist() == [f"x{k}" for k in range(6)]


@pytest.mark.parametrize("r", [0.0, 0.1])
def test_coef_reproduces_predictions_under_a_bound(numbers, r):
    model = FairRidgeRegressor(r, sensitive=[4, 1]).fit(numbers.Z, numbers.y)
    np.testing.assert_allclose(
        model.predict(numbers.Z), numbers.Z @ model.coef_ + model.intercept_, rtol=1e-11
    )


def test_coef_of_numeric_frames_is_that_of_the_columns(frame_of, workers):
    columns = {"a": workers.S[:, 1], "b": workers.columns["manager"], "c": workers.X[:, -1]}
    numeric = FairRidgeRegressor(1.0, sensitive="b").fit(frame_of(columns), workers.y)
    Z = np.column_stack(list(columns.values()))
    np.testing.assert_allclose(numeric.coef_, LinearRegression().fit(Z, workers.y).coef_, rtol=1e-9)


def test_arrays_have_numbered_names(numbers):
    model = FairRidgeRegressor(sensitive=[2]).fit(numbers.Z, numbers.y)
    assert model.sensitive_names_.tolist() == ["x2"]
    assert model.predictor_names_.tolist() == ["x0", "x1", "x3", "x4", "x5"]
    assert not hasattr(model, "feature_names_in_")


def test_encoded_names_are_unique_where_both_inputs_are_arrays(numbers):
    model = FairRidgeRegressor().fit(numbers.X, numbers.y, sensitive_features=numbers.S)
    assert len(set(model.coef_names_)) == len(model.coef_names_) == 6


def test_an_error_tells_columns_of_two_arrays_apart(numbers):
    def message(**spoiled):
        given = {"X": numbers.X.copy(), "sensitive_features": numbers.S.copy()}
        for name in spoiled:
            given[name][3, 0] = np.nan
        with pytest.raises(ValueError, match="has 1 missing value") as caught:
            FairRidgeRegressor().fit(y=numbers.y, **given)
        return str(caught.value)

    assert message(X=True) != message(sensitive_features=True)


def test_a_model_that_is_not_fitted_says_so(numbers):
    model = FairRidgeRegressor(sensitive=[0])
    with pytest.raises(NotFittedError):
        model.predict(numbers.Z)
    with pytest.raises(NotFittedError):
        model.score(numbers.Z, numbers.y)
    with pytest.raises(NotFittedError):
        model.summary()


def test_a_second_fit_gives_the_same_model(numbers):
    model = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, numbers.y)
    first = model.coef_.copy()
    model.fit(numbers.Z[:40], numbers.y[:40])
    assert not np.allclose(model.coef_, first)
    np.testing.assert_array_equal(model.fit(numbers.Z, numbers.y).coef_, first)


def test_a_path_has_one_entry_per_bound(workers, frame):
    bounds = [0.0, 0.01, 0.3, 1.0]
    path = FairRidgeRegressor(sensitive=workers.sensitive).path(frame, workers.y, unfairness=bounds)
    assert len(path) == 4
    assert path.unfairness.tolist() == bounds
    assert path.alpha.shape == (4, 2)
    assert path.beta.shape == (4, 7)
    for name in ("lambda_", "intercept", "achieved", "deviance", "score"):
        assert getattr(path, name).shape == (4,), name
    assert path.sensitive_names == tuple(workers.sensitive_names)
    assert path.predictor_names == tuple(workers.predictor_names)
    assert path.lambda_[0] == np.inf
    assert path.lambda_[-1] == 0.0


@pytest.mark.parametrize("r", [0.0, 0.02, 0.0375, 1.0])
def test_a_model_taken_from_a_path_is_the_fitted_one(workers, frame, r):
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


def test_a_path_leaves_the_model_unfitted(numbers):
    model = FairRidgeRegressor(sensitive=[0])
    model.path(numbers.Z, numbers.y)
    with pytest.raises(NotFittedError):
        model.predict(numbers.Z)


def test_a_frame_with_one_row_more_is_another_model(workers):
    # The attributes above would also hold for a model that ignores its data.
    frame = pd.DataFrame(workers.columns)
    ours = FairRidgeRegressor(sensitive="sex").fit(frame, workers.y)
    theirs = FairRidgeRegressor(sensitive="sex").fit(frame[:-1], workers.y[:-1])
    assert np.abs(ours.coef_ - theirs.coef_).max() > 1e-6
    assert (ours.n_rows_, theirs.n_rows_) == (90, 89)
