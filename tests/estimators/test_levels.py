"""Categorical columns: contrasts, order, empty and unseen levels."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor
from fairridge.exceptions import DataWarning


@pytest.fixture
def grades():
    """A numeric S, a categorical with the values b, c and d, and a response."""
    rng = np.random.default_rng(30)
    values = rng.choice(["b", "c", "d"], 60).tolist()
    s = rng.normal(size=60)
    y = s + np.array([{"b": 0.0, "c": 2.0, "d": -1.0}[value] for value in values])
    return {"s": s, "grade": values}, y + rng.normal(size=60)


def predictions(model, frame_of, column):
    return model.predict(frame_of({"s": np.zeros(len(column)), "grade": column}))


def test_strings_are_sorted_and_the_first_is_the_base(grades, frame_of):
    columns, y = grades
    model = FairRidgeRegressor(sensitive="s").fit(frame_of(columns), y)
    assert model.predictor_names_.tolist() == ["grade[c]", "grade[d]"]


def test_a_declared_order_is_kept(grades, frame_of, categorical_of):
    columns, y = grades
    grade = categorical_of(columns["grade"], ["d", "b", "c"])
    model = FairRidgeRegressor(sensitive="s").fit(frame_of(columns | {"grade": grade}), y)
    assert model.predictor_names_.tolist() == ["grade[b]", "grade[c]"]


def test_coefficients_are_treatment_contrasts(grades, frame_of):
    columns, y = grades
    model = FairRidgeRegressor(sensitive="s").fit(frame_of(columns), y)
    b, c, d = predictions(model, frame_of, ["b", "c", "d"])
    np.testing.assert_allclose(model.beta_, [c - b, d - b], rtol=1e-10)


@pytest.mark.parametrize(
    ("levels", "names", "empty"),
    [
        (["a", "b", "c", "d"], ["a", "c", "d"], "a"),
        (["b", "a", "c", "d"], ["a", "c", "d"], "a"),
        (["c", "d", "b", "a"], ["d", "b", "a"], "a"),
        (["z", "a", "d", "c", "b"], ["z", "a", "c", "b"], "z"),
    ],
)
def test_empty_levels_have_coefficient_zero_and_give_no_warning(
    grades, frame_of, categorical_of, levels, names, empty
):
    columns, y = grades
    used = [level for level in levels if level in "bcd"]
    full = FairRidgeRegressor(sensitive="s").fit(
        frame_of(columns | {"grade": categorical_of(columns["grade"], used)}), y
    )
    model = FairRidgeRegressor(sensitive="s").fit(
        frame_of(columns | {"grade": categorical_of(columns["grade"], levels)}), y
    )
    assert model.predictor_names_.tolist() == [f"grade[{name}]" for name in names]
    found = dict(zip(names, model.beta_, strict=True))
    assert all(found.pop(level) == 0.0 for level in levels if level not in "bcd")
    np.testing.assert_allclose(list(found.values()), full.beta_, rtol=1e-10)
    at = predictions(model, frame_of, categorical_of([used[0], empty], levels))
    assert at[0] == pytest.approx(at[1], rel=1e-12)


def test_empty_levels_of_a_sensitive_column_give_no_warning(grades, frame_of, categorical_of):
    columns, y = grades
    levels = ["a", "d", "x", "c", "b"]
    frame = frame_of(columns | {"grade": categorical_of(columns["grade"], levels)})
    model = FairRidgeRegressor(sensitive="grade").fit(frame, y)
    assert model.sensitive_names_.tolist() == ["grade[a]", "grade[x]", "grade[c]", "grade[b]"]
    np.testing.assert_array_equal(model.alpha_ == 0.0, [True, True, False, False])
    plain = categorical_of(columns["grade"], ["d", "c", "b"])
    expected = FairRidgeRegressor(sensitive="grade").fit(frame_of(columns | {"grade": plain}), y)
    np.testing.assert_allclose(model.alpha_[2:], expected.alpha_, rtol=1e-10)
    assert model.lambda_ == pytest.approx(expected.lambda_, rel=1e-9)


def test_a_dependent_column_is_still_reported_beside_empty_levels(grades, frame_of, categorical_of):
    columns, y = grades
    grade = categorical_of(columns["grade"], ["a", "b", "c", "d"])
    frame = frame_of(columns | {"grade": grade, "twice": 2 * columns["s"]})
    with pytest.warns(DataWarning, match="'twice'") as record:
        FairRidgeRegressor(sensitive="s").fit(frame, y)
    assert len(record) == 1
    assert "grade" not in str(record[0].message)


def test_a_sensitive_column_with_one_level_is_constant(grades, frame_of):
    columns, y = grades
    frame = frame_of({"x": columns["s"], "sex": ["f"] * 60})
    with pytest.warns(DataWarning, match="'sex") as record:
        model = FairRidgeRegressor(sensitive="sex").fit(frame, y)
    assert len(record) == 1
    A = np.column_stack([np.ones(60), columns["s"]])
    least_squares = A @ np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(frame), least_squares, rtol=1e-10)


def test_a_sensitive_column_with_one_level_in_use_is_constant(grades, frame_of, categorical_of):
    columns, y = grades
    sex = categorical_of(["f"] * 60, ["f", "m"])
    with pytest.warns(DataWarning, match="'sex") as record:
        model = FairRidgeRegressor(sensitive="sex").fit(
            frame_of({"x": columns["s"], "sex": sex}), y
        )
    assert len(record) == 1
    assert model.alpha_.tolist() == [0.0]


@pytest.mark.parametrize("sensitive", ["s", "grade"])
def test_an_unseen_level_is_an_error_that_names_it(grades, frame_of, sensitive):
    columns, y = grades
    model = FairRidgeRegressor(sensitive=sensitive).fit(frame_of(columns), y)
    with pytest.raises(
        ValueError, match=r"'grade' has the level 'q'.*'b', 'c', 'd'.*unknown='base'"
    ):
        predictions(model, frame_of, ["b", "q"])


def test_an_unseen_level_may_stand_for_the_base(grades, frame_of):
    columns, y = grades
    model = FairRidgeRegressor(sensitive="s", unknown="base").fit(frame_of(columns), y)
    q, b, c = predictions(model, frame_of, ["q", "b", "c"])
    assert q == b != c


@pytest.mark.parametrize(("sensitive", "unknown"), [("s", "mean"), ("grade", "base")])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_unseen_level_may_be_the_average_of_the_training_rows(
    grades, frame_of, sensitive, unknown, weighted
):
    columns, y = grades
    weight = np.arange(1.0, 61.0) if weighted else np.ones(60)
    model = FairRidgeRegressor(sensitive=sensitive, unknown=unknown)
    model.fit(frame_of(columns), y, sample_weight=weight)
    everyone = predictions(model, frame_of, columns["grade"])
    q, b = predictions(model, frame_of, ["q", "b"])
    np.testing.assert_allclose(q, np.average(everyone, weights=weight), rtol=1e-12)
    assert abs(q - b) > 0.1


def test_an_unseen_level_stands_for_the_base_in_use_not_for_the_first_declared(
    grades, frame_of, categorical_of
):
    columns, y = grades
    grade = categorical_of(columns["grade"], ["a", "d", "c", "b"])
    model = FairRidgeRegressor(sensitive="s", unknown="base", predictor_penalty=1.0)
    model.fit(frame_of(columns | {"grade": grade}), y)
    q, d, b = predictions(model, frame_of, ["q", "d", "b"])
    assert q == d != b


def test_a_bad_choice_for_unseen_levels_is_an_error_at_predict_too(grades, frame_of):
    columns, y = grades
    model = FairRidgeRegressor(sensitive="s").fit(frame_of(columns), y).set_params(unknown="x")
    with pytest.raises(ValueError, match="unknown='x' is not known"):
        predictions(model, frame_of, ["b", "q"])


def test_declared_levels_without_rows_are_no_unseen_levels(grades, frame_of, categorical_of):
    columns, y = grades
    model = FairRidgeRegressor(sensitive="s").fit(frame_of(columns), y)
    found = predictions(model, frame_of, categorical_of(["b", "c"], ["q", "c", "b"]))
    np.testing.assert_array_equal(found, predictions(model, frame_of, ["b", "c"]))


def test_levels_are_remembered_by_value_not_by_code(grades, frame_of, categorical_of):
    columns, y = grades
    grade = categorical_of(columns["grade"], ["d", "c", "b"])
    model = FairRidgeRegressor(sensitive="s").fit(frame_of(columns | {"grade": grade}), y)
    in_order = predictions(model, frame_of, categorical_of(["b", "c", "d"], ["d", "c", "b"]))
    recoded = predictions(model, frame_of, categorical_of(["b", "c", "d"], ["b", "c", "d"]))
    as_text = predictions(model, frame_of, ["b", "c", "d"])
    np.testing.assert_array_equal(recoded, in_order)
    np.testing.assert_array_equal(as_text, in_order)


@pytest.mark.parametrize("levels", [[3, 1, 2], [True, False], [0.5, 2.5]])
def test_levels_need_not_be_strings(levels):
    rng = np.random.default_rng(31)
    values = rng.choice(len(levels), 50)
    group = pd.Categorical.from_codes(values, categories=levels)
    frame = pd.DataFrame({"group": group, "x": rng.normal(size=50)})
    y = values + frame["x"] + rng.normal(size=50)
    model = FairRidgeRegressor(sensitive="group").fit(frame, y)
    assert model.sensitive_names_.tolist() == [f"group[{level}]" for level in levels[1:]]
    dense = np.column_stack([values == k for k in range(1, len(levels))] + [frame["x"]])
    expected = FairRidgeRegressor(sensitive=list(range(len(levels) - 1))).fit(dense, y)
    np.testing.assert_allclose(model.alpha_, expected.alpha_, rtol=1e-10)


def test_many_levels_are_solved_as_their_indicators(oracle, assert_solves):
    rng = np.random.default_rng(32)
    values = np.r_[np.arange(40), rng.integers(0, 40, 360)]
    s = rng.normal(size=400) + 0.05 * values
    y = s + 0.1 * values + rng.normal(size=400)
    frame = pd.DataFrame({"s": s, "town": [f"t{value:02d}" for value in values]})
    model = FairRidgeRegressor(0.02, sensitive="s", predictor_penalty=3.0).fit(frame, y)
    X = (values[:, None] == np.arange(1, 40)).astype(float)
    assert_solves(model, oracle(s[:, None], X, y, 0.02, predictor_penalty=3.0))
