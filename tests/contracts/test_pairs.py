"""Every two options of the models together, and everything that is done with a model.

The options, the cases, the verbs and what is refused are in `tools/pairs/`.
"""

from pathlib import Path

import pytest

from tools.pairs.judge import outcomes, still_breaks
from tools.pairs.options import (
    Case,
    all_pairs,
    completed,
    covering,
    missing_cases,
    pairs_of,
    wanted_pairs,
)
from tools.pairs.page import page
from tools.pairs.refusals import FIT, KNOWN, OTHERS, barred, refusals_of
from tools.pairs.verbs import CHEAP, EXPENSIVE

CASES = all_pairs(barred())
# What every pair meets without being refused for a third option.
CORE = ("predict", "inference", "save", "to_sql", "to_python", "to_onnx")


def more_cases():
    """Return cases in which what every pair must meet is not refused."""
    found = []
    for verb in CORE:
        found += missing_cases([*CASES, *found], barred(verb))
    return found


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
@pytest.mark.parametrize("case", more_cases(), ids=named)
def test_every_pair_is_inferred_saved_and_exported(case):
    require_none(outcomes(case, CORE))


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
    """Return one case for each value of a refusal that nothing else is the reason for."""
    others = [one.options for one in FIT if one is not refusal]
    for name, values in refusal.options.items():
        for value in values:
            wanted = {k: v[0] for k, v in refusal.options.items()} | {name: value}
            case = completed(wanted, others)
            if case is not None:
                yield case


def test_every_refusal_is_tried():
    assert all(any(examples(refusal)) for refusal in FIT)


def test_what_is_known_to_be_wrong_still_is():
    """A fault that was mended leaves the list."""
    assert not [fault for fault in KNOWN if not still_breaks(fault)]


def test_the_design_has_every_pair():
    left = wanted_pairs(barred()).difference(*map(pairs_of, CASES))
    assert not [pair for pair in left if completed(dict(pair), barred())]


def test_no_refusal_is_listed_twice():
    listed = [(one.verbs, tuple(one.options.items())) for one in (*FIT, *OTHERS)]
    assert len(set(listed)) == len(listed)


def test_the_page_of_option_pairs_lists_what_is_refused():
    """`python -m tools.pairs.page` prints the page."""
    written = Path(__file__).parents[2] / "docs" / "options.md"
    assert written.read_text(encoding="utf-8") == page()


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
