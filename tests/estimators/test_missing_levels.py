"""Missing values that a model learns from: a level of their own, or a column that says so."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, load, save, sources

N = 90


@pytest.fixture
def columns():
    rng = np.random.default_rng(50)
    return {
        "s": rng.choice(["f", "m"], N).tolist(),
        "number": rng.normal(5.0, 2.0, N).tolist(),
        "text": rng.choice(["a", "b"], N).tolist(),
    }


@pytest.fixture
def y(columns):
    rng = np.random.default_rng(51)
    return np.array(columns["number"]) + rng.normal(size=N)


def with_gaps(columns, name, rows):
    values = list(columns[name])
    for row in rows:
        values[row] = None
    return columns | {name: values}


def test_a_missing_level_is_a_level_of_its_own(columns, y, frame_of):
    gaps = with_gaps(columns, "text", range(0, N, 7))
    model = FairRidgeRegressor(sensitive="s", missing="level").fit(frame_of(gaps), y)
    named = gaps | {"text": ["zz" if text is None else text for text in gaps["text"]]}
    expected = FairRidgeRegressor(sensitive="s").fit(frame_of(named), y)
    assert model.coef_names_.tolist() == ["s[m]", "number", "text[b]", "text[(missing)]"]
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict(frame_of(gaps)), expected.predict(frame_of(named)), rtol=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_missing_number_is_the_mean_and_a_column_that_says_so(columns, y, frame_of, weighted):
    gaps = with_gaps(columns, "number", range(3, N, 5))
    weight = np.arange(1.0, N + 1.0) if weighted else np.ones(N)
    model = FairRidgeRegressor(sensitive="s", missing="level")
    model.fit(frame_of(gaps), y, sample_weight=weight)
    gone = np.array([value is None for value in gaps["number"]])
    numbers = np.array(columns["number"])
    filled = np.where(gone, np.average(numbers[~gone], weights=weight[~gone]), numbers)
    written = {"s": gaps["s"], "number": filled, "gone": gone.astype(float), "text": gaps["text"]}
    expected = FairRidgeRegressor(sensitive="s").fit(frame_of(written), y, sample_weight=weight)
    assert model.coef_names_.tolist() == ["s[m]", "number", "number[(missing)]", "text[b]"]
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    np.testing.assert_allclose(
        model.predict(frame_of(gaps)), expected.predict(frame_of(written)), rtol=1e-10
    )


def test_sensitive_attributes_may_be_missing_too(columns, y, frame_of):
    gaps = with_gaps(columns, "s", range(0, N, 4))
    model = FairRidgeRegressor(0.005, sensitive="s", missing="level").fit(frame_of(gaps), y)
    assert model.sensitive_names_.tolist() == ["s[m]", "s[(missing)]"]
    np.testing.assert_allclose(model.unfairness_, 0.005, rtol=1e-8)


def test_arrays_have_missing_numbers(y):
    rng = np.random.default_rng(52)
    X = rng.normal(size=(N, 3))
    X[::6, 2] = np.nan
    model = FairRidgeRegressor(sensitive=[0], missing="level").fit(X, y)
    assert model.coef_names_.tolist() == ["x0", "x1", "x2", "x2[(missing)]"]
    assert np.isfinite(model.predict(X)).all()


def test_nothing_changes_if_nothing_is_missing(columns, y, frame_of):
    frame = frame_of(columns)
    plain = FairRidgeRegressor(sensitive="s").fit(frame, y)
    ready = FairRidgeRegressor(sensitive="s", missing="level").fit(frame, y)
    assert ready.coef_names_.tolist() == plain.coef_names_.tolist()
    np.testing.assert_array_equal(ready.coef_, plain.coef_)


def test_what_was_never_missing_at_fit_is_unknown_at_predict(columns, y, frame_of):
    model = FairRidgeRegressor(sensitive="s", missing="level").fit(frame_of(columns), y)
    with pytest.raises(ValueError, match=r"'text' has the level '\(missing\)', which was not"):
        model.predict(frame_of(with_gaps(columns, "text", [4])))
    with pytest.raises(ValueError, match="'number' has 1 missing value"):
        model.predict(frame_of(with_gaps(columns, "number", [4])))
    model.set_params(unknown="base")
    base = frame_of(columns | {"text": ["a", *columns["text"][1:]]})
    found = model.predict(frame_of(with_gaps(columns, "text", [0])))
    np.testing.assert_array_equal(found, model.predict(base))


def test_rare_missing_values_are_merged_with_other_rare_levels(columns, y):
    gaps = pd.DataFrame(with_gaps(columns, "text", [1, 2]))
    gaps.loc[[5, 6], "text"] = "rare"
    model = FairRidgeRegressor(sensitive="s", missing="level", min_frequency=3).fit(gaps, y)
    assert model.predictor_names_.tolist() == ["number", "text[b]", "text[(other)]"]
    other = gaps.assign(text="rare")
    np.testing.assert_array_equal(
        model.predict(gaps.assign(text=pd.Series([None] * N, dtype=object)))[:3],
        model.predict(other)[:3],
    )


def test_a_column_without_any_number_is_an_error(columns, y):
    frame = pd.DataFrame(columns).assign(number=np.nan)
    with pytest.raises(ValueError, match="'number' has no value at all"):
        FairRidgeRegressor(sensitive="s", missing="level").fit(frame, y)


def test_files_keep_how_missing_values_are_read(columns, y, tmp_path):
    gaps = with_gaps(with_gaps(columns, "text", range(0, N, 7)), "number", range(3, N, 5))
    frame = pd.DataFrame(gaps)
    model = FairRidgeClassifier(sensitive="s", missing="level").fit(frame, y > 5.0)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_rows_in_files_are_refused(columns, y, tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame(columns).assign(y=y).to_parquet(path)
    source = sources.parquet(path, response="y", sensitive=["s"])
    with pytest.raises(ValueError, match="missing='level' needs the rows in main memory"):
        FairRidgeRegressor(missing="level").fit(source)


def test_a_bad_choice_is_an_error(columns, y, frame_of):
    with pytest.raises(ValueError, match="missing='drop' is not known"):
        FairRidgeRegressor(sensitive="s", missing="drop").fit(frame_of(columns), y)
