"""The three numbers that every model is described by, against what users measure themselves."""

import numpy as np
import pandas as pd
import pytest

from fairridge import (
    ConvexFairClassifier,
    FairRidgeClassifier,
    FairRidgeSurvival,
    KomiyamaRegressor,
    ZafarClassifier,
    ZafarRegressor,
)
from fairridge.metrics.group_table import decision_gap, decision_table
from fairridge.metrics.groups import Grouping
from tests import zoo

N = 400
SENSITIVE = ["sex", "age"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(81)
    sex = rng.choice(["f", "m"], N)
    age = np.round(rng.uniform(20, 60, N))
    skill = rng.normal(size=N) + 0.8 * (sex == "m") + 0.02 * age
    return pd.DataFrame({"sex": sex, "age": age, "skill": skill, "luck": rng.normal(size=N)})


@pytest.fixture(scope="module")
def responses(frame):
    eta = 0.8 * frame["skill"] + 0.5 * (frame["sex"] == "m") - 1.5
    return zoo.responses(eta, 82)


def share(values, frame, weight):
    """R² of the user's own regression on S."""
    return zoo.r_squared(values, np.column_stack([frame["sex"] == "m", frame["age"]]), weight)


MODELS = {
    "nclm": ("gaussian", KomiyamaRegressor(0.1)),
    "zlm": ("gaussian", ZafarRegressor(0.5)),
    "probit": ("binomial", FairRidgeClassifier(0.1, link="probit")),
    "zlrm": ("binomial", ZafarClassifier(0.5)),
    "convex": ("binomial", ConvexFairClassifier(0.1)),
}


@pytest.mark.parametrize("name", MODELS)
def test_shares_in_training_are_those_of_the_users_own_regression(frame, responses, name):
    response, model = MODELS[name]
    rng = np.random.default_rng(83)
    weight = rng.uniform(0.2, 2.0, N)
    if name == "convex":  # which needs groups
        frame = frame.assign(age=np.round(frame["age"] / 20))
    model.set_params(sensitive=SENSITIVE)
    model.fit(frame, responses[response], sample_weight=weight)
    if response == "binomial":
        eta, means = model.decision_function(frame), model.predict_proba(frame)
    else:
        eta = means = model.predict(frame)
    found = model.dependence_
    assert found["share_of_eta"] == pytest.approx(share(eta, frame, weight), rel=1e-9, abs=1e-12)
    assert found["share_of_means"] == pytest.approx(share(means, frame, weight), rel=1e-9)
    assert ("decision_gap" in found) == (response == "binomial")


def test_a_survival_model_predicts_no_means(frame, responses):
    model = FairRidgeSurvival(0.1, sensitive=SENSITIVE).fit(frame, responses["cox"])
    assert model.dependence_ == pytest.approx({"share_of_eta": 0.1}, rel=1e-9)
    text = str(model.summary(details=True))
    assert "Share of scores explained by S" in text
    assert "Share of means" not in text


def test_small_groups_are_left_out():
    decided = np.r_[np.ones(40, int), np.zeros(40, int), np.ones(29, int)]
    groups = np.r_[np.zeros(40, int), np.ones(40, int), np.full(29, 2)]
    weight = np.ones(len(decided))

    def gap(decided, groups):
        grouping = Grouping("team", ("a", "b", "c"), groups)
        return decision_gap(decision_table([grouping], weight, decided, 2))

    assert gap(decided, groups) == 1.0
    half = np.r_[np.arange(40) % 2, np.arange(40) % 2, np.ones(29, int)]
    assert gap(half, groups) == 0.0
    assert np.isnan(gap(decided, np.minimum(groups, 0)))
    assert gap(np.ones(109, int), groups) == 0.0
