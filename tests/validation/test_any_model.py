"""A model in a pipeline, or a stack of one learner, is measured like the linear model it is."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    cross_validate,
)
from tests.zoo import first_of

N = 240
MODELS = {
    "gaussian": FairRidgeRegressor(sensitive=["sex", ("sex", "age")]),
    "controls": FairRidgeRegressor(sensitive="sex", controls="age"),
    "counts": FairRidgeRegressor(family="poisson", sensitive="sex"),
    "deviance": FairRidgeClassifier(sensitive="sex"),
    "opportunity": FairRidgeClassifier(sensitive="sex", definition="mean-opportunity"),
    "equality": FairRidgeRegressor(sensitive="sex", definition="equality-of-opportunity"),
    "three": FairRidgeClassifier(sensitive=["sex", "age"], definition="mean-parity"),
    "times": FairRidgeSurvival(sensitive="sex"),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    sex, age = rng.choice(["f", "m"], N), np.round(rng.uniform(20, 60, N))
    x = rng.normal(size=N) + 0.8 * (sex == "m") + 0.02 * age
    eta = x + 0.5 * (sex == "m") - 1.0
    labels = np.digitize(eta + rng.logistic(size=N), [0.0, 2.0])
    times = {"time": rng.exponential(np.exp(-0.4 * eta)) + 0.01, "event": rng.random(N) < 0.8}
    y = {
        "gaussian": eta + rng.normal(size=N),
        "controls": eta + rng.normal(size=N),
        "counts": rng.poisson(np.exp(0.3 * eta)),
        "deviance": labels > 0,
        "opportunity": labels > 0,
        "equality": eta + rng.normal(size=N),
        "three": labels,
        "times": pd.DataFrame(times),
    }
    return pd.DataFrame({"sex": sex, "age": age, "x": x}), y


@pytest.mark.parametrize("kind", first_of(MODELS, 2))
def test_a_pipeline_is_measured_like_its_model(rows, kind):
    X, y = rows[0], rows[1][kind]
    models = {"plain": MODELS[kind], "piped": make_pipeline(FunctionTransformer(), MODELS[kind])}
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    found = cross_validate(models, X, y, unfairness=[0.05, 0.5], folds=folds)
    assert found.loss_name["piped"] == found.loss_name["plain"]
    half = len(found.records) // 2
    for plain, piped in zip(found.records[:half], found.records[half:], strict=True):
        assert set(plain) - set(piped) == {"variance_share", "lambda_"}
        for name, value in piped.items():
            if name != "model":
                close = {"rel": 1e-6, "abs": 1e-7, "nan_ok": True}
                expected = value if isinstance(value, str) else pytest.approx(value, **close)
                assert plain[name] == expected, name
