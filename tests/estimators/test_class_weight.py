"""Weights of classes: in the deviance, and nowhere else."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from fairridge import FairRidgeClassifier, load, save


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    sex = rng.choice(["f", "m"], 500)
    skill = rng.normal(size=500) + 0.7 * (sex == "m")
    eta = skill + (sex == "m") - 2.5 + rng.logistic(size=500)
    y = np.where(eta > 0.0, "hired", "no")
    three = np.where(eta > 0.0, "c", np.where(eta > -2.0, "b", "a"))
    luck = rng.normal(size=500) + 0.3 * eta
    return pd.DataFrame({"sex": sex, "skill": skill, "luck": luck}), y, three


WEIGHTS = ["balanced", {"hired": 3.5}, {"hired": 0.2, "no": 4.0}]


@pytest.mark.parametrize("class_weight", WEIGHTS)
def test_without_a_bound_it_is_weighted_logistic_regression(people, class_weight):
    X, y, _ = people
    model = FairRidgeClassifier(1.0, sensitive="sex", class_weight=class_weight).fit(X, y)
    Z = np.column_stack([X["sex"] == "m", X["skill"], X["luck"]])
    expected = LogisticRegression(C=np.inf, class_weight=class_weight, tol=1e-10).fit(Z, y)
    # scikit-learn models "no", the second label, as we do.
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-5)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-5)


def test_the_weighted_deviance_is_what_is_minimized(people):
    """Brute force: α and β at λ(r) minimize it, with U of unweighted least squares."""
    X, y, _ = people
    model = FairRidgeClassifier(
        0.03, sensitive="sex", class_weight={"no": 5.0}, standardize=False
    ).fit(X, y)
    assert model.status_ == "converged"
    s = (X["sex"] == "m").to_numpy(float)
    s -= s.mean()
    x = X[["skill", "luck"]].to_numpy()
    x = x - x.mean(axis=0)
    u = x - np.outer(s, s @ x / (s @ s))
    no = y == "no"
    weight = np.where(no, 5.0, 1.0)

    def deviance(theta):
        eta = theta[0] + s * theta[1] + u @ theta[2:]
        return 2.0 * weight @ np.logaddexp(0.0, np.where(no, -eta, eta))

    found = minimize(
        lambda theta: deviance(theta) + model.lambda_ * theta[1] ** 2,
        np.zeros(4),
        options={"gtol": 1e-6},
    ).x
    np.testing.assert_allclose([model.alpha_[0], *model.beta_], found[1:], rtol=1e-4)
    full, null = deviance(found), deviance([found[0], 0.0, 0.0, 0.0])
    without = deviance([found[0], 0.0, *found[2:]])
    np.testing.assert_allclose((full - without) / (full - null), 0.03, rtol=1e-3)


@pytest.mark.parametrize("class_weight", WEIGHTS)
@pytest.mark.parametrize("blind", [False, True])
def test_decorrelation_and_bound_are_of_the_rows_as_they_are(people, class_weight, blind):
    X, y, _ = people
    model = FairRidgeClassifier(
        0.02, sensitive="sex", definition="mean-parity", blind=blind, class_weight=class_weight
    ).fit(X, y)
    probability, s = model.predict_proba(X)[:, 1], (X["sex"] == "m").to_numpy()
    np.testing.assert_allclose(np.corrcoef(probability, s)[0, 1] ** 2, 0.02, rtol=1e-6)
    plain = FairRidgeClassifier(0.04, sensitive="sex").fit(X, y)
    np.testing.assert_array_equal(model.explained_by_sensitive_, plain.explained_by_sensitive_)


def test_standard_errors_know_the_weights(people):
    """Weights of classes are weights of rows in the sandwich, if nothing is decorrelated."""
    X, y, _ = people
    model = FairRidgeClassifier(1.0, sensitive="sex", class_weight={"hired": 3.0}).fit(X, y)
    weight = np.where(y == "hired", 3.0, 1.0)
    expected = FairRidgeClassifier(1.0, sensitive="sex").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        model.inference(X, y).standard_errors,
        expected.inference(X, y, sample_weight=weight).standard_errors,
        rtol=1e-5,
    )


def test_files_keep_weights_of_any_labels(people, tmp_path):
    X, y, _ = people
    model = FairRidgeClassifier(0.05, sensitive="sex", class_weight={1: 3.0})
    save(model.fit(X, (y == "hired").astype(int)), tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.class_weight == {1: 3.0}
    assert again.family_ == model.family_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("even", "class_weight='even' is not known"),
        ({"maybe": 2.0}, r"class_weight names 'maybe', which is not a class of y: 'hired', 'no'"),
        ({"no": 0.0}, r"class_weight\['no'\]"),
    ],
)
def test_bad_weights_are_errors(people, value, message):
    X, y, _ = people
    with pytest.raises(ValueError, match=message):
        FairRidgeClassifier(sensitive="sex", class_weight=value).fit(X, y)


def test_repeated_rows_weigh_as_much_as_their_weights(people):
    X, y, _ = people
    weight = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    model = FairRidgeClassifier(0.05, sensitive="sex", class_weight="balanced")
    weighted = model.fit(X, y, sample_weight=weight).coef_
    again = np.repeat(np.arange(len(y)), weight)
    np.testing.assert_allclose(weighted, model.fit(X.iloc[again], y[again]).coef_, rtol=1e-7)
