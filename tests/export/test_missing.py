"""Missing values and unseen levels do in exports what they do in the model."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import reasons, scorecard

N = 120


def rows(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "race": rng.choice(["p", "q", "r"], N),
            "number": rng.normal(5.0, 2.0, N),
            "text": rng.choice(["a", "b", "c"], N),
        }
    ).astype({"text": object, "race": object})
    frame.loc[::7, "number"] = np.nan
    frame.loc[1::9, "text"] = None
    return frame


def test_scorecards_have_points_for_missing_levels_but_not_for_missing_numbers():
    frame = rows(0)
    noise = np.random.default_rng(1).normal(size=N)
    y = np.where((frame["text"] == "c") + noise > 0.5, "good", "poor")
    model = FairRidgeClassifier(0.1, sensitive="race", missing="level", predictor_penalty=1.0)
    with pytest.raises(ValueError, match="no points for a missing number, and 'number'"):
        scorecard(model.fit(frame, y))
    card = scorecard(model.fit(frame[["race", "text"]], y), rounded=False)
    assert "(missing)" in card.to_frame()["level"].tolist()
    eta = model.decision_function(frame[["race", "text"]])
    expected = card.offset + card.factor * eta
    np.testing.assert_allclose(card.score(frame[["race", "text"]]), expected, rtol=1e-10)


def test_reasons_say_that_a_value_is_missing():
    frame, new = rows(0), rows(2)
    new.loc[2, "race"] = "stranger"
    new.loc[3, "text"] = "new"
    y = frame["number"].fillna(7.0) + np.random.default_rng(1).normal(size=N)
    model = FairRidgeRegressor(0.1, sensitive="race", missing="level", unknown="base").fit(frame, y)
    found = reasons(model, new, top=None)
    np.testing.assert_allclose(found.linear_predictor, model.predict(new), rtol=1e-10)
    number, text = (found.attributes.index(name) for name in ("number", "text"))
    assert (found.values[0][number], found.values[1][text]) == ("missing", "missing")
    assert found.values[3][text] == "new"
