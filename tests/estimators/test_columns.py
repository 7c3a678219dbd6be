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


def test_column_order_at_predict_does_not_matter(fitted, workers, worker_columns, frame_of):
    straight = frame_of(worker_columns)
    turned = frame_of(dict(reversed(worker_columns.items())))
    np.testing.assert_allclose(fitted.predict(turned), fitted.predict(straight), rtol=1e-12)
    assert fitted.score(turned, workers.y) == pytest.approx(fitted.score(straight, workers.y))


def test_column_order_at_fit_does_not_matter_but_to_the_order_of_results(
    fitted, workers, worker_columns, frame_of
):
    turned = frame_of(dict(reversed(worker_columns.items())))
    model = FairRidgeRegressor(sensitive=workers.sensitive).fit(turned, workers.y)
    ours = dict(zip(model.coef_names_, model.coef_, strict=True))
    theirs = dict(zip(fitted.coef_names_, fitted.coef_, strict=True))
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert model.feature_names_in_.tolist() == list(reversed(worker_columns))


def test_a_model_predicts_for_frames_of_another_library(workers, worker_columns, frame_of):
    pandas = pd.DataFrame(workers.columns)
    levels = ["high", "low", "mid"]
    model = FairRidgeRegressor(sensitive=workers.sensitive).fit(pandas, workers.y)
    assert [name for name in model.predictor_names_ if "rank" in name] == [
        f"rank[{level}]" for level in levels[1:]
    ]
    np.testing.assert_allclose(
        model.predict(frame_of(worker_columns)), model.predict(pandas), rtol=1e-12
    )


@pytest.mark.parametrize("name", ["sex", "region", "hours"])
def test_a_missing_column_is_an_error_that_names_it(fitted, worker_columns, frame_of, name):
    columns = {key: value for key, value in worker_columns.items() if key != name}
    with pytest.raises(ValueError, match=f"has no column '{name}'"):
        fitted.predict(frame_of(columns))


def test_an_extra_column_is_an_error_that_names_it(fitted, workers, worker_columns, frame_of):
    with pytest.raises(ValueError, match="column 'wage', which was not there at fit"):
        fitted.predict(frame_of(worker_columns | {"wage": workers.y}))


def test_a_renamed_column_is_both_missing_and_extra(fitted, worker_columns, frame_of):
    columns = {("Sex" if key == "sex" else key): value for key, value in worker_columns.items()}
    with pytest.raises(ValueError, match=r"has no column 'sex'.*has column 'Sex'"):
        fitted.predict(frame_of(columns))


@pytest.mark.parametrize("width", [1, 5, 7])
def test_an_array_of_another_width_is_an_error(numbers, width):
    model = FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, numbers.y)
    with pytest.raises(ValueError, match=f"X has {width} features, but FairRidgeRegressor is exp"):
        model.predict(np.zeros((4, width)))


def test_an_array_after_a_frame_is_read_by_position_with_one_warning(numbers):
    names = list("abcdef")
    frame = pd.DataFrame(numbers.Z, columns=names)
    model = FairRidgeRegressor(sensitive=["a"]).fit(frame, numbers.y)
    with pytest.warns(UserWarning, match="does not have valid feature names") as record:
        predicted = model.predict(numbers.Z)
    assert len(record) == 1
    np.testing.assert_allclose(predicted, model.predict(frame), rtol=1e-14)


def test_a_frame_after_an_array_is_read_by_position(numbers):
    model = FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, numbers.y)
    frame = pd.DataFrame(numbers.Z, columns=list("fedcba"))
    np.testing.assert_allclose(model.predict(frame), model.predict(numbers.Z), rtol=1e-14)


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
    x = np.arange(1.0, 9.0)
    with pytest.raises(ValueError, match=r"^X has more than one column named 'x'; rename them\.$"):
        FairRidgeRegressor(sensitive="s").fit(DUPLICATES[kind](x), x)


@pytest.mark.parametrize("kind", DUPLICATES)
def test_duplicate_names_at_predict_are_an_error_that_names_them(kind):
    x, y = np.arange(1.0, 9.0), np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
    model = FairRidgeRegressor(sensitive="s").fit(pd.DataFrame({"s": x, "x": x**2}), y)
    with pytest.raises(ValueError, match="more than one column named 'x'; rename them"):
        model.predict(DUPLICATES[kind](x))


def test_duplicate_names_in_sensitive_features_are_an_error(numbers):
    S = pd.DataFrame(numbers.S, columns=["s", "s"])
    with pytest.raises(ValueError, match="sensitive_features has more than one column named 's'"):
        FairRidgeRegressor().fit(numbers.X, numbers.y, sensitive_features=S)


@pytest.mark.parametrize("empty", [(0, 3), (5, 0)])
@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
def test_no_rows_or_no_columns_are_an_error(make, empty):
    X = make(np.zeros(empty))
    what = "sample" if empty[0] == 0 else "feature"
    with pytest.raises(ValueError, match=rf"0 {what}\(s\)"):
        FairRidgeRegressor(sensitive=[0]).fit(X, np.zeros(empty[0]))


def test_a_frame_without_rows_is_an_error_at_fit_and_at_predict(fitted, worker_columns, frame_of):
    empty = frame_of(worker_columns)[:0]
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        FairRidgeRegressor(sensitive=["sex"]).fit(empty, [])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fitted.predict(empty)


def test_one_row_is_enough_to_predict_but_not_to_fit(fitted, workers, worker_columns, frame_of):
    frame = frame_of(worker_columns)
    np.testing.assert_allclose(fitted.predict(frame[:1]), fitted.predict(frame)[:1], rtol=1e-12)
    with pytest.raises(ValueError, match=r"n_samples=1.*at least two rows"):
        FairRidgeRegressor(sensitive=["sex"]).fit(frame[:1], workers.y[:1])


@pytest.mark.parametrize("argument", ["y", "sample_weight", "offset"])
@pytest.mark.parametrize("length", [79, 81])
def test_vectors_of_a_wrong_length_are_an_error(numbers, argument, length):
    given = {"y": numbers.y} | {argument: np.ones(length)}
    with pytest.raises(ValueError, match=f"X has 80 rows but {argument} has {length}"):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, **given)


@pytest.mark.parametrize("argument", ["y", "sample_weight", "offset"])
def test_vectors_of_a_wrong_length_are_an_error_in_score(numbers, argument):
    model = FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, numbers.y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples.*79"):
        model.score(numbers.Z, **({"y": numbers.y} | {argument: np.ones(79)}))


def test_a_response_is_required(numbers):
    with pytest.raises(ValueError, match="requires y"):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z)


def test_a_single_response_value_or_two_columns_are_an_error(numbers):
    with pytest.raises(ValueError, match="y is a single value"):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, 1.0)
    with pytest.raises(ValueError, match="1d array"):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, numbers.Z[:, :2])


@pytest.mark.parametrize(
    ("sensitive", "names"),
    [
        ("b", ["b"]),
        (1, ["b"]),
        (-1, ["d"]),
        (["d", "a"], ["d", "a"]),
        (("a", 3), ["a", "d"]),
        (np.array(["b", "c"]), ["b", "c"]),
        (np.array([2, 0]), ["c", "a"]),
        (pd.Index(["c"]), ["c"]),
    ],
)
def test_sensitive_columns_are_named_in_any_way(numbers, sensitive, names):
    frame = pd.DataFrame(numbers.Z[:, :4], columns=list("abcd"))
    model = FairRidgeRegressor(sensitive=sensitive).fit(frame, numbers.y)
    assert model.sensitive_names_.tolist() == names
    assert model.predictor_names_.tolist() == [c for c in "abcd" if c not in names]


@pytest.mark.parametrize(
    ("sensitive", "error", "message"),
    [
        ("z", ValueError, "X has no column 'z'"),
        (4, ValueError, "column 4, but X has 4"),
        (-5, ValueError, "column -5, but X has 4"),
        ([], ValueError, "names no column"),
        (["a", "a"], ValueError, "'a' more than once"),
        ([0, "a"], ValueError, "'a' more than once"),
        ([0, -4], ValueError, "'a' more than once"),
        (1.0, TypeError, "column names or integer positions"),
        (True, TypeError, "column names or integer positions"),
        ([True, False, False, False], TypeError, "column names or integer positions"),
        ([None], TypeError, "column names or integer positions"),
    ],
)
def test_a_sensitive_column_that_is_not_there_is_an_error(numbers, sensitive, error, message):
    frame = pd.DataFrame(numbers.Z[:, :4], columns=list("abcd"))
    with pytest.raises(error, match=message):
        FairRidgeRegressor(sensitive=sensitive).fit(frame, numbers.y)


def test_a_name_without_names_is_an_error(numbers):
    with pytest.raises(ValueError, match="'sex', but X has no column names"):
        FairRidgeRegressor(sensitive="sex").fit(numbers.Z, numbers.y)


def test_a_column_that_changes_its_kind_is_an_error_that_names_it(fitted, worker_columns, frame_of):
    n = len(worker_columns["age"])
    with pytest.raises(ValueError, match="'hours' held numbers at fit"):
        fitted.predict(frame_of(worker_columns | {"hours": ["10"] * n}))
    with pytest.raises(ValueError, match="'region' held the levels 'east', 'north', 'west'"):
        fitted.predict(frame_of(worker_columns | {"region": [1] * n}))


@pytest.mark.parametrize("r", [0.0, 0.3, 1.0])
def test_without_predictors_only_the_mean_is_fair(numbers, r):
    model = FairRidgeRegressor(r, sensitive=[0, 1]).fit(numbers.S, numbers.y)
    assert model.beta_.shape == (0,)
    if r < 1.0:
        np.testing.assert_allclose(model.predict(numbers.S), numbers.y.mean(), rtol=1e-12)
    else:
        A = np.column_stack([np.ones(80), numbers.S])
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


def test_names_that_a_pipeline_has_lost_come_back_with_set_output(numbers):
    with pytest.raises(ValueError, match=r"set_output\(transform='pandas'\)"):
        FairRidgeRegressor(sensitive="sex").fit(numbers.Z, numbers.y)
    frame = pd.DataFrame(numbers.Z[:, :2], columns=["keep__sex", "keep__x"])
    with pytest.raises(ValueError, match="verbose_feature_names_out=False"):
        FairRidgeRegressor(sensitive="sex").fit(frame, numbers.y)
