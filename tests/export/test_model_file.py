"""Models in files: exact, readable, and nothing in them is executed."""

import hashlib
import json
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.export import reasons, to_sql
from fairridge.export.codec import NotSaved, decode, encode
from fairridge.fairness import (
    AbsoluteDifference,
    Combined,
    EqualityOfOpportunity,
    IndividualFairness,
    StatisticalParity,
)
from fairridge.families import Tweedie
from fairridge.penalties import ElasticNet


def half_the_variance(fit):
    return 0.5 * fit.sensitive_variance / (fit.sensitive_variance + fit.predictor_variance)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


@pytest.fixture
def reloaded(path):
    def reload(model):
        fairridge.save(model, path)
        return fairridge.load(path)

    return reload


def rewrite(path, change):
    """Change a file and give it the right checksum again, as a forger would."""
    document = json.loads(path.read_text())
    change(document)
    content = {key: value for key, value in document.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    document["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document))


def assert_same_model(again, model, X, **options):
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X, **options), model.predict(X, **options))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert str(again.summary()) == str(model.summary())
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, float | int | str | np.ndarray):
            np.testing.assert_array_equal(getattr(again, name), value, err_msg=name)


def test_predictions_are_the_same_to_the_last_bit(model, workers, reloaded):
    again = reloaded(model)
    assert_same_model(again, model, workers.X)
    assert again.get_params() == model.get_params()
    assert again.fingerprint_ == model.fingerprint_
    assert to_sql(again, "spark") == to_sql(model, "spark")
    np.testing.assert_array_equal(
        fairridge.attribution(again).shares, fairridge.attribution(model).shares
    )
    np.testing.assert_array_equal(
        reasons(again, workers.X).contributions, reasons(model, workers.X).contributions
    )


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "lasso"},
        {"penalty": ElasticNet(l1_ratio=0.3)},
        {"penalty": "radial", "predictor_penalty": 2.5},
        {"definition": "equality-of-opportunity"},
        {"definition": StatisticalParity(center=False, measure="variance")},
        {"definition": EqualityOfOpportunity(), "standardize": False},
        {"definition": IndividualFairness(distance="squared")},
        {"definition": IndividualFairness(AbsoluteDifference())},
        {"definition": Combined(["statistical-parity", IndividualFairness()])},
        {"definition": Combined([StatisticalParity(), "individual"], weights=(0.5, 1.5))},
        {"family": Tweedie(power=1.2)},
        {"unfairness": 0.0},
        {"unfairness": np.float64(1.0)},
        {"sensitive": ("sex", "age"), "unknown": "base"},
        {"sensitive": np.array([1, 5])},
        {"sensitive": pd.Index(["sex"])},
    ],
)
def test_every_setting_survives(options, workers, reloaded):
    y = workers.y["gamma"]
    model = FairRidgeRegressor(**({"unfairness": 0.1, "sensitive": ["sex", "age"]} | options))
    model.fit(workers.X, y)
    again = reloaded(model)
    assert_same_model(again, model, workers.X)
    for name, value in model.get_params().items():
        ours = getattr(again, name)
        assert list(ours) == list(value) if name == "sensitive" else ours == value
    refitted = again.fit(workers.X, y)
    np.testing.assert_array_equal(refitted.coef_, model.coef_)


def test_survival_functions_survive(fitted, workers, reloaded):
    model = fitted("cox")
    np.testing.assert_array_equal(
        reloaded(model).predict_survival_function(workers.X),
        model.predict_survival_function(workers.X),
    )
    efron = FairRidgeSurvival(0.1, sensitive=["sex"], ties="efron")
    efron.fit(workers.X, workers.y["cox"])
    assert reloaded(efron).family_.ties == "efron"


@pytest.mark.parametrize(
    "labels", [[False, True], [1, 2], [-1, 0, 1], ["x", "longer"], [0.5, 1.5], ["ä", "b", "c"]]
)
def test_labels_keep_value_and_type(labels, workers, reloaded):
    y = np.random.default_rng(0).choice(labels, len(workers.X))
    model = FairRidgeClassifier(0.2, sensitive=["sex"])
    if y.dtype.kind == "f":
        with pytest.raises(ValueError, match="continuous"):
            model.fit(workers.X, y)
        return
    model.fit(workers.X, y)
    again = reloaded(model)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(workers.X).tolist() == model.predict(workers.X).tolist()


def test_numbers_that_are_names_may_be_negative(workers, reloaded):
    numbers = workers.X[["skill", "hours", "age"]].to_numpy()
    y = np.where(workers.y["binomial"] == "yes", 1, -1)
    model = FairRidgeClassifier(0.2, sensitive=-1, positive=-1).fit(numbers, y)
    assert_same_model(reloaded(model), model, numbers)
    assert reloaded(model).positive == -1


def test_all_kinds_of_input_survive(workers, reloaded):
    y = workers.y["gaussian"].to_numpy()
    numbers = workers.X[["age", "skill", "hours"]].to_numpy()
    S, X = workers.X[["sex"]], workers.X[["skill", "region"]]
    for Z, options in (
        (numbers, {"sensitive": [0]}),
        (pl.from_pandas(workers.X), {"sensitive": "sex"}),
    ):
        model = FairRidgeRegressor(0.1, **options).fit(Z, y)
        assert_same_model(reloaded(model), model, Z)
    model = FairRidgeRegressor(0.1).fit(X, y, sensitive_features=S)
    assert_same_model(reloaded(model), model, X, sensitive_features=S)
    grades = workers.X[["sex"]].assign(grade=pd.Categorical(numbers[:, 2] > 30))
    model = FairRidgeRegressor(0.1, sensitive="sex").fit(grades, y)
    assert_same_model(reloaded(model), model, grades)


def test_names_and_levels_of_any_kind_survive(nasty, reloaded):
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive).fit(nasty.X, nasty.y)
    assert_same_model(reloaded(model), model, nasty.X)


def test_functions_are_kept_by_name_only(workers, reloaded, path):
    model = FairRidgeRegressor(0.1, sensitive=["sex"], definition=half_the_variance)
    model.fit(workers.X, workers.y["gaussian"])
    again = reloaded(model)
    assert_same_model(again, model, workers.X)
    assert again.definition.name.endswith("half_the_variance")
    assert "half_the_variance" in str(again.summary())
    with pytest.raises(ValueError, match="was not saved with the model, only its name"):
        again.fit(workers.X, workers.y["gaussian"])
    assert str(reloaded(again).summary()) == str(model.summary())
    again.set_params(definition=half_the_variance).fit(workers.X, workers.y["gaussian"])
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    "definition",
    [
        IndividualFairness(AbsoluteDifference(transform=np.log1p)),
        IndividualFairness(lambda a, b: np.abs(a - b) ** 0.5),
        partial(half_the_variance),
    ],
)
def test_functions_inside_definitions_are_kept_by_name(definition, workers, reloaded):
    model = FairRidgeRegressor(0.3, sensitive=["sex"], definition=definition)
    model.fit(workers.X, workers.y["gamma"])
    again = reloaded(model)
    np.testing.assert_array_equal(again.predict(workers.X), model.predict(workers.X))


def test_people_can_read_the_file(fitted, path):
    model = fitted("gaussian")
    fairridge.save(model, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert list(document)[:5] == ["format", "library", "version", "class", "fingerprint"]
    assert document["format"] == 1
    assert document["version"] == fairridge.__version__
    assert document["class"] == "FairRidgeRegressor"
    assert document["fingerprint"] == model.fingerprint_
    assert document["parameters"]["unfairness"] == 0.1
    assert document["fitted"]["coef_"]["values"] == model.coef_.tolist()
    lines = path.read_text().splitlines()
    assert '  "class": "FairRidgeRegressor",' in lines
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_a_failed_save_leaves_the_old_file_alone(fitted, path, workers):
    fairridge.save(fitted("gaussian"), path)
    before = path.read_bytes()
    model = FairRidgeRegressor(0.1, sensitive=["sex"])
    model.fit(workers.X[["sex"]].assign(band=pd.cut(workers.X["age"], 3)), workers.y["gaussian"])
    with pytest.raises(TypeError, match=r"levels of column 'band' is .*Interval, which cannot"):
        fairridge.save(model, path)
    assert path.read_bytes() == before


def test_what_is_no_fitted_model_of_ours_is_refused(path, workers):
    with pytest.raises(NotFittedError):
        fairridge.save(FairRidgeRegressor(), path)
    with pytest.raises(TypeError, match="save needs a linear model of fairridge; dict is not one"):
        fairridge.save({}, path)

    class Mine(FairRidgeRegressor):
        pass

    model = Mine(0.1, sensitive=["sex"]).fit(workers.X, workers.y["gaussian"])
    with pytest.raises(TypeError, match="Mine is a class of its own"):
        fairridge.save(model, path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"[]",
        b'{"library": "other"}',
        b"\xff\xfe",
        b'{"library": "fairridge", "format": 1, "checksum": "0"}',
        b"[" * 100_000,
        pickle.dumps({"library": "fairridge"}),
    ],
)
def test_other_files_are_one_clear_error(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.json' is not a fairridge model file"):
        fairridge.load(path)


def test_a_missing_file_is_said_to_be_missing(path):
    with pytest.raises(FileNotFoundError, match=r"model\.json"):
        fairridge.load(path)


def test_a_changed_or_cut_file_is_noticed(fitted, path):
    fairridge.save(fitted("gaussian"), path)
    text = path.read_text()
    for damaged in (
        text[: len(text) // 2],
        text.replace('"unknown": "error"', '"unknown": "base"'),
    ):
        path.write_text(damaged)
        with pytest.raises(
            ValueError, match=r"model\.json' is not a fairridge model file.* or it is damaged"
        ):
            fairridge.load(path)
    # Another layout is the same file.
    path.write_text(json.dumps(json.loads(text), indent=8))
    fairridge.load(path)


def test_other_formats_and_classes_are_named(fitted, path):
    fairridge.save(fitted("gaussian"), path)
    rewrite(path, lambda document: document.update(format=2, version="9.9"))
    with pytest.raises(ValueError, match=r"format 2 \(written by fairridge 9\.9\).*reads format 1"):
        fairridge.load(path)
    rewrite(path, lambda document: document.update({"format": 1, "class": "Popen"}))
    with pytest.raises(ValueError, match=r"class 'Popen', which is not known.*FairRidgeRegressor"):
        fairridge.load(path)
    for name in ("FairModel", "LinearModel", "FairRidge", "BoundedModel", "Classification"):
        rewrite(path, lambda document, name=name: document.update({"class": name}))
        with pytest.raises(ValueError, match="which is not known here"):
            fairridge.load(path)


@pytest.mark.parametrize(
    "forged",
    [
        {"object": "Popen", "args": "x"},
        {"object": "FairRidgeRegressor"},
        {"object": "Tweedie", "power": 7.0},
        {"object": "Tweedie", "strength": 1.5},
        {"code": "print(1)"},
        {},
        {"float": "1.0"},
        {"array": "object", "shape": [3], "values": [1, 2]},
        {"array": "O8", "shape": "x", "values": []},
        {"array": "datetime64[s]", "shape": [1], "values": [1]},
        {"array": "float64", "shape": [1], "values": ["1.0"]},
        {"array": "float64", "shape": [1, 3], "values": [1.0, 2.0, 3.0]},
        {"array": "str", "shape": [1], "values": [{"dict": {}}]},
        {"array": "float64"},
        {"array": "int8", "shape": [1], "values": [10**30]},
    ],
)
def test_forged_values_are_refused(fitted, path, forged):
    fairridge.save(fitted("gaussian"), path)
    rewrite(path, lambda document: document["fitted"].update(alpha_=forged))
    with pytest.raises(ValueError, match=r"model\.json' is not a fairridge model file"):
        fairridge.load(path)


@pytest.mark.parametrize("name", ["predict", "__class__", "summary", "unfairness", "A", "a b"])
def test_forged_names_are_refused(fitted, path, name):
    fairridge.save(fitted("gaussian"), path)
    rewrite(path, lambda document: document["fitted"].update({name: 1.0}))
    with pytest.raises(ValueError, match=f"{name!r} is nothing a FairRidgeRegressor learns"):
        fairridge.load(path)


def test_missing_parts_are_refused(fitted, path):
    for name in ("coef_", "_design"):
        fairridge.save(fitted("gaussian"), path)
        rewrite(path, lambda document, name=name: document["fitted"].pop(name))
        with pytest.raises(ValueError, match="not a fairridge model file"):
            fairridge.load(path)
    fairridge.save(fitted("gaussian"), path)
    short = {"array": "float64", "shape": [2], "values": [1.0, 2.0]}
    rewrite(path, lambda document: document["fitted"].update(coef_=short))
    with pytest.raises(ValueError, match=r"'coef_' must be finite 64-bit floats of shape \(8\)"):
        fairridge.load(path)
    fairridge.save(fitted("gaussian"), path)
    rewrite(path, lambda document: document["parameters"].update(strength=2))
    with pytest.raises(ValueError, match="strength"):
        fairridge.load(path)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(value=values)
def test_plain_values_round_trip(value):
    again = decode(json.loads(json.dumps(encode(value, "value"), allow_nan=False)))
    assert repr(again) == repr(value)


@given(
    shape=st.sampled_from([(0,), (3,), (2, 3), (0, 4), (1, 2, 2)]),
    dtype=st.sampled_from(["float64", "float32", "int64", "int8", "bool", "U3", "object"]),
    seed=st.integers(0, 1000),
)
def test_arrays_round_trip(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    scale = 1.0 if dtype.startswith("int") else 10.0 ** rng.integers(-30, 30)
    array = (rng.normal(size=shape) * scale).astype(dtype)
    if dtype == "object":
        array = array.astype("U5").astype(object)
    again = decode(json.loads(json.dumps(encode(array, "value"))))
    assert again.dtype.kind == array.dtype.kind
    assert again.shape == array.shape
    np.testing.assert_array_equal(again, array)


def test_what_cannot_be_saved_is_named():
    with pytest.raises(TypeError, match=r"covariance=… is a .*LinearRegression, which cannot"):
        encode(LinearRegression(), "covariance=…")
    with pytest.raises(TypeError, match=r"value has the key \(1, 2\)"):
        encode({(1, 2): 2}, "value")
    with pytest.raises(TypeError, match="value is an array of complex128"):
        encode(np.array([1j]), "value")
    assert decode(encode(NotSaved("a.b"), "value")) == NotSaved("a.b")
    assert decode(encode({1: 2.0, 0: 0.5}, "value")) == {1: 2.0, 0: 0.5}


def test_fingerprints_tell_data_apart(workers):
    def fingerprint(X=workers.X, y=workers.y["gaussian"], r=0.1, **options):
        model = FairRidgeRegressor(r, sensitive=["sex", "age"])
        return model.fit(X, y, **options).fingerprint_

    X, y = workers.X, workers.y["gaussian"]
    first = fingerprint()
    assert len(first) == 64
    assert fingerprint(r=0.9) == first
    order = np.random.default_rng(0).permutation(len(X))
    assert fingerprint(X.iloc[order], y.iloc[order]) == first
    plain = X.drop(columns="region")  # a categorical of polars declares no order of its own
    assert fingerprint(pl.from_pandas(plain), y.to_numpy()) == fingerprint(plain)
    swapped = X["skill"].to_numpy()[::-1]
    changes = [
        {"X": X.rename(columns={"skill": "talent"})},
        {"X": X.assign(skill=X["skill"] + 1e-3)},
        {"X": X.assign(skill=X["skill"] * 1.0001)},
        {"X": X.assign(skill=swapped)},
        {"X": X.assign(sex=X["sex"].replace("f", "w"))},
        {"X": X.assign(sex=X["sex"].replace("f", "e"))},
        {"X": X.iloc[1:], "y": y.iloc[1:]},
        {"y": y + np.eye(len(y))[0] * 0.01},
        {"y": y[::-1].to_numpy()},
        {"sample_weight": np.full(len(X), 2.0)},
    ]
    found = [fingerprint(**change) for change in changes]
    assert len({first, *found}) == 1 + len(changes)


def test_fingerprints_of_centered_and_constant_columns_are_stable():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 3))
    X -= X.mean(axis=0)
    X = np.column_stack([X, np.full(50, 4.0)])
    y = X[:, 0] + rng.normal(size=50)
    prints = set()
    for order in (np.arange(50), rng.permutation(50), rng.permutation(50)):
        with pytest.warns(fairridge.exceptions.DataWarning):
            model = FairRidgeRegressor(0.1, sensitive=[0]).fit(X[order], y[order])
        prints.add(model.fingerprint_)
    assert len(prints) == 1


def test_an_unfitted_model_has_no_fingerprint():
    with pytest.raises(NotFittedError):
        FairRidgeRegressor().fingerprint_  # noqa: B018
    assert not hasattr(FairRidgeRegressor(), "fingerprint_")


ROWS = pd.DataFrame(
    {
        "sex": ["m", "m", "m", "f", "f"],
        "skill": [-1.01, -0.21, -0.16, 0.54, 0.21],
        "region": ["north", "west", "west", "north", "west"],
    }
)
# What the versions that wrote the files in `earlier` predicted of these rows.
PREDICTED = {
    "regressor": [0.38346394061, 0.89374895411, 0.92499857816, 0.90920190195, 0.71324541188],
    "classifier": ["no", "yes", "yes", "yes", "yes"],
    "survival": [-0.82268940558, -0.16107979411, -0.11350582526, -0.04693753984, -0.46049962430],
}


def test_ways_to_certify_that_are_gone_load_as_auto(workers, path):
    model = FairRidgeRegressor(0.5, sensitive=["sex"], confidence=0.8)
    fairridge.save(model.fit(workers.X, workers.y["gaussian"]), path)
    rewrite(path, lambda document: document["parameters"].update(certification="draws"))
    assert fairridge.load(path).certification == "auto"


@pytest.mark.parametrize("version", ["0.2.0", "0.3.0"])
@pytest.mark.parametrize("kind", PREDICTED)
def test_files_of_earlier_versions_load(version, kind, path):
    written = Path(__file__).parent / "earlier" / f"{version}-{kind}.json"
    assert json.loads(written.read_text(encoding="utf-8"))["version"] == version
    model = fairridge.load(written)
    found = model.predict(ROWS)
    if kind == "classifier":
        assert found.tolist() == PREDICTED[kind]
        assert (model.classes_.tolist(), model.positive_) == (["no", "yes"], "no")
    else:
        np.testing.assert_allclose(found, PREDICTED[kind], rtol=1e-9)
    assert str(model.summary())
    fairridge.save(model, path)
    np.testing.assert_array_equal(fairridge.load(path).predict(ROWS), found)
