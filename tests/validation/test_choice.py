"""The bound chosen by a rule on decisions."""

import numpy as np
import pandas as pd
import pytest

from fairridge import (
    BarycenterRegressor,
    FairRidgeClassifier,
    FairRidgeRegressor,
    choose_bound,
)
from fairridge.exceptions import BoundWarning
from fairridge.rules import AdverseImpact, MeanGap, OpportunityGap

BOUNDS = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0]


def people(n, seed, gap=0.9):
    rng = np.random.default_rng(seed)
    s = (rng.random(n) < 0.4).astype(float)
    frame = pd.DataFrame({"sex": np.where(s > 0, "m", "f"), "age": rng.normal(size=n)})
    frame["skill"] = rng.normal(size=n) + 0.7 * s
    eta = -0.2 + gap * s + 0.8 * frame["skill"] + 0.3 * frame["age"]
    good = rng.random(n) < 1 / (1 + np.exp(-eta))
    return frame, np.where(good, "repaid", "default"), eta + rng.normal(size=n)


@pytest.fixture(scope="module")
def rows():
    return people(2500, 0), people(2500, 1)


def chosen(rows, model, rule, **options):
    (X, labels, numbers), (held, labels_held, numbers_held) = rows
    classes = isinstance(model, FairRidgeClassifier)
    responses = (labels, labels_held) if classes else (numbers, numbers_held)
    return choose_bound(
        model, X, responses[0], held, responses[1], rule=rule, unfairness=BOUNDS, **options
    )


def test_the_largest_bound_that_passes_in_sequence(rows):
    found = chosen(rows, FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(0.8))
    tested = found.tested
    assert found.granted
    assert 0.0 <= found.unfairness < 1.0
    assert tested["passed"].tolist() == [True] * (len(tested) - 1) + [False]
    assert tested["unfairness"].tolist()[-2] == found.unfairness
    assert (tested["p_value"][:-1] <= 0.1).all()
    assert tested["p_value"].iloc[-1] > 0.1
    assert found.model.unfairness == found.unfairness
    held, _, _ = rows[1]
    selected = found.model.predict_proba(held)[:, 1] > 0.5
    rates = pd.Series(selected).groupby(held["sex"].to_numpy()).mean()
    assert tested["value"].iloc[-2] == pytest.approx(rates.min() / rates.max())


def test_the_favorable_class_is_the_one_that_is_said(rows):
    model = FairRidgeClassifier(sensitive=["sex"])
    second = chosen(rows, model, AdverseImpact(0.8))
    named = chosen(rows, model, AdverseImpact(0.8, favorable="repaid"))
    other = chosen(rows, model, AdverseImpact(0.8, favorable="default"))
    assert named.tested.equals(second.tested)
    assert not other.tested.equals(second.tested)
    with pytest.raises(ValueError, match=r"favorable='good' is not known.*'default', 'repaid'"):
        chosen(rows, model, AdverseImpact(favorable="good"))


def test_names_tell_which_class_a_rule_is_about(rows):
    model = FairRidgeClassifier(sensitive=["sex"])
    (X, y, _), (held, y_held, _) = rows
    late, late_held = (pd.Series((one == "default") * 1, name="default") for one in (y, y_held))
    found = choose_bound(
        model, X, late, held, late_held, rule=AdverseImpact(0.8), unfairness=BOUNDS
    )
    said = chosen(rows, model, AdverseImpact(0.8, favorable="repaid"))
    assert found.unfairness == said.unfairness
    np.testing.assert_allclose(found.tested["value"], said.tested["value"], atol=1e-3)
    assert str(found).startswith("favorable outcome: default = 0 (a guess from the name 'default'")


def test_low_numbers_can_be_favorable(rows):
    model = FairRidgeRegressor(sensitive=["sex"])
    high = chosen(rows, model, AdverseImpact(0.5, threshold=0.3))
    low = chosen(rows, model, AdverseImpact(0.5, threshold=0.3, favorable="low"))
    held, _, _ = rows[1]
    predicted = low.model.predict(held)
    rates = pd.Series(predicted < 0.3).groupby(held["sex"].to_numpy()).mean()
    place = low.tested["unfairness"].tolist().index(low.unfairness)
    assert low.tested["value"][place] == pytest.approx(rates.min() / rates.max())
    assert not high.tested.equals(low.tested)


def test_gaps_of_means_and_of_opportunities(rows):
    means = chosen(rows, FairRidgeRegressor(sensitive=["sex"]), MeanGap(0.4))
    assert means.granted
    model = FairRidgeClassifier(sensitive=["sex"])
    gap = chosen(rows, model, OpportunityGap(0.15), confidence=0.8)
    held, labels, _ = rows[1]
    step = gap.tested.iloc[0]
    fitted = model.set_params(unfairness=step["unfairness"]).fit(rows[0][0], rows[0][1])
    selected = pd.Series(fitted.predict_proba(held)[:, 1] > 0.5)[labels == "repaid"]
    rates = selected.groupby(held["sex"].to_numpy()[labels == "repaid"]).mean()
    assert step["value"] == pytest.approx(rates.max() - rates.min())
    with pytest.raises(TypeError, match="OpportunityGap is for classifiers"):
        chosen(rows, FairRidgeRegressor(sensitive=["sex"]), OpportunityGap())


def test_none_may_pass(rows):
    with pytest.warns(BoundWarning, match="no bound meets the rule with confidence 0.99"):
        found = chosen(rows, FairRidgeRegressor(sensitive=["sex"]), MeanGap(1e-4), confidence=0.99)
    assert (found.granted, found.unfairness, found.model) == (False, None, None)
    assert len(found.tested) == 1
    assert "no bound meets the rule" in str(found)


@pytest.mark.slow
def test_separate_attributes_and_weights(rows):
    (X, y, _), (held, y_held, _) = rows
    model = FairRidgeClassifier()
    ones = np.ones(2500)
    options = {
        "rule": AdverseImpact(0.8),
        "unfairness": BOUNDS,
        "sensitive_features": X[["sex"]],
        "sensitive_features_held": held[["sex"]],
    }
    apart = choose_bound(
        model, X.drop(columns="sex"), y, held.drop(columns="sex"), y_held, **options
    )
    weighted = choose_bound(
        model,
        X.drop(columns="sex"),
        y,
        held.drop(columns="sex"),
        y_held,
        sample_weight=ones,
        sample_weight_held=ones,
        **options,
    )
    together = chosen(rows, FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(0.8))
    np.testing.assert_allclose(apart.tested["p_value"], together.tested["p_value"], rtol=1e-6)
    np.testing.assert_allclose(weighted.tested["p_value"], together.tested["p_value"], rtol=1e-6)


def test_unsuitable_arguments(rows):
    (X, _, numbers), (held, _, held_numbers) = rows
    with pytest.raises(TypeError, match="needs a linear model of fairridge; Barycenter"):
        choose_bound(
            BarycenterRegressor(sensitive=["sex"]), X, numbers, held, held_numbers, rule=MeanGap(1)
        )
    with pytest.raises(ValueError, match="confidence=1"):
        chosen(rows, FairRidgeRegressor(sensitive=["sex"]), MeanGap(0.5), confidence=1)
    few = X.iloc[:40].assign(sex=["m"] * 20 + ["f"] * 20)
    with pytest.raises(ValueError, match="at least 30 rows"):
        choose_bound(
            FairRidgeRegressor(sensitive=["sex"]),
            few,
            numbers[:40],
            few,
            numbers[:40],
            rule=MeanGap(1),
        )


@pytest.mark.slow
def test_a_granted_model_breaks_the_rule_rarely():
    """δ = 0.1: 60 samples, and a population of 40,000 rows."""
    population, _, _ = people(40_000, 999)
    broken = 0
    for seed in range(60):
        samples = people(800, 2 * seed), people(800, 2 * seed + 1)
        try:
            found = chosen(samples, FairRidgeClassifier(sensitive=["sex"]), AdverseImpact(0.8))
        except BoundWarning:
            continue
        selected = pd.Series(found.model.predict_proba(population)[:, 1] > 0.5)
        rates = selected.groupby(population["sex"].to_numpy()).mean()
        broken += rates.min() / rates.max() < 0.8
    assert broken / 60 <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 60)
