"""Verdicts on formulas and on the examples follow results, too."""

import numpy as np
import pytest

from .conftest import verdict


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


def test_formulas_about_nclm():
    exact = [row for name in ("nclm gradient", "nclm bound")
             for row in checks(name, "p = 3", [1e-14, 1e-14], r=1e-8)]  # fmt: skip
    assert verdict(32, checks=exact).kind == "holds"  # of problem (γ)
    alpha = dict.fromkeys(("S1", "S2", "S3"), lambda r: r)
    beta = dict.fromkeys(("X1", "X2", "X3"), flat)
    found = verdict(35, checks=exact, profiles=profiles("NCLM", alpha | beta))
    assert found.kind == "holds in part"
    assert "1 of 2 statements hold." in found.measured


def test_direct_formulas():
    for printed, kind in (([1, 1], "holds"), ([1, 0], "holds in part"), ([0, 0], "does not hold")):
        rows = checks("solutions", "printed", printed) + checks("solutions", "exchanged", [1, 1])
        assert verdict(34, formulas=rows).kind == kind
    for rises, kind in (([0, 0], "holds"), ([1, 1], "does not hold")):
        rows = checks("conditional", "rises", rises) + checks("conditional", "smallest", [0.1, 0.1])
        rows += checks("conditional", "last", [0.3, 0.3])
        assert verdict(50, formulas=rows).kind == kind


def bias(by_r):
    """Rows of the bias experiment, with the same relative difference in both formulas."""
    for r, (low, high) in by_r.items():
        for penalty, off in ((1.0, low), (10.0, high)):
            yield {"case": "example", "run": 0, "r": r, "penalty": penalty, "printed": 1 + off,
                   "correct": 1 - off, "covariance": 0.5, "optimal": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("by_r", "kind", "count"),
    [
        ({0.01: (0.03, 0.04), 0.02: (0.04, 0.05), 0.1: (0.1, 0.16)}, "holds", 5),
        ({0.01: (0.03, 0.04), 0.02: (0.06, 0.08), 0.1: (0.1, 0.2)}, "holds in part", 3),
        ({0.01: (0.05, 0.06), 0.02: (0.07, 0.09), 0.1: (0.2, 0.3)}, "does not hold", 2),
    ],
)
def test_bias_counts_its_statements(by_r, kind, count):
    found = verdict(2, bias=bias(by_r))
    assert found.kind == kind
    assert f"{count} of 5 statements hold." in found.measured


def definitions(printed):
    curves = {"statistical parity": lambda r: r, "individual fairness": lambda r: r,
              "equality of opportunity": lambda r: r,
              "equality of opportunity, as printed": printed}  # fmt: skip
    return [
        {"case": "example", "run": run, "r": r, "definition": name, "value": curve(r)}
        for run in range(2) for name, curve in curves.items() for r in (0.0, 0.5, 1.0)
    ]  # fmt: skip


def test_definitions_are_judged_as_printed():
    assert verdict(12, definitions=definitions(lambda r: r)).kind == "holds"
    assert verdict(14, definitions=definitions(lambda r: r)).kind == "holds"
    found = verdict(12, definitions=definitions(lambda r: 2 - r))
    assert found.kind == "holds in part"
    assert "That is 4 of 6." in found.measured
    assert verdict(14, definitions=definitions(lambda r: 2 - r)).kind == "does not hold"


def test_kernel_features():
    after = checks("features", "decorrelated after", [0.0])
    assert verdict(38, checks=checks("features", "mapped after", [0.0]) + after).kind == "holds"
    found = verdict(38, checks=checks("features", "mapped after", [0.02]) + after)
    assert found.kind == "holds in part"
    assert "1 of 2 statements hold." in found.measured


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
