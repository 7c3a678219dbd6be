"""A name that X and sensitive_features share: every export is right, or refuses it."""

from types import ModuleType

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import proxies, reasons, scorecard, to_onnx, to_python, to_sklearn, to_sql

RNG = np.random.default_rng(8)
VALUES = RNG.normal(size=(80, 3))
S = VALUES[:, :1] + RNG.normal(size=(80, 1))
Y = VALUES @ [1.0, 2.0, 3.0] + 4.0 * S[:, 0] + RNG.normal(size=80)
# X and S: the names that an array gets meet names of the other table.
SHARED = {
    "s0": (pd.DataFrame(VALUES, columns=["a", "s0", "b"]), S),
    "x0": (VALUES, pd.DataFrame(S, columns=["x0"])),
}


@pytest.fixture(params=SHARED)
def case(request):
    X, attributes = SHARED[request.param]
    model = FairRidgeRegressor(0.3).fit(X, Y, sensitive_features=attributes)
    return request.param, model, X, attributes


@pytest.mark.parametrize("export", [to_python, to_sql])
def test_what_finds_columns_by_name_refuses(case, export):
    name, model, _, _ = case
    with pytest.raises(ValueError, match=f"'{name}' is one of X and one of sensitive_features"):
        export(model)


def test_what_finds_columns_by_position_is_right(case):
    _, model, X, attributes = case
    expected = model.predict(X, sensitive_features=attributes)
    rows = np.hstack([np.asarray(attributes), np.asarray(X)])
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    (found,) = session.run(["prediction"], {"X": rows})
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(to_sklearn(model).predict(rows), expected, rtol=1e-12)


def test_levels_are_inputs_by_name_in_onnx():
    X = pd.DataFrame({"a": VALUES[:, 0], "s0": VALUES[:, 1]})
    model = FairRidgeRegressor(0.3).fit(X, Y, sensitive_features=np.where(S > 0, "f", "m"))
    with pytest.raises(ValueError, match="to_onnx finds columns by name, and 's0'"):
        to_onnx(model)


def test_scorecards_and_reasons_keep_both(case):
    _, _, X, attributes = case
    model = FairRidgeClassifier(0.3).fit(X, Y > 0, sensitive_features=attributes)
    eta = model.decision_function(X, sensitive_features=attributes)
    card = scorecard(model, rounded=False)
    score = card.score(X, sensitive_features=attributes)
    np.testing.assert_allclose(score, card.offset + card.factor * eta, rtol=1e-12)
    assert len(card.lines) == 4
    found = reasons(model, X, sensitive_features=attributes, sensitive=True, top=None)
    np.testing.assert_allclose(found.linear_predictor, eta, rtol=1e-12)


def test_a_blind_model_has_no_second_column():
    X, attributes = SHARED["s0"]
    model = FairRidgeRegressor(0.3, blind=True).fit(X, Y, sensitive_features=attributes)
    module = ModuleType("model")
    exec(to_python(model), module.__dict__)
    found = [module.predict(row)["prediction"] for row in X.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)


def test_numbers_of_both_are_checked():
    X, attributes = SHARED["s0"]
    model = FairRidgeRegressor(0.3).fit(X, Y, sensitive_features=attributes)
    with pytest.raises(ValueError, match="'s0'"):
        proxies(model, X.assign(s0=np.inf), sensitive_features=attributes)
