"""Models in files: exact, readable, and nothing in them is executed."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import reasons, to_sql
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
    if hasattr(model, "predict_survival_function"):
        survival = (one.predict_survival_function(X) for one in (again, model))
        np.testing.assert_array_equal(*survival)
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
        {"penalty": ElasticNet(l1_ratio=0.3)},
        {"penalty": "radial", "predictor_penalty": 2.5},
        {"definition": StatisticalParity(center=False, measure="variance")},
        {"definition": EqualityOfOpportunity(), "standardize": False},
        {"definition": IndividualFairness(AbsoluteDifference())},
        {"definition": Combined([StatisticalParity(), "individual"], weights=(0.5, 1.5))},
        {"family": Tweedie(power=1.2)},
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


@pytest.mark.parametrize("labels", [[False, True], [-1, 0, 1], ["ä", "longer"]])
def test_labels_keep_value_and_type(labels, workers, reloaded):
    y = np.random.default_rng(0).choice(labels, len(workers.X))
    model = FairRidgeClassifier(0.2, sensitive=["sex"]).fit(workers.X, y)
    again = reloaded(model)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(workers.X).tolist() == model.predict(workers.X).tolist()


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
    assert '  "class": "FairRidgeRegressor",' in path.read_text().splitlines()
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_what_cannot_be_saved_is_named(path, workers):
    X = workers.X[["sex"]].assign(band=pd.cut(workers.X["age"], 3))
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
    with pytest.raises(TypeError, match=r"levels of column 'band' is .*Interval, which cannot"):
        fairridge.save(model, path)

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
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_other_files_are_one_clear_error(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.json' is not a fairridge model file"):
        fairridge.load(path)
    path.unlink()
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


def test_other_formats_and_classes_are_named(fitted, path):
    fairridge.save(fitted("gaussian"), path)
    rewrite(path, lambda document: document.update(format=2, version="9.9"))
    with pytest.raises(ValueError, match=r"format 2 \(written by fairridge 9\.9\).*reads format 1"):
        fairridge.load(path)
    rewrite(path, lambda document: document.update({"format": 1, "class": "Popen"}))
    with pytest.raises(ValueError, match=r"class 'Popen', which is not known.*FairRidgeRegressor"):
        fairridge.load(path)
    rewrite(path, lambda document: document.update({"class": "LinearModel"}))
    with pytest.raises(ValueError, match="which is not known here"):
        fairridge.load(path)


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
        {"X": X.iloc[1:], "y": y.iloc[1:]},
        {"y": y + np.eye(len(y))[0] * 0.01},
        {"y": y[::-1].to_numpy()},
        {"sample_weight": np.full(len(X), 2.0)},
    ]
    found = [fingerprint(**change) for change in changes]
    assert len({first, *found}) == 1 + len(changes)


def test_fingerprints_of_centered_columns_are_stable():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 3))
    X -= X.mean(axis=0)
    y = X[:, 0] + rng.normal(size=50)
    model = FairRidgeRegressor(0.1, sensitive=[0])
    orders = [np.arange(50), *(rng.permutation(50) for _ in range(4))]
    assert len({model.fit(X[order], y[order]).fingerprint_ for order in orders}) == 1


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
