"""Which outcome people want: what is said, what is guessed, and what follows from it."""

import numpy as np
import pandas as pd
import pytest

from fairridge import audit
from fairridge.metrics.favorable import favorable_outcome, find_label


@pytest.fixture(scope="module")
def loans():
    """Loans of two groups, of which b defaults more often, and is predicted to."""
    rng = np.random.default_rng(11)
    group = rng.choice(["a", "b"], 800)
    risk = np.clip(rng.normal(np.where(group == "b", 0.55, 0.35), 0.15), 0.01, 0.99)
    default = (rng.random(800) < risk).astype(int)
    return pd.DataFrame({"group": group, "risk": risk, "default": default})


def test_the_group_that_is_refused_more_often_has_the_low_ratio(loans):
    found = audit(loans["default"], loans["risk"], sensitive_features=loans["group"])
    rates = {g.group: g.selection_rate.value for g in found["group"].groups}
    for name, rows in loans.groupby("group"):
        assert rates[name] == pytest.approx((rows["risk"] <= 0.5).mean())
    assert [g.group for g in found.flagged] == ["b"]
    assert found.favorable.label == 0
    assert not found.favorable.high
    first = str(found).splitlines()[1]
    assert "favorable outcome: default = 0 (a guess from the name 'default'" in first


def test_naming_the_favorable_class_overrules_the_guess(loans):
    found = audit(loans["default"], loans["risk"], sensitive_features=loans["group"], favorable=1)
    assert [g.group for g in found.flagged] == ["a"]
    assert str(found).splitlines()[1] == "favorable outcome: default = 1"


def test_rates_are_about_the_favorable_outcome_and_means_about_the_prediction(loans):
    both = [
        audit(loans["default"], p, sensitive_features=loans["group"], positive=c, favorable=0)
        for p, c in ((loans["risk"], 1), (1 - loans["risk"], 0))
    ]
    names = ("selection_rate", "true_positive_rate", "false_positive_rate", "precision")
    for one, other in zip(*(found["group"].groups for found in both), strict=True):
        for name in names:
            assert getattr(one, name) == getattr(other, name)
        assert one.adverse_impact_ratio == other.adverse_impact_ratio
        assert one.mean_prediction.value == pytest.approx(1 - other.mean_prediction.value)
        assert one.calibration.value == pytest.approx(-other.calibration.value)
    kept = loans[(loans["group"] == "a") & (loans["default"] == 0)]
    rate = both[0]["group"].groups[0].true_positive_rate.value
    assert rate == pytest.approx((kept["risk"] <= 0.5).mean())


def test_low_numbers_can_be_favorable(loans):
    options = {"sensitive_features": loans["group"], "threshold": 0.5, "kind": "regression"}
    high = audit(None, loans["risk"], **options)
    low = audit(None, loans["risk"], **options, favorable="low")
    for one, other in zip(high["group"].groups, low["group"].groups, strict=True):
        assert one.selection_rate.value == pytest.approx(1 - other.selection_rate.value)
    assert high.favorable.reason == "assumed"
    assert low.favorable.reason == ""


def test_predictions_of_another_class_are_pointed_out(loans):
    with pytest.warns(
        UserWarning, match=r"are lower for rows of class 1 than for the others \(AUC 0\.\d+\)"
    ):
        audit(loans["default"], 1 - loans["risk"], sensitive_features=loans["group"])


def test_predictions_that_rank_by_chance_may_be_those_of_any_class(loans):
    noise = np.random.default_rng(2).random(len(loans))
    both = np.where(loans["default"] == 1, noise - 0.02, noise)
    found = audit(loans["default"], np.clip(both, 0, 1), sensitive_features=loans["group"])
    assert found.overall.ranking.auc.value < 0.5 < found.overall.ranking.auc.high


def test_probabilities_of_a_named_class_need_no_responses(loans):
    found = audit(None, loans["risk"], sensitive_features=loans["group"], positive="bad")
    assert found.favorable.words == "class = not bad"
    assert [g.group for g in found.flagged] == ["b"]


@pytest.mark.parametrize(
    ("response", "classes", "positive", "high"),
    [
        ("default", (0, 1), 1, False),
        ("loan_default", (False, True), True, False),
        ("ChargeOff", ("no", "yes"), "yes", False),
        ("not_default", (0, 1), 1, True),
        ("Credit_risk", ("BAD", "GOOD"), "GOOD", True),
        ("status", ("default", "no default"), "no default", True),
        ("status", ("fraud", "ok"), "fraud", False),
        ("hired", (0, 1), 1, True),
        ("badge", (0, 1), 1, True),
        ("", (0, 1), 1, True),
    ],
)
def test_names_tell_which_class_nobody_wants(response, classes, positive, high):
    found = favorable_outcome(None, response, positive, classes)
    assert found.high is high
    assert found.label == (positive if high else next(c for c in classes if c != positive))
    assert found.reason


def test_names_of_numbers_tell_too():
    assert favorable_outcome(None, "ViolentCrimesPerPop").label == "low"
    assert favorable_outcome(None, "income").label == "high"


def test_labels_are_found_by_value_or_by_text():
    assert find_label("1", [0, 1]) == 1
    assert find_label(1, [0.0, 1.0]) == 1.0
    assert find_label("true", [False, True]) is True
    assert find_label("good", ["BAD", "GOOD"]) == "GOOD"
    assert find_label("other", ["BAD", "GOOD"]) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("best", "y", 1, (0, 1)), r"favorable='best' is not known; use a class \(0, 1\), 'low'"),
        (("best", "y"), "favorable='best' is not known; use 'low' or 'high'"),
        (("c", "y", "a", ("a", "b", "c")), "favorable='c', but the scores are of 'a'"),
    ],
)
def test_other_outcomes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        favorable_outcome(*arguments)


def test_one_of_several_classes_can_be_favorable(loans):
    y = np.where(loans["default"] == 1, "default", np.where(loans["risk"] < 0.3, "early", "paid"))
    found = audit(
        y, (y == "paid").astype(float), sensitive_features=loans["group"], favorable="paid"
    )
    assert found.positive == "paid"
    assert found.favorable.high
