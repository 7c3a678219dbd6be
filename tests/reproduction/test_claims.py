"""Verdicts follow results: hand-made ones flip them."""

import pytest

from reproduction.claims import CLAIMS, judge
from reproduction.claims.base import corrected, grade, grade_samples, of_software
from reproduction.page import TOPICS

from .conftest import fairml, linear, logistic, results, verdict

ARGUMENTS = {
    "dimension_of_problem_7": "holds",
    "problem_7_for_other_models": "not checkable",
    "agrees_with_komiyama": "not checkable",
    "limits_of_fairlearn": "holds in part",
}
SOFTWARE = "holds of the software, not of the model"


def test_without_results_nothing_is_judged():
    names = [one.name for one in CLAIMS]
    assert len(set(names)) == len(names) > 50
    assert {one.topic for one in CLAIMS} == set(TOPICS)
    for one in CLAIMS:
        found = judge(one, results())
        assert found.kind == ARGUMENTS.get(one.name, "not computed")
        assert found.argument or found.measured.startswith("Skipped: ")


def test_cases_are_graded():
    assert [grade(k, 4) for k in (4, 2, 1)] == ["holds", "holds in part", "does not hold"]
    assert [grade_samples(k, 50) for k in (45, 44)] == ["holds", "holds in part"]
    assert corrected(False, True) == "holds as corrected"
    assert of_software("does not hold", True) == SOFTWARE


@pytest.mark.parametrize(
    ("frrm", "kind", "said"),
    [
        (0.9, "holds", "Lower in 10 of 10 cells"),
        (1.1, "does not hold", "Higher in 10 of 10 cells"),
        (0.997, "does not hold", "Equal in 10 of 10 cells"),  # a tie
        # Ties count for neither side.
        (lambda case, r: 0.9 if case == "C&C" else 1.0, "holds in part", "Lower in 2, equal in 8"),
    ],
)
def test_frrm_below_nclm(frrm, kind, said):
    found = verdict("frrm_below_nclm", linear=linear(FRRM=frrm))
    assert found.kind == kind
    assert found.measured.startswith(said)  # r = 0 does not count


def test_training_error_of_model_and_software():
    name = "training_error_below_nclm"
    assert verdict(name, linear=linear(NCLM=1.1)).kind == "holds"
    below = list(linear(NCLM=0.9))
    # What fairml answers on other data does not show it.
    assert verdict(name, linear=below, fairml=fairml(10.5)).kind == "does not hold"
    assert verdict("frrm_more_robust", fairml=fairml(10.5)).kind == SOFTWARE
    assert verdict("frrm_more_robust", fairml=fairml(9.5)).kind == "does not hold"


def test_f1():
    name = "f1_of_fgrrm_and_zlrm"
    assert verdict(name, logistic=logistic(0.6, 0.5)).kind == "holds"
    # ADULT counts as it is, and without three levels.
    apart = logistic(0.6, lambda case, r: 0.5 if case != "ADULT, isolated" else 0.7)
    found = verdict(name, logistic=apart)
    assert found.kind == "holds in part"
    # Nothing is said of data of which only some are there.
    some = [row for row in logistic(0.6, 0.5) if row["case"] == "ADULT"]
    for partial in (name, "training_f1", "reason_for_bank"):
        assert verdict(partial, logistic=some).kind == "not computed"
    assert "3 levels: ADULT −14.3 %" in found.measured
    assert found.separated
