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
    FairStackingClassifier,
    cross_validate,
)

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


@pytest.mark.parametrize("kind", MODELS)
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


def test_a_stack_is_measured_by_its_own_definition(rows):
    X, y = rows[0], rows[1]["opportunity"]
    learner = make_pipeline(
        FunctionTransformer(lambda frame: frame[["age", "x"]]),
        FairRidgeClassifier(1.0, sensitive="age"),
    )
    model = FairStackingClassifier(
        sensitive=["sex"],
        definition="mean-opportunity",
        estimators=[("one", learner)],
        cv=2,
        random_state=0,
    )
    train, test = next(iter(KFold(2, shuffle=True, random_state=0).split(X)))
    folds = [(train, test)]
    found = cross_validate(model, X, y, unfairness=[0.02], folds=folds, random_state=0).records[0]
    assert found["train_achieved"] == pytest.approx(0.02, abs=1e-6)
    fitted = model.set_params(unfairness=0.02).fit(X.iloc[train], y[train])
    new = X.iloc[test]
    chance, among = fitted.predict_proba(new)[:, 1], y[test]
    man = (new["sex"] == "m").to_numpy(float)

    def adjusted(values, S):
        share, n = np.corrcoef(values, S)[0, 1] ** 2, len(S)
        return 1.0 - (1.0 - share) * (n - 1) / (n - 2)

    assert found["achieved"] == pytest.approx(adjusted(chance[among], man[among]), abs=1e-9)
    assert found["share_of_means"] == pytest.approx(adjusted(chance, man), abs=1e-9)
    eta = np.log(chance / (1.0 - chance))
    assert found["share_of_eta"] == pytest.approx(adjusted(eta, man), abs=1e-9)
