"""Probabilities moved to the Wasserstein barycenter of the groups."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from fairridge import BarycenterClassifier, BarycenterRegressor

SENSITIVE = ["sex", "race"]


def applicants(n=2000, seed=2):
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b"], n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m") - 0.5 * (race == "b")
    hired = rng.random(n) < 1.0 / (1.0 + np.exp(-(np.sin(2.0 * skill) + skill + (sex == "m"))))
    return pd.DataFrame({"sex": sex, "race": race, "skill": skill}), np.where(hired, "yes", "no")


@pytest.fixture(scope="module")
def data():
    return applicants()


def rates(model, frame, threshold):
    chosen = model.predict_proba(frame)[:, 1] > threshold
    return [chosen[rows].mean() for rows in frame.groupby(SENSITIVE).indices.values()]


@pytest.mark.parametrize("threshold", [0.3, 0.7])
def test_any_threshold_selects_every_group_alike(data, threshold):
    frame, y = data
    fair = BarycenterClassifier(0.0, sensitive=SENSITIVE).fit(frame, y)
    free = BarycenterClassifier(1.0, sensitive=SENSITIVE).fit(frame, y)
    assert np.ptp(rates(fair, frame, threshold)) < 0.01
    assert np.ptp(rates(free, frame, threshold)) > 0.2


@pytest.mark.slow
def test_new_people_are_selected_alike_by_boosting(data):
    boosting = HistGradientBoostingClassifier(max_iter=40)
    model = BarycenterClassifier(
        0.0, sensitive=SENSITIVE, estimator=boosting, split=0.5, random_state=0
    ).fit(*data)
    new, y = applicants(seed=3)
    assert np.ptp(rates(model, new, 0.5)) < 0.1
    assert model.score(new, y) > 0.65
    free = BarycenterClassifier(1.0, sensitive=SENSITIVE, estimator=boosting).fit(*data)
    assert np.ptp(rates(free, new, 0.5)) > 0.3


def test_it_is_the_regression_of_probabilities(data):
    frame, y = data

    class Probability(LogisticRegression):
        def predict(self, X):
            return self.predict_proba(X)[:, 1]

    ours = BarycenterClassifier(0.2, sensitive=SENSITIVE, estimator=LogisticRegression())
    theirs = BarycenterRegressor(0.2, sensitive=SENSITIVE, estimator=Probability())
    found = ours.fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(
        found[:, 1], theirs.fit(frame, (y == "yes") * 1).predict(frame), rtol=1e-12
    )
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert ours.unfairness_ == pytest.approx(0.2, rel=1e-10)
    expected = np.where(found[:, 1] > 0.5, "yes", "no")
    np.testing.assert_array_equal(ours.predict(frame), expected)
    assert ours.training_score_ == ours.score(frame, y) == np.mean(expected == y)


def test_a_classifier_without_probabilities_is_refused(data):
    model = BarycenterClassifier(0.1, sensitive=SENSITIVE, estimator=LinearSVC())
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba; use a classifier"):
        model.fit(*data)


def test_more_than_two_classes_are_refused(data):
    frame, _ = data
    y = np.resize(["a", "b", "c"], len(frame))
    with pytest.raises(ValueError, match="y has 3 classes"):
        BarycenterClassifier(0.1, sensitive=SENSITIVE).fit(frame, y)


def test_the_summary_has_a_row_for_each_group(data):
    forest = RandomForestClassifier(10, random_state=0)
    model = BarycenterClassifier(0.1, sensitive=SENSITIVE, estimator=forest).fit(*data)
    text = str(model.summary())
    assert "RandomForestClassifier" in text
    assert "Accuracy in training" in text
    assert all(label in text for label in model.groups_)
