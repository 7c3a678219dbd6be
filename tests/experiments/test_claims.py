"""Verdicts follow results: hand-made ones flip them."""

import numpy as np
import pytest

from fairridge.experiments.claims import CLAIMS, judge
from fairridge.experiments.claims.base import grade, grade_samples
from fairridge.experiments.linear import PAPER
from fairridge.experiments.page import claims_table, tally, write_page
from fairridge.experiments.results import Results
from fairridge.experiments.settings import Settings
from fairridge.experiments.table import Table

BOUNDS = (0.0, 0.05, 0.2)
BY_NUMBER = {one.number: one for one in CLAIMS}


def results(**tables):
    named = {name.replace("_", "-"): Table.of(rows) for name, rows in tables.items()}
    return Results(Settings(runs=3), named)


def verdict(number, **tables):
    return judge(BY_NUMBER[number], results(**tables))


def linear(*, cases=PAPER, **models):
    """Rows of the linear experiment; a model is a number, or a function of case and r."""
    base = {"FRRM": 1.0, "NCLM": 1.0, "ZLM": 1.0, "intercept only": 2.0, "ZLM, dropping": 2.0}
    for case in cases:
        for name, level in (base | models).items():
            for r in BOUNDS:
                for run in range(3):
                    value = level(case, r) if callable(level) else level
                    value = value * (1 + 1e-3 * run)
                    yield {
                        "case": case, "run": run, "model": name, "r": r, "rmse": value,
                        "train_rmse": value, "train_unfairness": r, "unfairness": r,
                        "covariance": r, "test_covariance": r, "active": 1.0,
                    }  # fmt: skip


def test_every_claim_of_the_list_has_a_judge():
    numbers = [one.number for one in CLAIMS]
    assert len(set(numbers)) == len(numbers)
    assert set(range(1, 33)) <= set(numbers)


def test_without_results_nothing_is_judged():
    for one in CLAIMS:
        found = judge(one, results())
        if one.number != 39:  # about the text alone
            assert found.kind == "cannot be checked"
            assert found.reason.startswith("Skipped: ")


def test_cases_are_graded():
    assert grade(4, 4) == "holds"
    assert grade(2, 4) == "holds in part"
    assert grade(1, 4) == "does not hold"
    assert grade_samples(45, 50) == "holds"
    assert grade_samples(44, 50) == grade(44, 50) == "holds in part"


@pytest.mark.parametrize(
    ("frrm", "kind"),
    [
        (0.9, "holds"),
        (1.1, "does not hold"),
        (1.0, "does not hold"),
        (lambda case, r: 0.9 if case in ("C&C", "GCR", "NLSY") else 1.1, "holds in part"),
    ],
)
def test_frrm_below_nclm(frrm, kind):
    found = verdict(20, linear=linear(FRRM=frrm))
    assert found.kind == kind
    assert "of 10 cells" in found.measured  # r = 0 does not count


def test_skipped_data_sets_are_named():
    cut = Results(
        Settings(), {"linear": Table.of(linear(cases=["C&C"], FRRM=0.9))},
        skipped={("linear", "LSAC"): "no file"},
    )  # fmt: skip
    found = judge(BY_NUMBER[20], cut)
    assert found.kind == "holds"
    assert "Skipped: LSAC." in found.measured


@pytest.mark.parametrize(
    ("frrm", "kind"),
    [
        (lambda case, r: 0.995 if case in ("C&C", "GCR") else 0.9, "holds"),
        (0.9, "holds in part"),
        (1.2, "does not hold"),
    ],
)
def test_frrm_below_zlm(frrm, kind):
    assert verdict(21, linear=linear(FRRM=frrm)).kind == kind


@pytest.mark.parametrize(
    ("models", "kind"),
    [
        ({"ZLM": 2.0}, "holds"),
        ({"ZLM": 1.05}, "holds in part"),
        ({"ZLM": 2.0, "NCLM": 1.1}, "does not hold"),
    ],
)
def test_zlm_at_zero(models, kind):
    assert verdict(22, linear=linear(**models)).kind == kind


@pytest.mark.parametrize(
    ("models", "kind"),
    [
        ({"NCLM": 1.1}, "holds"),
        ({"ZLM": 0.9}, "holds in part"),
        ({"NCLM": 0.9}, "does not hold"),
    ],
)
def test_training_error(models, kind):
    assert verdict(23, linear=linear(**models)).kind == kind
    assert verdict(40, linear=linear(NCLM=0.9)).kind == "does not hold"
    assert verdict(40, linear=linear(NCLM=1.1)).kind == "holds in part"


def test_best_of_all():
    assert verdict(42, linear=linear()).kind == "holds"
    assert verdict(42, linear=linear(FRRM=1.1)).kind == "does not hold"
    assert verdict(41, linear=linear(FRRM=0.9)).kind == "holds"
    assert verdict(41, linear=linear(FRRM=1.1)).kind == "does not hold"


def test_level_of_fairness_of_zlm():
    rows = list(linear())
    assert verdict(47, linear=rows).kind == "holds"
    twice = [row | {"train_unfairness": (1 + (row["model"] == "ZLM")) * row["r"]} for row in rows]
    found = verdict(47, linear=twice)
    assert found.kind == "does not hold"
    assert "LSAC 2.0 to 2.0" in found.measured


def test_corrected_data():
    corrected = ("C&C, all rows", "GCR, gender corrected", "LSAC, race only")
    for frrm, kind in ((0.9, "holds"), (1.1, "does not hold")):
        found = verdict(
            48, linear=linear(FRRM=0.9), corrected=linear(cases=corrected, FRRM=frrm)
        )  # fmt: skip
        assert found.kind == kind


@pytest.mark.parametrize(("excess", "kind"), [(0.005, "holds"), (0.05, "does not hold")])
def test_fairness_in_validation(excess, kind):
    rows = [row | {"unfairness": row["r"] + excess} for row in linear()]
    found = verdict(25, linear=rows)
    assert found.kind == kind
    assert f"largest +{excess:.3f}" in found.measured


def logistic(fgrrm, zlrm, *, drop=0.0, active=0.0, gap=1.0):
    models = {"FGRRM": fgrrm, "FGRRM, uncentered": fgrrm, "ZLRM": zlrm, "ZLRM, dropping": drop}
    for case in ("ADULT", "BANK", "COMPAS, classes"):
        for name, level in models.items():
            for r in BOUNDS:
                for run in range(3):
                    value = level(case, r) if callable(level) else level
                    yield {
                        "case": case, "run": run, "model": name, "r": r,
                        "f1": value * (1 + 1e-3 * run), "train_f1": value * (1 + 1e-3 * run) + 0.01,
                        "active": active, "unfairness": r, "train_unfairness": r, "gap": gap * r,
                    }  # fmt: skip


def as_claimed(case, r):
    return 0.6 if case == "BANK" or r > 0.1 else 0.5


@pytest.mark.parametrize(
    ("zlrm", "kind"), [(as_claimed, "holds"), (0.6, "holds in part"), (0.7, "does not hold")]
)
def test_f1(zlrm, kind):
    assert verdict(26, logistic=logistic(0.6, zlrm)).kind == kind


def test_f1_at_zero_and_in_training():
    assert verdict(27, logistic=logistic(0.6, 0.1)).kind == "holds"
    assert verdict(27, logistic=logistic(0.6, 0.55)).kind == "does not hold"
    assert verdict(28, logistic=logistic(0.6, 0.6)).kind == "holds"
    assert verdict(43, logistic=logistic(0.6, 0.6)).kind == "holds"
    assert verdict(43, logistic=logistic(0.6, 0.6, active=1.0)).kind == "does not hold"


def test_parity_at_zero():
    rows = list(logistic(0.6, 0.6))
    assert verdict(46, logistic=rows).kind == "holds"
    some = [row | {"gap": row["gap"] + 0.05} for row in rows]
    assert verdict(46, logistic=some).kind == "holds in part"
    as_much = [row | {"gap": 0.05} for row in rows]
    assert verdict(46, logistic=as_much).kind == "does not hold"


def steinberg(frrm):
    for case in ("COMPAS", "LSAC, race"):
        for name, level in (("FRRM", frrm), ("Steinberg", lambda step: 1.0)):
            for step, share in enumerate((0.3, 0.08, 0.02)):
                for run in range(3):
                    yield {
                        "case": case, "run": run, "model": name, "step": step,
                        "gamma": float(step), "train_unfairness": share,
                        "rmse": level(step) * (1 + 1e-3 * run),
                    }  # fmt: skip


@pytest.mark.parametrize(
    ("frrm", "kind", "at_zero"),
    [
        (lambda step: 0.9 if step else 1.0, "holds", "holds in part"),
        (lambda step: 1.1, "does not hold", "does not hold"),
        (lambda step: 0.9 if step != 1 else 1.1, "holds in part", "holds"),
    ],
)
def test_steinberg(frrm, kind, at_zero):
    assert verdict(29, steinberg=steinberg(frrm)).kind == kind
    assert verdict(45, steinberg=steinberg(frrm)).kind == at_zero


def fairlearn(theirs, ours=((0.0, 0.6891), (0.5, 0.7029)), gap=0.1):
    values = {
        (name + how, 0.1): theirs - less
        for name, less in (("fairlearn", 0.0), ("fairlearn, eps", 0.1))
        for how in ("", ", majority")
    }
    values |= {("FGRRM", r): value for r, value in ours}
    for (name, r), value in values.items():
        for case in ("COMPAS, classes", "BANK"):
            yield {"case": case, "run": 0, "model": name, "r": r, "f1": value, "gap": gap}


def test_fairlearn():
    assert verdict(30, fairlearn=fairlearn(0.6787)).kind == "holds"
    assert verdict(30, fairlearn=fairlearn(0.6)).kind == "holds in part"
    assert verdict(30, fairlearn=fairlearn(0.6787, gap=-0.1)).kind == "holds in part"
    assert verdict(30, fairlearn=fairlearn(0.9, gap=-0.1)).kind == "does not hold"


def checks(check, quantity, values, r=0.1):
    return [
        {"case": "random", "run": run, "check": check, "quantity": quantity, "r": r, "value": value}
        for run, value in enumerate(values)
    ]


def test_formulas():
    good = checks("root", "increases", [0, 0]) + checks("root", "crossings", [1, 1])
    assert verdict(6, checks=good).kind == "holds"
    assert verdict(6, checks=good[:3] + checks("root", "crossings", [3])).kind == "holds in part"
    assert verdict(8, checks=checks("root", "alpha at zero", [0.0])).kind == "holds"
    assert verdict(8, checks=checks("root", "alpha at zero", [1e-9])).kind == "does not hold"
    for printed, kind in (([1, 1], "holds"), ([1, 0], "holds in part"), ([0, 0], "does not hold")):
        rows = [row for name, values in (("printed", printed), ("exchanged", [0, 0]),
                                         ("corrected", [1, 1]))
                for row in checks("bracket", name, values)]  # fmt: skip
        assert verdict(7, checks=rows).kind == kind
        assert verdict(31, checks=rows).kind == "holds"
    assert verdict(10, checks=checks("quartic", "λ", [1e-9])).kind == "holds"
    assert verdict(10, checks=checks("quartic", "λ", [0.1])).kind == "does not hold"
    assert verdict(13, checks=checks("individual", "largest", [1.0, 1.0])).kind == "holds"
    assert verdict(13, checks=checks("individual", "largest", [1.0, 1.1])).kind == "holds in part"
    assert verdict(15, checks=checks("deviance", "share", [0.1])).kind == "holds"
    assert verdict(15, checks=checks("deviance", "share", [0.4])).kind == "does not hold"


def profiles(model, terms):
    grid = np.linspace(0, 1, 11)
    return [
        {"case": "example", "run": run, "model": model, "r": r, "term": term, "value": curve(r)}
        for run in range(2)
        for term, curve in terms.items()
        for r in grid
    ]


def flat(r):
    return 2.0


def test_profiles_of_nclm():
    hump = {"X1": lambda r: 2.0 + 4 * r * max(0.6 - r, 0.0)}
    alpha = {name: lambda r: r for name in ("S1", "S2", "S3")}
    free = {"achieved": lambda r: min(r, 0.85)}
    rows = profiles("NCLM", hump | alpha | free)
    assert verdict(3, profiles=rows).kind == "holds"
    assert verdict(4, profiles=rows).kind == "holds"
    other = profiles("NCLM", {"X1": flat, "achieved": lambda r: r} | alpha)
    assert verdict(3, profiles=other).kind == "holds in part"
    assert verdict(4, profiles=other).kind == "does not hold"


def test_profiles_of_frrm():
    beta = dict.fromkeys(("X1", "X2", "X3"), flat)
    assert verdict(5, profiles=profiles("FRRM", beta)).kind == "holds"
    beta["X2"] = lambda r: 2.0 + r
    assert verdict(5, profiles=profiles("FRRM", beta)).kind == "does not hold"


def test_profiles_of_logistic_models():
    beta = {name: lambda r: 2.0 + r for name in ("X1", "X2", "X3")}
    alpha = {name: lambda r: r for name in ("S1", "S2", "S3")}
    same = profiles("FGRRM", beta | alpha) + profiles("FGRRM, quasi-binomial", beta)
    assert verdict(16, logistic_profiles=same).kind == "holds"
    assert verdict(17, logistic_profiles=same).kind == "does not hold"
    constant = dict.fromkeys(beta, flat)
    assert verdict(
        17, logistic_profiles=same[:-66] + profiles("FGRRM, quasi-binomial", constant)
    ).kind == "holds"  # fmt: skip
    dip = beta | {"X3": lambda r: 2.0 + (r - 0.5) ** 2}
    assert verdict(16, logistic_profiles=profiles("FGRRM", dip | alpha)).kind == "holds in part"
    assert verdict(18, logistic_profiles=profiles("ZLRM", dip)).kind == "holds"
    assert verdict(18, logistic_profiles=profiles("ZLRM", beta)).kind == "does not hold"


def test_the_page_says_it_all():
    found = results(linear=linear(FRRM=1.1))
    judged = [(one, judge(one, found)) for one in CLAIMS]
    page = write_page(found, judged, {"rmse": b"\x89PNG"}, "figures")
    text, html = page.as_markdown(), page.as_html()
    assert "![Lower is better." in text
    assert "**Claim 20 does not hold:**" in text
    assert "<strong>Claim 20 does not hold:</strong>" in html
    assert "Skipped: 'logistic' was not asked for." in text
    assert html.count("<table>") == html.count("</table>") >= 4
    assert len(claims_table(judged)) == len(CLAIMS)
    counted = tally(judged)
    assert sum(map(sum, counted.counts.values())) == len(CLAIMS)
