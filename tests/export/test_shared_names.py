"""A name that X and sensitive_features share: every export is right, or refuses it."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import proxies, reasons, scorecard, to_onnx, to_python, to_sql

from .formats import in_onnx, in_python, in_scikit_learn

RNG = np.random.default_rng(8)
VALUES = RNG.normal(size=(80, 3))
S = VALUES[:, :1] + RNG.normal(size=(80, 1))
Y = VALUES @ [1.0, 2.0, 3.0] + 4.0 * S[:, 0] + RNG.normal(size=80)
# The name that an array gets meets one of the other table.
X = pd.DataFrame(VALUES, columns=["a", "s0", "b"])


@pytest.fixture(scope="module")
def model():
    return FairRidgeRegressor(0.3).fit(X, Y, sensitive_features=S)


def test_what_finds_columns_by_name_refuses(model):
    for export in (to_python, to_sql):
        with pytest.raises(ValueError, match="'s0' is one of X and one of sensitive_features"):
            export(model)
    levels = FairRidgeRegressor(0.3).fit(X, Y, sensitive_features=np.where(S > 0, "f", "m"))
    with pytest.raises(ValueError, match="to_onnx finds columns by name, and 's0'"):
        to_onnx(levels)
    with pytest.raises(ValueError, match="'s0'"):
        proxies(model, X.assign(s0=np.inf), sensitive_features=S)


def test_what_finds_columns_by_position_is_right(model):
    expected, rows = model.predict(X, sensitive_features=S), np.hstack([S, VALUES])
    for elsewhere in (in_onnx, in_scikit_learn):
        np.testing.assert_allclose(elsewhere(model, rows)["prediction"], expected, rtol=1e-12)
    blind = FairRidgeRegressor(0.3, blind=True).fit(X, Y, sensitive_features=S)
    found = in_python(blind, X)["prediction"]
    np.testing.assert_allclose(found, blind.predict(X), rtol=1e-12)


def test_scorecards_and_reasons_keep_both():
    model = FairRidgeClassifier(0.3).fit(X, Y > 0, sensitive_features=S)
    eta = model.decision_function(X, sensitive_features=S)
    card = scorecard(model, rounded=False)
    score = card.score(X, sensitive_features=S)
    np.testing.assert_allclose(score, card.offset + card.factor * eta, rtol=1e-12)
    assert len(card.lines) == 4
    found = reasons(model, X, sensitive_features=S, sensitive=True, top=None)
    np.testing.assert_allclose(found.linear_predictor, eta, rtol=1e-12)
