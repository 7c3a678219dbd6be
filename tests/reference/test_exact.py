"""The same objective solved to about 1e-12 by an independent program, on real data."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor


@pytest.mark.parametrize(
    "name", ["vu.gaussian", pytest.param("communities", marks=pytest.mark.slow), "compas"]
)
def test_exact_gaussian_answers(reference, name):
    answers = reference.json(f"exact/exact_frrm_{name}.json")
    task, frame = reference.task(name)
    X, y = frame[task["sensitive"] + task["predictors"]], frame[task["response"]]
    unit = len(y) / y.std(ddof=0)  # from glmnet's scale of λ to the paper's
    for answer in answers:
        model = FairRidgeRegressor(
            answer["unfairness"],
            sensitive=task["sensitive"],
            predictor_penalty=answer["lambda"] * unit,
        ).fit(X, y)
        ours = np.concatenate([[model.fair_intercept_], model.alpha_, model.beta_])
        expected = np.array([float(value[0]) for value in answer["coefficients"].values()])
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
        np.testing.assert_allclose(model.lambda_, float(answer["lr"]) * unit, rtol=1e-8)
        np.testing.assert_allclose(model.predict(X)[:10], answer["fitted_10"], rtol=1e-8)
        assert abs(model.unfairness_ - answer["value"]) < 1e-10
