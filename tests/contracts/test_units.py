"""The units of the predictors, in every model that is exported: they change no prediction."""

import numpy as np
import pytest

import fairridge
from tests.zoo import first_of

MODELS = [
    name for name in fairridge.__all__ if name.endswith(("Regressor", "Classifier", "Survival"))
]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    S = rng.integers(0, 2, (200, 1)).astype(float)
    X = rng.normal(size=(200, 3)) + S * [1.0, -0.5, 0.3]
    eta = 0.8 * S[:, 0] + X @ [0.5, -0.4, 0.2]
    time = np.exp(-eta) * rng.exponential(size=200)
    responses = {
        "Regressor": eta + rng.normal(size=200),
        "Classifier": (rng.random(200) < 1 / (1 + np.exp(-eta))).astype(int),
        "Survival": np.column_stack([time, rng.random(200) < 0.7]),
    }
    return S, X, responses


@pytest.mark.parametrize("name", first_of(MODELS, 4))
def test_predictions_do_not_depend_on_units(people, name):
    S, X, responses = people
    y = next(values for suffix, values in responses.items() if name.endswith(suffix))

    def predicted(X):
        model = getattr(fairridge, name)(unfairness=0.05)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(X, y, sensitive_features=S)
        predict = getattr(model, "predict_proba", model.predict)
        return predict(X, sensitive_features=S)

    other = X * [1e4, 1e-4, 7.0] + [100.0, 0.1, 0.0]
    np.testing.assert_allclose(predicted(other), predicted(X), rtol=1e-6, atol=1e-8)
