"""All of R fairml's gaussian answers on our own synthetic data."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor

DEFINITIONS = {
    "sp-komiyama": "statistical-parity",
    "eo-komiyama": "equality-of-opportunity",
    "if-berk": "individual",
}


@pytest.mark.slow
@pytest.mark.parametrize("theirs", DEFINITIONS)
@pytest.mark.parametrize("ridge", [0, 0.1])
def test_gaussian_answers_of_fairml(people, people_answers, theirs, ridge):
    X, y = people[["age", "sex", "income", "score", "region"]], people["gaussian"]
    deviation = y.std(ddof=0)
    answers = [
        answer
        for answer in people_answers
        if (answer["model"], answer["definition"], answer["lambda"]) == ("frrm", theirs, ridge)
    ]
    assert len(answers) == 7
    for answer in answers:
        model = FairRidgeRegressor(
            answer["unfairness"],
            sensitive=["age", "sex"],
            definition=DEFINITIONS[theirs],
            predictor_penalty=ridge * len(y) / deviation,
        ).fit(X, y)
        ours = np.concatenate([[model.fair_intercept_], model.alpha_, model.beta_])
        expected = np.array(list(answer["coefficients"].values()), dtype=float)
        np.testing.assert_allclose(ours, expected, atol=1e-6, rtol=0)
        np.testing.assert_allclose(model.unfairness_, answer["value"][0], atol=1e-6)
        np.testing.assert_allclose(model.deviance_, answer["deviance"], rtol=1e-6)
        np.testing.assert_allclose(model.loglik_, answer["loglik"], rtol=1e-6)
        np.testing.assert_allclose(model.predict(X)[:5], answer["fitted_link_5"], atol=1e-6)
