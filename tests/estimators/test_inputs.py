"""The same data in any container, type or memory layout give the same model."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from fairridge import FairRidgeRegressor


def coefficients(model):
    """Return everything a fit estimates, as one vector."""
    return np.r_[model.alpha_, model.beta_, model.fair_intercept_, model.lambda_, model.unfairness_]


@pytest.mark.parametrize("r", [0.0, 0.05, 1.0])
def test_a_frame_is_encoded_and_solved_as_by_hand(
    workers, worker_columns, frame_of, oracle, assert_solves, r
):
    model = FairRidgeRegressor(r, sensitive=workers.sensitive)
    model.fit(frame_of(worker_columns), workers.y)
    assert model.sensitive_names_.tolist() == workers.sensitive_names
    assert model.predictor_names_.tolist() == workers.predictor_names
    assert_solves(model, oracle(workers.S, workers.X, workers.y, r))


def test_rows_and_arrays_of_text_hold_levels(workers):
    sex, region = workers.columns["sex"], workers.columns["region"]
    rows = [list(row) for row in zip(sex, workers.X[:, -1], strict=True)]
    model = FairRidgeRegressor(sensitive=[0]).fit(rows, workers.y)
    assert model.coef_names_.tolist() == ["x0[m]", "x1"]
    model.fit(np.array([sex, region]).T, workers.y)
    assert model.coef_names_.tolist() == ["x0[m]", "x1[north]", "x1[west]"]


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [("?", 1), ("i1", 127), ("u1", 250), ("u8", 9), ("f2", 9), ("f4", 9), (">f8", 9), ("O", 9)],
)
def test_numeric_types_do_not_matter(dtype, largest):
    rng = np.random.default_rng(1)
    Z = rng.integers(0, largest + 1, size=(60, 5)).astype(float)
    y = Z @ [1.0, 2.0, -1.0, 0.5, 1.0] + rng.normal(size=60)
    expected = FairRidgeRegressor(sensitive=[0, 1]).fit(Z, y)
    model = FairRidgeRegressor(sensitive=[0, 1]).fit(Z.astype(dtype), y)
    np.testing.assert_allclose(coefficients(model), coefficients(expected), rtol=1e-12)
    np.testing.assert_allclose(model.predict(Z.astype(dtype)), expected.predict(Z), rtol=1e-12)


@pytest.mark.parametrize(
    "dtype",
    [
        object,
        "string",
        "category",
        pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_string_types_of_pandas_do_not_matter(workers, dtype):
    sex, skill = workers.columns["sex"], workers.columns["skill"]
    frame = pd.DataFrame({"sex": sex, "skill": skill}).astype({"sex": dtype})
    model = FairRidgeRegressor(sensitive="sex").fit(frame, workers.y)
    assert model.sensitive_names_.tolist() == ["sex[m]"]
    dense = np.column_stack([workers.S[:, 0], skill])
    expected = FairRidgeRegressor(sensitive=[0]).fit(dense, workers.y)
    np.testing.assert_allclose(coefficients(model), coefficients(expected), rtol=1e-12)
    np.testing.assert_allclose(model.predict(frame), expected.predict(dense), rtol=1e-12)


LAYOUTS = {
    "F": np.asfortranarray,
    "reversed": lambda Z: np.ascontiguousarray(Z[::-1, ::-1])[::-1, ::-1],
    "unaligned": lambda Z: np.frombuffer(b"\0" + Z.tobytes(), "u1")[1:].view("f8").reshape(Z.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layout_does_not_matter(numbers, layout):
    Z = LAYOUTS[layout](numbers.Z)
    model = FairRidgeRegressor(sensitive=[0, 1]).fit(Z, numbers.y)
    expected = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, numbers.y)
    np.testing.assert_allclose(coefficients(model), coefficients(expected), rtol=1e-12)
    np.testing.assert_allclose(model.predict(Z), expected.predict(numbers.Z), rtol=1e-12)


def test_arrays_are_not_modified_and_may_be_read_only(numbers):
    weight, offset = np.arange(80.0), np.ones(80)
    arrays = (numbers.X, numbers.y, numbers.S, weight, offset)
    before = copy.deepcopy(arrays)
    for array in arrays:
        array.setflags(write=False)
    X, y, S, w, o = arrays
    model = FairRidgeRegressor(definition="individual")
    model.fit(X, y, sensitive_features=S, sample_weight=w, offset=o)
    model.path(X, y, sensitive_features=S, sample_weight=w, offset=o, unfairness=[0.1])
    model.score(X, y, sensitive_features=S, sample_weight=w, offset=o)
    for array, original in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, original)


def test_frames_are_not_modified(workers, worker_columns, frame_of):
    frame, untouched = frame_of(worker_columns), frame_of(copy.deepcopy(worker_columns))
    model = FairRidgeRegressor(sensitive=workers.sensitive, unknown="base")
    weight = np.arange(len(workers.y))
    model.fit(frame, workers.y, sample_weight=weight).score(frame, workers.y, sample_weight=weight)
    model.path(frame, workers.y).to_frame()
    assert frame.equals(untouched)


def test_arrow_chunks_with_dictionaries_of_their_own_are_one_column():
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1]), pa.array(["m", "f"]))
    second = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, 0]), pa.array(["f", "m", "x"]))
    values = np.array(["m", "f", "m", "f", "f", "x", "m", "f"])
    x, y = np.arange(8.0) ** 2, np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
    table = pa.table({"s": pa.chunked_array([first, second]), "x": x})
    model = FairRidgeRegressor(sensitive="s").fit(table, y)
    assert model.sensitive_names_.tolist() == ["s[f]", "s[x]"]
    dense = np.column_stack([values == "f", values == "x", x])
    expected = FairRidgeRegressor(sensitive=[0, 1]).fit(dense, y)
    np.testing.assert_allclose(coefficients(model), coefficients(expected), rtol=1e-12)


def test_intervals_are_levels():
    rng = np.random.default_rng(7)
    age, x = rng.uniform(20, 70, 60), rng.normal(size=60)
    bands = pd.cut(age, [0, 30, 50, 100])
    model = FairRidgeRegressor(sensitive="age").fit(pd.DataFrame({"age": bands, "x": x}), x + age)
    assert model.sensitive_names_.tolist() == ["age[(30, 50]]", "age[(50, 100]]"]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (
            lambda: pd.DataFrame({"s": [1.0, 2, 3], "when": pd.date_range("2024", periods=3)}),
            "when",
        ),
        (lambda: pl.DataFrame({"s": [1.0, 2, 3], "list": [[1], [2], [3]]}), "list"),
        (lambda: pa.table({"s": [1.0, 2, 3], "struct": [{"a": 1}] * 3}), "struct"),
        (lambda: pd.DataFrame({"s": [1.0, 2, 3], "mixed": [1, "a", 2.0]}), "mixed"),
        (lambda: np.array([[1.0, "a"], [2.0, 3.0], [0.0, "c"]], dtype=object), "x1"),
        (lambda: np.arange(6).reshape(3, 2).astype("M8[D]"), "x0"),
        (lambda: np.arange(6).reshape(3, 2).astype("m8[s]"), "x0"),
    ],
    ids=["datetime", "list", "struct", "mixed", "mixed array", "M8[D]", "m8[s]"],
)
def test_a_column_that_is_no_attribute_is_refused_by_name(make, named):
    with pytest.raises(ValueError, match=f"'{named}'"):
        FairRidgeRegressor(sensitive=[0]).fit(make(), [1.0, 2.0, 4.0])


def test_complex_data_are_refused(numbers):
    with pytest.raises(ValueError, match="Complex data"):
        FairRidgeRegressor(sensitive=[0]).fit(numbers.Z + 1j, numbers.y)
    with pytest.raises(ValueError, match="Complex data"):
        FairRidgeRegressor(sensitive=[0]).fit(sparse.csr_array(numbers.Z + 1j), numbers.y)


@pytest.mark.parametrize("shape", [(), (2, 3, 2)])
def test_an_array_that_is_no_table_is_refused(shape):
    with pytest.raises(ValueError, match="Expected 2D array"):
        FairRidgeRegressor(sensitive=[0]).fit(np.zeros(shape), np.arange(6.0))
