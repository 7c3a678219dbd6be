"""Which columns a model takes, in which order, and what it says about the others."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairridge import FairRidgeRegressor
from fairridge.exceptions import DataWarning


@pytest.fixture
def fitted(workers, worker_columns, frame_of):
    return FairRidgeRegressor(sensitive=workers.sensitive).fit(frame_of(worker_columns), workers.y)


def test_the_order_of_columns_matters_to_the_order_of_results_only(
    fitted, workers, worker_columns, frame_of
):
    straight = frame_of(worker_columns)
    turned = frame_of(dict(reversed(worker_columns.items())))
    np.testing.assert_allclose(fitted.predict(turned), fitted.predict(straight), rtol=1e-12)
    assert fitted.score(turned, workers.y) == pytest.approx(fitted.score(straight, workers.y))
    model = FairRidgeRegressor(sensitive=workers.sensitive).fit(turned, workers.y)
    ours = dict(zip(model.coef_names_, model.coef_, strict=True))
    theirs = dict(zip(fitted.coef_names_, fitted.coef_, strict=True))
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert model.feature_names_in_.tolist() == list(reversed(worker_columns))


def test_a_model_predicts_for_frames_of_another_library(workers, worker_columns, frame_of):
    pandas = pd.DataFrame(workers.columns)
    model = FairRidgeRegressor(sensitive=workers.sensitive).fit(pandas, workers.y)
    # Of text the levels are sorted; the frame declares them in another order.
    assert [n for n in model.predictor_names_ if "rank" in n] == ["rank[low]", "rank[mid]"]
    np.testing.assert_allclose(
        model.predict(frame_of(worker_columns)), model.predict(pandas), rtol=1e-12
    )


def test_numbered_columns_of_pandas_are_positions(numbers):
    model = FairRidgeRegressor(sensitive=[1, 0]).fit(pd.DataFrame(numbers.Z), numbers.y)
    expected = FairRidgeRegressor(sensitive=[1, 0]).fit(numbers.Z, numbers.y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
    assert not hasattr(model, "feature_names_in_")
    assert model.coef_names_.tolist() == [f"x{k}" for k in range(6)]


def test_names_of_mixed_types_are_refused(numbers):
    frame = pd.DataFrame(numbers.Z[:, :3], columns=["a", 1, "c"])
    with pytest.raises(TypeError, match="string names"):
        FairRidgeRegressor(sensitive=[0]).fit(frame, numbers.y)


DUPLICATES = {
    "pandas": lambda x: pd.DataFrame({"s": x, "t": x**2, "x": x**3}).set_axis(
        ["s", "x", "x"], axis=1
    ),
    "pyarrow": lambda x: pa.Table.from_arrays([pa.array(x**k) for k in (1, 2, 3)], ["s", "x", "x"]),
}


@pytest.mark.parametrize("kind", DUPLICATES)
def test_duplicate_names_are_an_error_that_names_them(kind):
    x, y = np.arange(1.0, 9.0), np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
    twice = DUPLICATES[kind](x)
    model = FairRidgeRegressor(sensitive="s")
    with pytest.raises(ValueError, match=r"^X has more than one column named 'x'; rename them\.$"):
        model.fit(twice, y)
    with pytest.raises(ValueError, match="sensitive_features has more than one column named 'x'"):
        FairRidgeRegressor().fit(x[:, None], y, sensitive_features=twice)
    model.fit(pd.DataFrame({"s": x, "x": x**2}), y)
    with pytest.raises(ValueError, match="more than one column named 'x'; rename them"):
        model.predict(twice)


def test_rows_and_columns_must_be_there(fitted, workers, worker_columns, frame_of):
    frame, model = frame_of(worker_columns), FairRidgeRegressor(sensitive=["sex"])
    np.testing.assert_allclose(fitted.predict(frame[:1]), fitted.predict(frame)[:1], rtol=1e-12)
    with pytest.raises(ValueError, match=r"n_samples=1.*at least two rows"):
        model.fit(frame[:1], workers.y[:1])
    for call in (lambda: model.fit(frame[:0], []), lambda: fitted.predict(frame[:0])):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            call()
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        FairRidgeRegressor(sensitive=[0]).fit(np.zeros((5, 0)), np.zeros(5))


@pytest.mark.parametrize(
    ("sensitive", "error", "message"),
    [
        ("z", ValueError, "X has no column 'z'"),
        (-5, ValueError, "column -5, but X has 4"),
        ([], ValueError, "names no column"),
        ([0, "a"], ValueError, "'a' more than once"),
        (1.0, TypeError, "column names or integer positions"),
        ([True, False, False, False], TypeError, "column names or integer positions"),
    ],
)
def test_a_sensitive_column_that_is_not_there_is_an_error(numbers, sensitive, error, message):
    frame = pd.DataFrame(numbers.Z[:, :4], columns=list("abcd"))
    with pytest.raises(error, match=message):
        FairRidgeRegressor(sensitive=sensitive).fit(frame, numbers.y)


def test_names_that_a_pipeline_has_lost_come_back_with_set_output(numbers):
    model = FairRidgeRegressor(sensitive="sex")
    lost = r"'sex', but X has no column names.*set_output\(transform='pandas'\)"
    with pytest.raises(ValueError, match=lost):
        model.fit(numbers.Z, numbers.y)
    frame = pd.DataFrame(numbers.Z[:, :2], columns=["keep__sex", "keep__x"])
    with pytest.raises(ValueError, match="verbose_feature_names_out=False"):
        model.fit(frame, numbers.y)


@pytest.mark.parametrize("r", [0.0, 0.3, 1.0])
def test_without_predictors_only_the_mean_is_fair(numbers, r):
    model = FairRidgeRegressor(r, sensitive=[0, 1]).fit(numbers.S, numbers.y)
    assert model.beta_.shape == (0,)
    A = np.column_stack([np.ones(80), numbers.S])[:, : 3 if r == 1.0 else 1]
    least_squares = A @ np.linalg.lstsq(A, numbers.y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(numbers.S), least_squares, rtol=1e-10)


def test_refitting_forgets_the_columns_of_the_last_fit(numbers, workers):
    model = FairRidgeRegressor(sensitive=[0])
    model.fit(pd.DataFrame(workers.columns), workers.y)
    model.fit(numbers.Z, numbers.y)
    assert not hasattr(model, "feature_names_in_")
    assert (model.n_features_in_, model.coef_.shape) == (6, (6,))
    model.fit(pd.DataFrame(workers.columns), workers.y)
    assert model.feature_names_in_.tolist() == list(workers.columns)


def test_a_warning_about_data_points_at_the_call(numbers):
    Z = np.column_stack([numbers.Z, np.ones(80)])
    with pytest.warns(DataWarning) as record:
        FairRidgeRegressor(sensitive=[0]).fit(Z, numbers.y)
    assert [warning.filename for warning in record] == [__file__]
