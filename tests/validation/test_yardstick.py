"""The three numbers that every model is described by, in validation rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from fairridge import FairRidgeClassifier, audit, cross_validate

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
