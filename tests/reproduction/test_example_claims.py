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
    for rises, kind in ((0, "holds"), (1, "does not hold")):
        rows = checks("root", "norm increases", [0, rises])
        assert verdict("norm_and_penalty", checks=rows).kind == kind
    good = checks("root", "increases", [0, 0]) + checks("root", "crossings", [1, 1])
    assert verdict("frrm_has_one_root", checks=good).kind == "holds"
    twice = good[:3] + checks("root", "crossings", [3])
    assert verdict("frrm_has_one_root", checks=twice).kind == "does not hold"
    for name, check, quantity, values in (
        ("frrm_at_zero", "root", "alpha at zero", (0.0, 1e-9)),
        ("quartic_for_two_attributes", "quartic", "λ", (1e-9, 0.1)),
        ("relaxation_is_exact", "nclm relaxation", "p = 3", (1e-14, 1e-3)),
        ("nclm_not_in_closed_form", "nclm gradient", "p = 3", (0.1, 1e-14)),
    ):
        for value, kind in zip(values, ("holds", "does not hold"), strict=True):
            rows = checks(check, quantity, [value]) + checks("nclm bound", "p = 3", [1e-14])
            assert verdict(name, checks=rows).kind == kind


def test_misprints_hold_as_corrected():
    for printed, kind in (([1, 1], "holds"), ([0, 0], "holds as corrected")):
        rows = [row for name, values in (("printed", printed), ("exchanged", [0, 0]),
                                         ("corrected", [1, 1]))
                for row in checks("bracket", name, values)]  # fmt: skip
        solutions = [
            row for name in ("printed", "exchanged") for row in checks("solutions", name, [1, 1])
        ]
        found = verdict("equations_bracket_lambda", checks=rows, formulas=solutions)
        assert found.kind == kind
        interval = verdict("root_in_a_finite_interval", checks=rows)
        assert interval.kind == "holds"
    outside = [row | {"value": 0} for row in rows]
    assert verdict("root_in_a_finite_interval", checks=outside).kind == "does not hold"


def test_deviance_is_no_variance():
    def share(value):
        return checks("deviance", "share", [value], r=0.05) + checks(
            "deviance", "share", [0.2], 0.2
        )

    assert verdict("deviance_bound_is_variance_bound", checks=share(0.05)).kind == "holds"
    assert verdict("deviance_bound_is_variance_bound", checks=share(0.4)).kind == "does not hold"


def test_quadratic_forms_of_shrunken_coefficients():
    name = "individual_fairness_largest_at_zero"
    assert verdict(name, checks=checks("individual", "largest", [1.0] * 4)).kind == "holds"
    some = checks("individual", "largest", [1.0, 1.0, 1.0, 1.1])
    assert verdict(name, checks=some).kind == "holds in part"


@pytest.mark.parametrize(("share", "kind"), [(0.0059, "holds"), (0.01, "holds in part")])
def test_the_problem_at_small_bounds_is_judged_by_its_solver(share, kind):
    exact = checks("nclm bound", "p = 3", [1e-14, 1e-14], r=1e-8)
    theirs = [{"case": "vu.test", "run": 0, "model": "NCLM", "r": 0.01, "share": share}]
    found = verdict("problem_7_at_zero", checks=exact, fairml=theirs)
    assert found.kind == kind
    assert f"{share:.4f} at r = .01" in found.measured


def bias(by_r, case="example", penalties=(1.0, 10.0)):
    """Rows of the bias experiment, with the same relative difference in both formulas."""
    for r, ends in by_r.items():
        for penalty, off in zip(penalties, ends, strict=True):
            yield {"case": case, "run": 0, "r": r, "penalty": penalty, "printed": 1 + off,
                   "correct": 1 - off, "covariance": 0.5, "optimal": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("by_r", "kind"),
    [
        ({0.01: (0.03, 0.04), 0.02: (0.04, 0.05), 0.1: (0.1, 0.16)}, "holds"),
        ({0.01: (0.05, 0.06), 0.02: (0.07, 0.09), 0.1: (0.2, 0.3)}, "holds in part"),
        ({0.01: (0.05, 0.06), 0.02: (0.02, 0.03), 0.1: (0.0, 0.01)}, "does not hold"),
    ],
)
def test_size_of_the_bias(by_r, kind):
    assert verdict("size_of_the_bias", bias=bias(by_r)).kind == kind


def test_collinearity():
    weak, strong = {0.1: (0.1, 0.1)}, {0.1: (0.2, 0.2)}
    for first, second, kind in ((weak, strong, "holds"), (strong, weak, "does not hold")):
        rows = [*bias(first), *bias(second, case="correlations of 0.6")]
        assert verdict("collinearity_adds_bias", bias=rows).kind == kind


def test_signs_of_the_covariance():
    rows = list(bias({0.1: (0.1, 0.1)}))
    for values, kind in (([1, 0], "holds"), ([1, 1], "does not hold")):
        found = verdict(
            "either_larger_or_smaller", bias=rows, checks=checks("sign", "positive", values)
        )
        assert found.kind == kind


def definitions(printed):
    curves = {"statistical parity": lambda r: r, "individual fairness": lambda r: r,
              "equality of opportunity": lambda r: r,
              "equality of opportunity, as printed": printed}  # fmt: skip
    return [
        {"case": "example", "run": run, "r": r, "definition": name, "value": curve(r)}
        for run in range(2) for name, curve in curves.items() for r in (0.0, 0.5, 1.0)
    ]  # fmt: skip


def test_definitions():
    name = "definitions_increase_together"
    assert verdict(name, definitions=definitions(lambda r: r)).kind == "holds"
    found = verdict(name, definitions=definitions(lambda r: 2 - r))
    assert found.kind == "holds as corrected"
    assert "in 0 of 2 samples" in found.measured


@pytest.mark.parametrize(
    ("printed", "off", "kind"),
    [
        (lambda r: r, 1e-12, "holds"),
        (lambda r: 2 - r, 1e-12, "holds as corrected"),
        (lambda r: r, 1e-3, "does not hold"),
    ],
)
def test_combined_definitions(printed, off, kind):
    rows = checks("bounds", "maximum", [off]) + checks("bounds", "mean", [1e-12])
    found = verdict("combined_definitions", checks=rows, definitions=definitions(printed))
    assert found.kind == kind
    rows = checks("bounds", "with D_IF", [off])
    expected = "holds" if off < 1e-8 else "does not hold"
    assert verdict("individual_fairness_in_combinations", checks=rows).kind == expected


def test_opportunity():
    for rises, printed, kind in ((0, 0.0, "holds"), (1, 2.0, "does not hold")):
        rows = checks("conditional", "rises", [rises])
        rows += checks("conditional", "smallest", [0.1]) + checks("conditional", "last", [0.3])
        curves = definitions(lambda r, at_zero=printed: at_zero + r)
        assert verdict("opportunity_vanishes", definitions=curves, formulas=rows).kind == kind


def test_kernel_features():
    after = checks("features", "decorrelated after", [0.0])
    for value, kind in ((0.0, "holds"), (0.02, "holds as corrected")):
        rows = checks("features", "mapped after", [value]) + after
        assert verdict("kernel_features", checks=rows).kind == kind


def test_collinear_columns():
    rows = checks("collinear", "U, λ₂ = 10", [50.0])
    for value, kind in ((1e16, "holds in part"), (10.0, "holds")):
        both = rows + checks("collinear", "S, λ₁ = 0", [value])
        assert verdict("no_unaddressed_collinearity", checks=both).kind == kind


def profiles(model, terms, case="example"):
    grid = np.linspace(0, 1, 11)
    return [
        {"case": case, "run": run, "model": model, "r": r, "term": term, "value": curve(r)}
        for run in range(2)
        for term, curve in terms.items()
        for r in grid
    ]


def flat(r):
    return 2.0


ALPHA = {name: lambda r: r for name in ("S1", "S2", "S3")}


def test_profiles_of_nclm():
    hump = dict.fromkeys(("X1", "X2", "X3"), lambda r: 2.0 + 4 * r * max(0.6 - r, 0.0))
    rows = profiles("NCLM", hump | ALPHA | {"achieved": lambda r: min(r, 0.85)})
    assert verdict("nclm_inactive_from_85_percent", profiles=rows).kind == "holds"
    assert verdict("nclm_beta_not_monotone", profiles=rows).kind == "holds"
    assert verdict("nclm_shrinks_or_inflates", profiles=rows).kind == "holds"
    other = profiles("NCLM", {"X1": flat, "X2": flat, "X3": flat, "achieved": lambda r: r} | ALPHA)
    assert verdict("nclm_inactive_from_85_percent", profiles=other).kind == "holds in part"
    assert verdict("nclm_beta_not_monotone", profiles=other).kind == "does not hold"
    assert verdict("nclm_shrinks_or_inflates", profiles=other).kind == "does not hold"
    # fairml's sample decides, if it is there.
    own = profiles("NCLM", {"achieved": lambda r: min(r, 0.89)}, case="vu.test")
    found = verdict("nclm_inactive_from_85_percent", profiles=other + own)
    assert found.kind == "holds"
    assert "0.890 on vu.test" in found.measured


def test_profiles_of_frrm():
    beta = dict.fromkeys(("X1", "X2", "X3"), flat)
    assert verdict("frrm_beta_constant", profiles=profiles("FRRM", beta)).kind == "holds"
    beta["X2"] = lambda r: 2.0 + r
    assert verdict("frrm_beta_constant", profiles=profiles("FRRM", beta)).kind == "does not hold"


def test_profiles_of_logistic_models():
    beta = {name: lambda r: 2.0 + r for name in ("X1", "X2", "X3")}
    grows, quasi = "fgrrm_coefficients_grow", "quasi_binomial_beta_constant"
    rows = profiles("FGRRM", beta | ALPHA)
    assert verdict(grows, logistic_profiles=rows).kind == "holds"
    for curves, kind in ((beta, "does not hold"), (dict.fromkeys(beta, flat), "holds")):
        both = rows + profiles("FGRRM, quasi-binomial", curves)
        assert verdict(quasi, logistic_profiles=both).kind == kind
    dip = beta | {"X3": lambda r: 2.0 + (r - 0.5) ** 2}
    found = verdict(grows, logistic_profiles=profiles("FGRRM", dip | ALPHA))
    assert found.kind == "does not hold"
    # A fall that no figure shows is none.
    little = beta | {"X3": lambda r: 2.0 + r - 0.1001 * (r > 0.45)}
    assert verdict(grows, logistic_profiles=profiles("FGRRM", little | ALPHA)).kind == "holds"
    turns = "zlrm_beta_not_monotone"
    assert verdict(turns, logistic_profiles=profiles("ZLRM", dip)).kind == "holds"
    assert verdict(turns, logistic_profiles=profiles("ZLRM", beta)).kind == "does not hold"


def beyond(case, **values):
    return [
        {"case": case, "run": 0, "quantity": name, "value": value, "active": 1.0}
        for name, value in values.items()
    ]


def test_extensions_that_the_paper_names():
    good = {"condition": 1e15, "of components": 3.0, "excess": 0.0, "distance": 1e-14}
    for values, kind in ((good, "holds"), (good | {"distance": 0.1}, "does not hold")):
        rows = beyond("principal components", **values)
        assert verdict("components_of_s", beyond=rows).kind == kind
    for off, kind in ((1e-14, "holds"), (1e-3, "does not hold")):
        rows = beyond("Gaussian process", distance=off)
        assert verdict("gaussian_process", beyond=rows).kind == kind
    for excess, kind in ((0.0, "holds"), (1e-3, "does not hold")):
        rows = beyond("kernels", excess=excess, error=0.08)
        assert verdict("kernels_meet_the_bound", beyond=rows).kind == kind
    for excess, kind in ((0.0, "holds"), (1e-3, "holds in part"), (0.1, "does not hold")):
        rows = beyond("NCLM, extended", ridge=excess, kernel=excess)
        assert verdict("nclm_extended", beyond=rows).kind == kind
    for off, kind in ((1e-6, "holds"), (0.1, "does not hold")):
        rows = beyond("standard software", distance=off)
        assert verdict("standard_software", beyond=rows).kind == kind
    trials = {"of noise": 100.0, "of predictors": 60.0, "predictors rejected": 60.0}
    for covered, false, kind in ((95.0, 5.0, "holds"), (80.0, 5.0, "holds in part"),
                                 (80.0, 30.0, "does not hold")):  # fmt: skip
        rows = [*beyond("intervals", coefficients=100.0, covered=covered),
                *beyond("tests", **trials, **{"noise rejected": false}),
                *beyond("meta-analysis", distance=0.4, errors=1.0)]  # fmt: skip
        assert verdict("tests_and_intervals", beyond=rows).kind == kind


@pytest.mark.parametrize("excess", [1e-12, 1e-3])
def test_bounds_of_all_models_are_met_or_not(excess):
    good = {"run": 0, "penalty": "ridge", "definition": "statistical parity", "r": 0.05,
            "achieved": 0.05, "active": 1.0, "explained": 0.1}  # fmt: skip
    bad = {"achieved": 0.05 + excess}
    inactive = {"achieved": 9.0, "active": 0.0}
    rows = [good | {"case": "Cox"} | bad, good | {"case": "Poisson"},
            good | {"case": "Gaussian"}, good | {"case": "Gaussian"} | inactive]  # fmt: skip
    kind = "holds" if excess < 1e-8 else "holds in part"
    found = verdict("other_families", families=rows)
    assert found.kind == kind
    assert f"{2 if kind == 'holds' else 1} of 2 active cells" in found.measured
    found = verdict("modular", families=rows)
    assert found.kind == kind
    assert f"{3 if kind == 'holds' else 2} of 3 models" in found.measured


def families(spread, *, moved=0.1, dropped=1):
    """Models of three families with a ridge, and with a LASSO, at two bounds."""
    return [
        {"case": case, "run": 0, "penalty": penalty, "definition": "statistical parity", "r": r,
         "active": 1.0, "spread": spread(case, r), "moved": moved, "dropped": dropped,
         "attributes": 3}
        for case in ("Binomial", "Poisson", "Cox")
        for penalty in ("ridge", "lasso")
        for r in (0.01, 0.05)
    ]  # fmt: skip


def test_what_a_share_of_deviance_bounds():
    name = "bounds_odds_and_rates"
    assert verdict(name, families=families(lambda case, r: r)).kind == "holds"
    apart = families(lambda case, r: r * len(case))
    found = verdict(name, families=apart)
    assert found.kind == "holds in part"
    assert "Binomial 1.49, Poisson 1.42, Cox 1.16" in found.measured
    assert verdict(name, families=families(lambda case, r: 1 - r)).kind == "does not hold"


def test_coefficients_of_generalized_models():
    rows = families(lambda case, r: r)
    assert verdict("beta_not_constant", families=rows).kind == "holds"
    still = families(lambda case, r: r, moved=1e-6)
    assert verdict("beta_not_constant", families=still).kind == "does not hold"
    found = verdict("lasso_selects", families=rows)
    assert found.kind == "holds"
    assert "at r = .01: Binomial 2 of 3" in found.measured
    none = families(lambda case, r: r, dropped=0)
    assert verdict("lasso_selects", families=none).kind == "does not hold"


@pytest.mark.parametrize(
    ("lasso", "ridge", "kind"),
    [(1.1, 1.1, "holds"), (1.1, 1.0, "holds in part"), (1.0, 1.0, "does not hold")],
)
def test_elastic_nets_are_compared_with_both(lasso, ridge, kind):
    models = {"elastic net": 1.0, "lasso": lasso, "FRRM": ridge}
    rows = [
        {"case": "NLSY", "run": 0, "fold": fold, "model": name, "r": 0.05,
         "rmse": value * (1 + 1e-3 * fold)}
        for name, value in models.items()
        for fold in range(3)
    ]  # fmt: skip
    assert verdict("elastic_net_predicts_better", today=rows).kind == kind


def test_coefficients_that_turn_are_less_intuitive():
    straight = {"FRRM": lambda r: 1.0, "FGRRM": lambda r: 1 + r}
    turning = {"NCLM": lambda r: 1 + r * (1 - r), "ZLRM": lambda r: 1 + r - 2 * r * r}
    rows = [
        row
        for model, curve in (straight | turning).items()
        for row in profiles(model, dict.fromkeys(("X1", "X2", "X3"), curve))
    ]
    found = verdict("easier_coefficients", profiles=rows, logistic_profiles=rows)
    assert found.kind == "holds"
    assert "FRRM 0.000, NCLM 0.400, FGRRM 0.000" in found.measured
    names = {"FRRM": "NCLM", "NCLM": "FRRM", "FGRRM": "ZLRM", "ZLRM": "FGRRM"}
    exchanged = [row | {"model": names[row["model"]]} for row in rows]
    found = verdict("easier_coefficients", profiles=exchanged, logistic_profiles=exchanged)
    assert found.kind == "does not hold"
