"""R fairml's answers for generalized linear models, and the same objective solved exactly."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeSurvival
from fairridge.fairness import StatisticalParity
from fairridge.families import Cox
from tests.zoo import model_of

FAMILIES = ("binomial", "poisson", "cox", "multinomial")


def response_of(frame, family):
    if family == "cox":
        return frame[["time", "status"]].rename(columns={"status": "event"})
    return frame[family]


def answered(family, coefficients, classes=None):
    """Return R's coefficients of S and U, by class where there are several."""
    if family == "multinomial":
        table = pd.DataFrame(
            coefficients["values"], coefficients["rows"], coefficients["cols"], dtype=float
        )
        return table.drop("(Intercept)")[list(classes)].to_numpy().T
    values = [np.ravel(v)[0] for name, v in coefficients.items() if name != "(Intercept)"]
    return np.array(values, dtype=float)


def found(model):
    return np.concatenate([model.alpha_, model.beta_], axis=-1)


@pytest.fixture(scope="module")
def people_columns(people):
    return people[["age", "sex", "income", "score", "region"]]


def compare_people(people, X, answers, definition):
    for answer in answers:
        family, r = answer["family"], answer["unfairness"]
        model = model_of(
            family,
            r,
            sensitive=["age", "sex"],
            definition=definition,
            predictor_penalty=answer["lambda"] * len(X),
        ).fit(X, response_of(people, family))
        classes = getattr(model, "classes_", None)
        expected = answered(family, answer["coefficients"], classes)
        np.testing.assert_allclose(found(model), expected, rtol=0, atol=1e-6)
        np.testing.assert_allclose(model.unfairness_, answer["value"][0], atol=1e-6)
        assert model.converged_
        if family != "cox":
            np.testing.assert_allclose(model.deviance_, answer["deviance"], rtol=1e-6)
            np.testing.assert_allclose(model.loglik_, answer["loglik"], rtol=1e-6)
        if model.bound_active_ and r > 0.0:
            np.testing.assert_allclose(model.lambda_, float(answer["lr"]) * len(X), rtol=1e-5)
        eta = model._linear_predictor(X.iloc[:5], None, None)
        theirs = np.array(answer["fitted_link_5"], dtype=float)
        if family == "cox":  # known up to a constant
            eta, theirs = eta - eta.mean(), theirs - theirs.mean()
        np.testing.assert_allclose(eta, theirs, atol=5e-6)


def select(answers, *key):
    names = ("model", "family", "definition", "lambda", "sensitive_centred")
    found = [a for a in answers if tuple(a[name] for name in names) == key]
    assert found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("ridge", [0, 0.1])
@pytest.mark.parametrize("family", FAMILIES)
def test_statistical_parity_of_fairml(
    people, people_answers, people_columns, family, ridge, centered
):
    answers = select(people_answers, "fgrrm", family, "sp-komiyama", ridge, centered)
    assert len(answers) == 7
    compare_people(people, people_columns, answers, StatisticalParity(center=centered))


@pytest.mark.parametrize("family", ["binomial", "poisson", "cox"])
def test_individual_fairness_of_fairml(people, people_answers, people_columns, family):
    answers = select(people_answers, "fgrrm", family, "if-berk", 0, True)
    assert len(answers) == 4
    compare_people(people, people_columns, answers, "individual")


@pytest.mark.parametrize("ridge", [0, 0.1])
def test_fairml_reports_efrons_likelihood_at_breslows_coefficients(
    people, people_answers, people_columns, ridge
):
    X, y = people_columns, response_of(people, "cox")
    values, ones = y.to_numpy(float), np.ones(len(y))
    for answer in select(people_answers, "fgrrm", "cox", "sp-komiyama", ridge, True):
        model = FairRidgeSurvival(
            answer["unfairness"], sensitive=["age", "sex"], predictor_penalty=ridge * len(X)
        ).fit(X, y)
        eta = model.predict(X)[:, None]
        efron, breslow = (
            Cox(ties).deviance_terms(values, eta, ones, 0).deviance for ties in ("efron", "breslow")
        )
        assert model.deviance_ == pytest.approx(breslow, rel=1e-12)
        assert answer["deviance"] == pytest.approx(efron, rel=1e-8)
        assert answer["deviance"] < breslow - 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("binomial", "vu.binomial"),
        ("binomial", "compas.bin"),
        ("poisson", "vu.poisson"),
        ("binomial", "adult"),
    ],
)
def test_exact_answers(reference, family, name):
    answers = reference.json(f"exact/exact_fgrrm_{family}_{name}.json")
    task, frame = reference.task(name)
    for column in frame.select_dtypes("category"):
        frame[column] = frame[column].cat.remove_unused_categories()
    X, y = frame[task["sensitive"] + task["predictors"]], frame[task["response"]]
    y = y.cat.codes.to_numpy() if family == "binomial" else y
    for answer in answers:
        model = model_of(
            family,
            answer["unfairness"],
            sensitive=task["sensitive"],
            definition=StatisticalParity(center=False),
            predictor_penalty=answer["lambda"] * len(y),
        ).fit(X, y)
        expected = np.array([float(value[0]) for value in answer["coefficients"].values()])
        ours = np.concatenate([[model.fair_intercept_], model.alpha_, model.beta_])
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
        assert abs(model.unfairness_ - answer["value"]) < 1e-10
        assert model.deviance_ == pytest.approx(answer["deviance"], rel=1e-10)
        np.testing.assert_allclose(model.lambda_, float(answer["lr"]) * len(y), rtol=1e-7)
        assert model.converged_


@pytest.mark.slow
@pytest.mark.parametrize("family", ["cox", "multinomial"])
def test_answers_with_a_tight_tolerance(reference, family):
    answers = reference.json(f"golden/tight_vu_fgrrm_{family}_sp-komiyama.json")
    task, frame = reference.task(f"vu.{family}")
    X, y = frame[task["sensitive"] + task["predictors"]], response_of(frame, family)
    assert len(answers) == 18
    for answer in answers:
        model = model_of(
            family,
            answer["unfairness"],
            sensitive=task["sensitive"],
            definition=StatisticalParity(center=False),
            predictor_penalty=answer["lambda"] * len(X),
        ).fit(X, y)
        classes = getattr(model, "classes_", None)
        expected = answered(family, answer["coefficients"], classes)
        np.testing.assert_allclose(
            found(model), expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max())
        )
        np.testing.assert_allclose(model.unfairness_, answer["fairness_value"], atol=1e-6)
        assert model.converged_
