"""What a share of variance means between groups, against an audit of the predictions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import SplineTransformer

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    ZafarRegressor,
    audit,
)
from fairridge.data import as_table
from fairridge.metrics.groups import MAX_DISTINCT_VALUES, ValueWeights, groupings
from tests import zoo

N = 500
SENSITIVE = ["race", "member"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(11)
    race = rng.choice(["a", "b", "c", "d"], N, p=[0.5, 0.3, 0.17, 0.03])
    member = rng.integers(0, 2, N)
    skill = rng.normal(size=N) + 0.7 * (race == "b") - 0.4 * member
    return pd.DataFrame(
        {"race": race, "member": member, "skill": skill, "luck": rng.normal(size=N)}
    )


def responses(frame, seed=13):
    return zoo.responses(0.8 * frame["skill"] - 0.5, seed)


MODELS = {
    "zafar": ("gaussian", ZafarRegressor(0.5)),
    "blind": ("gaussian", FairRidgeRegressor(0.05, blind=True)),
    "binomial": ("binomial", FairRidgeClassifier(0.05)),
    "poisson": ("poisson", FairRidgeRegressor(0.05, family="poisson")),
    "cox": ("cox", FairRidgeSurvival(0.05)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_numbers_are_those_of_an_audit(frame, name):
    response, model = MODELS[name]
    y, weight = responses(frame)[response], np.random.default_rng(13).uniform(0.9, 1.1, N)
    model.set_params(sensitive=SENSITIVE).fit(frame, y, sample_weight=weight)
    classes = response == "binomial"
    predicted = model.predict_proba(frame)[:, 1] if classes else model.predict(frame)
    wanted = audit(
        y if classes else None, predicted, sensitive_features=frame[SENSITIVE],
        sample_weight=weight, kind="classification" if classes else "regression",
    )  # fmt: skip
    found = dict(model.group_differences_)
    ratios = {key: found.pop(key) for key in list(found) if "[" in key}
    low, high = wanted.group_means
    assert found == pytest.approx(
        {
            "max_correlation": wanted.max_correlation,
            "standardized_mean_difference": wanted.standardized_mean_difference,
            "lowest_group_mean": low,
            "highest_group_mean": high,
        },
        rel=1e-7,
        abs=1e-10,
    )
    assert set(ratios) == (
        {"adverse_impact_ratio[no]", "adverse_impact_ratio[yes]"} if classes else set()
    )
    if classes:
        assert ratios["adverse_impact_ratio[yes]"] == pytest.approx(wanted.demographic_parity_ratio)


def test_features_of_s_and_numbers_have_no_groups(frame):
    y, numbers = responses(frame)["gaussian"], frame[["skill"]].assign(age=np.arange(N) % 50)
    mapped = FairRidgeRegressor(sensitive="age", sensitive_map=SplineTransformer(n_knots=4))
    assert mapped.fit(numbers, y).group_differences_ == {}
    model = FairRidgeRegressor(0.01, sensitive="age").fit(numbers, y)
    r = abs(np.corrcoef(model.predict(numbers), numbers["age"])[0, 1])
    assert model.group_differences_ == pytest.approx({"max_correlation": r})


def test_groups_that_are_all_small_have_no_difference_rather_than_none():
    """A difference of zero would say that groups are alike, where none is large enough to tell."""
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"team": np.repeat(["a", "b", "c"], 20), "skill": rng.normal(size=60)})
    y = 10.0 * (rows["team"] == "a") + rows["skill"] + rng.normal(size=60)
    model = FairRidgeRegressor(1.0, sensitive="team").fit(rows, y)
    assert list(model.group_differences_) == ["max_correlation"]
    assert "difference of a level" not in str(model.summary(details=True))
    large = pd.concat([rows, rows])
    model.fit(large, np.concatenate([y, y]))
    assert model.group_differences_["standardized_mean_difference"] > 3.0


def test_very_many_values_are_cut_alike_in_any_order():
    rng = np.random.default_rng(14)
    values = np.concatenate([rng.lognormal(3.0, 2.0, 100_000), -rng.random(50_000), [0.0]])
    weight = rng.uniform(0.5, 2.0, len(values))
    parts = np.array_split(rng.permutation(len(values)), 7)
    pieces = [ValueWeights.of(values[rows], weight[rows]) for rows in parts]
    whole, turned = sum(pieces[1:], start=pieces[0]), sum(pieces[::-1][1:], start=pieces[-1])
    np.testing.assert_array_equal(whole.values, turned.values)
    assert len(whole.values) <= MAX_DISTINCT_VALUES
    for cut, level in zip(whole.bands(4).edges, (0.25, 0.5, 0.75), strict=True):
        below = weight[values <= cut].sum() / weight.sum()
        assert below == pytest.approx(level, abs=1e-3)


def test_few_values_are_cut_as_in_an_audit(frame):
    for values in (np.arange(3), np.arange(100) % 7, np.zeros(5)):
        found = ValueWeights.of(values.astype(float), np.ones(len(values))).bands(4)
        groups = groupings(as_table(values[:, None]), np.ones(len(values)))
        assert found.labels == groups[0].labels
        np.testing.assert_array_equal(found.codes(values), groups[0].codes)


NAMES = ("dependence_", "group_differences_", "total_ratios_")


def numbers_of(model):
    return [getattr(model, name) for name in NAMES]


def test_numbers_of_groups_are_those_of_the_last_fit_whenever_they_are_read(frame):
    first, second = (responses(frame, seed)["binomial"] for seed in (13, 14))
    model = FairRidgeClassifier(0.05, sensitive=SENSITIVE)
    assert not any(hasattr(model, name) for name in NAMES)
    unread = pickle.dumps(model.fit(frame, first))
    known = numbers_of(model)
    assert numbers_of(pickle.loads(unread)) == known
    assert numbers_of(pickle.loads(pickle.dumps(model))) == known
    again = FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(frame, second)
    assert numbers_of(model.fit(frame, second)) == numbers_of(again) != known
