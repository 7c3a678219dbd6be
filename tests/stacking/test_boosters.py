"""LightGBM, XGBoost and CatBoost as learners, as they are."""

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge.export import to_onnx
from fairridge.stacking import FairStackingClassifier, FairStackingRegressor

OPTIONS = {
    "lightgbm": {"n_estimators": 5, "verbose": -1, "n_jobs": 1},
    "xgboost": {"n_estimators": 5, "enable_categorical": True, "n_jobs": 1},
    "catboost": {
        "iterations": 5, "verbose": 0, "thread_count": 1, "allow_writing_files": False,
        "cat_features": ["town"],
    },
}  # fmt: skip
PREFIX = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}
N = 300


@pytest.fixture(params=OPTIONS)
def learners(request):
    """Return the classifier and the regressor of a library, and the name of the classifier."""
    library = pytest.importorskip(request.param)
    names = [f"{PREFIX[request.param]}{kind}" for kind in ("Classifier", "Regressor")]
    return *(getattr(library, name)(**OPTIONS[request.param]) for name in names), names[0]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, N)
    skill = rng.normal(size=N) + sex
    town = pd.Categorical(np.array(["a", "b"])[rng.integers(0, 2, N)])
    X = pd.DataFrame({"skill": skill, "town": town})
    return X, pd.DataFrame({"sex": np.array(["f", "m"])[sex]}), skill + rng.normal(size=N)


def test_boosters_are_learners_of_labels(learners, rows, tmp_path):
    X, S, eta = rows
    y = np.where(eta > 0.5, "yes", "no")
    model = FairStackingClassifier(learners[0], 0.05, cv=2, random_state=0)
    weight = np.linspace(1.0, 2.0, N)
    model.fit(X, y, sensitive_features=S, sample_weight=weight)
    assert model.unfairness_ == pytest.approx(0.05, abs=1e-6)
    assert set(model.predict(X, sensitive_features=S)) == {"no", "yes"}
    assert f"score of {learners[2]}"[:25] in str(model.summary())
    path = model.path(X, y, sensitive_features=S, sample_weight=weight, unfairness=[0.0, 0.05])
    p = model.predict_proba(X, sensitive_features=S)
    np.testing.assert_allclose(path.at(0.05).predict_proba(X, sensitive_features=S), p, atol=1e-8)

    fairridge.save(model, tmp_path / "model.json", learners="joblib")
    again = fairridge.load(tmp_path / "model.json", trusted=True)
    np.testing.assert_allclose(again.predict_proba(X, sensitive_features=S), p)
    pytest.importorskip("skl2onnx")
    with pytest.raises(ValueError, match=f"cannot convert learner {learners[2]}"):
        to_onnx(model, X)


def test_boosters_are_learners_of_numbers_and_certified(learners, rows):
    X, S, eta = rows
    model = FairStackingRegressor(learners[1], 0.3, confidence=0.9, random_state=0)
    model.fit(X, eta, sensitive_features=S)
    assert model.certificate_.granted
    assert model.certificate_.n_rows == N // 2
