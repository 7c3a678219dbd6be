"""Every two options of the models together, and everything that is done with a model.

The options, the cases, the verbs and what is refused are in `tools/pairs/`.
"""

import pytest

from tools.pairs.judge import outcomes, still_breaks
from tools.pairs.options import (
    Case,
    all_pairs,
    covering,
    is_completable,
    is_possible,
    pairs_of,
    wanted_pairs,
)
from tools.pairs.refusals import FIT, KNOWN, OTHERS, as_case, barred, refusals_of
from tools.pairs.verbs import CHEAP, EXPENSIVE

CASES = all_pairs(barred())


def named(case):
    """A name that says what the case is, and no more."""
    return "-".join(case.chosen.values()) or "defaults"


def covered(verb, cases=CASES):
    """Few cases in which a verb is not refused, with every value of every option."""
    return covering(cases, lambda case: not refusals_of(verb, case))


def require_none(found):
    assert not [str(one) for one in found if one.fault]


# A few cases that have every value, for the quick run.
QUICK = covering(CASES, lambda case: case["predictor_penalty"] != "cv")[:4]


@pytest.mark.parametrize("case", QUICK, ids=named)
def test_some_pairs(case):
    require_none(outcomes(case, CHEAP))


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case not in QUICK], ids=named)
def test_all_pairs(case):
    require_none(outcomes(case, CHEAP))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "case"),
    [pytest.param(v, case, id=f"{v}-{named(case)}") for v in EXPENSIVE for case in covered(v)],
)
def test_every_value_meets_what_takes_longer(verb, case):
    require_none(outcomes(case, [verb]))


@pytest.mark.parametrize("refusal", FIT, ids=lambda one: "-".join(one.options))
def test_what_fit_refuses_is_said_in_one_sentence(refusal):
    for case in examples(refusal):
        require_none(outcomes(case, ["fit"]))


def examples(refusal):
    """Return one case for each value of a refusal, with nothing else in the way."""
    for name, values in refusal.options.items():
        for value in values:
            case = as_case(refusal.options | {name: (value,)})
            if is_possible(case, ()):
                yield case


@pytest.mark.parametrize("fault", KNOWN, ids=lambda one: f"{one.verb}-{named(one.case)}")
def test_what_is_known_to_be_wrong_still_is(fault):
    """A fault that was mended leaves the list."""
    assert still_breaks(fault), f"{fault.verb} of {fault.case} works now: take it off KNOWN"


def test_the_design_has_every_pair():
    left = wanted_pairs(barred()).difference(*map(pairs_of, CASES))
    assert not [pair for pair in left if is_completable(pair, barred())]


def test_no_refusal_is_listed_twice():
    listed = [(one.verbs, tuple(one.options.items())) for one in (*FIT, *OTHERS)]
    assert len(set(listed)) == len(listed)


def test_a_fault_is_found():
    """The judge is able to say no: a wrong answer, a foreign error, and a strange refusal."""
    from tools.pairs import verbs

    broken = {"raises": KeyError("x"), "wrong": verbs.WrongError("x"), "strange": ValueError("x")}
    for name, error in broken.items():

        def verb(setting, error=error):
            raise error

        verbs.VERBS[name] = verb
        try:
            assert outcomes(Case(), [name])[0].fault
        finally:
            del verbs.VERBS[name]
