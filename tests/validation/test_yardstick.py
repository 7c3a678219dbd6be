"""The three numbers that every model is described by, in validation rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from fairridge import FairRidgeClassifier, FairRidgeRegressor, audit, cross_validate

N = 400
SENSITIVE = ["sex", "age"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(91)
    sex, age = rng.choice(["f", "m"], N), np.round(rng.uniform(20, 60, N))
    skill = rng.normal(size=N) + 0.8 * (sex == "m") + 0.05 * age
    return pd.DataFrame({"sex": sex, "age": age, "skill": skill})


@pytest.fixture(scope="module")
def folds(frame, y):
    return list(StratifiedKFold(2, shuffle=True, random_state=0).split(frame, y))


@pytest.fixture(scope="module")
def y(frame):
    eta = frame["skill"] - frame["skill"].mean()
    return np.where(eta + np.random.default_rng(92).logistic(size=N) > 0, "yes", "no")


def gap(frame, labels, test):
    """The audit's, with quarters of age in all rows."""
    quarters = np.searchsorted(np.sort(frame["age"])[[99, 199, 299]], frame["age"]).astype(str)
    groups = frame.assign(age=quarters)[SENSITIVE].iloc[test]
    return audit(None, labels == "yes", sensitive_features=groups).demographic_parity_difference


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_the_gap_of_decisions_is_that_of_an_audit(frame, y, folds, several):
    y = np.where((frame["skill"] > 4.0) & (y == "yes"), "sure", y) if several else y
    model = FairRidgeClassifier(sensitive=SENSITIVE)
    found = cross_validate(model, frame, y, unfairness=[0.3], folds=folds).records
    for record, (train, test) in zip(found, folds, strict=True):
        fitted = FairRidgeClassifier(0.3, sensitive=SENSITIVE).fit(frame.iloc[train], y[train])
        labels = fitted.predict(frame.iloc[test])
        gaps = [gap(frame, np.where(labels == one, "yes", ""), test) for one in np.unique(y)]
        assert record["decision_gap"] == pytest.approx(max(gaps), rel=1e-12)
        assert record["decision_gap"] > 0.05


class Skilled(ClassifierMixin, BaseEstimator):
    """A model known by its predictions only."""

    def __init__(self, unfairness=0.1, sensitive=SENSITIVE):
        self.unfairness = unfairness
        self.sensitive = sensitive

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.center_ = X["skill"].mean()
        return self

    def predict_proba(self, X):
        p = 1.0 / (1.0 + np.exp(self.center_ - X["skill"].to_numpy()))
        return np.column_stack([1.0 - p, p])


def test_models_of_others_have_two_of_the_numbers(frame, y, folds):
    found = cross_validate(Skilled(), frame, y, unfairness=[0.1], folds=folds).records
    for record, (train, test) in zip(found, folds, strict=True):
        chances = Skilled().fit(frame.iloc[train], y[train]).predict_proba(frame.iloc[test])[:, 1]
        labels = np.where(chances > 0.5, "yes", "no")
        assert record["decision_gap"] == pytest.approx(gap(frame, labels, test), rel=1e-12)
        assert record["share_of_means"] == record["achieved"]
        assert "share_of_eta" not in record


def test_an_offset_makes_rates_of_means_and_is_not_part_of_eta(frame, folds):
    # The offset is a column of S: with it, dependence on S would be large.
    offset = (frame["age"].to_numpy() - 40.0) / 20.0
    counts = np.random.default_rng(93).poisson(np.exp(0.3 * frame["skill"] - 1.0 + offset))
    model = FairRidgeRegressor(0.05, family="poisson", sensitive=SENSITIVE)
    found = cross_validate(
        model, frame, counts, offset=offset, unfairness=[0.05], folds=folds
    ).records
    S = np.column_stack([np.ones(N), frame["sex"] == "m", frame["age"]])
    for record, (train, test) in zip(found, folds, strict=True):
        model.fit(frame.iloc[train], counts[train], offset=offset[train])
        new = frame.iloc[test]
        rate, exposure = model.predict(new), np.exp(offset[test])
        scores = {
            "share_of_eta": (np.log(rate), np.ones(len(test))),
            "share_of_means": (rate, exposure),
        }
        for name, (score, weight) in scores.items():
            root = np.sqrt(weight)
            terms = np.linalg.lstsq(S[test] * root[:, None], score * root, rcond=None)[0]
            total = weight @ (score - np.average(score, weights=weight)) ** 2
            share = 1.0 - weight @ (score - S[test] @ terms) ** 2 / total
            n = len(test)
            assert record[name] == pytest.approx(1.0 - (1.0 - share) * (n - 1) / (n - 3), rel=1e-6)
        assert record["share_of_means"] < 0.3


def test_numbers_are_decided_by_the_median_of_the_training_rows(frame):
    y = frame["skill"] + np.random.default_rng(94).normal(size=N)
    model = FairRidgeRegressor(0.1, sensitive=SENSITIVE)
    order = np.random.default_rng(0).permutation(N)
    folds = [(order[: N // 2], order[N // 2 :])]
    found = cross_validate(model, frame, y, unfairness=[0.1], folds=folds).to_frame()
    train, test = folds[0]
    predicted = model.fit(frame.iloc[train], y.iloc[train]).predict(frame.iloc[test])
    labels = np.where(predicted > np.median(y.iloc[train]), "yes", "no")
    assert found["decision_gap"][0] == pytest.approx(gap(frame, labels, test), rel=1e-12)
    np.testing.assert_array_equal(found["share_of_eta"], found["share_of_means"])
