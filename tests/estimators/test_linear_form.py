"""`coef_` and `intercept_` belong together, as other software takes them."""

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival

MODELS = [
    name for name in fairridge.__all__ if name.endswith(("Regressor", "Classifier", "Survival"))
]
RNG = np.random.default_rng(8)
Z = RNG.normal([0.0, 3.0, -1.0, 10.0], size=(150, 4))
ETA = Z @ [0.5, -0.7, 0.8, 0.2] - 2.0
CLASSES = np.digitize(ETA + RNG.normal(size=150), [-2.5, -1.0])
RESPONSES = {
    "regression": (FairRidgeRegressor(0.1, sensitive=[2, 0]), ETA + RNG.normal(size=150)),
    "two classes": (FairRidgeClassifier(0.1, sensitive=[1]), CLASSES > 0),
    "three classes": (FairRidgeClassifier(0.1, sensitive=[3]), CLASSES),
    "survival": (
        FairRidgeSurvival(0.1, sensitive=[2]),
        np.column_stack([RNG.exponential(np.exp(-ETA)), RNG.random(150) < 0.7]),
    ),
}


@pytest.fixture(params=RESPONSES)
def model(request):
    estimator, y = RESPONSES[request.param]
    return estimator.fit(Z, y)


def scores(model):
    of = getattr(model, "decision_function", model.predict)(Z)
    return of.reshape(len(Z), -1)


def test_a_score_written_by_hand(model):
    by_hand = Z @ np.atleast_2d(model.coef_).T + model.intercept_
    np.testing.assert_allclose(scores(model), by_hand, rtol=1e-10, atol=1e-12)
    assert list(model.coef_names_) == ["x0", "x1", "x2", "x3"]


def test_shapes_are_those_of_scikit_learn(model):
    if not hasattr(model, "classes_"):
        assert (model.coef_.shape, np.ndim(model.intercept_)) == ((4,), 0)
        return
    rows = 1 if len(model.classes_) == 2 else len(model.classes_)
    assert (model.coef_.shape, model.intercept_.shape) == ((rows, 4), (rows,))


def test_explanations_of_shap_add_up_to_predictions():
    shap = pytest.importorskip("shap", reason="shap is not installed")
    estimator, y = RESPONSES["regression"]
    model = estimator.fit(Z, y)
    values = shap.LinearExplainer((model.coef_, model.intercept_), Z).shap_values(Z)
    total = values.sum(axis=1) + model.predict(Z).mean()
    np.testing.assert_allclose(total, model.predict(Z), rtol=1e-6)


def test_levels_stand_where_their_column_stood():
    frame = pd.DataFrame(
        {
            "hours": Z[:, 0],
            "region": np.array(["east", "north", "west"])[CLASSES],
            "sex": np.where(Z[:, 1] > 3.0, "m", "f"),
            "skill": Z[:, 3],
        }
    )
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(frame, ETA)
    names = ["hours", "region[north]", "region[west]", "sex[m]", "skill"]
    assert model.coef_names_.tolist() == names
    encoded = pd.get_dummies(frame, drop_first=True, dtype=float, prefix_sep="[")
    encoded.columns = [f"{name}]" if "[" in name else name for name in encoded.columns]
    by_hand = encoded[names].to_numpy() @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(frame), by_hand, rtol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_low(name):
    """No tower: what a model does is found in few classes."""
    parents = getattr(fairridge, name).__mro__
    assert len([cls for cls in parents if cls.__module__.startswith("fairridge")]) <= 3
