"""Files with a valid checksum and one wrong field: an error that names it, or a usable model."""

import copy
import hashlib
import json
from functools import partial

import numpy as np
import pytest

import fairridge
from fairridge import (
    BlindExactRegressor,
    ConvexFairClassifier,
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    SteinbergRegressor,
    ZafarRegressor,
)
from fairridge.export import reasons, scorecard, to_onnx, to_sklearn, to_sql
from fairridge.fairness import Combined, IndividualFairness
from fairridge.families import Tweedie
from fairridge.penalties import ElasticNet
from tests.zoo import REMOVED, with_changed_field

MIXED = Combined(["statistical-parity", IndividualFairness("squared")], weights=(0.5, 0.5))
KINDS = {
    "regressor": (FairRidgeRegressor(0.1, definition=MIXED), "gaussian"),
    "tweedie": (FairRidgeRegressor(0.1, family=Tweedie(1.4), penalty=ElasticNet(0.3)), "tweedie"),
    "three classes": (FairRidgeClassifier(0.1), "multinomial"),
    "survival": (FairRidgeSurvival(0.1), "cox"),
    "Zafar": (ZafarRegressor(0.1), "gaussian"),
    "a bound per attribute": (
        FairRidgeClassifier({"sex": 0.001}, definition="mean-parity"),
        "binomial",
    ),
    "blind, exact": (BlindExactRegressor(0.01), "gaussian"),
    "Steinberg": (SteinbergRegressor(0.1), "gaussian"),
    "convex classes": (ConvexFairClassifier(0.1), "binomial"),
}
FORGED = (
    None, -1, 0, 7, 2.5, 1e308, 10**400, "x", "inf", True, [], {}, [[1]], [1.5, 2.5, 3.5],
    {"float": "nan"}, {"float": "inf"}, {"object": "Gaussian"}, {"tuple": []}, {"tuple": "ab"},
    {"dict": {"a": "b"}}, {"array": "float64", "shape": [0], "values": []},
    {"array": "U9999999999", "shape": [1], "values": [1]}, REMOVED,
)  # fmt: skip
# One forgery per field and kind of model; neighbors differ, and so do kinds.
STEP = 5


# The others differ from these in single fields.
TELLING = ("regressor", "three classes", "survival", "Zafar")


@pytest.fixture(
    scope="module",
    params=[
        kind if kind in TELLING else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS
    ],
)
def saved(request, workers, tmp_path_factory):
    """A saved model of each kind: the content of the file, and its path."""
    model, response = KINDS[request.param]
    path = tmp_path_factory.mktemp("forged") / "model.json"
    rows = workers.X[["sex", "skill", "region"]].iloc[:60]
    fairridge.save(model.set_params(sensitive=["sex"]).fit(rows, workers.y[response][:60]), path)
    return json.loads(path.read_text()), path, rows.iloc[:5]


def places(value, above=()):
    """Every field of a document, and the first two items of every list."""
    if above:
        yield above
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, item in inside:
        if isinstance(item, dict | list):
            yield from places(item, (*above, key))
        else:
            yield (*above, key)


def forge(document, place, value):
    """Change one field and give the file the right checksum again."""
    forged = with_changed_field(document, place, value)
    forged.pop("checksum")
    text = json.dumps(forged, sort_keys=True, separators=(",", ":"))
    return json.dumps({**forged, "checksum": hashlib.sha256(text.encode()).hexdigest()})


def loaded(path):
    """The model, or what the error says."""
    try:
        return fairridge.load(path), ""
    except ValueError as error:
        return None, str(error)


def use(model, rows):
    """Predict, print, explain and export; only a ValueError may come of it."""
    functions = (to_sql, to_sklearn, to_onnx, scorecard, fairridge.proxies, fairridge.attribution)
    exports = [partial(function, model) for function in functions]
    exports += [model.summary, lambda: reasons(model, rows), lambda: repr(model)]
    exports += [
        lambda name=name: getattr(model, name)(rows)
        for name in ("predict", "predict_proba", "predict_survival_function")
        if hasattr(model, name)
    ]
    for export in exports:
        try:
            result = export()
        except ValueError:
            continue
        str(result)
        if isinstance(result, np.ndarray) and result.dtype.kind == "f":
            assert np.isfinite(result).all()


@pytest.mark.slow
def test_every_forged_field_is_named_or_harmless(saved):
    document, path, rows = saved
    wrong, kept = 0, 0
    names = [*document["parameters"], *document["fitted"]]
    fields = [place for place in places(document) if place[0] != "checksum"]
    for number, place in enumerate(fields):
        value = FORGED[(STEP * number + len(document["class"])) % len(FORGED)]
        path.write_text(forge(document, place, value))
        model, message = loaded(path)
        if model is not None:
            kept += 1
            use(model, rows)
            continue
        wrong += 1
        assert "model.json" in message
        if len(place) > 1:
            assert any(repr(name) in message for name in names), message
    assert wrong > 5 * kept > 0


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("fitted", "alpha_"), [1.0], "'alpha_' must be finite 64-bit floats of shape"),
        (("fitted", "alpha_"), {"object": "Popen", "args": "x"}, "is not a fairridge model file"),
        (("fitted", "__class__"), 1.0, "'__class__' is nothing a FairRidgeRegressor learns"),
        (("fitted", "alpha_"), {"code": "print(1)"}, "unknown kind 'code'"),
        (("fitted", "n_rows_"), 10**400, "'n_rows_' cannot be read: .* more than 64 bits"),
        (("fitted", "lambda_"), -1.0, "'lambda_' must be 64-bit floats that are at least 0"),
        (("fitted", "status_"), "fine", "'status_' cannot be 'fine'"),
        (("fitted", "_design", "n_columns"), 2, "'_design' does not fit the other fields"),
        (("fitted", "_training", "weight"), "x", "'_training' .* weight of TrainingColumns is 'x'"),
        (("parameters", "unfairness"), "x", "'unfairness' cannot be 'x'"),
        (("parameters", "unfairness"), REMOVED, "'unfairness' is missing"),
    ],
)
def test_what_is_wrong_is_said(fitted, path_of_model, place, value, message):
    fairridge.save(fitted("gaussian"), path_of_model)
    document = json.loads(path_of_model.read_text())
    path_of_model.write_text(forge(document, place, value))
    with pytest.raises(ValueError, match=message):
        fairridge.load(path_of_model)


@pytest.fixture
def path_of_model(tmp_path):
    return tmp_path / "model.json"


def test_what_could_not_be_loaded_is_not_saved(fitted, path_of_model):
    model = copy.deepcopy(fitted("gaussian"))
    fairridge.save(model, path_of_model)
    before = path_of_model.read_bytes()
    model.coef_ = model.coef_ * np.nan
    with pytest.raises(ValueError, match="FairRidgeRegressor cannot be saved: 'coef_' must be"):
        fairridge.save(model, path_of_model)
    assert path_of_model.read_bytes() == before
